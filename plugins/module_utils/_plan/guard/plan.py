# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The plan of a placement guard: what was asked for and a cluster in, objects to write and to remove out."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..common.batch import joined
from ..common.errors import Refusal
from ..kubernetes import names as node_names
from ..kubernetes import pods, quantities
from ..node import plan as node_plan
from ..node import readmission
from ..node import taints as node_taints
from ..node.extended_resources import RESOURCES
from ..node.plan import Node
from ..node.taints import TAINTS
from . import policies as placement_policies
from .policies import BINDING, KINDS, MUTATION, POLICY, Guard, Json

Place = tuple[str, str]  # kind and name of an object

DAEMON_SET, CRON_JOB = "DaemonSet", "CronJob"
# What makes pods from a template for good, and where the API lists it. What it makes itself, as ReplicaSets, need not be read.
WORKLOADS = {
    DAEMON_SET: "/apis/apps/v1/daemonsets",
    "Deployment": "/apis/apps/v1/deployments",
    "StatefulSet": "/apis/apps/v1/statefulsets",
    CRON_JOB: "/apis/batch/v1/cronjobs",
}

CREATED, CHANGED, REMOVED = "created", "changed", "removed"

# What runs in there keeps the cluster going.
_NEVER_CONCERNED = "kube-system"
# Nobody is kept off by PreferNoSchedule.
_KEEPS_OFF = ("NoSchedule", node_taints.NO_EXECUTE)
_LONGEST_NAME = 200
_LET_THROUGH = "It did not refuse"
_OF_OTHERS = ("annotations", "finalizers", "ownerReferences")  # of metadata
_KUBE_SCHEDULER = "system:kube-scheduler"
_DAEMON_SET = re.compile(r"[^/\s]+/[^/\s]+")


@dataclasses.dataclass(frozen=True)
class Wish:
    """What a task asks for. affinity: whether names of nodes become affinities, which counts with enforce only."""

    name: str
    present: bool
    nodes: tuple[str, ...]
    resources: tuple[str, ...]
    taint_keys: tuple[str, ...]
    require_request: bool
    enforce: bool
    affinity: bool
    schedulers: tuple[str, ...]
    exceptions: tuple[str, ...]
    exempt_daemon_sets: tuple[str, ...]
    exempt_namespaces: tuple[str, ...]
    allow_refusals: bool
    trial_namespace: str


@dataclasses.dataclass(frozen=True)
class Cluster:
    """What was read. objects: those of the guard's name and of its trial's. workloads: what makes pods from a template, by kind,
    empty unless it matters. guards: the policies of the other guards that refuse, by name.
    """

    objects: t.Mapping[Place, Json]
    nodes: t.Mapping[str, Node]
    workloads: t.Mapping[str, t.Sequence[Json]] = dataclasses.field(default_factory=dict)
    guards: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Protection:
    """Which nodes are protected, all of them sorted.

    added, removed: as against the guard in force. stale: asked for, protected before, and no nodes any more. untainted: on which
    the scheduler itself may place any pod. gone: removed because they are no nodes any more. taints: those that keep pods off,
    each with effect, key and value. shut_out: what would lose its pods, by kind and name.
    """

    nodes: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    untainted: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    taints: tuple[Json, ...] = ()
    shut_out: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Operation:
    """One object that is created, changed or removed."""

    place: Place
    action: str

    def __str__(self) -> str:
        return f"{' '.join(self.place)}: {self.action}"


@dataclasses.dataclass(frozen=True)
class GuardPlan:
    """What will be done. writes: bodies in the order in which they are written. leftovers: of a trial that was interrupted.
    removals: what is not asked for any more. The last two in the order in which they are removed.
    """

    operations: tuple[Operation, ...]
    warnings: tuple[str, ...]
    writes: tuple[Json, ...]
    leftovers: tuple[Place, ...]
    removals: tuple[Place, ...]


# ---- what is asked for -------------------------------------------------------------------------------------------------


