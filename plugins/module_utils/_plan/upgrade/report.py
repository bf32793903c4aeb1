# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""What the check of an upgrade came to: for programs, and as lines for people, one for each node and setting."""

from __future__ import annotations

import typing as t

from .findings import (
    BREAKS,
    COLLECTION,
    CONFIG_MAP,
    FATES,
    INVENTORY,
    KUBEADM,
    OTHER,
    PATCHES,
    RETURNS,
    STAYS,
    VANISHES,
    WARNS,
)

Json = t.Mapping[str, t.Any]

PREFIX = "upgrade_check_"
_NEEDED = ("target", "programs")
_FATES = {
    BREAKS: "BREAKS",
    VANISHES: "vanishes, and nothing brings it back",
    RETURNS: "vanishes, and site brings it back",
    WARNS: "to be known",
}
_ADVICE = {BREAKS: "change", VANISHES: "to have it again, name it in", WARNS: "see"}
_SETTERS = {
    COLLECTION: "set by this collection",
    KUBEADM: "set by kubeadm",
    CONFIG_MAP: "set by kubeadm-config",
    PATCHES: "set by kubeadm's patches",
    INVENTORY: "set in the inventory",
    OTHER: "set by others",
}


def objection(names: t.Iterable[str], known: t.Sequence[str]) -> str:
    """Why a run is refused by the names of its variables; empty when it is not. names: of all that are set. known: options, without prefix."""
    given = {name for name in names if name.startswith(PREFIX) and name != f"{PREFIX}report"}
    takes = [f"{PREFIX}{option}" for option in known]
    unknown = sorted(given.difference(takes))
    if unknown:
        return f"invalid variable {', '.join(unknown)}: must be one of {', '.join(takes)}."
    missing = [f"{PREFIX}{option}" for option in _NEEDED if f"{PREFIX}{option}" not in given]
    if missing:
        return (
            f"Set {' and '.join(missing)}: the version to upgrade to, such as 1.37.2, and the directory on each node with the programs of that"
            " version."
        )
    return ""


def report(
    target: str, results: t.Mapping[str, Json], cluster: t.Sequence[Json] = (), not_checked: t.Sequence[str] = ()
) -> dict[str, t.Any]:
    """The report of a run.

    results: of the module C(upgrade_check), by host; empty for a host that was not asked. cluster: findings of all. not_checked: the nodes that the
    API knows and the run did not check. Returns C(target); C(safe), whether every node of the cluster was checked and nothing breaks; C(nodes), by
    host C(checked), C(msg), C(node), C(seconds), C(findings), C(rehearsed) and C(not_rehearsed); C(cluster), the findings of no single node; and
    C(not_checked).
    """
    nodes = {host: _of_node(result) for host, result in results.items()}
    found = [*cluster, *(finding for node in nodes.values() for finding in node["findings"])]
    return {
        "target": target,
        "safe": not not_checked
        and all(node["checked"] for node in nodes.values())
        and not any(each["fate"] == BREAKS for each in found),
        "nodes": nodes,
        "cluster": list(cluster),
        "not_checked": list(not_checked),
    }


def _of_node(result: Json) -> dict[str, t.Any]:
    is_checked = "findings" in result and not result.get("failed")
    return {
        "checked": is_checked,
        "msg": "" if is_checked else str(result.get("msg") or "the run ended before"),
        "node": result.get("node"),
        "seconds": result.get("seconds"),
        "findings": list(result.get("findings") or ()),
        "rehearsed": list(result.get("rehearsed") or ()),
        "not_rehearsed": list(result.get("not_rehearsed") or ()),
    }


def lines(told: Json) -> list[str]:
    """The lines of a report, the worst of each node first."""
    found = [_line("", finding) for finding in _sorted(told["cluster"])]
    for host, node in told["nodes"].items():
        found += _lines_of_node(host, node)
    return [*found, f"Upgrade to {told['target']}: {_promise(told)}. docs/upgrade.md says what the check cannot see."]


def _promise(told: Json) -> str:
    if told["safe"]:
        return "nothing that was rehearsed breaks"
    if any(failure(told, host) for host in told["nodes"]):
        return "DO NOT UPGRADE before this is repaired"
    return f"nothing that was rehearsed breaks, and nothing is known about {', '.join(told['not_checked'])}"


def _lines_of_node(host: str, node: Json) -> list[str]:
    if not node["checked"]:
        return [f"{host}: NOT CHECKED: {node['msg']}"]
    shown = [finding for finding in _sorted(node["findings"]) if finding["fate"] != STAYS]
    staying = len(node["findings"]) - len(shown)
    found = [_line(host, finding) for finding in shown] or [f"{host}: nothing vanishes and nothing breaks"]
    if staying:
        found.append(f"{host}: {staying} {'setting stays' if staying == 1 else 'settings stay'}")
    rehearsed = sorted({f"{each['component']} ({each['what']})" for each in node["rehearsed"]})
    found.append(f"{host}: rehearsed: {', '.join(rehearsed) or 'nothing'}")
    found += [f"{host}: not rehearsed: {each['component']}: {each['reason']}" for each in node["not_rehearsed"]]
    return found


def _sorted(findings: t.Iterable[Json]) -> list[Json]:
    return sorted(findings, key=lambda each: (FATES.index(each["fate"]), each["component"], each["field"], each["key"]))


def _line(host: str, finding: Json) -> str:
    what = " ".join(filter(None, (host, finding["component"], finding["field"], finding["key"])))
    place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
    where = ", ".join(filter(None, (place, _SETTERS.get(finding["set_by"], ""))))
    advice = _ADVICE.get(finding["fate"]) if finding["variable"] else None
    change = f"; {advice} {finding['variable']}" if advice else ""
    return (
        f"{what}: {_FATES[finding['fate']]}{f' ({where})' if where else ''}: {finding['message'].rstrip('.')}{change}"
    )


def failure(told: Json, host: str) -> str:
    """Why the run fails on a host; empty when it does not."""
    node = told["nodes"][host]
    if not node["checked"]:
        return f"{host} was not checked: {node['msg']}"
    broken = [each for each in (*told["cluster"], *node["findings"]) if each["fate"] == BREAKS]
    if not broken:
        return ""
    names = ", ".join(" ".join(filter(None, (each["component"], each["field"], each["key"]))) for each in broken)
    return f"the upgrade to {told['target']} breaks on {host}: {names}. The report says why and what to change."
