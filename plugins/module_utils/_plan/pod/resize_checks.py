# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What would keep pods from being resized, as far as the API shows it beforehand: quotas, the room of nodes, and memory in use."""

from __future__ import annotations

import copy
import typing as t
from fractions import Fraction

from ..common.ownership import Change
from ..kubernetes import pods, quantities
from ..kubernetes.pods import Pod
from .resize import AMOUNT_KINDS, RESIZABLE, containers_of
from .resize_state import INFEASIBLE, REFUSED, container_statuses

Quota = t.Mapping[str, t.Any]
Usage = t.Mapping[str, Fraction]  # bytes of memory by container
Resize = tuple[Pod, Pod]  # a pod before and after

_MEMORY_LIMIT = "limits.memory"


def with_largest_amounts(pod: Pod) -> Pod:
    """A pod with the amounts that it counts with: of each the largest of what it requests, was allocated and has.

    Beside a resize that is not done, a quota counts so, and so does the scheduler.
    """
    return _with_amounts(pod, _largest)


def _with_allocated_requests(pod: Pod) -> Pod:
    """A pod with the requests that its kubelet has admitted, where the status has them."""

    def choose(requested: Fraction | None, allocated: Fraction | None, _actual: Fraction | None) -> Fraction | None:
        return requested if allocated is None else allocated

    return _with_amounts(pod, choose)


Choose = t.Callable[["Fraction | None", "Fraction | None", "Fraction | None"], "Fraction | None"]


def _largest(*amounts: Fraction | None) -> Fraction | None:
    return max((amount for amount in amounts if amount is not None), default=None)


def _with_amounts(pod: Pod, choose: Choose) -> Pod:
    """A pod with amounts that are chosen from the requested, the allocated and the actual one, of each container and resource."""
    found, statuses = copy.deepcopy(pod), container_statuses(pod)
    for name, (_place, container) in containers_of(found["spec"]).items():
        status = statuses.get(name) or {}
        resources = dict(container.get("resources") or {})
        for kind in AMOUNT_KINDS:
            amounts = dict(resources.get(kind) or {})
            allocated = (status.get("allocatedResources") or {}) if kind == "requests" else {}
            actual = (status.get("resources") or {}).get(kind) or {}
            for resource in RESIZABLE:
                amount = choose(*(_parse(each.get(resource)) for each in (amounts, allocated, actual)))
                if amount is not None:
                    amounts[resource] = _format_exactly(amount)
            resources[kind] = amounts
        container["resources"] = resources  # type: ignore[index]
    return found


def _parse(amount: t.Any) -> Fraction | None:
    return None if amount is None else quantities.parse(str(amount))


def _format_exactly(amount: Fraction) -> str:
    return f"{int(amount * 1000)}m"


def requests_more(before: Pod, after: Pod) -> bool:
    """Whether a pod requests more, or may use more, of anything that a quota or a node counts."""
    former, latter = _quota_usage(before), _quota_usage(after)
    return any(amount > former.get(name, Fraction(0)) for name, amount in latter.items())


# ---- quotas ----------------------------------------------------------------------------------------------------------


def quota_problems(quotas: t.Sequence[Quota], resizes: t.Mapping[str, Resize]) -> tuple[dict[str, str], list[str]]:
    """Which pods the quotas of their namespace refuse when all of them are resized, one after the other, by name with the reason; and which
    quotas could not be applied here, with the reason."""
    problems: dict[str, str] = {}
    unknown: dict[str, None] = {}
    used: dict[tuple[str, str], Fraction] = {}  # by quota and what it counts, with the pods so far
    for name, (before, after) in resizes.items():
        former, latter = _quota_usage(with_largest_amounts(before)), _quota_usage(with_largest_amounts(after))
        more = {key: amount - former.get(key, Fraction(0)) for key, amount in latter.items()}
        requested: dict[tuple[str, str], Fraction] = {}
        for quota in quotas:
            reason = _why_unknown(quota, after)
            if reason:
                unknown[reason] = None
            elif _matches(quota, after):
                problem = _charge(quota, more, used, requested)
                if problem:
                    problems.setdefault(name, problem)
        if name not in problems:
            used.update(requested)
    return problems, list(unknown)


def _charge(
    quota: Quota,
    more: t.Mapping[str, Fraction],
    used: t.Mapping[tuple[str, str], Fraction],
    requested: dict[tuple[str, str], Fraction],
) -> str:
    """Add to requested what a quota counts of a change, beside what is used. Returns why it refuses that; empty when it does not."""
    name, hard, charged = quota["metadata"]["name"], quota["status"]["hard"], quota["status"].get("used") or {}
    for key, extra in more.items():
        if extra <= 0 or key not in hard:
            continue
        place = name, key
        so_far = used.get(place, quantities.parse(str(charged.get(key, "0"))))
        requested[place] = so_far + extra
        if requested[place] > quantities.parse(str(hard[key])):
            others = ", the other pods of this task included" if place in used else ""
            return (
                f"the ResourceQuota {name} has no room for it: {key} would be {_format(key, requested[place])} of {hard[key]}, with"
                f" {_format(key, so_far)} in use before it{others}"
            )
    return ""


def _why_unknown(quota: Quota, pod: Pod) -> str:
    """Why a quota cannot be applied here; empty when it can."""
    name, matches = quota["metadata"]["name"], _matches(quota, pod)
    if matches is None:
        return f"{name} has a scope that is not known here"
    return f"{name} has no status yet" if matches and "hard" not in (quota.get("status") or {}) else ""


