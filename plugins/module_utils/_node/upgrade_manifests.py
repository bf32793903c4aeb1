# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""The manifests that a kubeadm generates, offline: in the sandbox, by a dry run, into a directory that is gone afterwards."""

from __future__ import annotations

import os
import re
import tempfile
import typing as t

from .._engine.files import Json
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.kubeadm_config.cluster_configuration import ClusterConfiguration, Endpoint
from .._plan.static_pod.manifest import Manifest
from .kubelet_rehearsals import VISIBLE
from .programs import PATH
from .runtime import Runtime
from .sandbox_runs import base64_of, run_in_sandbox
from .state import Run

_CONFIG, _OUTPUT = "/upgrade-check/kubeadm.yaml", "/upgrade-check-manifests"
_ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
_CONTROL_PLANE, _ETCD = ("control-plane", "all"), ("etcd", "local")
_KLOG = re.compile(r"^[IWEF]\d{4} \S+ +\d+ \S+\] ")
_LINES = 3  # of what kubeadm says when it fails


class NotGenerated(KubeadmError):
    """A kubeadm was started and generated nothing; the message has its own words."""


class Generated(t.NamedTuple):
    """What a kubeadm generates: the manifests by the name of their static pod, and what it passed over in its configuration."""

    manifests: dict[str, str]
    complaints: list[str]


def endpoint_of(api_server: Manifest, node_name: str, runtime: Runtime) -> Endpoint:
    """Where kubeadm tells an API server to be: as it noted itself, or else by the arguments."""
    noted = str(api_server.values()["annotations"].get(_ENDPOINT) or "")
    address, dummy, port = noted.rpartition(":")
    args = api_server.values()["args"]
    return Endpoint(
        node_name=node_name,
        address=address.strip("[]") or (args.get("advertise-address") or [""])[-1],
        port=int(port or (args.get("secure-port") or ["6443"])[-1]),
        socket=f"unix://{runtime.socket}",
    )


def refuse_patches(path: str | None) -> None:
    """Refuse a directory of patches that kubeadm would not take as it stands. Raises Refusal."""
    if path is None:
        return
    where = f"invalid patches {path} on {os.uname().nodename}: must be"
    if os.path.islink(path.rstrip("/")):
        raise Refusal(f"{where} the directory itself; it is a link to {os.readlink(path.rstrip('/'))}.")
    if not os.path.isdir(path):
        raise Refusal(
            f"{where} a directory with patches for kubeadm; there is none. Every control plane needs its own."
        )


def generate(
    program: str, config: str, configuration: ClusterConfiguration, *, patches: str | None, run: Run
) -> Generated:
    """Have a kubeadm generate the manifests of a control plane. config: the file that it reads.

    Raises NotGenerated when it does not, KubeadmError when it could not be started.
    """
    phases = [_CONTROL_PLANE] if configuration.has_external_etcd else [_CONTROL_PLANE, _ETCD]
    complaints: list[str] = []
    with tempfile.TemporaryDirectory(prefix="upgrade-check-") as output:
        for phase in phases:
            complaints += _run_phase(
                program, phase, _request(program, phase, config, configuration, patches, output), run
            )
        manifests = {name[: -len(".yaml")]: _read(os.path.join(output, name)) for name in sorted(os.listdir(output))}
    return Generated(manifests, list(dict.fromkeys(complaints)))


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def _request(
    program: str,
    phase: t.Sequence[str],
    config: str,
    configuration: ClusterConfiguration,
    patches: str | None,
    output: str,
) -> Json:
    visible = dict.fromkeys((*VISIBLE, configuration.certificates_dir, *([patches] if patches else [])))
    shown = [path for path in visible if not any(path.startswith(f"{other}/") for other in visible if other != path)]
    return {
        "binary": program,
        "arguments": [
            "kubeadm",
            *("init", "phase", *phase, f"--config={_CONFIG}", "--dry-run"),
            *([f"--patches={patches}"] if patches else []),
        ],
        "environment": {"PATH": PATH, "KUBEADM_INIT_DRYRUN_DIR": _OUTPUT},
        "mounts": [
            {"source": os.path.dirname(_CONFIG), "target": os.path.dirname(_CONFIG), "missing": "folder"},
            {"source": output, "target": _OUTPUT, "missing": None, "writable": True},
            *({"source": path, "target": path, "missing": "folder"} for path in shown),
        ],
        "staged": {_CONFIG: base64_of(config.encode("utf-8"))},
    }


def _run_phase(program: str, phase: t.Sequence[str], request: Json, run: Run) -> list[str]:
    """Run one phase; what kubeadm passed over."""
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        status, output = run_in_sandbox("kubeadm", {**request, "root": root}, run)
    if status != 0:
        raise NotGenerated(f"{program} init phase {' '.join(phase)}: {_words(output)}")
    return re.findall(r"strict decoding error: ([^\n]*)", output)


def _words(output: str) -> str:
    """Why kubeadm failed: the last lines of its errors, without what its log puts before them."""
    lines = [_KLOG.sub("", line).strip() for line in output.splitlines()]
    said = [line for line in lines if line and not line.startswith(("[", "To see the stack trace"))]
    return "; ".join(said[-_LINES:]) or "it said nothing"
