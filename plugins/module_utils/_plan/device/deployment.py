# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which objects of a device plugin are written and removed, when its nodes are waited for, and what is reported.

An object is a mapping with C(kind), C(name), C(labels) and C(config_maps), as M(nodecraft.kubeadm.device_plugin_info) returns it.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..common import typed
from ..common.typed import ModuleResult
from ..transaction.api_host import ApiHost
from ..transaction.results import NodeInfo
from ..transaction.rollout import ClusterFound, Decision, HostResults, StepResult, Turn
from .desired import OWNER, OWNER_LABEL, Json, Settings, resource_names, token_secret_name

NAMESPACE, CONFIG_MAP, SECRET, DAEMON_SET = "Namespace", "ConfigMap", "Secret", "DaemonSet"

_API_VERSIONS = {DAEMON_SET: "apps/v1"}
_ENFORCED = "pod-security.kubernetes.io/enforce"
_PRIVILEGED = "privileged"


@dataclasses.dataclass(frozen=True)
class Mode:
    """How Ansible runs: C(--check), C(--diff)."""

    check: bool = False
    diff: bool = False


@dataclasses.dataclass(frozen=True)
class PluginCheck(ModuleResult):
    """The result of the module C(device_plugin_info), as far as it was requested."""

    selected: t.Sequence[str] = ()
    nodes: Json = dataclasses.field(default_factory=dict)
    problems: t.Sequence[str] = ()
    summary: t.Sequence[str] = ()
    waited_seconds: float = 0.0
    objects: t.Sequence[Json] = ()
    others: t.Sequence[Json] = ()


@dataclasses.dataclass(frozen=True)
class PluginSettings:
    """What other hosts have to know of a host. digests: of the variables, by name. environment: of tasks that use the API there. readers: the
    control planes, each of which is read until one responds. loads: whether nodes get the image."""

    digests: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    api: ApiHost | None = None
    environment: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    readers: tuple[ApiHost, ...] = typed.tuple_of(ApiHost.parse)
    loads: bool = False


@dataclasses.dataclass(frozen=True)
class PluginDecision(Decision):
    """Of the step decide, with the result of C(device_plugin_info). writes, removals: as C(plan_writes) and C(plan_removals) return them.

    must_verify: something is left to do even when nothing that is written changes anything. is_preview: the DaemonSet is only displayed, because
    it would be made in a namespace that check mode does not make. others: what keeps the namespace.
    """

    selected: t.Sequence[str] = ()
    nodes: Json = dataclasses.field(default_factory=dict)
    problems: t.Sequence[str] = ()
    summary: t.Sequence[str] = ()
    writes: t.Sequence[Json] = ()
    removals: t.Sequence[Json] = ()
    must_verify: bool = False
    is_preview: bool = False
    others: t.Sequence[str] = ()
    files: Json = dataclasses.field(default_factory=dict)
    config_map: str = ""
    is_bundled: bool = False
    cdi: bool = False
    pod_resources: bool = False
    token_secret: str = ""


@dataclasses.dataclass(frozen=True)
class PluginTurn(Turn):
    """Of the step turn: whether the host gets the image."""

    loads: bool = False


@dataclasses.dataclass(frozen=True)
class Verification(StepResult):
    """Of the step verify. proof: what the nodes advertise in the end. kept: what kubelets still report of a plugin that was removed, by node."""

    proof: PluginCheck | None = typed.field_of(PluginCheck)
    kept: Json = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class WriteResult(ModuleResult):
    """The result of the loop that writes the objects."""

    results: t.Sequence[Json] = ()


class PluginHost(HostResults[PluginSettings, ModuleResult]):
    """What the tasks of the role left on one host."""

    settings_type = PluginSettings
    turn_type = PluginTurn

    @functools.cached_property
    def decision(self) -> PluginDecision | None:
        """Of the step decide; None before that."""
        return self.of_pass("decide", PluginDecision)

    @functools.cached_property
    def identified(self) -> ClusterFound:
        """Of the step identify; an empty one without control planes in the inventory."""
        return self.of_pass("identify", ClusterFound) or ClusterFound()

    @functools.cached_property
    def verified(self) -> Verification | None:
        """Of the step verify; None where it was not taken."""
        return self.of_pass("verify", Verification)

    @property
    def written(self) -> WriteResult:
        """Of the loop that writes."""
        return self.result("change", WriteResult)


