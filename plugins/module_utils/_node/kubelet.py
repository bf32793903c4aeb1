# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What the kubelet of this node says about itself: its manifest folder and its node's name."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._engine.journal import Probe
from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import flags
from .state import Run

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

DEFAULT_MANIFEST_DIR = "/etc/kubernetes/manifests"
_RUNTIME = "unix:///run/containerd/containerd.sock"


@dataclasses.dataclass(frozen=True)
class Kubelet:
    """The running kubelet.

    program: its binary. manifest_dir: its staticPodPath. node_name: the name of its Node. healthz: its own health as a probe; None when that is
    switched off. runtime: the address of its container runtime.
    """

    pid: int
    program: str
    manifest_dir: str
    node_name: str
    healthz: Probe | None
    runtime: str


def read_kubelet(run: Run, *, proc: str = "/proc") -> Kubelet:
    """Find the running kubelet.service and read its settings.

    run: like AnsibleModule.run_command. Raises KubeadmError when there is no running kubelet of kubeadm's layout.
    """
    pid = _main_pid(run)
    with open(os.path.join(proc, str(pid), "cmdline"), encoding="utf-8") as stream:
        arguments = stream.read().split("\0")[:-1]
    config = _config(flags.last(arguments, "config"), proc, pid)
    manifest_dir = flags.last(arguments, "pod-manifest-path") or config.get("staticPodPath")
    if not manifest_dir:
        raise KubeadmError(
            f"{os.uname().nodename} is no kubeadm control plane: its kubelet has no folder for static pods"
            f" (staticPodPath; kubeadm sets {DEFAULT_MANIFEST_DIR})."
        )
    return Kubelet(
        pid=pid,
        program=arguments[0],
        manifest_dir=os.path.normpath(manifest_dir),
        node_name=registered_name(arguments),
        healthz=_healthz(arguments, config),
        runtime=flags.last(arguments, "container-runtime-endpoint")
        or config.get("containerRuntimeEndpoint")
        or _RUNTIME,
    )


def version_of(kubelet: Kubelet, run: Run) -> str:
    """What its binary says of its version, such as C(Kubernetes v1.37.2), or why it does not."""
    try:
        dummy, output, error = run([kubelet.program, "--version"], handle_exceptions=False)
    except OSError as exc:  # such as a binary that was moved since it was started
        return str(exc)
    return (output or error).strip()


def _healthz(arguments: t.Sequence[str], config: t.Mapping[str, t.Any]) -> Probe | None:
    """Where the kubelet tells whether it works, if it does: (flag, or else configuration, or else Kubernetes' default)."""
    port = flags.last(arguments, "healthz-port") or str(config.get("healthzPort", 10248))
    host = flags.last(arguments, "healthz-bind-address") or config.get("healthzBindAddress") or "127.0.0.1"
    return (
        None if port == "0" else {"kind": "http", "scheme": "http", "host": host, "port": int(port), "path": "/healthz"}
    )


def registered_name(arguments: t.Sequence[str]) -> str:
    """The name under which a kubelet with this command line registers its Node."""
    name = flags.last(arguments, "hostname-override") or os.uname().nodename
    return name.strip().lower()


def _main_pid(run: Run) -> int:
    status, output, error = run(["systemctl", "show", "--property=ActiveState,MainPID", "kubelet.service"])
    shown = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    if status == 0 and shown.get("ActiveState") == "active" and int(shown.get("MainPID", "0")):
        return int(shown["MainPID"])
    found = f"kubelet.service is {shown.get('ActiveState', 'unknown')}" if status == 0 else error.strip()
    raise KubeadmError(
        f"{os.uname().nodename} runs no kubelet that could be asked ({found}). Static pods are changed on running kubeadm"
        " control planes only: check that the host is one, and start its kubelet."
    )


def _config(path: str | None, proc: str, pid: int) -> dict[str, t.Any]:
    if path is None:
        return {}
    try:
        with open(os.path.join(proc, str(pid), "root", path.lstrip("/")), encoding="utf-8") as stream:
            return yaml.safe_load(stream) or {}
    except (OSError, yaml.YAMLError) as exc:
        raise KubeadmError(
            f"the kubelet's configuration {path} on {os.uname().nodename} cannot be read: {exc}"
        ) from exc
