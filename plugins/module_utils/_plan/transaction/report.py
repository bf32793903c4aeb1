# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rollout came to, as lines for people: one for each change and each of its operations."""

from __future__ import annotations

import json
import typing as t

from ..common.batch import joined
from ..common.ownership import Change
from ..common.verdict import SKIPPED
from . import messages
from .messages import COMMITTED, Transaction
from .results import ComponentResult

# Where the variable comes from that says all of a field on a host, as text behind a revert; empty where that is not known.
Places = t.Callable[[str, str], str]

_LOST = "lost when kubeadm wrote the manifest again"
_UPGRADE = "WARNING: a kubeadm upgrade writes the manifests again and so reverts this; run the role again after one."


def static_pods(
    reports: t.Mapping[str, t.Mapping[str, ComponentResult]],
    lost: t.Collection[str] = (),
    *,
    warns: bool = True,
    places: Places = lambda _host, _field: "",
) -> list[str]:
    """Of each host, by its name, what its components came to. lost: hosts whose connection broke in the middle of their change.

    warns: whether to tell in general that an upgrade undoes a change.
    """
    lines: list[str] = []
    for host, components in reports.items():
        for component, result in components.items():
            shown = _line_of(static_pod_operation, host, places)
            lines += _change(f"{host} {component}", result, _verified_pod, shown, is_lost=host in lost)
        if not any(result.operations or result.failed for result in components.values()):
            lines.append(f"{host} static pods: nothing to change")
    lines += _warnings({host: list(components.values()) for host, components in reports.items()})
    if warns and any(
        _is_undone_by_upgrade(result) for components in reports.values() for result in components.values()
    ):
        lines.append(_UPGRADE)
    return lines


def kubelets(
    reports: t.Mapping[str, ComponentResult], lost: t.Collection[str] = (), *, places: Places = lambda _host, _field: ""
) -> list[str]:
    """Of each host, by its name, what its kubelet came to. lost: hosts whose connection broke in the middle of their change."""
    lines: list[str] = []
    for host, result in reports.items():
        what = f"{host} kubelet"
        if result.problem:
            lines.append(f"{what}: before the change, {result.problem}")
        shown = _line_of(kubelet_operation, host, places)
        lines += _change(what, result, _verified_kubelet, shown, is_lost=host in lost)
        if not result.operations and not result.failed:
            lines.append(f"{what}: nothing to change")
    return lines + _warnings({host: [result] for host, result in reports.items()})


def _warnings(reports: t.Mapping[str, t.Iterable[ComponentResult]]) -> list[str]:
    """What programs say of a change that they accept, each once, with the hosts on which they do. reports: by host."""
    hosts: dict[str, dict[str, None]] = {}
    for host, results in reports.items():
        for result in results:
            for text in result.rehearsal.warnings if result.rehearsal else ():
                hosts.setdefault(text, {})[host] = None
    return [f"WARNING: {text} ({joined(found)})" for text, found in hosts.items()]


def left_alone(found: t.Iterable[tuple[str, str, str]]) -> list[str]:
    """What this collection owns and no variable names any more, a line each. found: host, setting, and what reverts it."""
    hosts: dict[tuple[str, str], list[str]] = {}
    for host, setting, remedy in found:
        hosts.setdefault((setting, remedy), []).append(host)
    return [
        f"{setting} on {joined(on)} is owned and no variable names it, so it stays; {remedy} reverts it"
        for (setting, remedy), on in hosts.items()
    ]


def owned_settings(result: ComponentResult) -> t.Iterator[tuple[str, str]]:
    """Field and key of what this collection owns of a component and no variable names. result: of the module that planned it."""
    for field, keys in result.left_alone.items():
        yield from ((field, key) for key in keys)


def counted(operations: t.Sequence[Change]) -> list[str]:
    """How many of some operations are reverts, where any is."""
    reverts = sum(each.no_longer_desired for each in operations)
    changes = len(operations) - reverts
    if not reverts:
        return []
    return [f"{changes} change{'s' * (changes != 1)} and {reverts} revert{'s' * (reverts != 1)}"]


def _line_of(operation_text: t.Callable[[Change], str], host: str, places: Places) -> t.Callable[[Change], str]:
    """What shows an operation on a host as a line. operation_text: what shows it without more."""

    def line(operation: Change) -> str:
        if not operation.no_longer_desired:
            return f"    {operation_text(operation)}"
        return f"    - {operation_text(operation)} (no longer desired{places(host, operation.field)})"

    return line


def static_pod_operation(operation: Change) -> str:
    """One operation on a static pod, such as C(args v: 2 -> 4)."""
    return _operation(operation, _argument)


