# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role C(node_kubelet) decides: whose kubelet is restarted when, what the API says against it, and what became of each node.

Hosts and their results are those of C(_plan/transaction/rollout). The plan is the result of the module C(kubelet) in check mode.
"""

from __future__ import annotations

import dataclasses
import json
import math
import typing as t

from ..common.batch import joined
from ..kubernetes import access, clusters
from ..transaction import rollout
from ..transaction.lease import LEASE_NAMESPACE
from ..transaction.messages import ABORTED
from ..transaction.report import owned_settings
from ..transaction.rollout import NOTHING, Hosts, Registers, Result
from .config import TAINTS

SHARED = ("node_kubelet_max_unavailable", "node_kubelet_check_api", "node_kubelet_api_host", "node_kubelet_lease")

WAYS_OUT = (
    "If credentials are missing: a control plane of the inventory uses its own admin.conf; elsewhere set K8S_AUTH_KUBECONFIG, or"
    " node_kubelet_api_host to a host that has some. To skip this check, set node_kubelet_check_api to false."
)

_RESULT_KEYS = (
    "changed",
    "failed",
    "msg",
    "node",
    "cluster",
    "control_plane",
    "problem",
    "files",
    "operations",
    "left_alone",
    "reverts",
    "rehearsal",
    "transaction",
    "unverified",
    "previous_transaction",
    "open_transaction",
)
LEASE = "nodecraft-kubeadm-kubelets"
Settings = t.Mapping[str, t.Mapping[str, t.Any]]

# What a turn takes besides the waits that variables bound: the rehearsal, the restart, and a rollback.
_TURN_SECONDS = 180
# After this part of that time a turn renews the Lease; before, none has to.
_RENEWED_AFTER = 0.5
# What is said of each host when the API does not tell of any.
_DEVICES = "whether device plugins offer what they did"
_PODS = "whether its restart ended pods"
# Said by the engine where nothing of the new kubelet was seen in the API.
UNREPORTED = "whether its Node is ready and evicts no pods: "
NOT_COMPARED = "nothing is to change, but whether kubelets use what is desired could not be compared"
_KEPT = "Nothing was rolled back, and no later node was changed."


# ---- before the first write ------------------------------------------------------------------------------------------


def refusal(hosts: Hosts, reachable: t.Collection[str]) -> str:
    """Why the hosts that take part cannot be changed in one run; empty when they can. reachable: the hosts that the play still has."""
    if found := rollout.planning_refusal(hosts, reachable):
        return found
    conflict = clusters.conflict({host: registers["plan"].get("cluster") for host, registers in hosts.items()})
    return rollout.wrong_names(hosts, "node_kubelet_node_name") or rollout.different_settings(hosts, SHARED) or conflict


def has_turn(registers: Registers) -> bool:
    """Whether there is something to change on a host, or a change that an earlier run left open."""
    plan = registers["plan"]
    return bool(plan.get("operations")) or bool(plan.get("open_transaction"))


def is_control_plane(registers: Registers) -> bool:
    """Whether a control plane runs on a host."""
    return bool(registers["plan"].get("control_plane"))


def batches(hosts: Hosts, size: int) -> list[list[str]]:
    """Who is changed at the same time. size: so many nodes that are no control planes at most."""
    turns = [host for host, registers in hosts.items() if has_turn(registers)]
    planes = [host for host in turns if is_control_plane(hosts[host])]
    return rollout.batches(planes, [host for host in turns if host not in set(planes)], size)


def cluster(hosts: Hosts) -> dict[str, t.Any]:
    """By what the API is verified to be that of these nodes, as the modules that ask it take it."""
    identities = {registers["plan"]["node"]: registers["plan"]["cluster"] for registers in hosts.values()}
    authorities = dict.fromkeys(identity["ca_sha256"] for identity in identities.values())
    return {
        "ca_sha256": ",".join(authorities),
        "machine_ids": {node: identity["machine_id"] for node, identity in identities.items()},
    }


def rights(hosts: Hosts, turns: t.Sequence[str], settings: Result) -> list[access.Right]:
    """What the account must be allowed before kubelets are restarted: to read what they use afterwards, and the Lease. settings: of the host
    that sends the requests."""
    nodes = [registers["plan"]["node"] for registers in hosts.values()]
    reads_pods = bool(_asking(hosts, turns))
    of_lease = access.of_lease(LEASE, LEASE_NAMESPACE) if settings["node_kubelet_lease"] else []
    return [*access.of_kubelets(nodes, reads_pods=reads_pods), *of_lease]


def question(hosts: Hosts, turns: t.Sequence[str]) -> dict[str, t.Any]:
    """What the API is asked for before kubelets are restarted, as options of C(node_resource_info): which nodes there are, which pods those
    whose kubelets are restarted would reject, and what all kubelets use now."""
    plans = [hosts[host]["plan"] for host in turns]
    # Of one that is down nothing can be read, and its change may be what repairs it.
    read = {plan["node"]: NOTHING for plan in plans if not plan.get("problem")}
    return {
        "requested": False,
        "readmission": True,
        # Where pods may be lost they are not read: an account that may not list them would be told nothing else either.
        "restarted_nodes": [hosts[host]["plan"]["node"] for host in _asking(hosts, turns)],
        "limits": {plan["node"]: plan["limits"] for plan in plans},
        "kubelets": {**read, **by_node(hosts, idle_settings(hosts))},
    }


@dataclasses.dataclass(frozen=True)
class Objections:
    """What the API says against a rollout. by_host: the reason for each host that has one. told: of all of them, for people."""

    by_host: dict[str, str]
    told: str


def objections(hosts: Hosts, turns: t.Sequence[str], answer: Result) -> Objections:
    """Judge what the API told of the nodes whose kubelets are restarted. turns: the hosts that have a turn. answer: to the question."""
    asking = _asking(hosts, turns)
    if not asking:
        return Objections({}, "")
    if "nodes" not in answer:
        nodes = ", ".join(hosts[host]["plan"]["node"] for host in asking)
        told = f"the API does not show which pods of {nodes} the restarted kubelets would reject: {_said(answer)}. {WAYS_OUT}"
        return Objections(dict.fromkeys(asking, told), told)
    by_host = {}
    for host in asking:
        node = hosts[host]["plan"]["node"]
        pods = [f"{each['pod']} ({each['reason']})" for each in _of_node(answer, node).get("readmission") or ()]
        if pods:
            by_host[host] = (
                f"the restarted kubelet of {node} would reject pods that run there: {'; '.join(pods)}. Give the node what they need (the"
                " playbook node_resources restores labels and resources), or move them away (kubectl drain); or set node_kubelet_force"
                " to true to lose them."
            )
    return Objections(by_host, " ".join(by_host.values()))


def _asking(hosts: Hosts, turns: t.Sequence[str]) -> list[str]:
    """The hosts that have a turn and must not lose pods by it."""
    return [host for host in turns if not rollout.settings_of(hosts[host])["force"]]


def unverified_nodes(nodes: Result | None, why: str) -> list[str]:
    """What could not be verified before kubelets are restarted. nodes: of the API; None when it did not tell. why: not."""
    if nodes is not None:
        return []
    return [
        f"whether nodes are missing in this run, and whether restarted kubelets would reject pods: {why.rstrip('.')}"
    ]


def offers(answer: Result, node: str) -> dict[str, int] | None:
    """What device plugins offer on a node, as numbers by resource; None when the API does not tell."""
    if not _of_node(answer, node):
        return None
    resources = _of_node(answer, node).get("extended_resources") or {}
    return {
        name: number
        for name, entry in resources.items()
        if entry.get("device_plugin") and (number := int(entry.get("allocatable") or 0)) > 0
    }


# ---- what kubelets use that have nothing to change -------------------------------------------------------------------


def idle_settings(hosts: Hosts) -> dict[str, Settings]:
    """What is desired of the kubelets that have nothing to change, by host; nothing where the API must not be queried. A run that ended between a
    change and its comparison leaves such a kubelet."""
    idle = {host: registers for host, registers in hosts.items() if not has_turn(registers)}
    desired = {host: settings_in_use(rollout.settings_of(registers)) for host, registers in idle.items()}
    return {
        host: each
        for host, each in desired.items()
        if is_compared(each) and rollout.settings_of(hosts[host])["node_kubelet_check_api"]
    }


def by_node(hosts: Hosts, values: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The same values by the names of the nodes. values: by host."""
    return {hosts[host]["plan"]["node"]: value for host, value in values.items()}


