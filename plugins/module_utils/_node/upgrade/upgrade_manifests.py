# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Running a kubeadm of any version offline, in the sandbox, and the manifests that it generates."""

from __future__ import annotations

import os
import re
import tempfile
import typing as t

from ..._engine.files import Json
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.kubeadm_config.cluster_configuration import ClusterConfiguration, Endpoint
from ..._plan.static_pod.manifest import Manifest
from ..kubelet.kubelet_rehearsal import VISIBLE
from ..runtime.container_runtime import Runtime
from ..runtime.programs import PATH
from ..runtime.sandbox_runs import base64_of, run_in_sandbox
from ..transaction.state import Run
from .upgrade_programs import refuse_relative

_DIRECTORY = "/upgrade-check"
CONFIG = f"{_DIRECTORY}/kubeadm.yaml"
_KLOG = re.compile(r"^[IWEF]\d{4} \S+ +\d+ \S+\] ")
_MOST_LINES = 3  # of a failed kubeadm's output


class Kubeadm(t.NamedTuple):
    """One kubeadm program.

    program: its path. config: the content of the file that it finds at CONFIG. configuration: the cluster's, from which that is made.
    run: starts a program, like AnsibleModule.run_command. patches: the directory that it names; None for none.
    """

    program: str
    config: str
    configuration: ClusterConfiguration
    run: Run
    patches: str | None = None

    def __call__(
        self,
        arguments: t.Sequence[str],
        *,
        writable: t.Mapping[str, str] | None = None,
        environment: t.Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Run it: (status, all its output). writable: directories by their paths in the sandbox.

        Raises KubeadmError when it could not be started.
        """
        request = self._request(arguments, writable or {}, environment or {})
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
            return run_in_sandbox("kubeadm", {**request, "root": root}, self.run)

    def _request(
        self,
        arguments: t.Sequence[str],
        writable: t.Mapping[str, str],
        environment: t.Mapping[str, str],
    ) -> Json:
        visible = dict.fromkeys(
            (*VISIBLE, self.configuration.certificates_dir, *([self.patches] if self.patches else []))
        )
        mounted = [
            path for path in visible if not any(path.startswith(f"{other}/") for other in visible if other != path)
        ]
        return {
            "binary": self.program,
            "arguments": ["kubeadm", *arguments],
            "environment": {"PATH": PATH, **environment},
            "mounts": [
                {"source": _DIRECTORY, "target": _DIRECTORY, "missing": "directory"},
                *(
                    {"source": source, "target": target, "missing": None, "writable": True}
                    for target, source in writable.items()
                ),
                *({"source": path, "target": path, "missing": "directory"} for path in mounted),
            ],
            "staged": {CONFIG: base64_of(self.config.encode("utf-8"))},
        }


def failure_reason(output: str) -> str:
    """Why a kubeadm failed: the last lines of its errors, without their log prefixes."""
    lines = [_KLOG.sub("", line).strip() for line in output.splitlines()]
    errors = [line for line in lines if line and not line.startswith(("[", "To see the stack trace"))]
    return "; ".join(errors[-_MOST_LINES:]) or "it printed nothing"


_OUTPUT = "/upgrade-check-manifests"
# A YAML error continues on indented lines.
_STRICT_ERROR = re.compile(r"strict decoding error: ([^\n]*(?:\n +[^\n]+)*)")
_ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
_ENDPOINT_VALUE = re.compile(r"(?P<address>.+):(?P<port>\d+)")
_DEFAULT_PORT = 6443
_CONTROL_PLANE, _ETCD = ("control-plane", "all"), ("etcd", "local")


class NotGenerated(KubeadmError):
    """A kubeadm was started and generated nothing; the message has its errors."""


class Generated(t.NamedTuple):
    """Manifests by the name of their static pod, and the fields that kubeadm ignored in its configuration."""

    manifests: dict[str, str]
    strict_errors: list[str]


def endpoint_of(api_server: Manifest, node_name: str, runtime: Runtime) -> Endpoint:
    """The endpoint of an API server: from kubeadm's annotation, or else from the arguments."""
    annotated = _ENDPOINT_VALUE.fullmatch(str(api_server.values()["annotations"].get(_ENDPOINT) or ""))
    args = api_server.values()["args"]
    port = annotated["port"] if annotated else (args.get("secure-port") or [""])[-1]
    return Endpoint(
        node_name=node_name,
        address=annotated["address"].strip("[]") if annotated else (args.get("advertise-address") or [""])[-1],
        port=int(port) if port.isdecimal() else _DEFAULT_PORT,
        socket=f"unix://{runtime.socket}",
    )


def refuse_patches(path: str | None) -> None:
    """Refuse a directory of patches that kubeadm would not accept. Raises Refusal."""
    if path is None:
        return
    refuse_relative("patches", path)
    where = f"invalid patches {path} on {os.uname().nodename}: must be"
    if os.path.islink(path.rstrip("/")):
        raise Refusal(f"{where} the directory itself; it is a link to {os.readlink(path.rstrip('/'))}.")
    if not os.path.isdir(path):
        raise Refusal(
            f"{where} a directory with patches for kubeadm; there is none. Every control plane needs its own."
        )


def generate(kubeadm: Kubeadm) -> Generated:
    """Have a kubeadm generate the manifests of a control plane.

    Raises NotGenerated when it does not, KubeadmError when it could not be started.
    """
    phases = [_CONTROL_PLANE] if kubeadm.configuration.has_external_etcd else [_CONTROL_PLANE, _ETCD]
    strict_errors: list[str] = []
    with tempfile.TemporaryDirectory(prefix="upgrade-check-") as output:
        for phase in phases:
            strict_errors += _run_phase(kubeadm, phase, output)
        manifests = {name[: -len(".yaml")]: _read(os.path.join(output, name)) for name in sorted(os.listdir(output))}
    return Generated(manifests, list(dict.fromkeys(strict_errors)))


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def _run_phase(kubeadm: Kubeadm, phase: t.Sequence[str], directory: str) -> list[str]:
    """Run one phase. Returns the fields that kubeadm ignored. directory: for the manifests."""
    status, output = kubeadm(
        ["init", "phase", *phase, f"--config={CONFIG}", "--dry-run"],
        writable={_OUTPUT: directory},
        environment={"KUBEADM_INIT_DRYRUN_DIR": _OUTPUT},
    )
    if status != 0:
        raise NotGenerated(f"{kubeadm.program} init phase {' '.join(phase)}: {failure_reason(output)}")
    return [" ".join(error.split()) for error in _STRICT_ERROR.findall(output)]