def parse(params: t.Mapping[str, t.Any]) -> Wish:
    """Turn module parameters into a wish. Raises Refusal for what no cluster could guard."""
    resources = tuple(params["resources"])
    wish = Wish(
        name=params["name"],
        present=params["state"] == "present",
        nodes=tuple(sorted(set(params["nodes"]))),
        resources=resources,
        taint_keys=tuple(params["taint_keys"] or ()) or resources,
        require_request=params["require_request"],
        enforce=params["enforce"],
        affinity=params["enforce"] and params["on_node_name"] == "affinity",
        schedulers=tuple(params["schedulers"]),
        exceptions=tuple(params["exceptions"]),
        exempt_daemon_sets=tuple(params["exempt_daemon_sets"]),
        exempt_namespaces=(_NEVER_CONCERNED, *sorted(set(params["exempt_namespaces"]) - {_NEVER_CONCERNED})),
        allow_refusals=params["allow_refusals"],
        trial_namespace=params["trial_namespace"],
    )
    _check_names(wish)
    _check_texts(wish)
    if wish.present:
        _check_sense(wish)
    return wish


def _check_names(wish: Wish) -> None:
    node_names.check_object("name", wish.name, "policy")
    if len(wish.name) > _LONGEST_NAME:
        raise Refusal(f"name: it has {len(wish.name)} characters, and {_LONGEST_NAME} are the most.")
    if placement_policies.is_trial(wish.name):
        raise Refusal(
            f"name: {wish.name!r} is what the copy of another guard is called while that is tried; choose another end."
        )
    for name in wish.nodes:
        node_names.check_node("nodes", name)
    for name in wish.resources:
        node_names.check_resource(name)
    for key in wish.taint_keys:
        node_names.check_taint(key, "taint_keys")
    for name in wish.exempt_namespaces:
        node_names.check_object("exempt_namespaces", name, "namespace")
    node_names.check_object("trial_namespace", wish.trial_namespace, "namespace")


def _check_texts(wish: Wish) -> None:
    for name in wish.exempt_daemon_sets:
        if not _DAEMON_SET.fullmatch(name):
            raise Refusal(f"exempt_daemon_sets: {name!r} has no namespace; write it as namespace/name.")
    for option, texts in (("exceptions", wish.exceptions), ("schedulers", wish.schedulers)):
        if not all(text.strip() for text in texts):
            raise Refusal(f"{option}: one of them is empty; leave it out.")


def _check_sense(wish: Wish) -> None:
    if not (wish.nodes or wish.taint_keys):
        raise Refusal(
            "none of nodes, resources and taint_keys is given; name the nodes to protect, or what this collection keeps them for."
        )
    if wish.require_request and not wish.resources:
        raise Refusal("require_request: resources is empty; name there what pods have to request.")
    if not wish.schedulers:
        raise Refusal("schedulers: it is empty, so that nobody could place a pod on protected nodes; name who may.")
    if wish.trial_namespace in wish.exempt_namespaces:
        raise Refusal(
            f"trial_namespace: the guard does not concern {wish.trial_namespace}, so that nothing could be tried there; name another."
        )


# ---- what the cluster says against it ----------------------------------------------------------------------------------


def refuse_unserved(wish: Wish, served: t.Collection[str], version: t.Callable[[], str]) -> None:
    """Refuse a cluster that has no such policies. served: the kinds that it has. version: says the cluster's."""
    lacking = [kind for kind in placement_policies.kinds_of(affinity=wish.affinity) if kind not in served]
    if not lacking:
        return
    reason = f"this cluster ({version()}) does not serve {lacking[0]} of admissionregistration.k8s.io/v1, which Kubernetes has"
    if lacking[0] == MUTATION:
        raise Refusal(f"on_node_name is affinity, and {reason} from 1.36 on. Leave it at refuse.")
    key = wish.taint_keys[0] if wish.taint_keys else "KEY"
    raise Refusal(
        f"{reason} from 1.30 on, unless --runtime-config switches it off. Without it, keep others off the nodes with a taint of the"
        f" effect NoExecute, which the kubelets enforce, too: give the nodes {{key: {key}, effect: NoExecute}} beside the one with"
        " NoSchedule, with node_taint or in node_resources_taints. Pods that want to land there have to tolerate both;"
        " ExtendedResourceToleration adds a toleration of NoSchedule only."
    )


