# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A component's program, from its process or its image, and its rehearsal in a sandbox."""

from __future__ import annotations

import contextlib
import os
import tempfile
import typing as t

from ..._engine.files import Json
from ..._engine.node import Host, redact
from ..._plan.common.errors import KubeadmError
from ..._plan.common.verdict import SKIPPED, Verdict
from ..._plan.static_pod import plan as static_pod
from ..._plan.transaction import rehearsal
from ..static_pod.static_pods import StaticPod, running_process
from ..transaction.state import Run
from .container_runtime import Runtime
from .sandbox import mount_table, resolve_within
from .sandbox_runs import base64_of, run_in_sandbox, stage_files

# The default of containerd, for an image that sets none.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Program(t.NamedTuple):
    """A component's program. root: its root file system on the node, None when there is none."""

    binary: str
    root: str | None


@contextlib.contextmanager
def program_of(pod: StaticPod, runtime: Runtime, host: Host) -> t.Iterator[Program]:
    """The program, for as long as the block lasts. While the component runs, the container runtime is not used.

    Raises KubeadmError when it cannot be had.
    """
    process = running_process(pod, host)
    # Kept open, because a component that crashes may be gone when the sandbox starts.
    descriptor = None if process is None else _open_executable(os.path.join(host.proc, str(process.pid), "exe"))
    if process is not None and descriptor is not None:
        try:
            yield Program(f"/proc/{os.getpid()}/fd/{descriptor}", _root_of_process(process.pid, host))
        finally:
            os.close(descriptor)
        return
    image = str(pod.manifest.container.get("image"))
    with contextlib.ExitStack() as stack:
        try:
            program = stack.enter_context(program_in_image(image, str(pod.manifest.entrypoint), runtime))
        except KubeadmError as exc:
            raise KubeadmError(
                f"{pod.name} does not run on {os.uname().nodename}, and its program cannot be extracted from the image {image} for the"
                f" rehearsal ({exc}). Wait until the component runs, or set rehearse: false."
            ) from exc
        yield program


@contextlib.contextmanager
def program_in_image(image: str, command: str, runtime: Runtime) -> t.Iterator[Program]:
    """The program that an image starts, for as long as the block lasts. Raises KubeadmError when it cannot be had."""
    with runtime.mount_image(image) as root:
        yield Program(_find_in_image(root, command), root)


def _open_executable(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _root_of_process(pid: int, host: Host) -> str | None:
    """Where the node has mounted a container's root file system. The kernel refuses to bind it out of the container's own
    mount namespace."""
    try:
        own = next((mount for mount in reversed(mount_table(host.proc, str(pid))) if mount.point == "/"), None)
        mounts = [] if own is None else mount_table(host.proc, "self")
        inside = os.stat(os.path.join(host.proc, str(pid), "root"))
    except OSError:  # it has just ended
        return None
    for mount in mounts:
        with contextlib.suppress(OSError):
            if own and mount.tree == own.tree and os.path.samestat(os.stat(mount.point), inside):
                return mount.point
    return None


def _find_in_image(root: str, command: str) -> str:
    candidates = [command] if command.startswith("/") else [f"{path}/{command}" for path in PATH.split(":")]
    for candidate in candidates:
        path = resolve_within(root, candidate)
        if os.path.exists(path):
            return path
    raise KubeadmError(f"it holds no {command} in {', '.join(candidates)}")


_CREATED_AS = {"DirectoryOrCreate": "directory", "FileOrCreate": "file"}


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
    """Start the component with its new command line in the sandbox. Returns its verdict.

    program: another one than the component's own. Raises KubeadmError when the node lacks what a rehearsal needs.
    """
    arguments = plan.after.expected_arguments()
    known = [argument for argument in arguments if argument is not None]
    reason = rehearsal.find_blocker(pod.name, arguments, plan.after.entrypoint)
    if reason:
        return Verdict(SKIPPED, reason)
    began = clock()
    own_program = program_of(pod, runtime, host) if program is None else contextlib.nullcontext(program)
    with own_program as started, tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        request = {
            "binary": started.binary,
            "arguments": rehearsal.build_command(pod.name, known),
            "environment": {
                "PATH": PATH,
                **{name: value for name, value in plan.after.environment.items() if value is not None},
            },
            "root": root,
            **_sandbox_files(started.root, plan if rehearsal.mounts_volumes(pod.name) else None),
        }
        status, output = run_in_sandbox(pod.name, request, run)
    verdict = rehearsal.parse_verdict(pod.name, status, output)
    # As the manifest has it: an expanded argument may hold a variable's value.
    command = rehearsal.build_command(pod.name, plan.after.arguments)
    message, *warnings = (redact(text, plan.after.hidden) for text in (verdict.message, *verdict.warnings))
    return Verdict(verdict.verdict, message, round(clock() - began, 2), tuple(command), tuple(warnings))


def _sandbox_files(image: str | None, plan: static_pod.StaticPodPlan | None) -> Json:
    """The sandbox's mounts and staged files: the image, and the plan's. A static binary needs no image."""
    mounts: list[Json] = [] if image is None else [{"source": image, "target": "/", "missing": None}]
    if plan is None:
        return {"mounts": mounts, "staged": {}}
    common = {path: base64_of(text.encode("utf-8")) for path, text in rehearsal.FILES.items()}
    directory = {"source": rehearsal.DIRECTORY, "target": rehearsal.DIRECTORY, "missing": "directory"}
    return {"mounts": [*mounts, directory, *_volume_mounts(plan)], "staged": {**common, **stage_files(plan.files)}}


def _volume_mounts(plan: static_pod.StaticPodPlan) -> list[Json]:
    return [
        {"source": mount.host_path, "target": mount.mount_path, "missing": _CREATED_AS.get(mount.path_type)}
        for mount in plan.after.mounts()
    ]
