# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What became of taints, extended resources and labels of nodes: of one task for all nodes, for each of them, and as lines for people."""

from __future__ import annotations

import typing as t

Result = t.Mapping[str, t.Any]


def outcome(node: str, results: t.Mapping[str, Result]) -> dict[str, t.Any]:
    """What each task did to one node. results: the results of the tasks for all nodes, by kind; empty for one that did not run.

    A task that failed as a whole says nothing of single nodes, so its message stands for each. One that did not run leaves null.
    """
    return {"node": node, **{kind: _of_node(node, result) for kind, result in results.items()}}


def lines(reports: t.Iterable[Result]) -> list[str]:
    """One line for each operation and message, each once: the outcomes of all nodes in their order."""
    found: dict[str, None] = {}
    for report in reports:
        results = [result for kind, result in report.items() if kind != "node" and result]
        for result in results:
            found.update(dict.fromkeys(_of_result(report["node"], result)))
        if not any(result["operations"] or result["failed"] for result in results):
            # Three, of taints, extended resources and labels, when all of them ran.
            ended = "nothing to change" if len(results) == len(report) - 1 else "not completed"
            kinds = ", ".join(kind for kind in report if kind != "node")
            found[f"{report['node']} {kinds}: {ended}"] = None
    return list(found)


def _of_node(node: str, result: Result) -> Result | None:
    nodes: t.Mapping[str, Result] = result.get("nodes") or {}
    if node in nodes:
        return nodes[node]
    if result.get("failed") or result.get("unreachable"):
        return {"changed": False, "failed": True, "msg": result.get("msg", "no answer"), "operations": []}
    return None


def _of_result(node: str, result: Result) -> t.Iterator[str]:
    if result["msg"]:
        yield result["msg"] if result["failed"] else f"{node}: {result['msg']}"
    for each in result["operations"]:
        change = f"{each['field']} {each['key']}: {_shown(each['before'])} -> {_shown(each['after'])}"
        yield f"{node}: {change}" + ("" if result["changed"] else ", not done")


def _shown(value: str | None) -> str:
    return "unset" if value is None else value or "(empty)"