def idle_mismatches(hosts: Hosts, answer: Result) -> dict[str, str]:
    """Which kubelets with nothing to change do not use what is desired, or cannot be compared, with the reason, by host. answer: of
    C(node_resource_info); one that does not tell of nodes is no reason."""
    if "nodes" not in answer:
        return {}
    found = {host: mismatch(hosts[host]["plan"]["node"], answer) for host in idle_settings(hosts)}
    return {
        host: f"The kubelet of {hosts[host]['plan']['node']} has nothing to change and is healthy, but {why}"
        for host, why in found.items()
        if why
    }


def unverified_idle(hosts: Hosts, answer: Result) -> list[str]:
    """What could not be verified of kubelets with nothing to change, in a run that changes others. answer: as above."""
    idle = ", ".join(by_node(hosts, idle_settings(hosts)))
    return (
        [f"whether the kubelets of {idle} use what is desired: {_said(answer)}"]
        if idle and "nodes" not in answer
        else []
    )


def unread(answer: Result) -> str:
    """Why no kubelet could be compared. answer: of C(node_resource_info), which does not tell of nodes."""
    return f"{_said(answer)}. {WAYS_OUT}"


def unreached(hosts: Hosts, turns: t.Sequence[str], answer: Result) -> list[str]:
    """Warnings about kubelets that are to change and cannot be read now, so that nothing may be able to compare them afterwards."""
    nodes = [hosts[host]["plan"]["node"] for host in turns]
    problems = {node: (_of_node(answer, node).get("kubelet") or NOTHING).get("problem") for node in nodes}
    return [
        f"what the kubelet of {node} uses cannot be read before its change, and must be readable after it: {problem}."
        for node, problem in problems.items()
        if problem
    ]