def refuse_foreign(objects: t.Mapping[Place, Json]) -> None:
    """Refuse objects of the same names that somebody else made."""
    foreign = [f"{kind} {name}" for (kind, name), found in objects.items() if not _is_ours(found)]
    if foreign:
        raise Refusal(
            f"{' and '.join(foreign)}: not made by this collection, because there is no label"
            f" {'='.join(next(iter(placement_policies.OWNER.items())))}. Remove it first, or use another name."
        )


def _is_ours(found: Json) -> bool:
    return placement_policies.OWNER.items() <= (found["metadata"].get("labels") or {}).items()


# ---- which nodes -------------------------------------------------------------------------------------------------------


def protect(wish: Wish, cluster: Cluster, *, dry: bool) -> Protection:
    """Which nodes are protected. dry: nothing is written, so that nodes may yet come to be managed.

    Raises Refusal for nodes that do not exist or have another guard, for none at all when there is no guard yet, and for what
    would lose its pods.
    """
    former = placement_policies.nodes_of(cluster.objects.get((POLICY, wish.name)))
    nodes = (wish.nodes or _managed(wish, cluster)) if wish.present else ()
    removed = tuple(sorted(set(former) - set(nodes)))
    held = {name: _keeping_off(wish.taint_keys, cluster.nodes[name]) for name in nodes if name in cluster.nodes}
    taints = _unique(taint for found in held.values() for taint in found)
    missing = [name for name in nodes if name not in cluster.nodes]
    found = Protection(
        nodes=nodes,
        added=tuple(name for name in nodes if name not in former),
        removed=removed,
        stale=tuple(name for name in missing if name in former),
        untainted=tuple(name for name, taints_there in held.items() if not taints_there),
        gone=tuple(name for name in removed if name not in cluster.nodes) if wish.present else (),
        taints=taints,
        shut_out=tuple(_shut_out(wish, cluster, nodes, taints)),
    )
    if wish.present:
        _refuse_strangers([name for name in missing if name not in former], cluster)
        # A guard that is there follows its nodes, also when the last one goes.
        if not (nodes or dry or (POLICY, wish.name) in cluster.objects):
            raise Refusal(_nothing(wish))
        _refuse_shared(wish, found, cluster)
        _refuse_losses(wish, found)
    return found


def _managed(wish: Wish, cluster: Cluster) -> tuple[str, ...]:
    """The nodes on which this collection set one of the taints or advertises one of the resources."""
    return tuple(name for name, node in sorted(cluster.nodes.items()) if _is_managed(wish, node))


def _is_managed(wish: Wish, node: Node) -> bool:
    keys = {known_as.rpartition(":")[0] for known_as in node_plan.read_record(TAINTS, node)}
    resources = set(node_plan.read_record(RESOURCES, node))
    return not (keys.isdisjoint(wish.taint_keys) and resources.isdisjoint(wish.resources))


def _keeping_off(keys: t.Collection[str], node: Node) -> list[Json]:
    """Those of a node's taints that keep pods off; all of them when no keys are asked for."""
    return [
        {"effect": taint["effect"], "key": taint["key"], "value": taint.get("value") or ""}
        for taint in node_taints.of_node(node) or []
        if taint["effect"] in _KEEPS_OFF and (not keys or taint["key"] in keys)
    ]


def _unique(taints: t.Iterable[Json]) -> tuple[Json, ...]:
    found = {(taint["key"], taint["effect"], taint["value"]): taint for taint in taints}
    return tuple(found[known_as] for known_as in sorted(found))


