# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""kubeadm's ClusterConfiguration as the ConfigMap has it: what it sets, where, and the text with which a new kubeadm generates manifests."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..common.errors import Refusal
from ..documents import yaml_edit
from ..documents.yaml_edit import Path
from ..kubernetes import flags

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

CONFIG_MAP_SOURCE = "ConfigMap kube-system/kubeadm-config"
GROUP = "kubeadm.k8s.io/"
KIND = "ClusterConfiguration"
IN_CONFIG_MAP = f"{CONFIG_MAP_SOURCE} ({KIND})"
CURRENT = f"{GROUP}v1beta4"
SECTIONS: dict[str, Path] = {
    "etcd": ("etcd", "local"),
    "kube-apiserver": ("apiServer",),
    "kube-controller-manager": ("controllerManager",),
    "kube-scheduler": ("scheduler",),
}
LISTS = {"args": "extraArgs", "env": "extraEnvs", "volumes": "extraVolumes"}
_REPAIR = "Repair it: kubectl -n kube-system edit configmap kubeadm-config; kubeadm config validate checks the text."
_PLUGIN_FLAGS = (flags.ENABLE_PLUGINS, flags.DISABLE_PLUGINS)


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """What kubeadm has to know of one control plane. address, port: where its API server is told to be. socket: of the container runtime."""

    node_name: str
    address: str
    port: int
    socket: str


@dataclasses.dataclass(frozen=True)
class ClusterConfiguration:
    """The text, and what it says."""

    text: str
    data: dict[str, t.Any]

    @classmethod
    def parse(cls, text: str) -> ClusterConfiguration:
        """Read the key ClusterConfiguration of the ConfigMap. Raises Refusal where kubeadm could not read it either."""
        try:
            data = yaml.safe_load(text)
        except yaml.YAMLError as exc:
            mark = getattr(exc, "problem_mark", None)
            where = f" line {mark.line + 1}" if mark else ""
            raise Refusal(
                f"{CONFIG_MAP_SOURCE}, {KIND}{where}: it is no YAML, so no kubeadm upgrade begins. {_REPAIR}"
            ) from exc
        if not isinstance(data, dict) or data.get("kind") != KIND or not str(data.get("apiVersion")).startswith(GROUP):
            raise Refusal(f"{CONFIG_MAP_SOURCE} holds no {KIND} of {GROUP}, so no kubeadm upgrade begins. {_REPAIR}")
        return cls(text, data)

    @property
    def api_version(self) -> str:
        """Its C(apiVersion)."""
        return str(self.data["apiVersion"])

    @property
    def version(self) -> str:
        """The version of Kubernetes that the cluster has for kubeadm."""
        return str(self.data.get("kubernetesVersion") or "")

    @property
    def has_external_etcd(self) -> bool:
        """Whether etcd is none of kubeadm's static pods."""
        etcd = self.data.get("etcd")
        return isinstance(etcd, dict) and bool(etcd.get("external"))

    @property
    def certificates_dir(self) -> str:
        """Where kubeadm keeps the certificates."""
        return str(self.data.get("certificatesDir") or "/etc/kubernetes/pki")

    def for_kubeadm(self, version: str, endpoint: Endpoint) -> str:
        """The file with which a kubeadm generates the manifests of one control plane for a version of Kubernetes.

        It is read as JSON. What kubeadm does not know stays in it, so that kubeadm itself says so.
        """
        cluster = {**self.data, "kubernetesVersion": f"v{version.lstrip('v')}"}
        init = {
            "apiVersion": self.api_version,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": endpoint.address, "bindPort": endpoint.port},
            "nodeRegistration": {"name": endpoint.node_name, "criSocket": endpoint.socket},
        }
        return f"{json.dumps(cluster, default=str)}\n---\n{json.dumps(init)}\n"

    def line(self, component: str, field: str, key: str) -> int | None:
        """The line of the text that sets a setting of a static pod; None when none does. The names are those of the modules."""
        path = self._path(component, field, key)
        try:
            return None if path is None else yaml_edit.Document.parse(self.text, CONFIG_MAP_SOURCE).line(path)
        except Refusal:  # kubeadm reads more than can be edited
            return 1

    def _path(self, component: str, field: str, key: str) -> Path | None:
        section = SECTIONS.get(component)
        if section is None:
            return None
        part: t.Any = self.data
        for step in section:
            part = part.get(step) if isinstance(part, dict) else None
        if not isinstance(part, dict):
            return None
        if field in ("feature_gates", "admission_plugins"):
            return _flag_path(part, section, field, key)
        return _entry_path(part.get(LISTS.get(field, "")), (*section, LISTS.get(field, "")), key)


def _flag_path(part: t.Mapping[str, t.Any], section: Path, field: str, key: str) -> Path | None:
    """Where a flag has a gate or a plugin among its values."""
    names = (flags.FEATURE_GATES,) if field == "feature_gates" else _PLUGIN_FLAGS
    for name in names:
        path = _entry_path(part.get("extraArgs"), (*section, "extraArgs"), name)
        if path is None:
            continue
        entries = part["extraArgs"]
        value = entries[name] if isinstance(entries, dict) else entries[t.cast(int, path[-1])].get("value")
        if key in flags.gate_values(flags.parse_gates([str(value)])):
            return path
    return None


def _entry_path(entries: t.Any, path: Path, key: str) -> Path | None:
    """Where a list has the entry of a name. Before v1beta4 arguments are a mapping."""
    if isinstance(entries, dict):
        return next(((*path, name) for name in entries if flags.normalise(str(name)) == key), None)
    found = [
        number
        for number, entry in enumerate(entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and flags.normalise(str(entry.get("name"))) == key
    ]
    return (*path, found[-1]) if found else None