# ---- the Lease -------------------------------------------------------------------------------------------------------


def turn_seconds(settings: t.Mapping[str, t.Any]) -> int:
    """The longest that one turn takes, in seconds: another change on the node may be waited for, then the new kubelet, then the former one
    when it is rolled back, and at last the devices."""
    restart = settings["wait_timeout"] + settings["min_ready_seconds"]
    return int(settings["lock_timeout"] + 2 * restart + settings["allocatable_timeout"] + _TURN_SECONDS)


def lease_request(holder: str, cluster: Result, settings: t.Mapping[str, t.Any], *, plan_age: int) -> dict[str, t.Any]:
    """How the Lease is taken or renewed, as options of C(rollout_lease). It lasts for a turn that begins just before it must be renewed."""
    duration = math.ceil((1 + _RENEWED_AFTER) * turn_seconds(settings))
    return {
        "name": LEASE,
        "state": "held",
        "holder": holder,
        "duration": duration,
        "plan_age": plan_age,
        "cluster": cluster,
    }


def open_transactions(hosts: Hosts) -> list[str]:
    """The changes that nodes have open, in words: while there is one, a Lease that ran out is not taken over."""
    return [
        f"kubelet on {host} ({opened.get('phase') or 'its journal cannot be read'})"
        for host, registers in hosts.items()
        if (opened := registers["plan"].get("open_transaction"))
    ]


def lease_release(holder: str, cluster: Result) -> dict[str, t.Any]:
    """How the Lease is released, as options of C(rollout_lease)."""
    return {"name": LEASE, "state": "released", "holder": holder, "cluster": cluster}


def lease_refusal(answer: Result) -> str:
    """Why kubelets must not be restarted, by the result of C(rollout_lease); empty when this run holds the Lease."""
    if answer.get("failed") or answer.get("unreachable"):
        way_out = (
            ""
            if answer.get("api_reachable")
            else " To continue although nothing excludes other runs, set node_kubelet_lease to false."
        )
        return f"{_said(answer)}.{way_out}"
    return ""


def renewal_refusal(answer: Result) -> str:
    """Why a turn must not begin, by the result of a renewal; empty when this run held the Lease all the time."""
    if found := lease_refusal(answer):
        return found
    if answer["stale"]:
        return "another run held the Lease of the kubelets since everything was planned, and may have changed some. Run again."
    return ""