def _refuse_strangers(strangers: t.Sequence[str], cluster: Cluster) -> None:
    if strangers:
        raise Refusal(
            f"nodes: {joined(strangers)}: there is no node of this name in the cluster; it has {joined(sorted(cluster.nodes))}."
        )


def _nothing(wish: Wish) -> str:
    kept_for = " or ".join(dict.fromkeys([*wish.resources, *wish.taint_keys]))
    return (
        f"nodes: none is given, and this collection manages no node with {kept_for}. Name the nodes, or use node_taint,"
        " node_extended_resource or the role node_resources first; state absent removes a guard that nobody needs any more."
    )


def refusing(objects: t.Mapping[Place, Json], name: str) -> dict[str, Json]:
    """The policy of each guard that refuses, but for the one of that name and for copies. objects: policies and bindings of ours."""
    return {
        own: found
        for (kind, own), found in sorted(objects.items())
        if kind == POLICY
        and own != name
        and not placement_policies.is_trial(own)
        and placement_policies.denies(objects.get((BINDING, own)))
    }


def _refuse_shared(wish: Wish, found: Protection, cluster: Cluster) -> None:
    # Each would refuse what the other lets through. One that only warns stands in nobody's way.
    told = [text for name, policy in cluster.guards.items() for text in _shared(wish, found, cluster, name, policy)]
    if wish.enforce and told:
        raise Refusal(
            f"{'; '.join(told)}. Of two guards that refuse, one would refuse what the other is for. Name all resources in one guard, give"
            " the nodes other taints, or remove the other guard first (state absent)."
        )


def _shared(wish: Wish, found: Protection, cluster: Cluster, name: str, policy: Json) -> list[str]:
    """What another guard is about, too: nodes, and, where a request is required, taints of them."""
    others = placement_policies.nodes_of(policy)
    both = sorted(set(found.nodes) & set(others))
    ours = found.taints if wish.require_request else ()
    tolerated = [taint for taint in ours if taint in _off(cluster, others)]
    tolerated += [taint for taint in placement_policies.taints_of(policy) if taint in _off(cluster, found.nodes)]
    taints = sorted({f"{taint['key']}:{taint['effect']}" for taint in tolerated})
    told = [f"{', '.join(both)} protected by {name} already"] if both else []
    return told + ([f"{', '.join(taints)} on nodes of {name}, too, and require_request"] if taints and not both else [])


def _off(cluster: Cluster, nodes: t.Iterable[str]) -> list[Json]:
    """All taints that keep pods off some nodes."""
    return [taint for name in nodes if name in cluster.nodes for taint in _keeping_off((), cluster.nodes[name])]


def _refuse_losses(wish: Wish, found: Protection) -> None:
    if found.shut_out and wish.enforce and not wish.allow_refusals:
        raise Refusal(
            f"require_request: {_losses(found, 'would be refused')} Write DaemonSets that belong there into exempt_daemon_sets, or"
            " whatever belongs there into exempt_namespaces; take the toleration out of the others; or set allow_refusals, for"
            " example when exceptions are for them."
        )


def _losses(found: Protection, are_refused: str) -> str:
    return (
        f"pods of {joined(found.shut_out)} {are_refused} at their next start, because these tolerate a taint of the protected nodes"
        " and request nothing: those of DaemonSets on these nodes, those of others wherever they would run."
    )


def _shut_out(wish: Wish, cluster: Cluster, nodes: t.Sequence[str], taints: t.Sequence[Json]) -> list[str]:
    """What the guard would keep from making its pods although they tolerate the taints, by the rules of the policy."""
    there = [cluster.nodes[name] for name in nodes if name in cluster.nodes]
    found = []
    for kind, workloads in cluster.workloads.items():
        for workload in workloads:
            metadata, spec = workload["metadata"], _template_of(kind, workload)
            name = f"{metadata['namespace']}/{metadata['name']}"
            exempt = metadata["namespace"] in wish.exempt_namespaces or (
                # Each of its pods is for one node, which the policy sees.
                name in wish.exempt_daemon_sets or not _lands(spec, there)
                if kind == DAEMON_SET
                else _is_elsewhere(spec, nodes)
            )
            if not exempt and _tolerates(spec, taints) and not _requests(spec, wish.resources):
                found.append(f"{kind} {name}")
    return sorted(found)


