# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role C(node_resources) decides: which nodes one task serves, with what, and what became of each.

Hosts and their results are those of C(_plan/transaction/rollout). The desired state of a node stands in the settings of its host.
"""

from __future__ import annotations

import collections
import typing as t

from ..common.errors import Refusal
from ..kubernetes import access, clusters
from ..transaction import rollout
from ..transaction.report import Places, counted, is_revert
from ..transaction.rollout import Hosts, Result
from . import extended_resources, labels, taints

# One task serves all hosts, so these are the same for all.
SHARED = (
    "node_resources_purge",
    "node_resources_wait",
    "node_resources_wait_timeout",
    "node_resources_allow_eviction",
    "node_resources_api_host",
)
# The tasks in their order, each by what it changes: a node is kept free before anything is offered there.
TASKS = {"taints": "node_taint", "resources": "node_extended_resource", "labels": "node_label"}
_VARIABLES = {"resources": "extended_resources"}
_OPTIONS = {
    "purge": "node_resources_purge",
    "wait": "node_resources_wait",
    "wait_timeout": "node_resources_wait_timeout",
}


def value_objection(variable: str, value: t.Any) -> str:
    """Why no node could take the value of a variable of the role, which has the types of its specification; empty when one could."""
    kinds = {_variable(kind.field): kind for kind in (taints.TAINTS, extended_resources.RESOURCES, labels.LABELS)}
    if variable not in kinds:
        return ""
    try:
        kinds[variable].parse(value, "present")
    except Refusal as exc:
        return f"invalid {variable}: {str(exc).removeprefix(f'{kinds[variable].field}: ')}"
    return ""


def refusal(hosts: Hosts) -> str:
    """Why hosts cannot be served by one task; empty when they can."""
    settings = {host: rollout.settings_of(registers) for host, registers in hosts.items()}
    different = rollout.different_settings(hosts, SHARED)
    if different:
        return different
    counted = collections.Counter(each["node"] for each in settings.values())
    twice = [node for node, number in counted.items() if number > 1]
    if twice:
        same = ", ".join(host for host, each in settings.items() if each["node"] == twice[0])
        return f"{same} are the same node, {twice[0]}. Each host of the play must be another node."
    return clusters.conflict({host: each["cluster"] for host, each in settings.items()})


def rights(hosts: Hosts) -> list[access.Right]:
    """What the account must be allowed to set again what restarted kubelets may have lost."""
    settings = [rollout.settings_of(registers) for registers in hosts.values()]
    fields = [kind for kind in TASKS if any(each[kind] for each in settings)]
    return access.of_nodes([each["node"] for each in settings], fields)


def control_planes(hosts: Hosts) -> list[str]:
    """The hosts that run a control plane."""
    return [host for host, registers in hosts.items() if rollout.settings_of(registers)["control_plane"]]


def arguments(kind: str, hosts: Hosts) -> dict[str, t.Any]:
    """The options of one task for all hosts. kind: a key of TASKS."""
    settings = [rollout.settings_of(registers) for registers in hosts.values()]
    told = [each for each in settings if each["cluster"]]
    found: dict[str, t.Any] = {
        "per_node": {each["node"]: {kind: each[kind]} for each in settings},
        **{option: settings[0][variable] for option, variable in _OPTIONS.items()},
    }
    if kind == "taints":
        found["allow_eviction"] = settings[0]["node_resources_allow_eviction"]
    if told:
        # By what the API is verified to be that of the nodes. One whose name stands in the inventory was not asked.
        found["cluster"] = {
            "ca_sha256": ",".join(dict.fromkeys(each["cluster"]["ca_sha256"] for each in told)),
            "machine_ids": {each["node"]: each["cluster"]["machine_id"] for each in told},
        }
    return found


def unverified(hosts: Hosts, applied: t.Mapping[str, t.Any]) -> list[str]:
    """What the tasks could not verify, and whose API it is, where no node was asked. applied: the results of the tasks for all hosts, by kind."""
    results = [applied, *((applied.get(kind) or {}) for kind in TASKS)]
    found = [text for result in results for text in result.get("unverified") or ()]
    settings = [rollout.settings_of(registers) for registers in hosts.values()]
    if settings and not any(each["cluster"] for each in settings):
        found.append("whether the API is that of these nodes: all of them have node_resources_node_name")
    return list(dict.fromkeys(found))


def keeping(settings: Result) -> dict[str, t.Any]:
    """The settings of a host, with its desired state by kind, None where no variable names it; without the keys for the two passes.

    The first of two passes leaves what they remove: by kind under C(kept), in a field of the same name. That is not set to the value it had,
    for it may be gone meanwhile: it is not named, and nothing is purged.
    """
    desired = {kind: settings["desired"].get(_VARIABLES.get(kind, kind)) for kind in TASKS}
    found = {key: value for key, value in settings.items() if key not in ("desired", "first_of_two", "kept")} | desired
    if settings["first_of_two"]:
        found["node_resources_purge"] = False
    for kind, part in settings["kept"].items():
        kept, option = part[kind], found[kind]
        if kind == taints.TAINTS.field:
            found[kind] = taints.without(option, kept)
        else:
            found[kind] = {key: value for key, value in option.items() if key not in kept}
    return found


def without_api(kubelets: t.Mapping[str, Result]) -> str:
    """What repairs kubelets that keep the API down, to be told with a failure; empty where all work. kubelets: their plans, by host."""
    down = sorted(host for host, planned in kubelets.items() if planned.get("problem"))
    if not down:
        return ""
    return (
        f" A kubelet that does not work, as on {', '.join(down)}, starts no API server. Where none is left, the playbook feature_gates repairs"
        " kubelets without one, with their settings in the inventory and -e node_kubelet_check_api=false. Run this again"
        " afterwards."
    )


def outcome(registers: rollout.Registers, applied: Result) -> dict[str, t.Any]:
    """What became of one host. applied: the results of the tasks for all hosts, by kind; without one that did not run."""
    begun = registers["pass"]
    if "report" in begun:  # it has come to its end already
        return dict(begun["report"])
    if begun["excluded"]:
        # Nothing was asked of the API for it.
        nothing = dict.fromkeys(("node", *TASKS))
        return {
            **nothing,
            "unreachable": True,
            "msg": f"skipped, because it cannot be reached: {begun['excluded']}",
        }
    node = begun["settings"]["node"]
    return {"node": node, **{kind: _of_node(node, applied.get(kind) or {}) for kind in TASKS}}


def _of_node(node: str, result: Result) -> Result | None:
    """What a task for all nodes did to one. result: empty for a task that did not run, which leaves None.

    A task that failed as a whole says nothing of single nodes, so its message stands for each.
    """
    nodes: t.Mapping[str, Result] = result.get("nodes") or {}
    if node in nodes:
        return nodes[node]
    if result.get("failed") or result.get("unreachable"):
        return {"changed": False, "failed": True, "msg": result.get("msg", "no answer"), "operations": []}
    return None


def lines(outcomes: t.Mapping[str, Result], places: Places = lambda _host, _variable: "") -> list[str]:
    """What became of all hosts, as lines. outcomes: by host. places: where a variable of a host comes from, as text behind a revert."""
    excluded = [host for host, each in outcomes.items() if each.get("unreachable")]
    reports = {host: each for host, each in outcomes.items() if host not in excluded}
    operations = [
        each for report in reports.values() for kind in TASKS for each in (report[kind] or {}).get("operations", ())
    ]
    return [
        *(f"{host}: skipped, because it cannot be reached" for host in excluded),
        *_report_lines(reports, places),
        *(f"{', '.join(TASKS)}: {text}" for text in counted(operations)),
    ]


def _report_lines(reports: t.Mapping[str, Result], places: Places) -> list[str]:
    """One line for each operation and message, each once: the outcomes of all nodes in their order."""
    found: dict[str, None] = {}
    for host, report in reports.items():
        results = {kind: result for kind, result in report.items() if kind != "node" and result}
        for kind, result in results.items():
            found.update(dict.fromkeys(_result_lines(report["node"], result, places(host, _variable(kind)))))
        if not any(result["operations"] or result["failed"] for result in results.values()):
            # Three, of taints, extended resources and labels, when all of them ran.
            ended = "nothing to change" if len(results) == len(report) - 1 else "not completed"
            kinds = ", ".join(kind for kind in report if kind != "node")
            found[f"{report['node']} {kinds}: {ended}"] = None
    return list(found)


def _variable(kind: str) -> str:
    """The variable that says all of what a task changes."""
    return f"node_resources_{_VARIABLES.get(kind, kind)}"


def _result_lines(node: str, result: Result, place: str) -> t.Iterator[str]:
    if result["msg"]:
        yield result["msg"] if result["failed"] else f"{node}: {result['msg']}"
    for each in result["operations"]:
        change = f"{each['field']} {each['key']}: {_format_value(each['before'])} -> {_format_value(each['after'])}"
        reason = f" (no longer desired{place})" if is_revert(each) else ""
        yield f"{'- ' if reason else ''}{node}: {change}{reason}" + ("" if result["changed"] else ", not done")


def _format_value(value: str | None) -> str:
    return "unset" if value is None else value or "(empty)"


def left_alone(outcomes: t.Mapping[str, Result]) -> t.Iterator[tuple[str, str, str]]:
    """What is owned and no variable names, as C(report.left_alone) takes it. outcomes: by host."""
    for host, outcome in outcomes.items():
        for kind in TASKS:
            variable = f"{_variable(kind)}: {'[]' if kind == taints.TAINTS.field else '{}'}"
            for key in (outcome.get(kind) or {}).get("left_alone") or ():
                yield host, f"{kind} {key}", variable