def lease_warnings(answer: Result) -> list[str]:
    """What to tell of a Lease that was acquired.

    Behind another run each node whose turn comes plans again by itself; one that has no turn does not.
    """
    former = answer.get("taken_over_from")
    found = [f"the Lease {LEASE} is taken over from {former}."] if former else []
    if answer["stale"]:
        found.append(
            "another run held the Lease of the kubelets since everything was planned. Nodes on which there was nothing to change are not"
            " checked again: run again to check that they still have the desired state."
        )
    return found


def lease_renewed_at(lease: Result, before: Hosts) -> float:
    """When the Lease was renewed last, in seconds since 1970. lease: as it was taken. before: the hosts of the batch before."""
    renewed = [rollout.of_pass(registers, "turn").get("lease") for registers in before.values()]
    return max(float(each["at"]) for each in [lease, *renewed] if each)


def must_renew(since: float, settings: t.Mapping[str, t.Any], now: float) -> bool:
    """Whether the Lease might not last for one more turn. since, now: seconds since 1970; when it was renewed last."""
    return now - since >= _RENEWED_AFTER * turn_seconds(settings)


# ---- after a change --------------------------------------------------------------------------------------------------


def was_changed(change: Result, *, check_mode: bool) -> bool:
    """Whether a kubelet was restarted for good."""
    return bool(change.get("changed")) and has_ended(change, check_mode=check_mode)


def has_ended(change: Result, *, check_mode: bool) -> bool:
    """Whether a turn came to a good end. One that ends the transaction of an earlier run, or finds another run's change, changes nothing itself."""
    return bool(change) and not change.get("failed") and not check_mode


def settings_in_use(settings: Result) -> Settings:
    """What /configz is compared with, as C(feature_gates) and C(config): what the variables of a host say. Flags and taints are not compared."""
    return {"feature_gates": dict(settings["feature_gates"]), "config": dict(settings["config"])}


def expected(plan: Result, settings: Result) -> Settings:
    """What /configz is compared with after a change. When the change reverts another one, what the plan says of gates and plain fields counts, but
    for what is taken out. A text may be that of a flag, which /configz shows in another type.

    settings: of the host.
    """
    if settings["state"] != "previous":
        return settings_in_use(settings)
    back = [each for each in plan["operations"] if each["after"] is not None and not isinstance(each["after"], str)]
    return {
        field: {each["key"]: each["after"] for each in back if each["field"] == field and "/" not in each["key"]}
        for field in ("feature_gates", "config")
    }


def is_compared(expectation: Settings) -> bool:
    """Whether there is anything that /configz can be compared with."""
    return any(value is not None for values in expectation.values() for value in values.values())


def doubt(node: str, answer: Result, *, changed: bool) -> str:
    """What /configz says against a kubelet after its turn; empty when nothing. answer: of C(node_resource_info), asked for this node."""
    why = mismatch(node, answer)
    return f"The kubelet of {node} {'was changed and ' if changed else ''}is healthy, but {why} {_KEPT}" if why else ""


def mismatch(node: str, answer: Result) -> str:
    """Why a kubelet does not count as using what is desired, as sentences; empty when it does. answer: as above."""
    kubelet = _of_node(answer, node).get("kubelet")
    if kubelet is None:
        return f"the API does not show what it uses: {_said(answer)}. {WAYS_OUT}"
    if kubelet["problem"]:
        return f"what it uses cannot be compared with what is desired: {kubelet['problem'].rstrip('.')}."
    differences = [
        f"{each['field']} {each['key']} is {'unset' if each['found'] is None else json.dumps(each['found'])}, not {json.dumps(each['expected'])}"
        for each in kubelet["differences"]
    ]
    if not differences:
        return ""
    return (
        f"/configz shows that it does not use what is desired: {'; '.join(differences)}. Set a value that the kubelet accepts, or remove the"
        " setting."
    )


def watched(answer: Result, node: str) -> dict[str, t.Any]:
    """The pods that run before a kubelet is restarted: C(running), or C(unwatched), why they are not known. answer: of C(node_resource_info)."""
    running = _of_node(answer, node).get("running")
    return {"unwatched": _said(answer)} if running is None else {"running": running}


def losses(answer: Result, node: str) -> Result:
    """What became of the pods that ran before a restart, as C(losses) of C(node_resource_info); empty where it does not tell."""
    return _of_node(answer, node).get("losses") or NOTHING