@dataclasses.dataclass(frozen=True)
class FoundObjects:
    """The objects that are there under the plugin's names.

    namespace, daemon_set: None where there is none. stale: its files of this role that are not desired any more. foreign: kinds and names
    of what this role did not make and would write over or remove. former_config: the stale ConfigMap that the pods mount now; empty for none.
    others: kinds and names of what keeps the namespace.
    """

    namespace: Json | None
    daemon_set: Json | None
    stale: t.Sequence[Json]
    foreign: t.Sequence[str]
    former_config: str
    others: t.Sequence[str]

    @property
    def own_namespace(self) -> Json | None:
        """The namespace, if this role made it."""
        return self.namespace if self.namespace and is_owned(self.namespace) else None


def is_owned(item: Json) -> bool:
    """Whether this role made an object."""
    return bool(item["labels"].get(OWNER_LABEL) == OWNER)


def differing_variables_error(digests: t.Mapping[str, t.Mapping[str, str]]) -> str:
    """Which variables are not the same on all hosts, as a sentence; empty when all are. digests: of the values, by host and variable."""
    each = list(digests.values())
    names = [name for name in each[0] if len({found[name] for found in each}) > 1]
    if not names:
        return ""
    return (
        f"One host acts for all hosts of a play, so {', '.join(names)} must be the same for all of them. Set it for all of them, such as in"
        " group_vars/all.yml; what differs from node to node belongs in device_plugin_expected."
    )


def classify_objects(
    settings: Settings, config_map: str, objects: t.Sequence[Json], others: t.Sequence[Json]
) -> FoundObjects:
    """Sort the objects that exist. config_map: the name of the one with the plugin's files; empty when it has none."""
    desired = {
        CONFIG_MAP: config_map if settings.is_present else "",
        SECRET: token_secret_name(settings.name) if settings.is_present and settings.has_token else "",
    }
    files = [each for each in objects if each["kind"] in desired]
    daemon_set = _find_kind(objects, DAEMON_SET)
    stale = [each for each in files if is_owned(each) and each["name"] != desired[each["kind"]]]
    named = [*([daemon_set] if daemon_set else []), *(each for each in files if each["name"] == desired[each["kind"]])]
    stale_configs = [each["name"] for each in stale if each["kind"] == CONFIG_MAP]
    mounted = [name for name in (daemon_set or {}).get("config_maps", []) if name in stale_configs]
    return FoundObjects(
        namespace=_find_kind(objects, NAMESPACE),
        daemon_set=daemon_set,
        stale=stale,
        foreign=[_label(each) for each in named if not is_owned(each)],
        former_config=mounted[0] if mounted else "",
        others=[_label(each) for each in others if not is_owned(each)],
    )


def write_refusal(settings: Settings, found: FoundObjects) -> str:
    """Why nothing is written into the cluster, or removed; empty when there is no reason."""
    if found.foreign:
        return (
            f"In the namespace {settings.namespace} this was not created by this role: {', '.join(found.foreign)}; remove it first, or set"
            " device_plugin_name to another name."
        )
    level = (found.namespace or {}).get("labels", {}).get(_ENFORCED, _PRIVILEGED)
    if settings.is_present and not found.own_namespace and level != _PRIVILEGED:
        return (
            f"The namespace {settings.namespace} accepts only pods of the level {level}, and a device plugin mounts directories of the host. Set"
            " device_plugin_namespace to another one, or the label pod-security.kubernetes.io/enforce of this one to privileged."
        )
    return ""


