# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run came to, as lines for people: how much was changed, a line for each change and each cause, and the outcome last.

Hosts with the same change and the same end share a line, so that a run on many nodes has as few lines as one on three.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import typing as t

from ..common.batch import join_first
from ..common.ownership import Change
from ..common.verdict import ACCEPTED, REFUSED, SKIPPED
from . import messages
from .messages import Transaction
from .results import ComponentResult, PartResult

_LOST = "lost when kubeadm wrote the manifest again"
_KUBELET, _NODE = "kubelet", "Node"
# How a setting is named, by its field. Of others the field is named.
_NAMES = {
    "feature_gates": "feature gate {}=",
    "admission_plugins": "admission plugin {}: ",
    "args": "--{}=",
    "env": "env {}=",
    "config": "{}: ",
    "labels": "label {}=",
    "taints": "taint {}: ",
    "resources": "{}: ",
}
_OPERATIONS_WIDTH = 100  # characters of operations in a line
# Lines of causes: 150 hosts with one each pushed the plan off the screen. Ansible has printed the error of each host by then.
_MOST_CAUSES = 30
_EMPTY = '""'
_UNSEEN, _GONE = "end not seen", "connection lost, end not seen"
_FAILED, _PENDING = "Failed", "Pending"
_APPLY = "Apply: the same command without --check"
_HOSTS = "\0"  # stands for the hosts that a text is about


@dataclasses.dataclass(frozen=True)
class Part:
    """What became of a part of a host. component: as it is displayed. operations: the same as those of the result, as text."""

    host: str
    component: str
    result: PartResult
    operations: tuple[str, ...] = ()

    @property
    def is_waiting(self) -> bool:
        """Whether its turn did not come."""
        return self.result.is_waiting


@dataclasses.dataclass(frozen=True)
class Run:
    """A run that is reported.

    hosts: those of the play, in its order. parts: what became of them. causes: why steps failed, by host. notes: lines of the roles on what is no
    change of a host. objects: whether what no single host has was changed, by its name. dry: whether nothing was to be changed.
    fails_on_pending: whether a host fails that has something to change then. resume: what the next run needs on its command line. later: how many
    hosts are in batches of C(serial) to come.
    """

    hosts: t.Sequence[str] = ()
    parts: t.Sequence[Part] = ()
    causes: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    notes: t.Sequence[str] = ()
    objects: t.Mapping[str, bool] = dataclasses.field(default_factory=dict)
    dry: bool = False
    fails_on_pending: bool = False
    resume: str = ""
    later: int = 0

    def with_role(
        self,
        parts: t.Sequence[Part] = (),
        causes: t.Mapping[str, t.Sequence[str]] | None = None,
        notes: t.Sequence[str] = (),
        objects: t.Mapping[str, bool] | None = None,
        resume: str = "",
    ) -> Run:
        """The same with the report of one more role."""
        merged = {
            host: [*self.causes.get(host, ()), *(causes or {}).get(host, ())]
            for host in (*self.causes, *(causes or ()))
        }
        return dataclasses.replace(
            self,
            parts=[*self.parts, *parts],
            causes=merged,
            notes=[*self.notes, *notes],
            objects={**self.objects, **(objects or {})},
            resume=resume or self.resume,
        )

    def done(self, part: Part) -> int:
        """How many operations of a part were made."""
        return len(part.operations) if part.result.changed and not self.dry else 0

    def pending(self, part: Part) -> int:
        """How many were not."""
        return len(part.operations) - self.done(part)

    @property
    def failed_hosts(self) -> list[str]:
        """The hosts that failed, without those that only waited for their turn."""
        failed = {part.host for part in self.parts if part.result.failed and not part.is_waiting}
        return self._ordered(failed | {host for host, causes in self.causes.items() if causes})

    @property
    def waiting_hosts(self) -> list[str]:
        """The hosts that did not fail, and of which a part was not started."""
        return self._ordered({part.host for part in self.parts if part.is_waiting} - set(self.failed_hosts))

    @property
    def incomplete_hosts(self) -> list[str]:
        """Those of them of which another part was changed: these were started."""
        started = {part.host for part in self.parts if part.operations and not part.is_waiting}
        return [host for host in self.waiting_hosts if host in started]

    @property
    def has_failed(self) -> bool:
        """Whether the run did not come to its end."""
        return bool(self.failed_hosts or self.waiting_hosts)

    def _ordered(self, found: t.Collection[str]) -> list[str]:
        return [*(host for host in self.hosts if host in found), *sorted(set(found).difference(self.hosts))]


