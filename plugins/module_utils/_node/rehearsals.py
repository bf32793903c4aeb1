# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Rehearsals on the node: the component's own binary, the new command line, a sandbox."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pkgutil
import sys
import tempfile
import typing as t

from .._plan import rehearsal, static_pod
from .._plan.errors import KubeadmError
from . import engine, sandbox
from .kubelet import Run
from .static_pods import StaticPod, running_process

_MISSING = {"DirectoryOrCreate": "folder", "FileOrCreate": "file"}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def rehearse(
    pod: StaticPod, plan: static_pod.StaticPodPlan, *, run: Run, clock: t.Callable[[], float], host: engine.Host
) -> rehearsal.Verdict:
    """Start the component with its new command line where it can do no harm, and say what it said.

    Raises KubeadmError when the node lacks what a rehearsal needs.
    """
    arguments = plan.after.expected_arguments()
    reason = rehearsal.obstacle(pod.name, arguments)
    if reason:
        return rehearsal.Verdict(rehearsal.SKIPPED, reason)
    command = rehearsal.command(pod.name, t.cast(t.Sequence[str], arguments))
    began = clock()
    with _binary(pod, run, host) as binary, tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        request = {
            "binary": binary,
            "arguments": command,
            "environment": {"PATH": _PATH, **plan.after.environment},
            "root": root,
            "mounts": [
                {"source": mount.host_path, "target": mount.mount_path, "missing": _MISSING.get(mount.path_type)}
                for mount in plan.after.mounts()
            ],
            "staged": {
                change.path: None if change.after is None else base64.b64encode(change.after.content).decode("ascii")
                for change in plan.files
            },
        }
        status, output, error = run(
            ["timeout", "--signal=KILL", str(rehearsal.TIME_LIMIT), sys.executable, "-I", "-c", source_of(sandbox)],
            data=json.dumps(request),
        )
    if status == 125:
        raise KubeadmError(f"the rehearsal of {pod.name} on {os.uname().nodename} could not be set up: {error.strip()}")
    verdict = rehearsal.judge(pod.name, status, output + "\n" + error)
    return rehearsal.Verdict(verdict.verdict, verdict.message, round(clock() - began, 2), tuple(command))


def source_of(module: t.Any) -> str:
    """The source text of one of our own files, also out of the archive in which Ansible ships modules."""
    package, dummy, name = module.__name__.rpartition(".")
    data = pkgutil.get_data(package, f"{name}.py")
    if data is None:
        raise KubeadmError(f"the source of {module.__name__} is not in this module's archive")
    return data.decode("utf-8")


@contextlib.contextmanager
def _binary(pod: StaticPod, run: Run, host: engine.Host) -> t.Iterator[str]:
    """The component's binary: of the process that runs, or out of its image when the component is down."""
    process = running_process(pod, host)
    if process is not None:
        yield os.path.join(host.proc, str(process.pid), "exe")
        return
    image = str(pod.manifest.container.get("image"))
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        status, dummy, error = run(["ctr", "--namespace", "k8s.io", "images", "mount", image, folder])
        if status != 0:
            raise KubeadmError(
                f"{pod.name} does not run on {os.uname().nodename}, and its image {image} cannot be opened for the rehearsal"
                f" ({error.strip()}). Wait until the component runs, or set rehearse: false."
            )
        try:
            yield _in_image(folder, pod.manifest.arguments[0])
        finally:
            run(["ctr", "--namespace", "k8s.io", "images", "unmount", "--rm", folder])


def _in_image(folder: str, command: str) -> str:
    places = [command] if command.startswith("/") else [f"{path}/{command}" for path in _PATH.split(":")]
    for place in places:
        path = folder + place
        if os.path.exists(path):
            return path
    raise KubeadmError(f"the image holds no {command} in {', '.join(places)}")
