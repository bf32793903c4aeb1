# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a node offers what a device plugin should make it offer, and else why not."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.times import parse_time
from ..kubernetes.kubelet_lease import StaleLeases, describe_stale_lease
from ..kubernetes.pods import Pod, container_statuses, full_name, is_ending
from ..node import extended_resources as node_resources
from ..node import labels as node_labels
from ..node import plan as node_plan
from ..node import readmission
from ..node.plan import Node
from .placement import ExpectedAmounts, Placement

Json = t.Mapping[str, t.Any]

BUNDLED_PLUGIN = "nodecraft-device-plugin"  # the name, as a label, of the plugin that reports more of itself
NAME_LABEL = "app.kubernetes.io/name"
REVISION_LABEL = "controller-revision-hash"
_DETAIL_LIMIT = 3  # details in one message
_IMAGE_ERRORS = ("ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError")
_STARTING_REASONS = ("ContainerCreating", "PodInitializing")


@dataclasses.dataclass(frozen=True)
class Observation:
    """What was read of a plugin.

    name: namespace and name of its DaemonSet. daemon_set: None when there is none. revision: the hash of its newest template.
    pods: of the DaemonSet. events: the newest warning of an object, by kind and name. plugin_reports: what the plugin itself reports of
    its resources, by the name of its pod. stale_leases: of nodes without a plugin report. now: seconds since 1970.
    """

    name: str
    daemon_set: Json | None
    revision: str | None
    pods: t.Sequence[Pod]
    now: float
    events: t.Mapping[tuple[str, str], str] = dataclasses.field(default_factory=dict)
    plugin_reports: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)
    stale_leases: StaleLeases = StaleLeases({}, {})

    @property
    def min_ready_seconds(self) -> float:
        """Seconds for which a pod has to be ready until it counts."""
        return float((self.daemon_set or {}).get("spec", {}).get("minReadySeconds") or 0)

    def pod_of(self, node: str) -> Pod | None:
        """The pod of a node; while one replaces another, the newer one."""
        found = [pod for pod in self.pods if pod["spec"].get("nodeName") == node or _target_node(pod) == node]
        return max(found, key=lambda pod: (not is_ending(pod), self.is_current(pod)), default=None)

    def is_current(self, pod: Pod) -> bool:
        """Whether a pod is made from the newest template."""
        return (pod["metadata"].get("labels") or {}).get(REVISION_LABEL) == self.revision


@dataclasses.dataclass(frozen=True)
class NodeCheck:
    """The result for one node. Amounts are texts by resource. problem: empty when it offers what is expected."""

    pod: str | None
    expected: dict[str, str]
    capacity: dict[str, str]
    allocatable: dict[str, str]
    problem: str

    def __str__(self) -> str:
        return self.problem or ", ".join(f"{name} {amount}" for name, amount in self.allocatable.items()) or "runs"


def check_node(node: Node, expected: ExpectedAmounts, observed: Observation) -> NodeCheck:
    """Compare what a node offers with what is expected of it."""
    capacity, allocatable = node_resources.capacity(node), node_resources.allocatable(node)
    pod = observed.pod_of(node_plan.node_name(node))
    wrong = {name: amount for name, amount in expected.items() if not amount.is_met_by(_count(allocatable, name))}
    cause = _plugin_problem(node, pod, observed)
    parts = [f"{name}: expected {amount}, found {_count(allocatable, name)}" for name, amount in wrong.items()]
    if pod is None or cause:
        problem = f"{'; '.join(parts)}{': ' if parts else ''}{cause}"
    else:
        reported = observed.plugin_reports.get(pod["metadata"]["name"], {})
        reasons = [_amount_reason(name, capacity, allocatable, pod, reported.get(name, {})) for name in wrong]
        problem = "; ".join(f"{part}: {reason}" for part, reason in zip(parts, reasons))
    return NodeCheck(
        pod=full_name(pod) if pod else None,
        expected={name: str(amount) for name, amount in expected.items()},
        capacity={name: capacity[name] for name in expected if name in capacity},
        allocatable={name: allocatable[name] for name in expected if name in allocatable},
        problem=problem,
    )