def loss_of_pods(node: str, answer: Result) -> str:
    """What is said of a node whose kubelet ended pods with its restart; empty when it did not. answer: of C(node_resource_info)."""
    begin = f"The kubelet of {node} was changed and is healthy, but"
    found = losses(answer, node)
    if not found:
        return (
            f"{begin} the API does not show what became of the pods that ran there: {_said(answer)}. {_KEPT} {WAYS_OUT}"
        )
    ended = [f"{each['pod']} ({each['reason']})" for each in (*found["lost"], *found["restarted"])]
    if not ended:
        return ""
    return f"{begin} its restart ended {len(ended)} of {found['watched']} pods: {joined(ended)}. {_KEPT} Another restart would end the next ones."


def missing(offered: t.Mapping[str, int], answer: Result, node: str) -> list[str]:
    """What device plugins offer less of than before a restart, in words. offered: before."""
    resources = _of_node(answer, node).get("extended_resources") or {}
    now = {name: int((resources.get(name) or {}).get("allocatable") or 0) for name in offered}
    return [f"{name} is {now[name]}, expected {number}" for name, number in offered.items() if now[name] < number]


def loss(node: str, answer: Result, lacking: t.Sequence[str], seconds: int) -> str:
    """What is said of a node on which device plugins offer less; empty when they do not. lacking: as C(missing) has it. seconds: how long
    they were waited for."""
    begin = f"The kubelet of {node} was changed and is healthy, but"
    if "nodes" not in answer:
        return f"{begin} the API does not show whether device plugins advertise there what they advertised before: {_said(answer)}. {_KEPT} {WAYS_OUT}"
    if not lacking:
        return ""
    return (
        f"{begin} {seconds} s later device plugins have less allocatable there than before: {'; '.join(lacking)}. {_KEPT}"
        " Check that the pods of the device plugins run on the node and have registered with its new kubelet (kubectl get pods"
        f" --all-namespaces --field-selector spec.nodeName={node}); restart one that did not notice the restart. To wait"
        " longer, set node_kubelet_allocatable_timeout; 0 skips this check."
    )


# ---- the end ---------------------------------------------------------------------------------------------------------


def report(registers: Registers) -> dict[str, t.Any]:
    """What became of one host, of its own results alone; empty when it was not even planned.

    What was changed goes on top of what was planned: of a change whose node is lost, nothing else is known.
    """
    own = registers.get("pass", NOTHING)
    if "report" in own:  # it has come to the end already
        return dict(own["report"])
    if own.get("excluded"):
        text = f"skipped, because it cannot be reached: {own['excluded']}"
        return {"changed": False, "failed": False, "unreachable": True, "msg": text, "operations": []}
    plan = registers.get("plan", NOTHING)
    if not own.get("at_work") or "operations" not in plan:
        return {}
    known = {**plan, **rollout.change_of(registers)}
    found = {key: value for key, value in known.items() if key in _RESULT_KEYS}
    verified = rollout.of_pass(registers, "verify")
    if pods := verified.get("pods", NOTHING):
        found["pods"] = pods
    if verified.get("failed"):
        found.update(failed=True, msg=verified["msg"])
    is_changed = was_changed(rollout.change_of(registers), check_mode=False)
    limits = [*_unfollowed(known), *_unverified(plan, rollout.settings_of(registers), is_changed=is_changed)]
    settings = rollout.settings_of(registers)
    why = _unreported(known) if is_changed and settings["node_kubelet_check_api"] else ""
    if why:
        seen = (*([_DEVICES] if settings["allocatable_timeout"] > 0 else ()), _PODS)
        limits += [f"{what}: the API only shows what was so before it: {why}" for what in seen]
        if not (pods.get("lost") or pods.get("restarted")):
            found.pop("pods", None)
    unwatched = rollout.of_pass(registers, "turn").get("unwatched")
    if is_changed and unwatched:
        limits.append(f"{_PODS}: {unwatched}")
    if deleted := pods.get("deleted"):
        limits.append(f"{_PODS}: {joined(deleted)} {'does' if len(deleted) == 1 else 'do'} not exist any more")
    if unknown := pods.get("unknown"):
        limits.append(f"{_PODS}: containers of {joined(unknown)} ended, and nothing shows how")
    if limits:
        found["unverified"] = [*(found.get("unverified") or ()), *limits]
    return found