# ---- the lines -------------------------------------------------------------------------------------------------------


def report_lines(run: Run) -> list[str]:
    """All lines of a run."""
    return [
        *([_headline(run)] if run.parts or not (run.notes or any(run.objects.values())) else []),
        *_change_lines(run),
        *_waiting_lines(run),
        *_other_lines(run),
        *_warning_lines(run.parts),
        *dict.fromkeys(run.notes),  # each observation and pass adds its own
        *_cause_lines(run),
        *_outcome_lines(run),
    ]


def report_data(run: Run) -> dict[str, t.Any]:
    """The same for programs: C(outcome), and by host how many operations were made and are C(pending), and whether it C(failed)."""
    hosts: dict[str, dict[str, t.Any]] = {
        host: {"changed": 0, "pending": 0, "failed": False} for host in (*run.hosts, *(part.host for part in run.parts))
    }
    for part in run.parts:
        hosts[part.host]["changed"] += run.done(part)
        hosts[part.host]["pending"] += run.pending(part)
    for host in (*run.failed_hosts, *run.waiting_hosts):
        hosts.setdefault(host, {"changed": 0, "pending": 0})["failed"] = True
    return {"outcome": _outcome(run), "hosts": hosts}


def count_pending(run: Run) -> int:
    """How many operations were not made, and objects not changed."""
    return sum(map(run.pending, run.parts)) + (sum(run.objects.values()) if run.dry else 0)


def host_not_started(host: str, why: str) -> Part:
    """The part of a host that has no other: it was not started."""
    return Part(host, "", PartResult(failed=True, started=False, msg=why))


def pending_message(number: int) -> str:
    """Why a host fails that has something to change in check mode."""
    return f"{_PENDING}: {_count(number, 'operation')} {'is' if number == 1 else 'are'} not applied."


def _outcome(run: Run) -> str:
    if run.has_failed:
        return "failed"
    if count_pending(run):
        return "pending"
    return "changed" if any(map(run.done, run.parts)) or any(run.objects.values()) else "unchanged"


def _headline(run: Run) -> str:
    """How much was changed, or would be."""
    count = run.pending if run.dry else run.done
    number = sum(map(count, run.parts))
    changed = {part.host for part in run.parts if count(part)}
    nodes = f"{len(changed)} of {_count(len(run.hosts), 'node')}"
    title, objects = (
        "Plan" if run.dry else "Changed",
        join_first(name for name, is_changed in run.objects.items() if is_changed),
    )
    if objects and not (number or run.has_failed):
        return f"{title}: {objects}; nothing to change on {_count(len(run.hosts), 'node')}"
    if not number:
        is_open = any(_change_state(run, part) in (_UNSEEN, _GONE) for part in run.parts if part.operations)
        what = (
            "No change was seen to end" if is_open else "Nothing was changed" if run.has_failed else "Nothing to change"
        )
        return f"{what} on {_count(len(run.hosts), 'node')}"
    reverts = sum(each.no_longer_desired for part in run.parts if count(part) for each in part.result.operations or ())
    of_these = f", {_count(reverts, 'of them a revert', 'of them reverts')}" if reverts else ""
    refused = "; nothing was refused" if run.dry and not run.has_failed else ""
    rehearsed = _rehearsed_components(run)
    return (
        f"{title}: {_count(number, 'operation')} on {nodes}{f' and {objects}' if objects else ''}{of_these}{refused}"
        f"{f'; rehearsed: {rehearsed}' if rehearsed else ''}"
    )


def _rehearsed_components(run: Run) -> str:
    """What was started with its new settings before anything was written: static pods by name, kubelets by number."""
    found = collections.Counter(
        part.component for part in run.parts if part.operations and _verdict(part.result) == ACCEPTED
    )
    return ", ".join(
        _count(number, name) if name == _KUBELET else f"{number} x {name}" if number > 1 else name
        for name, number in found.items()
    )


