# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(device_plugin_info): reads objects as the module does, of a cluster that variables describe, and records the call.

C(stub_objects): kind -> the objects that are there. C(stub_selected): the nodes that get the plugin.
C(stub_problems): what is wrong after the deployment. C(stub_same): all is as desired from the first query on.
"""

from __future__ import annotations

import os
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api import device_plugin_report

from ..module_utils import stand_in

Json = dict[str, t.Any]


class Cluster:
    """A cluster as the API shows it. objects: by kind."""

    def __init__(self, objects: t.Mapping[str, list[Json]]) -> None:
        self._objects = {f"{kind.lower()}s": found for kind, found in objects.items()}

    def find(self, path: str, *, metadata_only: bool = False) -> Json | None:
        """One object."""
        place, _slash, name = path.rpartition("/")
        found = self.list(place, metadata_only=metadata_only)
        if place == "namespaces":  # the one that is requested, whatever its name
            return next(({"metadata": {**each["metadata"], "name": name}} for each in found), None)
        return next((each for each in found if each["metadata"]["name"] == name), None)

    def list(self, path: str, *, metadata_only: bool = False) -> list[Json]:
        """All of a kind."""
        found = self._objects.get(path.rpartition("/")[2], [])
        return [{"metadata": each["metadata"]} for each in found] if metadata_only else found


def plugin_nodes(call: stand_in.StandIn) -> Json:
    """The state of a device plugin on all its nodes."""
    selected = call.variable("stub_selected", ["node-w1", "node-w2"])
    waits = call.arguments.get("wait")
    first = [] if call.variable("stub_same", False) else [f"{name}: nothing" for name in selected]
    problems = call.variable("stub_problems", []) if waits else first
    return {
        "selected": selected,
        "problems": problems,
        "waited_seconds": 300.0 if problems else 0.0,
        "summary": problems or [f"{name}: example.com/dongle 4" for name in selected],
        "nodes": {name: {"problem": ""} for name in selected},
    }


def main() -> t.NoReturn:
    """Read no cluster."""
    call = stand_in.StandIn()
    call.record(environment={name: value for name, value in os.environ.items() if name.startswith("K8S_AUTH_")})
    arguments, subsets = call.arguments, call.arguments.get("gather_subset", ["nodes"])
    cluster = t.cast(t.Any, Cluster(call.variable("stub_objects", {})))
    objects = device_plugin_report.read_objects(cluster, arguments["namespace"], arguments["name"], subsets, workers=1)
    nodes = plugin_nodes(call) if "nodes" in subsets else {"selected": [], "problems": [], "summary": [], "nodes": {}}
    stand_in.exit_json({"changed": False, **nodes, **objects})


if __name__ == "__main__":
    main()
