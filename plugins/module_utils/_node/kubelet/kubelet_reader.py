# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading the running kubelet of this node: its settings, manifests, Node and cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import typing as t

from ..._engine.files import open_to_read
from ..._engine.journal import KubeletPaths, Probe
from ..._engine.kubeconfig import read_cluster
from ..._engine.node import Host
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.file_values import TextFile
from ..._plan.documents.command_line import Argument, Source
from ..._plan.kubelet import config as kubelet_config
from ..._plan.kubelet.config import ConfigDocument, Settings
from ..._plan.kubernetes import flags, versions
from ..._plan.kubernetes.clusters import ClusterIdentity, certificate_fingerprints
from ..transaction.state import Run

KUBECONFIG = "/etc/kubernetes/kubelet.conf"
# The kubelet's own defaults.
_MACHINE_IDS = "/etc/machine-id,/var/lib/dbus/machine-id"
_CERT_DIR = "/var/lib/kubelet/pki"


def kubeconfig_of(arguments: t.Sequence[str]) -> str:
    """The kubeconfig of a kubelet with this command line."""
    return flags.last_value(arguments, "kubeconfig") or KUBECONFIG


def read_identity(arguments: t.Sequence[str], *, root: str = "/") -> ClusterIdentity:
    """The cluster of a kubelet with this command line. root: what the kubelet sees as the root of its files."""
    cluster = read_cluster(kubeconfig_of(arguments), root)
    return ClusterIdentity(
        ca_sha256=certificate_fingerprints(cluster.authority.decode("ascii", "replace")),
        server=cluster.server,
        machine_id=_machine_id(flags.last_value(arguments, "machine-id-file") or _MACHINE_IDS, root),
    )


def _machine_id(paths: str, root: str) -> str:
    """The content of the first file that can be read, even if empty, as the kubelet does."""
    texts = (_read(root, path) for path in paths.split(","))
    return next((text.strip() for text in texts if text is not None), "")


def _read(root: str, path: str) -> str | None:
    try:
        with open_to_read(os.path.join(root, path.lstrip("/"))) as stream:
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return None


def certificate_directory(arguments: t.Sequence[str]) -> str:
    """Where a kubelet with this command line keeps the certificates that it makes or requests, wherever its --root-dir is."""
    return flags.last_value(arguments, "cert-dir") or _CERT_DIR


def joined_at(arguments: t.Sequence[str], root: str = "/") -> float:
    """When the node of a kubelet with this command line was joined, in seconds since 1970; 0.0 when that is not known.

    A rotation adds a client certificate beside the older ones, so the oldest one is from that time. Removing old ones does not write the
    kubelet's kubeconfig again, which kubeadm join does: the earlier of the two counts.
    """
    pattern = os.path.join(root, certificate_directory(arguments).lstrip("/"), "kubelet-client-[0-9]*.pem")
    with contextlib.suppress(OSError, ValueError):  # ValueError: without any certificate
        oldest = min(os.stat(path).st_mtime for path in glob.glob(pattern))
        return min(oldest, os.stat(os.path.join(root, kubeconfig_of(arguments).lstrip("/"))).st_mtime)
    return 0.0


DEFAULT_MANIFEST_DIR = "/etc/kubernetes/manifests"
_DEFAULT_HEALTHZ_PORT = 10248
_COMMAND_LINE = Source("the kubelet's command line", 1)
_DEFAULT_RUNTIME = "unix:///run/containerd/containerd.sock"


