# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API with the ConfigMaps of kube-system, which refuses writes of objects that another client changed meanwhile."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import ApiError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import KEY, NAME
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import TEXT

Json = dict[str, t.Any]
_PLACE = "namespaces/kube-system/configmaps"


class ConfigMaps:
    """Stands in for the client. before_write: called before each write, with its verb. next_error: the error status of the next write."""

    url = server = "https://api:6443"

    def __init__(self, text: str | None = TEXT) -> None:
        self.objects: dict[str, Json] = {}
        self.writes: list[str] = []
        self.before_write: t.Callable[[str], None] = lambda verb: None
        self.next_error: int | None = None
        self.warnings: dict[str, None] = {}
        if text is not None:
            self.put("kubeadm-config", {"ClusterConfiguration": text, "others": "x"})

    @property
    def text(self) -> str:
        """kubeadm's text."""
        return str(self.objects["kubeadm-config"]["data"]["ClusterConfiguration"])

    @property
    def record(self) -> str | None:
        """The record of its former values."""
        return str(self.objects[NAME]["data"][KEY]) if NAME in self.objects else None

    def put(self, name: str, data: Json) -> None:
        """Write it as another does."""
        former = self.objects.get(name)
        version = int(former["metadata"]["resourceVersion"]) + 1 if former else 1
        self.objects[name] = {
            "metadata": {"name": name, "labels": {"a": "b"}, "resourceVersion": str(version)},
            "data": data,
        }

    def clock(self) -> float:
        """No time passes."""
        return 0.0

    def without_retries(self) -> ConfigMaps:
        """As the client does."""
        return self

    def find(self, path: str) -> Json | None:
        """As the client does."""
        return copy.deepcopy(self.objects.get(path.rpartition("/")[2]))

    def get(self, path: str) -> Json:
        """As the client does."""
        if path == "/version":
            return {"gitVersion": "v1.37.2"}
        found = self.find(path)
        if found is None:
            raise ApiError("not found", 404)
        return found

    def create(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """As the client does."""
        assert path == _PLACE
        return self._write("create", content, dry_run=dry_run)

    def replace(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """As the client does."""
        assert path == f"{_PLACE}/{content['metadata']['name']}"
        return self._write("replace", content, dry_run=dry_run)

    def delete(self, path: str, *, dry_run: bool) -> Json:
        """As the client does."""
        name = path.rpartition("/")[2]
        self._begin(f"delete {name}", dry_run=dry_run)
        return self.objects[name] if dry_run else self.objects.pop(name)

    def _write(self, verb: str, content: Json, *, dry_run: bool) -> Json:
        name = content["metadata"]["name"]
        self._begin(f"{verb} {name}", dry_run=dry_run)
        former = self.objects.get(name, {"metadata": {}})
        if former["metadata"].get("resourceVersion") != content["metadata"].get("resourceVersion"):
            raise ApiError("the object has been modified", 409)
        version = str(int(former["metadata"].get("resourceVersion", 0)) + 1)
        made = {**copy.deepcopy(content), "metadata": {**content["metadata"], "resourceVersion": version}}
        if not dry_run:
            self.objects[name] = made
        return copy.deepcopy(made)

    def _begin(self, write: str, *, dry_run: bool) -> None:
        self.before_write(write)
        self.writes.append(f"{write}{' (dry)' if dry_run else ''}")
        status, self.next_error = self.next_error, None
        if status is not None:
            raise ApiError("refused", status)
