# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rehearsals on the node: the component's own binary, the new command line, a sandbox."""

from __future__ import annotations

import contextlib
import tempfile
import typing as t

from ..._engine.files import Json
from ..._engine.node import Host, hide
from ..._plan.common.verdict import SKIPPED, Verdict
from ..._plan.static_pod import plan as static_pod
from ..._plan.transaction import rehearsal
from ..static_pod.static_pods import StaticPod
from ..transaction.state import Run
from .container_runtime import Runtime
from .programs import PATH, Program, program_of
from .sandbox_runs import base64_of, run_in_sandbox, staged

_MISSING = {"DirectoryOrCreate": "directory", "FileOrCreate": "file"}


def rehearse(
    pod: StaticPod,
    plan: static_pod.StaticPodPlan,
    *,
    run: Run,
    runtime: Runtime,
    clock: t.Callable[[], float],
    host: Host,
    program: Program | None = None,
) -> Verdict:
    """Start the component with its new command line where it can do no harm, and say what it said.

    program: another one than the component's own. Raises KubeadmError when the node lacks what a rehearsal needs.
    """
    arguments = plan.after.expected_arguments()
    known = [argument for argument in arguments if argument is not None]
    reason = rehearsal.blocker(pod.name, arguments, plan.after.entrypoint)
    if reason:
        return Verdict(SKIPPED, reason)
    began = clock()
    own = program_of(pod, runtime, host) if program is None else contextlib.nullcontext(program)
    with own as started, tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        request = {
            "binary": started.binary,
            "arguments": rehearsal.command(pod.name, known),
            "environment": {
                "PATH": PATH,
                **{name: value for name, value in plan.after.environment.items() if value is not None},
            },
            "root": root,
            **_files(started.root, plan if rehearsal.shows_files(pod.name) else None),
        }
        status, output = run_in_sandbox(pod.name, request, run)
    verdict = rehearsal.judge(pod.name, status, output)
    # Shown as the manifest has it: an expanded argument may hold the value of an environment variable.
    shown = rehearsal.command(pod.name, plan.after.arguments)
    message, *told = (hide(text, plan.after.hidden) for text in (verdict.message, *verdict.warnings))
    return Verdict(verdict.verdict, message, round(clock() - began, 2), tuple(shown), tuple(told))


def _files(image: str | None, plan: static_pod.StaticPodPlan | None) -> Json:
    """What the component sees: its image, and of a plan the volumes and files. A program that is linked with nothing needs no image."""
    mounts: list[Json] = [] if image is None else [{"source": image, "target": "/", "missing": None}]
    if plan is None:
        return {"mounts": mounts, "staged": {}}
    words = {path: base64_of(text.encode("utf-8")) for path, text in rehearsal.FILES.items()}
    directory = {"source": rehearsal.DIRECTORY, "target": rehearsal.DIRECTORY, "missing": "directory"}
    return {"mounts": [*mounts, directory, *_mounts(plan)], "staged": {**words, **staged(plan.files)}}


def _mounts(plan: static_pod.StaticPodPlan) -> list[Json]:
    return [
        {"source": mount.host_path, "target": mount.mount_path, "missing": _MISSING.get(mount.path_type)}
        for mount in plan.after.mounts()
    ]
