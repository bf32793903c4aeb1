# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of the check of an upgrade: for programs, and as lines for people, one for each node and setting."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common import typed
from ..common.typed import ModuleResult
from ..kubernetes import clusters
from ..kubernetes.clusters import ClusterIdentity
from ..kubernetes.control_plane_nodes import API_SERVER
from ..transaction.rollout import ClusterFound
from . import findings
from .cluster import changed_meanwhile, not_checked, unchecked_kubelets
from .findings import (
    BROKEN,
    COLLECTION,
    CONFIG_MAP,
    IMPACTS,
    INVENTORY,
    KEPT,
    KUBEADM,
    OTHER,
    PATCHES,
    REAPPLIED,
    REMOVED,
    WARNS,
    UpgradeFindings,
)
from .prerequisites import mixed_versions

Json = t.Mapping[str, t.Any]

PREFIX = "upgrade_check_"
_NEEDED = ("target", "programs")
_DISPLAYED_IMPACTS = {
    BROKEN: "BREAKS",
    REMOVED: "vanishes, and nothing brings it back",
    REAPPLIED: "vanishes, and site brings it back",
    WARNS: "to be known",
}
_ADVICE = {BROKEN: "change", REMOVED: "to have it again, name it in", WARNS: "see"}
_SETTERS = {
    COLLECTION: "set by this collection",
    KUBEADM: "set by kubeadm",
    CONFIG_MAP: "set by kubeadm-config",
    PATCHES: "set by kubeadm's patches",
    INVENTORY: "set in the inventory",
    OTHER: "set by others",
}


@dataclasses.dataclass(frozen=True)
class UpgradeInfo(ModuleResult):
    """The result of C(upgrade_info). kubelets: versions by node."""

    cluster_configuration: str = ""
    kubelets: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def with_nodes_of(self, again: UpgradeInfo) -> UpgradeInfo:
        """The same with the Nodes of another result: a node may join while others are checked."""
        return self.with_values(kubelets={**self.kubelets, **again.kubelets})


@dataclasses.dataclass(frozen=True)
class UpgradeResult(ModuleResult):
    """The result of C(upgrade_check) of a node. cluster: None where it was not checked. versions: by component."""

    node: str = ""
    cluster: ClusterIdentity | None = typed.field_of(ClusterIdentity)
    is_control_plane: bool = False
    versions: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


def variables_error(names: t.Iterable[str], known: t.Sequence[str], accepted: t.Sequence[str] = ()) -> str:
    """Why a run is refused by its variables; empty when it is not.

    names: of all that are set. known: options, without prefix. accepted: what C(checks.ACCEPT) names.
    """
    given = {name for name in names if name.startswith(PREFIX) and name != f"{PREFIX}report"}
    takes = [*(f"{PREFIX}{option}" for option in known), findings.ACCEPT]
    unknown = sorted(given.difference(takes))
    if unknown:
        return f"invalid variable {', '.join(unknown)}: must be one of {', '.join(takes)}."
    missing = [f"{PREFIX}{option}" for option in _NEEDED if f"{PREFIX}{option}" not in given]
    if missing:
        return (
            f"Set {' and '.join(missing)}: the version to upgrade to, such as 1.37.2, and the directory on each node with the programs of that"
            " version."
        )
    return findings.name_refusal(accepted)


def make_report(
    target: str, results: t.Mapping[str, Json], cluster: Json | None = None, accepted: t.Sequence[str] = ()
) -> dict[str, t.Any]:
    """The report of a run.

    results: of the module C(upgrade_check), by host; empty for a host that was not checked. cluster: C(findings), C(checks) and C(not_rehearsed) of no
    single host, nodes that are not in the run among the last. accepted: names of what need not be rehearsed.
    Returns C(target); C(safe), whether nothing breaks, and everything was rehearsed or checked on every node of the cluster, or is accepted;
    C(nodes), by host C(checked), C(msg), C(node), C(seconds), C(findings), C(rehearsed), C(checks) and C(not_rehearsed); C(cluster), with the same
    lists; C(not_checked), the nodes that are not in the run; and C(refusal), why names are not accepted. Each entry of C(not_rehearsed) has C(name),
    C(reason), C(remedy) and C(accepted).
    """
    nodes = {
        host: {
            **_check_state(result),
            "node": result.get("node"),
            "seconds": result.get("seconds"),
            **_lists(result, accepted),
        }
        for host, result in results.items()
    }
    parts = [_lists(cluster or {}, accepted), *nodes.values()]
    missing = {each["name"] for part in parts for each in part["not_rehearsed"]}
    made = {name for part in parts for name in (*part["checks"], *(each["component"] for each in part["rehearsed"]))}
    is_complete = all(node["checked"] for node in nodes.values())
    made_report = {
        "target": target,
        "nodes": nodes,
        "cluster": parts[0],
        "not_checked": sorted(name[len(findings.NODE) :] for name in missing if name.startswith(findings.NODE)),
        # A node that was not checked may be the one that a name is about.
        "refusal": findings.stale_refusal(accepted, missing, made) if is_complete else "",
    }
    return {**made_report, "safe": bool(nodes) and not any(failure_reason(made_report, host) for host in nodes)}