def _template_of(kind: str, workload: Json) -> Json:
    """The specification of the pods that it makes."""
    spec = workload["spec"]["jobTemplate"]["spec"] if kind == CRON_JOB else workload["spec"]
    return t.cast(Json, spec["template"]["spec"])


def _is_elsewhere(spec: Json, nodes: t.Collection[str]) -> bool:
    """Whether pods name nodes that are not protected, which is all that the policy can see before they have one."""
    if spec.get("nodeName"):
        return spec["nodeName"] not in nodes
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []
    return bool(terms) and all(
        any(
            (field.get("key"), field.get("operator")) == ("metadata.name", "In")
            and set(field.get("values") or []).isdisjoint(nodes)
            for field in term.get("matchFields") or []
        )
        for term in terms
    )


def _lands(spec: Json, nodes: t.Iterable[Node]) -> bool:
    """Whether some node is one of those that pods ask for, by its name or its labels."""
    return any(_asks_for(spec, node["metadata"]) for node in nodes)


def _asks_for(spec: Json, metadata: Json) -> bool:
    name, labels = metadata["name"], metadata.get("labels") or {}
    return spec.get("nodeName") in (None, "", name) and not readmission.affinity_reason({"spec": spec}, name, labels)


def _tolerates(spec: Json, taints: t.Iterable[Json]) -> bool:
    return any(pods.tolerations_of({"spec": spec}, taint) for taint in taints)


def _requests(spec: Json, resources: t.Collection[str]) -> bool:
    """Whether some container requests one of the resources. In a template a limit alone stands for the request, too."""
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        found = container.get("resources") or {}
        amounts = {**(found.get("limits") or {}), **(found.get("requests") or {})}
        if any(quantities.parse(str(amounts.get(name, 0))) > 0 for name in resources):
            return True
    return False


# ---- what is to be done ------------------------------------------------------------------------------------------------


def guard_of(wish: Wish, protection: Protection) -> Guard:
    """What the policies are made of."""
    return Guard(
        name=wish.name,
        nodes=protection.nodes,
        resources=wish.resources,
        taints=protection.taints,
        require_request=wish.require_request,
        enforce=wish.enforce,
        affinity=wish.affinity,
        schedulers=wish.schedulers,
        exceptions=wish.exceptions,
        exempt_daemon_sets=wish.exempt_daemon_sets,
        exempt_namespaces=wish.exempt_namespaces,
    )


def bodies(wish: Wish, cluster: Cluster, protection: Protection) -> list[Json]:
    """The objects as they would be sent: what is there is replaced as it was read."""
    if not wish.present:
        return []
    found = placement_policies.objects(guard_of(wish, protection))
    return [as_read(body, cluster.objects.get(place_of(body))) for body in found]


def as_read(body: Json, found: Json | None) -> Json:
    """An object that replaces the one that was read, and no later one; a new one as it is."""
    if not found:
        return body
    # What others wrote there stays.
    labels = {**(found["metadata"].get("labels") or {}), **(body["metadata"].get("labels") or {})}
    kept = {key: found["metadata"][key] for key in ("resourceVersion", *_OF_OTHERS) if key in found["metadata"]}
    return {**body, "metadata": {**body["metadata"], **kept, "labels": labels}}


