# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starting a program of any component in the sandbox."""

from __future__ import annotations

import base64
import json
import os
import sys
import typing as t

from ..._engine.files import Json
from ..._plan.common.errors import KubeadmError
from ..._plan.common.file_values import FileChange
from ..._plan.transaction import rehearsal
from ..transaction.engine_source import source_of
from ..transaction.state import Run
from . import sandbox


def run_in_sandbox(name: str, request: Json, run: Run) -> tuple[int, str]:
    """Start a component by a request as in sandbox.py: (status, all its output). Raises KubeadmError when it cannot be set up."""
    # After TERM a kube-apiserver was seen to run on for 30 s.
    status, output, error = run(
        ["timeout", "--signal=KILL", str(rehearsal.TIME_LIMIT), sys.executable, "-I", "-c", source_of(sandbox)],
        data=json.dumps(request),
    )
    if status == 125:
        raise KubeadmError(
            f"the rehearsal of {name} on {os.uname().nodename} could not be set up: {error.strip()}. Repair that, or set rehearse: false where"
            " something is changed."
        )
    return status, output + "\n" + error


def stage_files(changes: t.Iterable[FileChange]) -> dict[str, str | None]:
    """The files that a change writes, in the form of a request; None for one that it removes."""
    return {change.path: None if change.after is None else base64_of(change.after.content) for change in changes}


def base64_of(content: bytes) -> str:
    """Content in the form of a request."""
    return base64.b64encode(content).decode("ascii")