def make_decision(
    settings: Settings, found: FoundObjects, mode: Mode, *, has_files: bool, check: PluginCheck
) -> PluginDecision:
    """The decision about the objects. check: of the nodes before anything was written."""
    removed = plan_removals(settings, found, mode)
    return PluginDecision(
        selected=check.selected,
        nodes=check.nodes,
        problems=check.problems,
        summary=check.summary,
        writes=plan_writes(settings, found, mode, has_files=has_files) if settings.is_present else [],
        removals=removed,
        must_verify=bool(removed or (check.problems and not mode.check)),
        is_preview=mode.check and found.namespace is None,
        others=list(found.others),
    )


def plan_writes(settings: Settings, found: FoundObjects, mode: Mode, *, has_files: bool) -> list[dict[str, t.Any]]:
    """The calls that write the objects, in their order: the kinds of each as C(kinds).

    One call writes all, because each is a process; Ansible shows differences only of a call with one object, and hides the whole call
    for a Secret (C(hidden)). C(former): the ConfigMap is compared with that of this name instead (C(check)), because its own name is
    new and the difference would be all of it; empty for none. Without a namespace the API server cannot judge what is to be in it.
    """
    kinds = [] if found.namespace and not found.own_namespace else [NAMESPACE]
    if found.namespace or not mode.check:
        kinds += [CONFIG_MAP] * has_files + [SECRET] * settings.has_token + [DAEMON_SET]
    if mode.diff:
        return [call for kind in kinds for call in _compare_calls(kind, found.former_config)]
    rest = [kind for kind in kinds if kind != SECRET]
    if SECRET not in kinds:
        return [_write_call(*rest)]
    if found.namespace:
        return [_write_call(SECRET), _write_call(*rest)]
    return [_write_call(NAMESPACE), _write_call(SECRET), _write_call(*rest[1:])]


def _compare_calls(kind: str, former: str) -> list[dict[str, t.Any]]:
    if kind != CONFIG_MAP or not former:
        return [_write_call(kind)]
    return [{**_write_call(kind), "former": former, "check": True}, {**_write_call(kind), "diff": False}]


def _write_call(*kinds: str) -> dict[str, t.Any]:
    return {"kinds": list(kinds), "hidden": SECRET in kinds, "former": "", "check": False, "diff": True}


def plan_removals(settings: Settings, found: FoundObjects, mode: Mode) -> list[dict[str, t.Any]]:
    """The calls that remove objects, in their order: those of each as C(objects), and as a text as C(label).

    C(wait): until they are gone. C(policy): how what belongs to them goes; empty for the default.
    """
    files = [[each] for each in found.stale] if mode.diff else [list(found.stale)] if found.stale else []
    calls = [_removal(settings, items) for items in files]
    if settings.is_present:
        return calls
    if found.daemon_set:
        # Gone when its pods are gone.
        calls.insert(0, _removal(settings, [found.daemon_set], wait=True, policy="Foreground"))
    namespace = found.own_namespace
    if namespace and not found.others:
        calls.append(_removal(settings, [namespace], wait=True))
    return calls


def _removal(settings: Settings, items: t.Sequence[Json], *, wait: bool = False, policy: str = "") -> dict[str, t.Any]:
    references = [_reference(each, settings.namespace) for each in items]
    return {"objects": references, "label": ", ".join(_label(each) for each in items), "wait": wait, "policy": policy}


def _reference(item: Json, namespace: str) -> dict[str, t.Any]:
    place = {} if item["kind"] == NAMESPACE else {"namespace": namespace}
    version = _API_VERSIONS.get(item["kind"], "v1")
    return {"apiVersion": version, "kind": item["kind"], "metadata": {"name": item["name"], **place}}


def must_wait(decision: PluginDecision, written: WriteResult, mode: Mode) -> bool:
    """Whether nodes have yet to offer what is expected."""
    return not mode.check and bool(written.changed or decision.problems)


def verification_error(settings: Settings, proof: PluginCheck) -> str:
    """What is wrong after the deployment; empty when every node offers what is expected. proof: the last check of the nodes."""
    if not proof.problems:
        return ""
    return (
        f"The device plugin {settings.namespace}/{settings.name} is deployed, but after {proof.waited_seconds:.0f} s {len(proof.problems)} of"
        f" {len(proof.selected)} nodes do not advertise what is expected. {'. '.join(proof.problems)}."
    )