class KubeletDown(KubeadmError):
    """No kubelet runs. state: of kubelet.service, for a message."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.state = state


@dataclasses.dataclass(frozen=True)
class Kubelet:
    """The kubelet of a node.

    program: its binary. manifest_dir: its staticPodPath. node_name: the name of its Node. healthz: its health endpoint; None when that is switched
    off. runtime: the address of its container runtime. paths: of its pods, their logs and its credential that differ from the defaults. pid: 0
    when it is down. joined: when the node was joined, in seconds since 1970; 0.0 when unknown. problem: why it does not work; empty when it does.
    """

    program: str
    manifest_dir: str
    node_name: str
    healthz: Probe | None
    runtime: str
    cluster: ClusterIdentity
    paths: KubeletPaths = dataclasses.field(default_factory=KubeletPaths)
    pid: int = 0
    joined: float = 0.0
    problem: str = ""


def read_kubelet(run: Run, *, proc: str = "/proc") -> Kubelet:
    """Find the running kubelet.service and read its settings.

    run: like AnsibleModule.run_command. Raises KubeletDown when none runs, KubeadmError when it is not of kubeadm's layout.
    """
    pid, arguments, settings = _read_running(run, proc)
    kubelet = make_kubelet(arguments, settings, os.path.join(proc, str(pid), "root"))
    return dataclasses.replace(kubelet, pid=pid)


def make_kubelet(arguments: t.Sequence[str], settings: Settings, root: str = "/") -> Kubelet:
    """The kubelet with this command line and these settings. root: what is the root of the file system for it.

    Raises KubeadmError when it has no directory of static pods.
    """
    manifest_dir = settings.field(("staticPodPath",))
    if not manifest_dir:
        raise KubeadmError(
            f"{os.uname().nodename} is not a kubeadm control plane: its kubelet has no directory for static pods"
            f" (staticPodPath; kubeadm sets {DEFAULT_MANIFEST_DIR})."
        )
    return Kubelet(
        program=arguments[0],
        manifest_dir=os.path.normpath(manifest_dir),
        node_name=registered_name(arguments),
        healthz=healthz_of(settings),
        runtime=runtime_endpoint(settings),
        cluster=read_identity(arguments, root=root),
        paths=_read_paths(arguments, settings),
        joined=joined_at(arguments, root),
    )


class NodeRuntime(t.NamedTuple):
    """Where a kubelet finds its container runtime. version: the output of kubelet --version."""

    node_name: str
    endpoint: str
    version: str


def read_runtime(run: Run, *, proc: str = "/proc") -> NodeRuntime:
    """Read where a kubelet's runtime is, whether it has static pods or not. Raises KubeadmError."""
    dummy, arguments, settings = _read_running(run, proc)
    return NodeRuntime(registered_name(arguments), runtime_endpoint(settings), printed_version(arguments[0], run))


def _read_running(run: Run, proc: str) -> tuple[int, list[str], Settings]:
    pid = _main_pid(run)
    host = Host(proc=proc)
    arguments = list(host.read_arguments(pid))
    try:
        settings = read_settings(arguments, os.path.join(proc, str(pid), "root"))
    except KubeadmError:
        if host.read_arguments(pid):
            raise
        arguments = []
    if not arguments:  # one that panics at its start is gone by now
        raise _kubelet_down("ended")
    return pid, arguments, settings


def runtime_endpoint(settings: Settings) -> str:
    return str(settings.field(("containerRuntimeEndpoint",)) or _DEFAULT_RUNTIME)


def _read_paths(arguments: t.Sequence[str], settings: Settings) -> KubeletPaths:
    """The paths of its configuration and flags that differ from the kubelet's defaults."""
    logs, root, kubeconfig = (
        settings.field(("podLogsDir",)),
        flags.last_value(arguments, "root-dir"),
        flags.last_value(arguments, "kubeconfig"),
    )
    paths: KubeletPaths = {}
    if logs:
        paths["more_pod_logs"] = [str(logs)]
    if root:
        paths["kubelet_root"] = root
    if kubeconfig:
        paths["kubelet_conf"] = kubeconfig
    return paths


def printed_version(program: str, run: Run) -> str:
    """The version that a kubelet's binary prints, such as C(Kubernetes v1.37.2), or its error."""
    dummy, output, error = run([program, "--version"])
    return (output or error).strip()


def minor_version_of(program: str, run: Run) -> tuple[int, int]:
    """The minor version of a kubelet's binary. Raises KubeadmError when it prints none."""
    text = printed_version(program, run)
    version = versions.parse(text)
    if version is None:
        raise KubeadmError(f"{program} --version on {os.uname().nodename} gives no version: {text}")
    return version


def version_warnings(kubelet: Kubelet, images: t.Mapping[str, t.Any], run: Run) -> list[str]:
    """Versions that are not tested: those of Kubernetes' own components, by their images, or the kubelet's where there is none of them."""
    found = versions.component_versions(images) or {"kubelet": [printed_version(kubelet.program, run)]}
    return versions.warnings(kubelet.node_name, found)