def left_alone(reports: t.Mapping[str, Result]) -> t.Iterator[tuple[str, str, str]]:
    """What is owned and no variable names, as C(report.left_alone) takes it. reports: by host."""
    for host, found in reports.items():
        for field, key in owned_settings(found):
            yield host, f"{field} {key}", f"node_kubelet_{field}: {'[]' if field == TAINTS else '{}'}"


def _unreported(known: Result) -> str:
    """Why the API shows nothing of a restarted kubelet; empty where it does. known: as below."""
    limits = [each for each in known.get("unverified") or () if each.startswith(UNREPORTED)]
    return limits[0][len(UNREPORTED) :] if limits else ""


def _unfollowed(known: Result) -> list[str]:
    """What was not looked at behind a restart whose run ended before: what was there before it is not known any more. known: of the plan, and of
    the turn, which takes up what is open."""
    earlier = known.get("previous_transaction") or NOTHING
    if earlier.get("outcome") in (None, ABORTED):
        return []
    why = f"the run that made transaction {earlier['id']} ended before it looked"
    return [f"{_DEVICES}: {why}", f"{_PODS}: {why}"]


def _unverified(plan: Result, settings: Result, *, is_changed: bool) -> list[str]:
    """What the variables of the role leave out after a kubelet was restarted, or of one that has nothing to change."""
    if settings["node_kubelet_check_api"]:
        is_skipped = is_changed and settings["allocatable_timeout"] <= 0
        return [f"{_DEVICES}: node_kubelet_allocatable_timeout is 0"] if is_skipped else []
    why = "node_kubelet_check_api is false"
    compared = f"whether it uses what is desired: {why}, so /configz was not compared"
    is_due = is_compared(expected(plan, settings)) and (is_changed or not plan["operations"])
    return [*([compared] if is_due else ()), *([f"{_DEVICES}: {why}", f"{_PODS}: {why}"] if is_changed else ())]


def _with_unknown_devices(found: dict[str, t.Any], registers: Registers, known: Result, host: str) -> dict[str, t.Any]:
    """The same report, with what could not be verified because it was not known before the change. known: what device plugins offered, by host."""
    is_changed = was_changed(rollout.change_of(registers), check_mode=False)
    is_wanted = is_changed and rollout.settings_of(registers)["allocatable_timeout"] > 0
    if not is_wanted or known.get(host, NOTHING) is not None:
        return found
    limit = f"{_DEVICES}: the API did not show that before the change"
    return {**found, "unverified": [*(found.get("unverified") or ()), limit]}


def judged(
    host: str, registers: Registers, coordinator: Registers, stopped: t.Sequence[str], *, has_turn: bool
) -> dict[str, t.Any]:
    """The same, with what others decided. coordinator: of the host that did. stopped: the hosts that stopped the rollout.

    has_turn: whether this host was to be changed in this pass.
    """
    found = report(registers)
    admitted = rollout.of_pass(coordinator, "admit")
    found = _with_unknown_devices(found, registers, admitted.get("offers") or NOTHING, host)
    # A playbook compares once more after its changes.
    compared = rollout.of_pass(coordinator, "compare") or admitted
    mismatches = compared.get("mismatches") or NOTHING
    if host in mismatches:
        begin = "Nothing was changed. " if compared.get("refusal") else ""
        # A refusal has failed the step itself.
        return {**found, "failed": True, "compared": bool(begin), "msg": f"{begin}{mismatches[host]}"}
    objection = (admitted.get("objections") or {}).get(host)
    if objection:
        return {**found, "failed": True, "msg": f"Nothing was changed, because {objection}"}
    others = [each for each in stopped if each != host]
    if has_turn and others and not rollout.has_begun(registers):
        return {**found, **rollout.not_begun(host, others)}
    if rollout.state(registers) == "refused":
        return {**found, **rollout.not_begun(host, ()), "msg": rollout.of_pass(registers, "turn")["msg"]}
    if rollout.state(registers) == "lost":
        found["failed"] = True
    return {**found, "begun": True} if has_turn and rollout.has_begun(registers) else found


def _of_node(answer: Result, node: str) -> Result:
    found: Result = (answer.get("nodes") or {}).get(node) or {}
    return found


def _said(answer: Result) -> str:
    return str(answer.get("msg") or "no answer").rstrip(".")
