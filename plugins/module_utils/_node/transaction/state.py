# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a node keeps the state of this collection, and how that is read."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..._engine.engine_errors import Damaged, OtherFormat
from ..._engine.files import Json, read_formatted
from ..._plan.common.errors import KubeadmError

STATE_DIR = "/var/lib/nodecraft-kubeadm"

Run = t.Callable[..., tuple[int, str, str]]


def state_directory(name: str) -> str:
    """Where journal, history and record of one component are kept."""
    return os.path.join(STATE_DIR, name)


class Unusable(KubeadmError):
    """A file of our state is damaged, or of another version of the collection."""


@contextlib.contextmanager
def translate_errors() -> t.Iterator[None]:
    """Translate errors of our state files into what is wrong, where, and what to do. Raises Unusable."""
    try:
        yield
    except OtherFormat as exc:
        raise Unusable(f"{os.uname().nodename}: {exc}.") from exc
    except Damaged as exc:
        raise Unusable(
            f"{os.uname().nodename}: {exc}. It is not used: check that the component runs as desired, then move"
            " the file away, both copies of a journal, and run again."
        ) from exc


def read_state_file(path: str) -> Json | None:
    """A file of our state, which names its format; None when it does not exist. Raises Unusable."""
    with translate_errors():
        return read_formatted(path)