def unverified(observed: Observation, pods: t.Collection[str]) -> list[str]:
    """What could not be verified of nodes that offer what is expected. pods: the names of their pods, as far as they are of our plugin."""
    silent = sorted(pod for pod in pods if not observed.plugin_reports.get(pod))
    found = (
        [f"whether the plugin itself finds its devices healthy: {_truncate(silent)} could not be asked"]
        if silent
        else []
    )
    for pod in sorted(set(pods).difference(silent)):
        for resource, reported in observed.plugin_reports[pod].items():
            unknown = [
                f"{each['id']}: {each['reason']}"
                for each in reported.get("devices", [])
                if each["healthy"] and each.get("reason")
            ]
            if unknown:
                found.append(f"whether devices of {resource} that {pod} advertises are healthy: {_truncate(unknown)}")
            if reported.get("failure"):
                found.append(f"whether all devices of {resource} were found by {pod}: {reported['failure']}")
    return found


def _count(amounts: t.Mapping[str, str], name: str) -> int:
    return int(amounts.get(name, "0"))


def _plugin_problem(node: Node, pod: Pod | None, observed: Observation) -> str:
    """What keeps the plugin itself from working on a node; empty when it works."""
    if not node_plan.is_ready(node):
        return "the node is not Ready, so its kubelet starts no pod and reports nothing new"
    seconds = observed.stale_leases.stale_seconds.get(node_plan.node_name(node))
    if seconds is not None:
        return describe_stale_lease(seconds)
    if observed.daemon_set is None:
        return f"there is no DaemonSet {observed.name}"
    if pod is None or is_ending(pod):
        return f"there is no pod of the DaemonSet {observed.name}: {_missing_pod_reason(node, pod, observed, observed.daemon_set)}"
    trouble = _pod_problem(pod, observed)
    if trouble:
        return f"the pod {full_name(pod)} is not ready: {trouble}"
    waits = _pending_reason(pod, observed)
    return f"the pod {full_name(pod)} is {waits}" if waits else ""


def _missing_pod_reason(node: Node, ending: Pod | None, observed: Observation, daemon_set: Json) -> str:
    """Why the controller has no pod on a node, or only one that is ending."""
    blocker = _placement_blocker(node, daemon_set["spec"]["template"]["spec"])
    if blocker:
        return f"its pod template keeps it off this node: {blocker}"
    if ending:
        return f"{full_name(ending)} is terminating, and the next one is created when it is gone"
    _namespace, _slash, name = observed.name.partition("/")
    return observed.events.get(("DaemonSet", name)) or "its controller has created none yet"


def _placement_blocker(node: Node, template: Json) -> str | None:
    """What keeps pods of a template off a node; None when nothing does."""
    pod: Pod = {"spec": template}
    # The selector of the template is checked with its affinity.
    placement = Placement(node_selector={}, tolerations=template.get("tolerations") or [])
    name, labels = node_plan.node_name(node), node_labels.live(node)
    return readmission.affinity_reason(pod, name, labels) or placement.blocker(node)


def _pending_reason(pod: Pod, observed: Observation) -> str:
    """Why a pod that is ready does not count yet; empty for one that counts."""
    if not observed.is_current(pod):
        return "of an earlier revision: the rollout has not reached this node"
    if observed.now - _ready_since(pod) < observed.min_ready_seconds:
        return f"ready for less than {observed.min_ready_seconds:g} s"
    return ""