def without_outsiders(
    results: t.Mapping[str, UpgradeResult], found: ClusterFound, info: UpgradeInfo
) -> dict[str, UpgradeResult]:
    """The results, those of hosts that are not of the cluster as failed: they were checked with the kubeadm-config of another one.

    results: of all hosts. found: who identified the cluster. info: what its API returned.
    """
    identities = {host: result.cluster for host, result in results.items()}
    others = clusters.outsiders(identities, found.member, found.identity) if found.identity else {}
    reasons = {
        host: f"{why}, whose kubeadm-config this run read: check the hosts of each cluster by themselves, with --limit and a control plane"
        for host, why in others.items()
    }
    for host, result in results.items():
        if result.node and host not in reasons and result.node not in info.kubelets:
            reasons[host] = (
                f"the API of the cluster has no Node {result.node}, which is the name of this one by its kubelet"
            )
    return {
        host: UpgradeResult(raw={"failed": True, "msg": reasons[host]}, failed=True) if host in reasons else result
        for host, result in results.items()
    }


def cluster_part(
    target: str, results: t.Mapping[str, UpgradeResult], info: UpgradeInfo, again: UpgradeInfo
) -> dict[str, t.Any]:
    """What is found and not checked of no single host of the run, as C(make_report) takes it.

    results: of all hosts. info, again: what the API returned before they were checked, with the Nodes of both, and after it.
    """
    missing = not_checked(info.kubelets, [each.node for each in results.values() if each.node])
    own = UpgradeFindings(unchecked_kubelets(info.kubelets, missing, target))
    planes = [result for result in results.values() if result.is_control_plane]
    own.findings += mixed_versions({each.node: str(each.versions[API_SERVER]) for each in planes})
    changed = changed_meanwhile(info.cluster_configuration, again.cluster_configuration or None)
    own.check(findings.KUBEADM_CONFIG, changed)
    for node in missing:
        own.skip(f"{findings.NODE}{node}", "the cluster has this node, and the run did not check it")
    return {key: [*(info.raw.get(key) or ()), *more] for key, more in own.report().items()}


def _check_state(result: Json) -> dict[str, t.Any]:
    is_checked = "findings" in result and not result.get("failed")
    return {"checked": is_checked, "msg": "" if is_checked else str(result.get("msg") or "the run ended before")}


def _lists(part: Json, accepted: t.Sequence[str]) -> dict[str, t.Any]:
    """What a node, or the cluster, has of findings and of what was checked."""
    return {
        **{key: list(part.get(key) or ()) for key in ("findings", "rehearsed", "checks")},
        "not_rehearsed": [
            {**entry, "accepted": entry["name"] in accepted} for entry in part.get("not_rehearsed") or ()
        ],
    }


def report_lines(report: Json) -> list[str]:
    """The lines of a report, the worst of each node first, and what was not rehearsed behind them."""
    lines = [_line("", finding) for finding in _worst_first(report["cluster"]["findings"])]
    lines += _checks_lines("cluster", report["cluster"])
    for host, node in report["nodes"].items():
        lines += _lines_of_node(host, node)
    lines += _unrehearsed_lines(report)
    lines += [report["refusal"]] if report["refusal"] else []
    return [
        *lines,
        f"Upgrade to {report['target']}: {_conclusion(report)}. docs/upgrade.md says what the check cannot see.",
    ]


def _conclusion(report: Json) -> str:
    entries = [entry for part in _parts(report) for entry in part["not_rehearsed"]]
    names, accepted = (
        ", ".join(dict.fromkeys(entry["name"] for entry in entries if entry["accepted"] is is_accepted))
        for is_accepted in (False, True)
    )
    if not all(node["checked"] for node in report["nodes"].values()) or any(map(_broken_findings, _parts(report))):
        return "DO NOT UPGRADE before this is repaired"
    if report["refusal"]:
        return "the run failed because of the names that it was to accept"
    if names:
        return f"NOT KNOWN TO BE SAFE, because this was not rehearsed: {names}"
    return f"nothing that was rehearsed breaks{f'; not rehearsed, and accepted: {accepted}' if accepted else ''}"