def as_first_written(found: Json) -> Json:
    """An object as it is sent when it has to be made again as it was read."""
    metadata = {key: found["metadata"][key] for key in ("name", "labels", *_OF_OTHERS) if key in found["metadata"]}
    return {**{key: found[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


def place_of(body: t.Mapping[str, t.Any]) -> Place:
    """Kind and name of an object."""
    return body["kind"], body["metadata"]["name"]


def plan(
    wish: Wish, cluster: Cluster, protection: Protection, sent: t.Sequence[Json], judged: t.Mapping[Place, Json]
) -> GuardPlan:
    """Work out what to do.

    sent: the objects as they would be sent. judged: what the API server would make of them, with its defaults; one that it
    declines is missing.
    """
    writes = [body for body in sent if differs(cluster.objects.get(place_of(body)), judged.get(place_of(body)))]
    wanted = [place_of(body) for body in sent]
    going = [(kind, wish.name) for kind in reversed(KINDS) if (kind, wish.name) not in wanted]
    left = [(kind, placement_policies.trial_name(wish.name)) for kind in reversed(KINDS)]
    removals = tuple(place for place in going if place in cluster.objects)
    leftovers = tuple(place for place in left if place in cluster.objects)
    operations = [Operation(place, REMOVED) for place in leftovers]
    operations += [
        Operation(place_of(body), CHANGED if place_of(body) in cluster.objects else CREATED) for body in writes
    ]
    operations += [Operation(place, REMOVED) for place in removals]
    warnings = [
        *_warnings_of_disarming(wish, cluster),
        *_warnings_of_nothing(wish, cluster, protection),
        *_warnings(wish, protection),
    ]
    return GuardPlan(tuple(operations), tuple(warnings), tuple(writes), leftovers, removals)


def differs(found: t.Mapping[str, t.Any] | None, wanted: t.Mapping[str, t.Any] | None) -> bool:
    """Whether an object is not what it should be. What somebody else adds could take it out of force, so all of it counts."""
    return found is None or wanted is None or found.get("spec") != wanted.get("spec")


def _warnings_of_disarming(wish: Wish, cluster: Cluster) -> list[str]:
    if not (wish.present and was_enforced(wish, cluster)) or wish.enforce:
        return []
    return [
        f"{wish.name} refused until now and only warns from now on, because enforce is not asked for; set it where the other"
        " variables of the guard are, so that every run has it."
    ]


def _warnings_of_nothing(wish: Wish, cluster: Cluster, found: Protection) -> list[str]:
    if found.nodes or not wish.present:
        return []
    if (POLICY, wish.name) in cluster.objects:
        return [f"The guard protects nothing as long as that is so. {_nothing(wish)}"]
    return [f"Outside check mode this is refused, unless there is such a node by then. {_nothing(wish)}"]


def _warnings(wish: Wish, found: Protection) -> list[str]:
    warnings = [
        f"{name}: no node of the cluster any more; take it out of the nodes to protect, or leave it there when it comes back."
        for name in found.stale
    ]
    keys = f" {' or '.join(wish.taint_keys)}" if wish.taint_keys else ""
    warnings += [
        f"{name}: has no taint{keys} that keeps pods off, so the scheduler itself may place any pod there."
        for name in found.untainted
    ]
    if found.shut_out:
        warnings.append(_losses(found, "are refused" if wish.enforce else "would be refused if it were enforced,"))
    if _KUBE_SCHEDULER not in wish.schedulers:
        warnings.append(
            f"schedulers: {_KUBE_SCHEDULER} is not among them, so the cluster's own scheduler cannot place any pod on protected nodes."
        )
    return warnings


def was_enforced(wish: Wish, cluster: Cluster) -> bool:
    """Whether the guard that was found refuses."""
    return placement_policies.denies(cluster.objects.get((BINDING, wish.name)))


# ---- what is told ------------------------------------------------------------------------------------------------------


def lines(wish: Wish, found: Protection, operations: t.Sequence[Operation], *, dry: bool) -> list[str]:
    """What came of it, for people. dry: it was only worked out."""
    would = dry and bool(operations)
    if not wish.present:
        return [f"{wish.name}: {'would be removed' if would else 'not there any more'}"]
    does = "would refuse" if would else "refuses"
    only = "would only warn" if would else "only warns"
    told = [f"{wish.name} {does if wish.enforce else only}; protected: {', '.join(found.nodes) or 'no node'}"]
    told += [f"{name}: {'would be protected' if would else 'protected from now on'}" for name in found.added]
    for name in found.removed:
        why = ", and no node of the cluster any more" if name in found.gone else ""
        told.append(f"{name}: {'would not be protected any more' if would else 'not protected any more'}{why}")
    return told + [f"{' '.join(each.place)}: {'would be ' if would else ''}{each.action}" for each in operations]


def shown(found: t.Mapping[str, t.Any] | None) -> Json:
    """What a diff shows of an object: what is the guard's, with a line for each line of an expression."""
    if not found:
        return {}
    metadata = {key: found["metadata"].get(key) for key in ("name", "labels")}
    return {"metadata": metadata, "spec": _in_lines(found.get("spec"))}


def _in_lines(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _in_lines(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_in_lines(entry) for entry in value]
    return value.splitlines() if isinstance(value, str) and "\n" in value else value


# ---- what a trial and the proof say ------------------------------------------------------------------------------------


def problem(
    case: placement_policies.Case, taken: t.Mapping[str, t.Any] | None, said: str, *, seconds: int, namespace: str
) -> str:
    """What is wrong about the answer to a pod that was asked for; empty when nothing is.

    taken: the pod as the API server would make it; None when it refused. said: its refusal. seconds: how long it was asked.
    """
    if fails(said):
        return f"An expression fails for {case.name}: {said}."
    if case.says and not all(words in said for words in case.says):
        words = f" ({said})" if said else ""
        return (
            f"{_LET_THROUGH} {case.name} within {seconds} s{words}. See whether the API server runs without the admission plugin"
            " ValidatingAdmissionPolicy."
        )
    if not case.says and taken is None:
        return f"It has to accept {case.name}, in the namespace {namespace}, and the API server said: {said}."
    if case.scheduled and not _became_affinity(case, taken or {}):
        return (
            f"The node of {case.name} was not turned into an affinity by {case.scheduled} for {seconds} s. See whether the API server"
            " runs without the admission plugin MutatingAdmissionPolicy."
        )
    return ""


def fails(said: str) -> bool:
    """Whether a refusal tells of an expression that fails."""
    return "resulted in error" in said


def _became_affinity(case: placement_policies.Case, taken: t.Mapping[str, t.Any]) -> bool:
    annotations = taken["metadata"].get("annotations") or {}
    return "nodeName" not in taken["spec"] and annotations.get(placement_policies.ANNOTATION) == case.scheduled


def complaints(policy: t.Mapping[str, t.Any]) -> list[str]:
    """What the controller manager says of the expressions of a policy, by their types."""
    checked = (policy.get("status") or {}).get("typeChecking") or {}
    return [
        f"The API server says of the expression {entry['fieldRef']}: {entry['warning']}"
        for entry in checked.get("expressionWarnings") or []
    ]


def own_exception(wish: Wish, problems: t.Iterable[str]) -> str:
    """What else may be the cause when a guard that refuses lets a pod through; empty when it cannot be."""
    if not (wish.exceptions and wish.enforce and any(text.startswith(_LET_THROUGH) for text in problems)):
        return ""
    return "Or one of its exceptions holds for the account of this task, which has to be left out of them, for it is to be refused here."


def no_trial(wish: Wish, said: str) -> str:
    """Why nothing can be tried where a harmless pod is refused. said: the refusal."""
    words = said.rstrip(".")
    if f"ValidatingAdmissionPolicy '{wish.name}'" in words:
        return f"the guard that is in force refuses a harmless pod: {words}. Somebody changed it. {way_out(wish)} Then run the task again."
    return (
        f"trial_namespace: nothing can be tried in {wish.trial_namespace}, because a harmless pod is refused there: {words}. Name another"
        " namespace."
    )


def way_out(wish: Wish) -> str:
    """How to take a guard out of force, whatever else does not work."""
    names = ["validatingadmissionpolicybinding", *(["mutatingadmissionpolicybinding"] if wish.affinity else [])]
    return f"To take it out of force: {' and '.join(f'kubectl delete {kind} {wish.name}' for kind in names)}."