def _pod_problem(pod: Pod, observed: Observation) -> str:
    """Why a pod is not ready; empty when it is."""
    status, name = pod.get("status", {}), pod["metadata"]["name"]
    if status.get("phase") == "Failed":
        return _join(status.get("reason") or "it failed", status.get("message"))
    for container in container_statuses(pod):
        trouble = _container_problem(container)
        if trouble:
            return trouble
    # The plugin knows at once what the API learns only while the kubelet reports.
    reported = _reported_problem(observed.plugin_reports.get(name, {}))
    if reported:
        return reported
    conditions = {entry["type"]: entry for entry in status.get("conditions") or []}
    if conditions.get("Ready", {}).get("status") == "True":
        return ""
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("status") == "False":
        return _join("it has no node", scheduled.get("message"))
    return observed.events.get(("Pod", name)) or "it is being started"


def _reported_problem(reported: t.Mapping[str, t.Any]) -> str:
    """Why a plugin reports that it is not ready; empty when it does not."""
    for key, what in (("not_ready", "not registered, it says"), ("shortage", "it says")):
        found = [f"{resource}: {entry[key]}" for resource, entry in reported.items() if entry.get(key)]
        if found:
            return f"{what}: {_truncate(found)}"
    return ""


def _container_problem(container: Json) -> str:
    state = container.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    if waiting.get("reason") in _IMAGE_ERRORS:
        return (
            f"the image {container.get('image')} is not on the node and cannot be pulled"
            f" ({_join(waiting['reason'], waiting.get('message'))}). Where no registry is reachable, load it with"
            " device_plugin_image_archive"
        )
    if waiting and waiting.get("reason") not in _STARTING_REASONS:
        last = (container.get("lastState") or {}).get("terminated") or {}
        return _describe_exit(last) if last else _join(waiting.get("reason") or "it waits", waiting.get("message"))
    if ended and ended.get("exitCode") != 0:
        return _describe_exit(ended)
    return ""


def _describe_exit(terminated: Json) -> str:
    return _join(
        f"its container ended with status {terminated.get('exitCode')} ({terminated.get('reason', 'no reason')})",
        terminated.get("message"),
    )


def _amount_reason(
    name: str,
    capacity: t.Mapping[str, str],
    allocatable: t.Mapping[str, str],
    pod: Pod,
    reported: t.Mapping[str, t.Any],
) -> str:
    """Why a plugin that works offers another amount of a resource."""
    has, gives = _count(capacity, name), _count(allocatable, name)
    if name not in capacity:
        return (
            f"not registered, the kubelet knows no device plugin for it; the log of {full_name(pod)} may say why"
            " (is the name right?)"
        )
    if gives < has:
        sick = [f"{each['id']}: {each['reason']}" for each in reported.get("devices", []) if not each["healthy"]]
        return f"{has - gives} of {has} devices are unhealthy{_details_suffix(sick)}"
    candidates: t.Sequence[Json] = reported.get("skipped", ())
    skipped = [f"{each['what']}: {each['reason']}" for each in candidates]
    found = "the plugin found none" if not has else f"the plugin advertises {has}"
    return f"{found}{_details_suffix(skipped)}{_join('', reported.get('failure'))}"


def _details_suffix(details: t.Sequence[str]) -> str:
    return f" ({_truncate(details)})" if details else ""


def _truncate(details: t.Sequence[str]) -> str:
    rest = len(details) - _DETAIL_LIMIT
    return "; ".join(details[:_DETAIL_LIMIT]) + (f"; and {rest} more" if rest > 0 else "")


def _join(what: str, message: t.Any) -> str:
    """A reason, and the message that came with it on one line."""
    text = " ".join(str(message or "").split())
    return f"{what}: {text}" if text else what


def _target_node(pod: Pod) -> str | None:
    """The node for which the DaemonSet's controller made a pod that the scheduler has not placed."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or []:
        for field in term.get("matchFields") or []:
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return None


def _ready_since(pod: Pod) -> float:
    conditions = pod.get("status", {}).get("conditions") or []
    times = [entry.get("lastTransitionTime") for entry in conditions if entry["type"] == "Ready"]
    return parse_time(times[0]) if times and times[0] else 0.0