def healthz_of(settings: Settings) -> Probe | None:
    """The health endpoint of a kubelet as a probe; None when it is switched off."""
    port = settings.field(("healthzPort",))
    number = _DEFAULT_HEALTHZ_PORT if port is None else int(port)
    host = settings.field(("healthzBindAddress",)) or "127.0.0.1"
    return {"kind": "http", "scheme": "http", "host": host, "port": number, "path": "/healthz"} if number else None


def registered_name(arguments: t.Sequence[str]) -> str:
    """The name under which a kubelet with this command line registers its Node."""
    name = flags.last_value(arguments, "hostname-override") or os.uname().nodename
    return name.strip().lower()


def _main_pid(run: Run) -> int:
    status, output, error = run(["systemctl", "show", "--property=ActiveState,SubState,MainPID", "kubelet.service"])
    properties = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
    if status == 0 and properties.get("ActiveState") == "active" and int(properties.get("MainPID", "0")):
        return int(properties["MainPID"])
    if status != 0:
        raise _kubelet_down(f"is not known to systemd: {error.strip()}")
    state = f" ({properties['SubState']})" if properties.get("SubState") else ""
    raise _kubelet_down(f"is {properties.get('ActiveState', 'unknown')}{state}")


def _kubelet_down(state: str) -> KubeletDown:
    return KubeletDown(
        state,
        f"{os.uname().nodename} runs no kubelet that could be queried (kubelet.service {state}). Static pods are changed on running"
        " kubeadm control planes only: check that the host is one, and start its kubelet.",
    )


def read_settings(arguments: t.Sequence[str], root: str) -> Settings:
    """The settings of a kubelet with these arguments: its configuration and its fragments, as the kubelet merges them.

    root: what is the root of the file system for it.
    """
    main, directory = flags.last_value(arguments, "config"), flags.last_value(arguments, "config-dir")
    fragments = fragment_paths(os.path.join(root, directory.lstrip("/"))) if directory else []
    paths = [*([main] if main else []), *(f"/{os.path.relpath(path, root)}" for path in fragments)]
    return Settings(
        tuple(Argument(text, _COMMAND_LINE, None) for text in arguments),
        tuple(_read_document(path, root) for path in paths),
    )


def _read_document(path: str, root: str) -> ConfigDocument:
    try:
        with open_to_read(os.path.join(root, path.lstrip("/"))) as stream:
            return kubelet_config.parse_document(TextFile.of(path, stream.read().decode("utf-8")))
    except (OSError, UnicodeDecodeError, Refusal) as exc:
        raise KubeadmError(
            f"the kubelet's configuration {path} on {os.uname().nodename} cannot be read: {exc}"
        ) from exc


def fragment_paths(directory: str) -> list[str]:
    """The files of a directory of fragments that the kubelet reads: only *.conf, in sub-directories too, not through links."""
    paths = [os.path.join(base, name) for base, names in _walk(directory) for name in names if name.endswith(".conf")]
    return sorted(paths, key=kubelet_config.merge_order)


def fragment_directories(directory: str) -> list[str]:
    """The directories in which these files are. Only they show that a file was removed."""
    return [parent for parent, dummy in _walk(directory)]


def _walk(directory: str) -> list[tuple[str, list[str]]]:
    """Each directory with its names; none without the first one. Raises KubeadmError for one that cannot be listed."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise KubeadmError(
                f"the kubelet's fragments in {error.filename} on {os.uname().nodename} cannot be listed: {error.strerror}"
            ) from error

    if os.path.islink(directory):
        return []
    return [(parent, names) for parent, dummy, names in os.walk(directory, onerror=fail)]


def manifest_files(manifest_dir: str) -> list[str]:
    """Every file that the kubelet reads as a static pod: any without a leading dot, or one in place of the directory. Directories are
    skipped. A worker may have none. Raises KubeadmError."""
    if os.path.isfile(manifest_dir):
        return [manifest_dir]
    try:
        names = sorted(name for name in os.listdir(manifest_dir) if not name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise KubeadmError(
            f"the static pods of {os.uname().nodename} cannot be listed ({exc.strerror}: {manifest_dir}). Repair that, and run again."
        ) from exc
    paths = (os.path.join(manifest_dir, name) for name in names)
    return [path for path in paths if not os.path.isdir(path)]
