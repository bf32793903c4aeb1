# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role C(node_kubelet) observes of a changed kubelet through the API while its node waits: that it starts a pod, as it did before."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.typed import ModuleResult
from ..transaction import messages
from ..transaction.results import ChangeResult, NodesInfo
from .kubelet_results import KubeletPlan, KubeletSettings, KubeletTurn, ObservedBefore
from .rollout import HALT, REMEDIES

BEFORE_SECONDS, AFTER_SECONDS = 30, 120
_STARTS = "whether it starts pods"
# Besides the waits that variables bound: for the other nodes of the batch, with the rollback of one, and for their observation.
_MARGIN_SECONDS = 300
_RESTORE_SECONDS = 300
# Not the kubelet's: another deleted it. What a quota or a policy refuses is unverified already.
_OF_OTHERS = ("the creation of a pod", "the pod at the API")


@dataclasses.dataclass(frozen=True)
class CanaryResult(ModuleResult):
    """The result of the module C(node_canary). steps: with the problem of each, empty where it works. unverified: why they show nothing."""

    steps: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    unverified: str = ""


def canary_request(
    plan: KubeletPlan, settings: KubeletSettings, *, name: str, is_first: bool, cluster: t.Any
) -> dict[str, t.Any]:
    """The options of C(node_canary). name: of the pod."""
    return {
        "node": plan.node,
        "name": name,
        "image": settings.canary_image or plan.sandbox_image,
        "namespace": settings.canary_namespace,
        "timeout": BEFORE_SECONDS if is_first else AFTER_SECONDS,
        "cluster": cluster,
    }


def unobserved_reason(plan: KubeletPlan, settings: KubeletSettings) -> str:
    """Why no pod is started for the change of a kubelet; empty where one is."""
    if not settings.canary:
        return f"{_STARTS}: node_kubelet_canary is false"
    if not (settings.canary_image or plan.sandbox_image):
        return f"{_STARTS}: no image is known to be on the node; node_kubelet_canary_image names one"
    if plan.problem:
        return f"{_STARTS}: it did not work before the change, so nothing can be compared"
    return ""


def observation_timeout(settings: KubeletSettings) -> int:
    """How long a node waits to be observed: as long as the slowest one of its batch takes with its rollback."""
    restart = settings.wait_timeout + settings.min_ready_seconds
    return restart + _RESTORE_SECONDS + settings.allocatable_timeout + AFTER_SECONDS + _MARGIN_SECONDS


def add_canary(turn: KubeletTurn, found: CanaryResult, settings: KubeletSettings) -> KubeletTurn:
    """A turn with what its canary shows before the change. The node waits, whatever that is: there is more to compare."""
    problem = found.unverified or (found.reason if found.has_failed else "")
    problem = problem or "; ".join(f"{step}: {why}" for step, why in found.steps.items() if why)
    worked = [step for step, why in found.steps.items() if not why]
    return dataclasses.replace(
        turn,
        observation_timeout=observation_timeout(settings),
        observed_before=ObservedBefore(canary=worked, allocatable=turn.allocatable),
        canary=found.steps,
        unobserved=f"{_STARTS}: not before the change either ({problem})" if problem else "",
    )


def find_losses(before: t.Mapping[str, str], after: CanaryResult) -> tuple[str, str]:
    """What worked before a change and does not now, as a sentence; and what is not known. Each is empty for nothing."""
    if after.unverified or after.has_failed:
        return "", f"{_STARTS}: {after.unverified or after.reason}"
    failing = {step: why for step, why in after.steps.items() if why and before.get(step) == ""}
    of_others = "; ".join(f"{step} ({why})" for step, why in failing.items() if step in _OF_OTHERS)
    lost = "; ".join(f"{step} ({why})" for step, why in failing.items() if step not in _OF_OTHERS)
    return (f"{messages.LOST}{lost}" if lost else ""), (f"{_STARTS}: {of_others}" if of_others else "")


def differs(node: str, info: NodesInfo) -> bool:
    """Whether a kubelet uses something else than is desired, as far as that could be compared."""
    kubelet = info.of(node).kubelet
    return kubelet is not None and bool(kubelet.differences)


def missing_devices(offered: t.Mapping[str, int], info: NodesInfo, node: str) -> list[str]:
    """What device plugins offer less of than before a restart, in words. offered: before."""
    resources = info.of(node).extended_resources
    now = {name: int(resources[name].allocatable or 0) if name in resources else 0 for name in offered}
    return [f"{name} is {now[name]}, expected {number}" for name, number in offered.items() if now[name] < number]


def device_mismatch(node: str, info: NodesInfo, missing: t.Sequence[str], seconds: int) -> str:
    """The error for a node on which device plugins offer less; empty when they do not. missing: as C(missing_devices) has it. seconds: how long
    they were waited for."""
    begin = f"The kubelet of {node} was changed and is healthy, but"
    if info.nodes is None:
        return f"{begin} the API does not show whether device plugins advertise there what they advertised before: {info.reason}. {HALT} {REMEDIES}"
    if not missing:
        return ""
    return (
        f"{begin} {seconds} s later device plugins have less allocatable there than before: {'; '.join(missing)}. {HALT}"
        " Check that the pods of the device plugins run on the node and have registered with its new kubelet (kubectl get pods"
        f" --all-namespaces --field-selector spec.nodeName={node}); restart one that did not notice the restart. To wait"
        " longer, set node_kubelet_allocatable_timeout; 0 skips this check."
    )


def is_observed(change: ChangeResult | None) -> bool:
    """Whether the node of a change waits until it is observed."""
    return bool(change and change.transaction and change.transaction.phase == messages.OBSERVING)