def _parts(report: Json) -> list[Json]:
    return [report["cluster"], *report["nodes"].values()]


def _lines_of_node(host: str, node: Json) -> list[str]:
    if not node["checked"]:
        return [f"{host}: NOT CHECKED: {node['msg']}"]
    displayed = [finding for finding in _worst_first(node["findings"]) if finding["impact"] != KEPT]
    staying = len(node["findings"]) - len(displayed)
    found = [_line(host, finding) for finding in displayed] or [f"{host}: nothing vanishes and nothing breaks"]
    if staying:
        found.append(f"{host}: {staying} {'setting stays' if staying == 1 else 'settings stay'}")
    rehearsed = sorted({f"{each['component']} ({each['what']})" for each in node["rehearsed"]})
    found.append(f"{host}: rehearsed: {', '.join(rehearsed) or 'nothing'}")
    return found + _checks_lines(host, node)


def _checks_lines(where: str, part: Json) -> list[str]:
    return [f"{where}: checked: {', '.join(sorted(part['checks']))}"] if part["checks"] else []


def _unrehearsed_lines(report: Json) -> list[str]:
    """One line for what was not rehearsed for the same reason, on several hosts or under several names."""
    places: dict[tuple[str, bool, str, str], list[str]] = {}
    for host, part in (("", report["cluster"]), *report["nodes"].items()):
        for entry in part["not_rehearsed"]:
            key = (entry["name"], entry["accepted"], entry["reason"], entry["remedy"])
            places.setdefault(key, []).append(host)
    names: dict[tuple[bool, str, str, str], list[str]] = {}
    for (name, is_accepted, reason, remedy), hosts in places.items():
        names.setdefault((is_accepted, ", ".join(filter(None, hosts)), reason, remedy), []).append(name)
    lines = []
    for (is_accepted, where, reason, remedy), together in names.items():
        what = f"{', '.join(together)}{f' on {where}' if where else ''}: {reason}"
        ways = filter(None, (remedy, f"accept it with {findings.ACCEPT}={','.join(together)}"))
        lines.append(
            f"not rehearsed, and accepted: {what}" if is_accepted else f"not rehearsed: {what}; {', or '.join(ways)}"
        )
    return lines


def _worst_first(findings: t.Iterable[Json]) -> list[Json]:
    return sorted(
        findings, key=lambda each: (IMPACTS.index(each["impact"]), each["component"], each["field"], each["key"])
    )


def _line(host: str, finding: Json) -> str:
    what = " ".join(filter(None, (host, finding["component"], finding["field"], finding["key"])))
    place = f"{finding['file']}:{finding['line']}" if finding["line"] else finding["file"]
    where = ", ".join(filter(None, (place, _SETTERS.get(finding["set_by"], ""))))
    advice = _ADVICE.get(finding["impact"]) if finding["variable"] else None
    change = f"; {advice} {finding['variable']}" if advice else ""
    return f"{what}: {_DISPLAYED_IMPACTS[finding['impact']]}{f' ({where})' if where else ''}: {finding['message'].rstrip('.')}{change}"


def failure_reason(report: Json, host: str) -> str:
    """Why the run fails on a host; empty when it does not."""
    node = report["nodes"][host]
    if not node["checked"]:
        return f"{host} was not checked: {node['msg']}"
    parts = (report["cluster"], node)
    broken = [finding for part in parts for finding in _broken_findings(part)]
    missing: dict[str, list[str]] = {}
    for entry in (each for part in parts for each in part["not_rehearsed"] if not each["accepted"]):
        missing.setdefault(entry["reason"], []).append(entry["name"])
    reasons = []
    if broken:
        names = ", ".join(" ".join(filter(None, (each["component"], each["field"], each["key"]))) for each in broken)
        reasons.append(
            f"the upgrade to {report['target']} breaks on {host}: {names}. The report says why and what to change."
        )
    reasons += filter(None, [report["refusal"]])
    if missing:
        why = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in missing.items())
        # The command replaces the former one, so it has the names that stay accepted, too.
        accepted_names = [
            entry["name"]
            for part in (report["cluster"], *report["nodes"].values())
            for entry in part["not_rehearsed"]
            if entry["accepted"]
        ]
        accept = ",".join(dict.fromkeys([*accepted_names, *(name for names in missing.values() for name in names)]))
        reasons.append(
            f"the upgrade to {report['target']} is not known to be safe on {host}, because this was not rehearsed: {why}. Either have it rehearsed,"
            f" the report says how, or accept it by name: -e {findings.ACCEPT}={accept}"
        )
    return " ".join(reasons)


def _broken_findings(part: Json) -> list[Json]:
    return [finding for finding in part["findings"] if finding["impact"] == BROKEN]