def _quota_usage(pod: Pod) -> dict[str, Fraction]:
    requests, limits = pods.sum_requests(pod), pods.sum_limits(pod)
    found: dict[str, Fraction] = {}
    for resource in RESIZABLE:
        if resource in requests:
            found[resource] = found[f"requests.{resource}"] = requests[resource]
        if resource in limits:
            found[f"limits.{resource}"] = limits[resource]
    return found


def _matches(quota: Quota, pod: Pod) -> bool | None:
    """Whether a quota counts a pod; None where that is not known."""
    spec = quota.get("spec") or {}
    selectors = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or []]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    found = [_matches_scope(selector, pod) for selector in selectors]
    if False in found:
        return False
    return None if None in found else True


def _matches_scope(selector: t.Mapping[str, t.Any], pod: Pod) -> bool | None:
    terminating = pod["spec"].get("activeDeadlineSeconds") is not None
    best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    priority_class, values = pod["spec"].get("priorityClassName") or "", selector.get("values") or []
    by_operator = {
        "Exists": bool(priority_class),
        "DoesNotExist": not priority_class,
        "In": priority_class in values,
        "NotIn": priority_class not in values,
    }
    known = {
        "Terminating": terminating,
        "NotTerminating": not terminating,
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "PriorityClass": by_operator.get(str(selector.get("operator"))),
    }
    return known.get(str(selector.get("scopeName")))


# ---- the room of a node ----------------------------------------------------------------------------------------------


def allocatable_problems(
    node: t.Mapping[str, t.Any], on_node: t.Iterable[Pod], resizes: t.Mapping[str, Resize]
) -> dict[str, tuple[str, str]]:
    """Which pods a node has no room for when all of them are resized, by name with the outcome and the reason, as their kubelet would say it.

    on_node: all pods of the node. resizes: those of the task there.
    """
    allocatable = {
        name: quantities.parse(str(amount))
        for name, amount in ((node.get("status") or {}).get("allocatable") or {}).items()
        if name in RESIZABLE
    }
    uids = [before["metadata"].get("uid") for before, _after in resizes.values()]
    taken = pods.total_requests(
        _with_allocated_requests(pod) for pod in on_node if pod["metadata"].get("uid") not in uids
    )
    for before, _after in resizes.values():
        _add(taken, pods.sum_requests(_with_allocated_requests(before)))
    problems: dict[str, tuple[str, str]] = {}
    for name, (before, after) in resizes.items():
        former, latter = pods.sum_requests(_with_allocated_requests(before)), pods.sum_requests(after)
        for resource, total in allocatable.items():
            amount, own = latter.get(resource, Fraction(0)), former.get(resource, Fraction(0))
            others = taken.get(resource, Fraction(0)) - own
            if amount <= own or amount <= total - others:
                continue
            outcome = INFEASIBLE if amount > total else REFUSED
            problems.setdefault(
                name,
                (
                    outcome,
                    f"its node {node['metadata']['name']} has no room for it: it would request {_format(resource, amount)} of {resource},"
                    f" and others request {_format(resource, others)} of the {_format(resource, total)} that it has for pods",
                ),
            )
        if name not in problems:
            _add(taken, {key: amount - former.get(key, Fraction(0)) for key, amount in latter.items()})
    return problems


def _add(total: dict[str, Fraction], more: t.Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


# ---- memory in use ---------------------------------------------------------------------------------------------------


def lowered_memory(operations: t.Iterable[Change], restarts: t.Collection[str]) -> dict[str, str]:
    """The new limits of containers that get less memory, or a limit for the first time, while they run: by container."""
    return {
        operation.key: operation.after
        for operation in operations
        if operation.field == _MEMORY_LIMIT
        and operation.key not in restarts
        and (operation.before is None or quantities.parse(operation.after) < quantities.parse(operation.before))
    }


def usage_problem(limits: t.Mapping[str, str], usage: Usage, source: str) -> str:
    """Why memory in use keeps containers from their new limits; empty for no reason. source: where usage is from."""
    return "; ".join(
        f"container {name} uses {_format('memory', usage[name])} of memory ({source}), and its limit would be {limit}: the kubelet lowers no"
        " limit to less than what is in use, and a container that restarts with it may not start"
        for name, limit in limits.items()
        if name in usage and usage[name] >= quantities.parse(limit)
    )


def parse_summary(summary: t.Mapping[str, t.Any]) -> dict[str, dict[str, Fraction]]:
    """Memory in use by a pod's UID and container, as a kubelet's /stats/summary has it."""
    return {
        str(pod["podRef"]["uid"]): {
            str(entry["name"]): Fraction(entry["memory"]["usageBytes"])
            for entry in pod.get("containers") or []
            if (entry.get("memory") or {}).get("usageBytes") is not None
        }
        for pod in summary.get("pods") or []
    }


def parse_metrics(items: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, dict[str, Fraction]]:
    """Memory in use by a pod's name and container, as the metrics API has it: without what the kernel may reclaim, so no more than is in use."""
    return {
        str(item["metadata"]["name"]): {
            str(entry["name"]): quantities.parse(str(entry["usage"]["memory"]))
            for entry in item.get("containers") or []
            if "memory" in (entry.get("usage") or {})
        }
        for item in items
    }


_MEBI = 2**20


def _format(key: str, amount: Fraction) -> str:
    """An amount for a message, in the unit that people use for it."""
    if not key.endswith("memory"):
        return f"{int(amount * 1000)}m" if amount.denominator != 1 else str(amount)
    return f"{float(amount / _MEBI):.4g}Mi"
