# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all rollouts have in common: who takes part, who decides for all, whose turn it is, and what ends it.

A host is known by the results of its tasks, each under a short name. Those of the action plugin C(rollout) tell by C(pass) to which pass of the
host they belong:

- pass: the step begin, then end. at_work: between the two. settings: what the others have to know of this host. excluded: why the run does
  without this host; empty when it takes part.
- plan: the result of the module that plans and changes. change: that of a loop with it, each C(item) of which has the pass.
- decide, admit, turn, verify: the steps of these names.
"""

from __future__ import annotations

import typing as t

Result = t.Mapping[str, t.Any]
Registers = t.Mapping[str, Result]
Hosts = t.Mapping[str, Registers]  # in the order of the play

NOTHING: Result = {}


def is_at_work(registers: Registers) -> bool:
    """Whether a host uses the role in this pass. One that skips it, now or in its last pass, has no such result."""
    return bool(registers.get("pass", NOTHING).get("at_work"))


def takes_part(registers: Registers) -> bool:
    """Whether a host is planned and changed: it uses the role and can be reached."""
    return is_at_work(registers) and not registers["pass"].get("excluded")


def participants(hosts: Hosts) -> dict[str, Registers]:
    """The hosts that take part."""
    return {host: registers for host, registers in hosts.items() if takes_part(registers)}


def excluded(hosts: Hosts) -> dict[str, str]:
    """The hosts that use the role and cannot be reached, with the reason."""
    return {host: reason for host, registers in hosts.items() if (reason := registers["pass"]["excluded"])}


def coordinator(hosts: t.Iterable[tuple[str, Registers]]) -> str:
    """The host that decides and asks for all; empty without one. hosts: in the order of the play, read no further than needed.

    Where no host can be reached, the first one that uses the role refuses the run.
    """
    first = ""
    for host, registers in hosts:
        if takes_part(registers):
            return host
        if is_at_work(registers):
            first = first or host
    return first


def of_pass(registers: Registers, step: str) -> Result:
    """The result of a step, if it is of the pass in which the host is at work; else an empty one."""
    result = registers.get(step, NOTHING)
    return result if result.get("pass") == registers.get("pass", NOTHING).get("pass") else NOTHING


def settings_of(registers: Registers) -> t.Mapping[str, t.Any]:
    """What a host told of itself when the pass began."""
    found: t.Mapping[str, t.Any] = registers["pass"]["settings"]
    return found


# ---- before the first write ------------------------------------------------------------------------------------------


def planning_refusal(hosts: Hosts, reachable: t.Collection[str]) -> str:
    """Why the plans do not allow a first write: a host that was lost, or whose plan failed; empty when they do.

    hosts: those that take part. reachable: the hosts that the play still has.
    """
    # With ignore_unreachable the play keeps a host that it could not reach.
    lost = [
        host
        for host, registers in hosts.items()
        if host not in reachable or registers.get("plan", NOTHING).get("unreachable")
    ]
    if lost:
        return f"{', '.join(lost)} failed or was lost while everything was planned. Repair that, or name the hosts of the run with --limit."
    failed = [host for host, registers in hosts.items() if registers.get("plan", NOTHING).get("failed")]
    return f"{', '.join(failed)} cannot be changed as planned." if failed else ""


def step_refusal(hosts: Hosts, step: str) -> str:
    """Why a turn must not begin yet: a host that has not come to a step, which a strategy that keeps its hosts in sync does not have."""
    missing = [host for host, registers in hosts.items() if takes_part(registers) and not of_pass(registers, step)]
    if not missing:
        return ""
    return (
        f"{', '.join(missing)} is not planned yet, so this play does not keep its hosts in sync: its strategy must be linear, without anything"
        " that takes hosts out of the order."
    )


def different_settings(hosts: Hosts, names: t.Sequence[str]) -> str:
    """Which settings must be the same on all hosts and are not; empty when they are. names: of these settings, which are variables."""
    found = []
    for name in names:
        values = {host: settings_of(registers).get(name) for host, registers in hosts.items()}
        first_host, first = next(iter(values.items()))
        other = next((host for host, value in values.items() if value != first), None)
        if other is not None:
            found.append(f"{name} is {first} on {first_host} and {values[other]} on {other}")
    if not found:
        return ""
    return f"{'; '.join(found)}. These variables must be the same on all hosts of the play."


def wrong_names(hosts: Hosts, variable: str) -> str:
    """Which hosts go by another name in Kubernetes than a variable says; empty for none. The name of a node stands in its plan."""
    found = []
    for host, registers in hosts.items():
        expected = settings_of(registers).get("node_name")
        node = registers["plan"].get("node")
        if expected and node and expected != node:
            found.append(f"{variable} of {host} is {expected}, but its kubelet is registered as {node}")
    return f"{'; '.join(found)}. Correct the variable or the address of the host." if found else ""


def batches(planes: t.Sequence[str], others: t.Sequence[str], size: int) -> list[list[str]]:
    """Who is changed at the same time: control planes one by one, then the others. size: so many of the others at most."""
    return [[host] for host in planes] + [list(others[start : start + size]) for start in range(0, len(others), size)]


# ---- a turn ----------------------------------------------------------------------------------------------------------


def changes(registers: Registers) -> list[Result]:
    """What the changes of a host came to in this pass. A host that had no turn still has those of an earlier pass."""
    own = registers.get("pass", NOTHING).get("pass")
    return [
        result for result in registers.get("change", NOTHING).get("results") or () if item_of(result).get("pass") == own
    ]


def item_of(change: Result) -> Result:
    """Of which change a result is: the item of its loop, whose variable has a name of its role."""
    found: Result = change.get(change.get("ansible_loop_var", "item")) or NOTHING
    return found


def change_of(registers: Registers) -> Result:
    """The same of a host that has one change at most; empty when it was not begun."""
    return next(iter(changes(registers)), NOTHING)


def state(registers: Registers) -> str:
    """How far a host is whose turn it was, is or will be.

    waiting: it has not begun. refused: it may not begin. unfinished: it began and has no end. lost: its connection broke. failed. done.
    """
    turn = of_pass(registers, "turn")
    if not turn:
        return "waiting"
    if turn.get("failed"):
        return "refused"
    change, verified = change_of(registers), of_pass(registers, "verify")
    if change.get("unreachable"):
        return "lost"
    if change.get("failed") or verified.get("failed"):
        return "failed"
    return "done" if verified else "unfinished"


def has_begun(registers: Registers) -> bool:
    """Whether something was changed on a host, or may have been.

    A turn alone is no beginning: the play ends for all hosts of a batch when one of them may not begin.
    """
    return bool(changes(registers))


def turn_refusal(before: Hosts) -> str:
    """Why a turn must not begin; empty when it may. before: the hosts of the batch before this one, which had the same question."""
    states = {host: state(registers) for host, registers in before.items()}
    unfinished = [host for host, found in states.items() if found in ("waiting", "unfinished")]
    if unfinished:
        return (
            f"{', '.join(unfinished)} is not changed yet, so this play does not keep its hosts in sync: its strategy must be linear, without"
            " anything that takes hosts out of the order"
        )
    stopped = stopped_by(before)
    return f"{', '.join(stopped)} failed" if stopped else ""


def stopped_by(hosts: Hosts) -> list[str]:
    """The hosts that stopped a rollout, none where it goes on. A host that was refused its turn names those that stopped it.

    One that has no end counts where no other failed: the play ends for all hosts of a batch when one of them fails.
    """
    found: dict[str, None] = {}
    states = {host: state(registers) for host, registers in hosts.items()}
    for host, how in states.items():
        if how == "refused":
            found.update(dict.fromkeys(of_pass(hosts[host], "turn").get("stopped_by") or [host]))
        elif how in ("failed", "lost"):
            found[host] = None
    return list(found) or [host for host, how in states.items() if how == "unfinished"]


# ---- the end ---------------------------------------------------------------------------------------------------------


def speaker(hosts: t.Iterable[tuple[str, Registers]]) -> str:
    """The host that reports for all: the first that was not lost; empty without one. hosts: those that take part."""
    return next((host for host, registers in hosts if state(registers) != "lost"), "")


def not_begun(host: str, stopped: t.Sequence[str]) -> dict[str, t.Any]:
    """What is told of a host whose turn did not come. stopped: the hosts that stopped the rollout; empty when it was refused for itself."""
    why = f", because {', '.join(stopped)} failed" if stopped else ""
    return {"failed": True, "begun": False, "changed": False, "msg": f"{host} was not changed{why}."}


def again(reports: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """A line that says how to go on after a rollout that stopped; empty where nothing is left to do, or no host failed in its turn: a run that
    was refused is run again as it was. reports: by host."""
    left = [host for host, report in reports.items() if report.get("failed")]
    waiting = [host for host in left if reports[host].get("begun") is False]
    if len(waiting) in (0, len(left)):
        return ""
    return f"To continue when that is repaired, run again with --limit {','.join(left)}"


def reported(results: t.Mapping[str, Result]) -> list[dict[str, str]]:
    """Which outcomes of transactions a role has reported of a host, as options of C(node_transaction). results: by name of the transaction."""
    ended = {name: result.get("transaction") or result.get("previous_transaction") for name, result in results.items()}
    return [{"name": name, "id": each["id"]} for name, each in ended.items() if each and each["outcome"]]