def leftover_resources(settings: Settings, nodes: t.Mapping[str, NodeInfo]) -> dict[str, dict[str, Json]]:
    """What kubelets still report of a plugin that is gone, by node and resource, as C(capacity) and C(allocatable).

    Of the resources that the variables name, or else of those that nothing serves. nodes: of M(nodecraft.kubeadm.node_resource_info).
    """
    names = resource_names(settings)
    found: dict[str, dict[str, Json]] = {
        node: {
            name: {"capacity": each.capacity, "allocatable": each.allocatable}
            for name, each in info.extended_resources.items()
            if each.device_plugin
            and each.capacity not in ("", "0")
            and (name in names if names else each.allocatable == "0")
        }
        for node, info in nodes.items()
    }
    return {node: resources for node, resources in found.items() if resources}


def is_written(settings: Settings, own: PluginHost) -> bool:
    """Whether this pass came to write objects. own: the results of the host that made the decision."""
    if not settings.is_present or own.decision is None or own.decision.failed:
        return False
    # Before anything is written, the image is loaded into other hosts, which may fail.
    return not settings.has_archive or own.of_pass("admit", StepResult) is not None


def is_changed(settings: Settings, own: PluginHost, hosts: t.Iterable[PluginHost]) -> bool:
    """Whether this pass changed anything. own: the results of the host that made the decision. hosts: all, some of which load the image."""
    step: StepResult | None = own.verified if settings.is_present else own.decision
    came_to_remove = step is not None and not step.failed
    results = [
        *(each.result("load", ModuleResult) for each in hosts if each.turn and each.turn.loads),
        *([own.written] if is_written(settings, own) else []),
        *([own.result("removal", ModuleResult)] if came_to_remove else []),
    ]
    return any(each.changed for each in results)


def hidden_warnings(written: WriteResult) -> list[str]:
    """Warnings of the API server that Ansible does not show, because they are of a call that wrote several objects."""
    several = [(call.get("result") or {}).get("results") or [] for call in written.results]
    return [str(text) for objects in several for each in objects for text in each.get("warnings") or []]


def make_report(decision: PluginDecision, verified: Verification | None, *, changed: bool) -> dict[str, t.Any]:
    """The fact C(device_plugin_report)."""
    last = _last_check(decision, verified, changed=changed) or decision
    proof = verified.proof if verified else None
    return {
        "changed": changed,
        "nodes": dict(last.nodes),
        "problems": list(proof.problems) if proof else [],
        "kept": dict(verified.kept) if verified else {},
    }


def report_lines(
    settings: Settings, decision: PluginDecision, verified: Verification | None, *, changed: bool
) -> list[str]:
    """The lines of the summary."""
    last = _last_check(decision, verified, changed=changed)
    found = list(last.summary) if last else []
    found += [
        f"{node}: still shows {name} {amounts['capacity']} ({amounts['allocatable']} for pods); its kubelet forgets that five minutes"
        " after the plugin ended, except for the name"
        for node, resources in (verified.kept if verified else {}).items()
        for name, amounts in resources.items()
    ]
    if decision.others:
        found.append(f"the namespace {settings.namespace} stays, because it also has: {', '.join(decision.others)}")
    if found:
        return found
    status = "not checked on the nodes" if settings.is_present else "no longer there"
    return [f"{settings.namespace}/{settings.name}: {status}"]


def _last_check(
    decision: PluginDecision, verified: Verification | None, *, changed: bool
) -> PluginCheck | PluginDecision | None:
    """The check of the nodes that shows what they offer now; None when none does. The first one does when it was right and nothing changed."""
    if verified and verified.proof:
        return verified.proof
    return None if changed or decision.problems else decision


def _find_kind(objects: t.Sequence[Json], kind: str) -> Json | None:
    return next((each for each in objects if each["kind"] == kind), None)


def _label(item: Json) -> str:
    return f"{item['kind']} {item['name']}"