def _change_lines(run: Run) -> list[str]:
    """A line for each change, of all hosts that have the same."""
    groups: dict[tuple[str, tuple[str, ...], str], list[Part]] = {}
    started = {part.host for part in run.parts if part.operations and not part.is_waiting}
    for part in run.parts:
        if part.operations and part.host in started:
            groups.setdefault((part.component, part.operations, _change_state(run, part)), []).append(part)
    rows = [(join_first(each.host for each in parts), *key, parts) for key, parts in groups.items()]
    host_width, width = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    found: list[str] = []
    for hosts, component, operations, state, parts in rows:
        begin = f"  {hosts:<{host_width}}  {component:<{width}}  "
        ending = "; ".join(filter(None, [state, *_change_details([part.result for part in parts])]))
        texts = _wrap_operations(operations)
        texts[-1] += f"  ({ending})" if ending else ""
        found += [f"{'' if number else begin:<{len(begin)}}{text}" for number, text in enumerate(texts)]
    return found


def _wrap_operations(operations: t.Sequence[str]) -> list[str]:
    """Operations in as few lines as are readable."""
    found = [operations[0]]
    for each in operations[1:]:
        if len(found[-1]) + len(each) < _OPERATIONS_WIDTH:
            found[-1] += f"  {each}"
        else:
            found.append(each)
    return found


def _change_state(run: Run, part: Part) -> str:
    """How far a change is; empty where its operations are enough."""
    result = part.result
    if isinstance(result, ComponentResult) and result.reverted:
        return "reverted"
    if result.transaction and not run.dry:
        return messages.to_phrase(result.transaction.outcome) if result.transaction.outcome else _UNSEEN
    if result.failed and result.unreachable:
        return _GONE
    if result.failed:
        is_refused = _verdict(result) == REFUSED
        return "not begun" if part.is_waiting else "refused" if is_refused else "failed"
    if part.component != _NODE:
        return "restart" if run.dry or not result.changed else ""
    return "" if run.dry or result.changed else "not done"


def _change_details(results: t.Sequence[PartResult]) -> list[str]:
    """What else is known of changes with the same state: of whom an outage was, what became of pods, what is reverted, and where a snapshot is."""
    ended = [each.transaction for each in results if each.transaction and each.transaction.outcome]
    found = [_outage_text(ended)] if ended else []
    components = [each for each in results if isinstance(each, ComponentResult)]
    pods = [each.pods for each in components if each.pods]
    if pods:
        lost, restarted = sum(len(each.lost) for each in pods), sum(len(each.restarted) for each in pods)
        limit = (
            "" if len(pods) == len(components) else ", not known of all"
        )  # a failure ends a batch before it is counted
        found.append(f"{_count(sum(each.watched for each in pods), 'pod')}, {lost} lost, {restarted} restarted{limit}")
    for key in ("reverts", "snapshot"):
        values = [value for each in components if not each.reverted and (value := getattr(each, key))]
        found += [f"{key} {join_first(values)}"] if values else []
    return found


def _outage_text(ended: t.Sequence[Transaction]) -> str:
    """How long components did not respond."""
    seconds = [each.outage_seconds for each in ended]
    known = [each for each in seconds if each is not None]
    if not known:
        return "how long it was away is not known"
    most = f"{'up to ' if len(seconds) > 1 else ''}{max(known):.1f} s"
    acting = [each.proof.acting_seconds for each in ended if each.proof and each.proof.acting_seconds is not None]
    again = f"; pods made again after {'up to ' if len(acting) > 1 else ''}{max(acting):.1f} s" if acting else ""
    return f"away {most}{'' if len(known) == len(seconds) else ', not known of all'}{again}"


def _waiting_lines(run: Run) -> list[str]:
    """Who was not changed, and why: one line for each reason. A host that failed has a cause, and one that was started has changes."""
    hosts: dict[str, list[str]] = {}
    waiting = set(run.waiting_hosts).difference(run.incomplete_hosts)
    for part in run.parts:
        is_listed = part.is_waiting and part.host in waiting
        if is_listed and part.host not in (found := hosts.setdefault(part.result.msg, [])):
            found.append(part.host)
    known = {text for causes in run.causes.values() for text in causes}
    return [f"  {join_first(found)}: {why if why not in known else 'not changed'}" for why, found in hosts.items()]


