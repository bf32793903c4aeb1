# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The policies that a kubelet changes on a drained node only, and what it remembers of them.

CPU manager and memory manager keep what they gave to whom in a state file each. A kubelet does not start with one that was
written under another policy, or that does not fit what the policy leaves to containers now: reserved CPUs, strict reservation,
reserved memory. Some other options of a policy in force let it start, and have it reject the pods that it holds.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..kubernetes import flags
from . import limits
from .config import Settings

# Without this gate a kubelet takes a state file that was written with it for a damaged one.
POD_LEVEL_GATE = "PodLevelResourceManagers"
# State files by name -> the policy that each names; None for a file that is not there, UNREADABLE for one that names none.
StateFilePolicies = t.Mapping[str, t.Optional[str]]
UNREADABLE = ""

_Reader = t.Callable[[Settings], t.Any]


@dataclasses.dataclass(frozen=True)
class Policy:
    """A policy that the kubelet changes on a drained node only.

    state_file: what it remembers it in, below its root. options: what else has to stay as it is while the policy is in force.
    """

    field: str
    default: str
    consequence: str
    state_file: str | None = None
    options: t.Mapping[str, _Reader] = dataclasses.field(default_factory=dict)

    def value(self, of: Settings) -> str:
        """What it comes to."""
        value = of.field((self.field,))
        return self.default if value in (None, "") else str(value).lower()

    def differences(self, before: Settings, after: Settings) -> list[str]:
        """What of it a change would change, by name."""
        found = [self.field] if self.value(before) != self.value(after) else []
        if self.value(before) == self.value(after) != self.default:
            found += [name for name, read in self.options.items() if read(before) != read(after)]
        if self.state_file and _is_gate_on(before, POD_LEVEL_GATE) and not _is_gate_on(after, POD_LEVEL_GATE):
            found.append(POD_LEVEL_GATE)
        return found

    def mismatch(self, settings: Settings, state_policies: StateFilePolicies) -> str | None:
        """Why a kubelet with these settings would not start over its state file, in words; None when the policy is the same."""
        named = state_policies.get(self.state_file) if self.state_file else None
        if named is None or named.lower() == self.value(settings):
            return None
        found = f"names the policy {named}" if named != UNREADABLE else "names no policy"
        return f"{self.state_file} {found}, but {self.field} is {self.value(settings)}"


@dataclasses.dataclass(frozen=True)
class PolicyChange:
    """A policy for which the node has to be drained, by what of it changes. value: what it comes to afterwards."""

    policy: Policy
    value: str
    differences: tuple[str, ...]


def policy_changes(before: Settings, after: Settings, state_policies: StateFilePolicies) -> list[PolicyChange]:
    """The policies that a change touches. A state file that does not match is one of them, whatever brought that about: the
    restart that belongs to any change would be the kubelet's end."""
    found = []
    for policy in POLICIES:
        differences = policy.differences(before, after)
        mismatch = policy.mismatch(after, state_policies)
        if mismatch and not differences:
            differences = [mismatch]
        if differences:
            found.append(PolicyChange(policy, policy.value(after), tuple(differences)))
    return found


def find_mismatches(settings: Settings, state_policies: StateFilePolicies) -> list[str]:
    """The state files with which a kubelet would not start, in words."""
    return [found for found in (policy.mismatch(settings, state_policies) for policy in POLICIES) if found]


def _is_gate_on(settings: Settings, gate: str) -> bool:
    return settings.gates().get(gate) is True


# ---- options of policies ---------------------------------------------------------------------------------------------


def _policy_options(field: str) -> _Reader:
    """The options that are not false: a kubelet takes those that are for unset."""

    def read(settings: Settings) -> t.Any:
        try:
            pairs = settings.pairs(field) or {}
        except AttributeError:  # that it makes no sense is the kubelet's to say
            return settings.field((field,))
        texts = {name: "true" if text in flags.TRUE else text for name, text in pairs.items()}
        return {name: text for name, text in texts.items() if text not in flags.FALSE}

    return read


def _field_reader(field: str, default: str) -> _Reader:
    return lambda settings: settings.field((field,)) or default


def _reserved_cpus(settings: Settings) -> t.Any:
    """The ids of the reserved CPUs, or else how many the kubelet takes, which are whole ones."""
    try:
        return limits.reserved_cpus(settings) or limits.count_reserved_cpus(settings)
    except (ValueError, TypeError, AttributeError):  # what makes no sense is still the same, or another
        return [
            settings.field((name,)) for name in ("reservedSystemCPUs", "kubeReserved", "systemReserved", "evictionHard")
        ]


def _reserved_memory(settings: Settings) -> t.Any:
    return flags.values(settings.command_flags, "reserved-memory") or settings.field(("reservedMemory",)) or []


_FORGOTTEN = "Containers that run keep their CPUs and memory while the kubelet forgets them"
_REJECTED = "Running pods that do not fit it are rejected when the kubelet admits them again"
_RESTARTED = "The kubelet restarts every container of the node"
MANAGERS = (
    Policy(
        "cpuManagerPolicy",
        "none",
        _FORGOTTEN,
        "cpu_manager_state",
        {"cpuManagerPolicyOptions": _policy_options("cpuManagerPolicyOptions"), "reserved CPUs": _reserved_cpus},
    ),
    Policy("memoryManagerPolicy", "none", _FORGOTTEN, "memory_manager_state", {"reservedMemory": _reserved_memory}),
    Policy(
        "topologyManagerPolicy",
        "none",
        _REJECTED,
        options={
            "topologyManagerScope": _field_reader("topologyManagerScope", "container"),
            "topologyManagerPolicyOptions": _policy_options("topologyManagerPolicyOptions"),
        },
    ),
)
POLICIES = (
    *MANAGERS,
    Policy("cgroupDriver", "cgroupfs", _RESTARTED),
    Policy("cgroupRoot", "/", _RESTARTED),
    Policy("cgroupsPerQOS", "true", _RESTARTED),
)
