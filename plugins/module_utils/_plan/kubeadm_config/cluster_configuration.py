# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kubeadm's ClusterConfiguration as the ConfigMap has it: what it sets, where, and the text with which a new kubeadm generates manifests."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..common.errors import Refusal
from ..documents import configuration, yaml_edit
from ..documents.yaml_edit import Path
from ..kubernetes import flags

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

NAMESPACE, CONFIG_MAP = "kube-system", "kubeadm-config"
CONFIG_MAP_SOURCE = f"ConfigMap {NAMESPACE}/{CONFIG_MAP}"
GROUP = "kubeadm.k8s.io/"
KIND = "ClusterConfiguration"
IN_CONFIG_MAP = f"{CONFIG_MAP_SOURCE} ({KIND})"
CURRENT_API_VERSION = f"{GROUP}v1beta4"
_REPOSITORY = "registry.k8s.io"  # kubeadm's default, as is the next
_ETCD_DATA_DIR = "/var/lib/etcd"
SECTIONS: dict[str, Path] = {
    "etcd": ("etcd", "local"),
    "kube-apiserver": ("apiServer",),
    "kube-controller-manager": ("controllerManager",),
    "kube-scheduler": ("scheduler",),
}
LISTS = {"args": "extraArgs", "env": "extraEnvs", "volumes": "extraVolumes"}
_REPAIR = "Repair it: kubectl -n kube-system edit configmap kubeadm-config; kubeadm config validate checks the text."
_VERSION = re.compile(r"^kubernetesVersion:.*$", re.MULTILINE)
_PLUGIN_FLAGS = (flags.ENABLE_PLUGINS, flags.DISABLE_PLUGINS)


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """What kubeadm has to know of one control plane. address, port: of its API server. socket: of the container runtime."""

    node_name: str
    address: str
    port: int
    socket: str


@dataclasses.dataclass(frozen=True)
class ClusterConfiguration:
    """The text as far as kubeadm reads it, which is its first document, and the value of that."""

    text: str
    data: dict[str, t.Any]

    @classmethod
    def parse(cls, text: str) -> ClusterConfiguration:
        """Read the key ClusterConfiguration of the ConfigMap. Raises Refusal where kubeadm could not read it either."""
        try:
            first = configuration.first_document(text)
            data = configuration.load(first)
            json.dumps(data, default=str)
        except (
            yaml.YAMLError,
            ValueError,
            TypeError,
            RecursionError,
        ) as exc:  # nested without end
            mark = getattr(exc, "problem_mark", None)
            where = f" line {mark.line + 1}" if mark else ""
            why = configuration.describe_tab_error(exc) or "it is not valid YAML, so no kubeadm upgrade begins"
            raise Refusal(f"{CONFIG_MAP_SOURCE}, {KIND}{where}: {why}. {_REPAIR}") from exc
        if not isinstance(data, dict) or data.get("kind") != KIND or not str(data.get("apiVersion")).startswith(GROUP):
            raise Refusal(f"{CONFIG_MAP_SOURCE} holds no {KIND} of {GROUP}, so no kubeadm upgrade begins. {_REPAIR}")
        return cls(first, data)

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
    def etcd_data_dir(self) -> str:
        """Where etcd's static pod keeps its data; empty without one."""
        if self.has_external_etcd:
            return ""
        etcd = self.data.get("etcd")
        local = etcd.get("local") if isinstance(etcd, dict) else None
        return str((local.get("dataDir") if isinstance(local, dict) else None) or _ETCD_DATA_DIR)

    @property
    def certificates_dir(self) -> str:
        """Where kubeadm keeps the certificates."""
        return str(self.data.get("certificatesDir") or "/etc/kubernetes/pki")

    def image(self, component: str, version: str) -> str:
        """The image that kubeadm takes for a component of Kubernetes in a version, unless a patch names another."""
        return f"{self.data.get('imageRepository') or _REPOSITORY}/{component}:v{version.lstrip('v')}"

    def for_kubeadm(self, version: str, endpoint: Endpoint, patches: str | None = None) -> str:
        """The file with which a kubeadm generates the manifests of one control plane for a version of Kubernetes.

        The text is what stands in the ConfigMap, so that kubeadm reads it by its own rules and itself reports what it does not know.
        patches: a directory. kubeadm takes it from here only: beside --config it refuses --patches.
        """
        init = {
            "apiVersion": self.api_version,
            "kind": "InitConfiguration",
            "localAPIEndpoint": {"advertiseAddress": endpoint.address, "bindPort": endpoint.port},
            "nodeRegistration": {"name": endpoint.node_name, "criSocket": endpoint.socket},
            **({"patches": {"directory": patches}} if patches else {}),
        }
        return f"{self._for_version(version)}\n---\n{json.dumps(init)}\n"

    def _for_version(self, version: str) -> str:
        """The text with another version of Kubernetes."""
        tag = f"v{version.lstrip('v')}"
        desired = {**self.data, "kubernetesVersion": tag}
        text = _VERSION.sub(f"kubernetesVersion: {tag}", self.text)
        try:
            is_it = configuration.load(text) == desired
        except yaml.YAMLError:
            is_it = False
        return text if is_it else json.dumps(desired, default=str)  # such as one that is written in braces

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
    """Where a flag has a gate or a plugin among its values. Each flag of that name counts, unlike with other flags."""
    entries: t.Any = part.get("extraArgs")
    names = (flags.FEATURE_GATES,) if field == "feature_gates" else _PLUGIN_FLAGS
    for name in names:
        for path in reversed(_entry_paths(entries, (*section, "extraArgs"), name)):
            value = entries[path[-1]] if isinstance(entries, dict) else entries[path[-1]].get("value")
            if key in flags.gate_values(flags.parse_gates([str(value)])):
                return path
    return None


def _entry_path(entries: t.Any, path: Path, key: str) -> Path | None:
    """Where a list has the entry of a name that counts, which is the last."""
    return next(reversed(_entry_paths(entries, path, key)), None)


def _entry_paths(entries: t.Any, path: Path, key: str) -> list[Path]:
    """Where a list has entries of a name. Before v1beta4 arguments are a mapping."""
    if isinstance(entries, dict):
        return [(*path, name) for name in entries if flags.normalise(str(name)) == key]
    return [
        (*path, number)
        for number, entry in enumerate(entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and flags.normalise(str(entry.get("name"))) == key
    ]