def _other_lines(run: Run) -> list[str]:
    """One line for all hosts without changes, and one for those of which nothing is known."""
    known = {part.host for part in run.parts}
    changing = {part.host for part in run.parts if part.operations or part.result.failed}
    skipped = {part.host: part.result.msg for part in run.parts if part.result.unreachable and not part.result.failed}
    idle = [host for host in run.hosts if host in known and host not in (*changing, *skipped, *run.failed_hosts)]
    has_parts = bool(run.parts or not run.objects)  # of what no single host has there is none
    unknown = [host for host in run.hosts if has_parts and host not in known and host not in run.failed_hosts]
    found = [f"  {host}: {why}" for host, why in skipped.items()]
    if idle and changing:
        found.append(f"  {_count(len(idle), 'other node')}: nothing to change")
    if unknown:
        found.append(f"  {join_first(unknown)}: nothing was planned")
    return found


def _warning_lines(parts: t.Iterable[Part]) -> list[str]:
    """The warnings about changes, each once, with its hosts."""
    hosts: dict[str, dict[str, None]] = {}
    for part in parts:
        for text in _part_warnings(part):
            hosts.setdefault(text, {})[part.host] = None
    return [text.replace(_HOSTS, join_first(found)) for text, found in hosts.items()]


def _part_warnings(part: Part) -> t.Iterator[str]:
    result = part.result
    what = f"{_HOSTS} {part.component}"
    if result.problem:
        yield f"{what}: before the change, {result.problem}"
    previous = result.previous_transaction
    if previous:
        yield f"{what}: a change of an earlier run that was not followed to its end: {messages.to_phrase(previous.outcome)}; {_outage_text([previous])}"
        yield from unverified_lines(previous.unverified, what)
    if part.component == _NODE and result.msg and not (result.failed or result.unreachable):
        yield f"{what}: {result.msg}"
    if not isinstance(result, ComponentResult):
        return
    changed = {(each.field, each.key) for each in result.operations or ()}
    for field, keys in result.lost.items():
        for key in keys:
            again = "" if (field, key) in changed else "; not set again, because it is not desired"
            yield f"{what}: {field} {key} {_LOST}{again}"
    verdict = result.rehearsal
    if verdict and verdict.verdict == SKIPPED and part.operations:
        yield f"WARNING: {what}: not rehearsed: {verdict.message or verdict.verdict}"
    for text in verdict.warnings if verdict else ():
        yield f"WARNING: {text} ({_HOSTS})"
    if verdict is None and part.operations and not part.is_waiting:
        yield f"WARNING: {what}: not rehearsed: its rehearsal is not known"
    yield from unverified_lines(result.unverified, what)


def _verdict(result: PartResult) -> str:
    """Of its rehearsal; empty where that is not known."""
    verdict = result.rehearsal if isinstance(result, ComponentResult) else None
    return verdict.verdict if verdict else ""


def _cause_lines(run: Run) -> list[str]:
    """Why hosts failed, each cause once."""
    hosts: dict[str, dict[str, None]] = {}
    for host in run.failed_hosts:
        own = [
            part.result.msg for part in run.parts if part.host == host and part.result.failed and not part.is_waiting
        ]
        for text in filter(None, [*own, *run.causes.get(host, ())]):
            hosts.setdefault(text, {})[host] = None
    causes = [f"{join_first(found)}: {text}" for text, found in hosts.items()]
    more = len(causes) - _MOST_CAUSES
    # A line that only counts takes the place of two causes at least.
    return causes if more < 2 else [*causes[:_MOST_CAUSES], f"{more} more causes: see the errors of the hosts above"]


def _outcome_lines(run: Run) -> list[str]:
    """The outcome, and how to go on."""
    if run.has_failed:
        return [f"{_FAILED}: {_failure_summary(run)} {next_command(run)}"]
    number = count_pending(run)
    if not (run.dry and number):
        return []
    return [f"{_PENDING}: {_count(number, 'operation')} not applied. {_APPLY}" if run.fails_on_pending else _APPLY]


