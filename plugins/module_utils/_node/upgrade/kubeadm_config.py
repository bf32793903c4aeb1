# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which settings of static pods kubeadm-config has, so that an upgrade keeps them."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import os
import typing as t

from ..._engine.files import Json, read_bytes
from ..._engine.probes import ApiResponse, api_request
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.ownership import Owned, Record, Values
from ..._plan.kubeadm_config import blockers, settings
from ..._plan.kubeadm_config.cluster_configuration import KIND, ClusterConfiguration
from ..._plan.kubeadm_config.entries import MISSING, UNKNOWN, UNREADABLE
from ..._plan.kubeadm_config.record import KEY, NAME, Entry, Persisted
from ..._plan.kubernetes.control_plane_nodes import LABEL
from ..._plan.static_pod.desired import Desired
from ..._plan.static_pod.manifest import image_tag
from ..._plan.static_pod.plan import StaticPodPlan
from ..static_pod.component_files import ComponentFiles, files_to_read
from ..static_pod.static_pods import API_SERVER, find_manifest, parse_static_pod

_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_NODES = f"/api/v1/nodes?labelSelector={LABEL}"
_KEY_FILE = "sa.key"  # the same on all control planes, and nowhere else

ApiRequest = t.Callable[[str, str], ApiResponse]


@dataclasses.dataclass(frozen=True)
class KubeadmConfig:
    """The ConfigMap as this node's API server returns it. facts: for C(_plan/kubeadm_config/blockers). persisted: what is ours there. key: of the
    digests of files' contents, so that they can be compared and not guessed."""

    facts: Json
    persisted: Persisted
    key: bytes


def read(kubeconfig: str, request: ApiRequest = api_request) -> KubeadmConfig:
    """Read it in three requests. Where that fails, facts has the problem."""
    facts: Json = {"problem": None, "text": None, "record": None, "control_planes": [], "managers": [], "immutable": []}
    try:
        config_map = _get_object(f"{_CONFIG_MAPS}/kubeadm-config", kubeconfig, request)
        own = _get_object(f"{_CONFIG_MAPS}/{NAME}", kubeconfig, request)
        nodes = _get_object(_NODES, kubeconfig, request).get("items") or []
        facts["text"] = (config_map.get("data") or {}).get(KIND)
        facts["record"] = (own.get("data") or {}).get(KEY)
        facts["immutable"] = [
            name for name, each in (("kubeadm-config", config_map), (NAME, own)) if each.get("immutable")
        ]
        facts["control_planes"] = [node["metadata"]["name"] for node in nodes]
        facts["managers"] = blockers.find_managers(nodes)
        persisted = Persisted.parse(facts["record"])
    except KubeadmError as exc:
        return KubeadmConfig({**facts, "problem": str(exc)}, Persisted(), b"")
    return KubeadmConfig(facts, persisted, _read_digest_key(facts["text"]))


def _get_object(path: str, kubeconfig: str, request: ApiRequest) -> Json:
    response = request(kubeconfig, path)
    if response.status == 404:
        return {}
    try:
        data = json.loads(response.body) if response.status == 200 else None
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise KubeadmError(f"{response.problem} ({path}, asked with {kubeconfig} on {os.uname().nodename})")
    return data


def _read_digest_key(text: str | None) -> bytes:
    try:
        directory = ClusterConfiguration.parse(text or "").certificates_dir
        return read_bytes(os.path.join(directory, _KEY_FILE)) or b""
    except (Refusal, OSError):
        return b""


def version_of_api_server(manifest_dir: str, node_name: str) -> str:
    """The version of the node's API server, from its image's tag; empty where there is none."""
    try:
        pod = parse_static_pod(API_SERVER, find_manifest(API_SERVER, manifest_dir)[0], node_name)
    except (KubeadmError, OSError):
        return ""
    return image_tag(pod.manifest)


def adopt_persisted(record: Record, live: Values, entries: t.Mapping[tuple[str, str], Entry]) -> Record:
    """The record of a static pod with our values that kubeadm took from kubeadm-config.

    A control plane that joined later has these values from the start, and no record of them. entries: of this static pod.
    """
    result = {field: dict(keys) for field, keys in record.items()}
    for (field, key), entry in entries.items():
        if live.get(field, {}).get(key) == entry.value != entry.original and key not in result.get(field, {}):
            result.setdefault(field, {})[key] = Owned(entry.value, entry.original)
    return result


def describe(plan: StaticPodPlan, desired: Desired, config: KubeadmConfig, env: t.Collection[str] | None) -> Json:
    """The settings of a static pod that kubeadm-config could hold after its plan, see C(_plan/kubeadm_config/settings).

    Each setting also gets C(files): the digests of those that it names, by their paths on the node.
    """
    result = settings.collect_settings(
        plan.after.values(), plan.record, desired.values, config.persisted.of(desired.name), env
    )
    files = _DigestedFiles(plan, [file.path for file in desired.files], config.key)
    for field, keys in result["settings"].items():
        for key, entry in keys.items():
            entry["files"] = files.digests_of(field, key, entry["value"])
    return result


class _DigestedFiles:
    """The files that settings name, as they are after a plan."""

    def __init__(self, plan: StaticPodPlan, named: t.Iterable[str], key: bytes) -> None:
        self._files = ComponentFiles.planned(plan)
        # Files that join_files copied to a control plane before it joined are in no record there.
        self._paths = sorted({*plan.record.get("files", {}), *named})
        self._staged = {change.path: change.after for change in plan.files}
        self._key = key

    def digests_of(self, field: str, key: str, value: t.Any) -> dict[str, str]:
        """By path, the digest of each file."""
        if value is None or field not in ("args", "volumes"):
            return {}
        if field == "volumes":
            return self._digests_of_volume(value)
        digests: dict[str, str] = {}
        for path in files_to_read(key, value):
            try:
                host_path = self._files.host_path(path)
            except KubeadmError:
                host_path = path
            beside = [each for each in self._paths if os.path.dirname(each) == os.path.dirname(host_path)]
            digests.update({each: self._digest(each) for each in [host_path, *beside]})
        return digests

    def _digests_of_volume(self, value: t.Mapping[str, t.Any]) -> dict[str, str]:
        path = value.get("host_path")
        if path is None or not value.get("read_only"):  # the component writes there
            return {}
        if path in self._staged or os.path.isfile(path):
            return {path: self._digest(path)}
        inside = {each: self._digest(each) for each in self._paths if each.startswith(f"{path.rstrip('/')}/")}
        exists = bool(inside) or os.path.exists(path) or str(value.get("path_type")).endswith("OrCreate")
        return inside if exists else {path: MISSING}

    def _digest(self, path: str) -> str:
        try:
            staged = self._staged.get(path)
            content = staged.content if staged else None if path in self._staged else read_bytes(path)
        except OSError:
            return UNREADABLE
        if content is None:
            return MISSING
        return hmac.new(self._key, content, hashlib.sha256).hexdigest() if self._key else UNKNOWN