def kubelet_operation(operation: Change) -> str:
    """One operation on a kubelet, such as C(config maxPods: 110 -> 77)."""
    return _operation(operation, _setting)


def _operation(operation: Change, shown: t.Callable[[t.Any], str]) -> str:
    return f"{operation.field} {operation.key}: {shown(operation.before)} -> {shown(operation.after)}"


def _change(
    what: str,
    result: ComponentResult,
    verified: t.Callable[[Transaction], str],
    shown: t.Callable[[Change], str],
    *,
    is_lost: bool,
) -> list[str]:
    """The lines of one component on one host."""
    lines, operations = [], result.operations or ()
    previous = result.previous_transaction
    if previous:
        lines.append(f"{what}: an earlier run that was not followed to its end: {verified(previous)}")
        lines += limits(previous.unverified, what)
    if operations:
        named = {"reverts": result.reverts, "snapshot": result.snapshot}
        lines.append(
            "; ".join(
                [
                    f"{what}: {_ending(result, verified, is_lost=is_lost)}; {_rehearsed(result)}",
                    *counted(operations),
                    *_pods(result),
                    *(f"{word} {value}" for word, value in named.items() if value),
                ]
            )
        )
    elif result.failed:
        # A change that was refused when its turn came tells no operations, though the plan had some.
        lines.append(f"{what}: {_ending(result, verified, is_lost=is_lost)}: {result.msg}")
    lost = [(field, key) for field, keys in result.lost.items() for key in keys]
    for each in operations:
        line = shown(each)
        place = (each.field, each.key)
        lines.append(f"{line}, {_LOST}" if place in lost else line)
        lost = [other for other in lost if other != place]
    lines += [f"{what}: {field} {key} {_LOST}; not set again, because it is not desired" for field, key in lost]
    return [*lines, *limits(result.unverified, what)]


def _rehearsed(result: ComponentResult) -> str:
    """What the rehearsal of a change came to."""
    verdict = result.rehearsal
    if verdict is None:
        return "rehearsal not known"
    end = f"({verdict.message})" if verdict.verdict == SKIPPED else _seconds("in", verdict.seconds)
    return f"rehearsal {verdict.verdict} {end}"


def _pods(result: ComponentResult) -> list[str]:
    """What became of the pods of a node whose kubelet was restarted."""
    found = result.pods
    if not found:
        return []
    number = found.watched
    return [f"{number} pod{'s' * (number != 1)}, {len(found.lost)} lost, {len(found.restarted)} restarted"]


def limits(unverified: t.Iterable[str], what: str = "") -> list[str]:
    """A line for each part that could not be verified. what: it is a part of; empty for the run as a whole."""
    return [f"WARNING: {what}{': ' if what else ''}not verified: {each}" for each in unverified]


def _ending(result: ComponentResult, verified: t.Callable[[Transaction], str], *, is_lost: bool) -> str:
    if result.transaction:
        return verified(result.transaction) if result.transaction.outcome else "end not seen"
    if is_lost:
        return "lost"
    if result.is_waiting:
        return "not begun"
    return "failed" if result.failed else "planned"


def _verified_pod(transaction: Transaction) -> str:
    proof = transaction.proof
    process = f", now pid {proof.pid} of pod {proof.uid}" if proof else ""
    return f"{_ended(transaction)}, {_seconds('outage', transaction.outage_seconds)}{process}"


def _verified_kubelet(transaction: Transaction) -> str:
    proof = transaction.proof
    process = f", now pid {proof.pid}" if proof else ""
    return f"{_ended(transaction)}, {_seconds('not healthy for', transaction.outage_seconds)}{process}"


def _ended(transaction: Transaction) -> str:
    return f"{messages.worded(transaction.outcome)} {_seconds('after', transaction.seconds)}"


def _seconds(word: str, seconds: float | None) -> str:
    """A time, after the word that says of what it is."""
    return f"{word}: not known" if seconds is None else f"{word} {seconds:.1f} s"


def _argument(value: t.Any) -> str:
    """A value of a static pod. Of a file, and of what has several lines in the manifest, only that it differs."""
    if isinstance(value, t.Mapping):
        return "other content"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return _scalar(value)


def _setting(value: t.Any) -> str:
    """A value of a kubelet's configuration."""
    if isinstance(value, (t.Mapping, list)):
        return json.dumps(value)
    return '""' if value == "" else _scalar(value)


def _scalar(value: t.Any) -> str:
    if value is None:
        return "unset"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_undone_by_upgrade(result: ComponentResult) -> bool:
    is_committed = result.transaction is not None and result.transaction.outcome == COMMITTED
    return bool(result.operations) and is_committed and not result.reverts