def _failure_summary(run: Run) -> str:
    """Who failed, and what was rolled back."""
    back = [
        f"{part.component} on {part.host}"
        for part in run.parts
        if part.result.transaction and part.result.transaction.outcome == messages.ROLLED_BACK and not run.dry
    ]
    reverted = [
        f"{part.component} on {part.host}"
        for part in run.parts
        if isinstance(part.result, ComponentResult) and part.result.reverted
    ]
    failed, incomplete = join_first(run.failed_hosts), run.incomplete_hosts
    waiting = [host for host in run.waiting_hosts if host not in incomplete]
    found = (
        f"{failed} failed" if failed else "",
        f"rolled back: {join_first(back)}" if back else "",
        f"reverted: {join_first(reverted)}" if reverted else "",
        f"{_count_hosts(waiting, failed)} did not begin" if waiting else "",
        f"{_count_hosts(incomplete, failed)} not complete" if incomplete else "",
        f"{_count(run.later, 'node')} of later batches did not begin" if run.later else "",
    )
    return f"{'; '.join(filter(None, found))}."


def _count_hosts(hosts: t.Sequence[str], failed: str) -> str:
    """How many hosts these are, or which, where none failed."""
    return _count(len(hosts), "node") if failed else join_first(hosts)


def next_command(run: Run) -> str:
    """How to go on after a run that failed. Where it has changed nothing, it is run again as it was."""
    left = [host for host in run.hosts if host in (*run.failed_hosts, *run.waiting_hosts)]
    more = f" with {run.resume}" if run.resume else ""
    if run.dry or run.later or not any(run.done(part) for part in run.parts) or len(left) == len(run.hosts):
        return f"Run the same command again{more} when that is repaired."
    return f"To continue when that is repaired, run again{more or ' with'} --limit {','.join(left)}"


def _count(number: int, word: str, plural: str = "") -> str:
    """A number of things."""
    return f"{number} {word if number == 1 else plural or f'{word}s'}"


def unverified_lines(unverified: t.Iterable[str], what: str = "") -> list[str]:
    """A line for each part that could not be verified. what: it is a part of; empty for the run as a whole."""
    return [f"WARNING: {what}{': ' if what else ''}not verified: {each}" for each in unverified]


# ---- what no variable names ------------------------------------------------------------------------------------------


def left_alone_lines(found: t.Iterable[tuple[str, str, str]]) -> list[str]:
    """What this collection owns and no variable names any more, a line each. found: host, setting, and what reverts it."""
    hosts: dict[tuple[str, str], list[str]] = {}
    for host, setting, remedy in found:
        hosts.setdefault((setting, remedy), []).append(host)
    return [
        f"{setting} on {join_first(on)} is owned and no variable names it, so it stays; {remedy} reverts it"
        for (setting, remedy), on in hosts.items()
    ]


def owned_settings(result: ComponentResult) -> t.Iterator[tuple[str, str]]:
    """Field and key of what this collection owns of a component and no variable names. result: of the module that planned it."""
    for field, keys in result.left_alone.items():
        yield from ((field, key) for key in keys)


# ---- an operation ----------------------------------------------------------------------------------------------------


def describe_operation(change: Change, origin: str = "") -> str:
    """One operation, such as C(~ --v=2 -> 4). origin: of the variable of a revert, such as C(; node_kubelet_config is from FILE)."""
    name = _NAMES.get(change.field, f"{change.field} {{}}: ").format(change.key)
    before, after = (_format_value(change.field, value) for value in (change.before, change.after))
    reason = f" (no longer desired{origin})" if change.no_longer_desired else ""
    if change.before is None:
        text = f"+ {name}{after}"
    elif change.after is None:
        text = f"- {name}{before}"
    else:
        text = f"~ {name}{before or _EMPTY} -> {after or _EMPTY}"
    return f"{text.removesuffix(': ').removesuffix(': enabled')}{reason}"


def _format_value(field: str, value: t.Any) -> str:
    """A value as an administrator writes it. Of a file, and of what has several lines in a manifest, only that it differs."""
    if value is None or isinstance(value, bool):
        return "unset" if value is None else str(value).lower()
    if field == "config" and (isinstance(value, (t.Mapping, list)) or value == ""):
        return json.dumps(value)
    if isinstance(value, t.Mapping):
        return "other content"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
