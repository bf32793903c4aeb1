# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a change of an etcd member must not do, what makes it a risk, and whether the others keep their majority meanwhile."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..common.errors import Refusal
from ..kubernetes import flags
from .manifest import Manifest


@dataclasses.dataclass(frozen=True)
class Member:
    """One member of an etcd cluster.

    votes: it is no learner. healthy: it was started and its health is good. is_this: it is the one that will be stopped.
    """

    name: str
    votes: bool
    healthy: bool
    is_this: bool


@dataclasses.dataclass(frozen=True)
class QuorumVerdict:
    """Whether a member may be stopped. refusal: why not. warning: what comes of it. Both None: nothing does."""

    refusal: str | None = None
    warning: str | None = None


def check_quorum(members: t.Sequence[Member]) -> QuorumVerdict:
    """Whether the cluster keeps a majority of healthy voting members while this one is stopped.

    A majority that is not there cannot be taken away, so the repair of a cluster without one is allowed.
    """
    voters = [member for member in members if member.votes]
    if not any(member.is_this for member in voters):
        return QuorumVerdict()
    needed = len(voters) // 2 + 1
    healthy = [member for member in voters if member.healthy]
    others = [member for member in healthy if not member.is_this]
    if len(voters) == 1:
        return QuorumVerdict(
            warning="etcd has one member: from its stop until it is ready again the API server does not answer either"
        )
    if len(others) >= needed:
        return QuorumVerdict()
    # A member that is healthy reads with a majority behind it, whatever is seen of the others from here.
    if len(healthy) < needed and not any(member.is_this for member in healthy):
        return QuorumVerdict(
            warning=f"etcd has no majority ({_count_voters(voters)}), so stopping this member loses nothing."
            " A member becomes healthy only with a majority: set rollback: false for those that come back before it"
        )
    return QuorumVerdict(
        refusal=f"etcd would lose its majority while this member is stopped: it needs {needed} healthy voting members,"
        f" and without this one there are {len(others)} ({_count_voters(voters)}). {_remedy(voters)}"
    )


def _count_voters(voters: t.Sequence[Member]) -> str:
    states = (f"{member.name} {'healthy' if member.healthy else 'not healthy'}" for member in voters)
    return f"{len(voters)} voting members: {', '.join(states)}"


def _remedy(voters: t.Sequence[Member]) -> str:
    if len(voters) == 2:
        return "With two members, neither can be stopped: add a third control plane first, or remove one."
    return "Bring the members that are not healthy back first."


CONFIG_FILE = "config-file"
# By these the cluster knows a member, or a member its data. initial-* and discovery* as well.
_IDENTITY = frozenset((CONFIG_FILE, "data-dir", "listen-peer-urls", "name", "wal-dir"))
_IDENTITY_PREFIXES = ("discovery", "initial-")
_TIMING = frozenset(("initial-election-tick-advance",))
_ENVIRONMENT = "ETCD_"
_QUOTA = "quota-backend-bytes"
_OCTAL = re.compile("[+-]?0[0-7_]+")
# etcd's own, where nothing or 0 is given. A negative one sets no limit.
_DEFAULT_QUOTA = 2 * 1024**3
_REQUEST = "max-request-bytes"
# etcd's own. Kubernetes writes objects of that size; with a smaller limit its API server is healthy and can write less and less.
_LEAST_REQUEST = 1536 * 1024
# A database that is nearly as large as its quota is full soon, and then every write is refused.
_QUOTA_FACTOR = 1.2
_ANYWHERE = ("0.0.0.0", "::")  # noqa: S104  # compared, not bound
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclasses.dataclass(frozen=True)
class Cluster:
    """The cluster of a member, as it reports it.

    alarms: each as kind and member. behind: names of other members that have not reached the revision of the furthest one. size: bytes
    of this member's database; None when it is not known. leads: whether this member is the leader.
    """

    members: tuple[Member, ...]
    alarms: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    size: int | None = None
    leads: bool = False


# ---- settings --------------------------------------------------------------------------------------------------------


def settings(manifest: Manifest) -> list[flags.Flag]:
    """The settings as etcd reads them: flags, and environment variables of their names, without those that only the kubelet knows."""
    given = manifest.expected_flags
    names = {flag.name for flag in given}
    variables = (
        flags.Flag(_setting_name(each), value, -1) for each, value in manifest.environment.items() if _is_setting(each)
    )
    return [*given, *(each for each in variables if each.value is not None and each.name not in names)]


def setting(manifest: Manifest, name: str) -> str | None:
    """A setting as etcd reads it: the flag, or else the environment variable of its name."""
    return flags.value(settings(manifest), name)


def _variable_name(name: str) -> str:
    return _ENVIRONMENT + name.upper().replace("-", "_")


def _is_setting(variable: str) -> bool:
    return variable.startswith(_ENVIRONMENT)


def _setting_name(variable: str) -> str:
    return variable[len(_ENVIRONMENT) :].lower().replace("_", "-")


def _setting_names(manifest: Manifest) -> set[str]:
    return {flag.name for flag in manifest.given_flags} | {
        _setting_name(each) for each in manifest.environment if _is_setting(each)
    }


def refuse_other_identity(before: Manifest, after: Manifest) -> None:
    """Raises Refusal for a change of what the cluster knows the member by."""
    moved = [
        f"{name}: {_displayed_value(before, name)} -> {_displayed_value(after, name)}"
        for name in sorted(_setting_names(before) | _setting_names(after))
        if name not in _TIMING
        and (name in _IDENTITY or name.startswith(_IDENTITY_PREFIXES))
        and setting(before, name) != setting(after, name)
    ]
    if moved:
        raise Refusal(
            f"args: the etcd cluster identifies this member by what would change: {'; '.join(moved)}. It is fixed at the member's first"
            " start. Remove the member and join the node again instead."
        )


def refuse_shadowed_variables(before: Manifest, after: Manifest) -> None:
    """Raises Refusal for a setting that a change gives twice: etcd takes no flag over a variable, it ends. Its version, for which it is rehearsed,
    it prints all the same. With a configuration file it reads neither."""
    new = _duplicate_settings(after) - _duplicate_settings(before)
    if new and not setting(after, CONFIG_FILE):
        name = min(new)
        raise Refusal(
            f"args: etcd does not start with both --{name} and the variable {_variable_name(name)} in its environment. Set one of them, and remove"
            " the other one with null."
        )


def _duplicate_settings(manifest: Manifest) -> set[str]:
    """The settings that are given as a flag and as a variable."""
    return {flag.name for flag in manifest.given_flags if _variable_name(flag.name) in manifest.environment}


def _displayed_value(manifest: Manifest, name: str) -> str:
    """As the manifest has it: values of environment variables are not displayed."""
    written = manifest.flag_value(name)
    if written is None and _variable_name(name) in manifest.environment:
        return f"$({_variable_name(name)})"
    return "unset" if written is None else written


def refuse_small_quota(before: Manifest, after: Manifest, size: int | None, node: str) -> None:
    """Raises Refusal for a new quota that the database fills already, or nearly. size: None when it is not known."""
    if size is None or setting(before, _QUOTA) == setting(after, _QUOTA):
        return
    quota = _effective_quota(setting(after, _QUOTA))
    least = int(_QUOTA_FACTOR * size)
    if quota is None or quota >= least:
        return
    given = setting(after, _QUOTA)
    which = f"{_QUOTA} {given}" if given else f"etcd's default of {_QUOTA}"
    raise Refusal(
        f"args: {which} is {_format_bytes(quota)}, and the database on {node} has {_format_bytes(size)}. A full etcd refuses every write,"
        f" so the quota must be at least {_QUOTA_FACTOR} times that: {least} ({_format_bytes(least)})."
    )


def _effective_quota(value: str | None) -> int | None:
    """Bytes; None for no limit, and for what is no number, which the rehearsal refuses."""
    if value is None:
        return _DEFAULT_QUOTA
    number = _parse_int(value)
    return None if number is None or number < 0 else number or _DEFAULT_QUOTA


def _parse_int(value: str) -> int | None:
    """As Go reads it: other bases as well, and a leading zero as C does. None for what is no number."""
    try:
        return int(value, 8 if _OCTAL.fullmatch(value) else 0)
    except ValueError:
        return None


def refuse_small_requests(before: Manifest, after: Manifest) -> None:
    """Raises Refusal for a new limit of a request that objects of Kubernetes exceed: the few bytes that are written through a member as proof
    do not, but the leases of the controller manager and the scheduler, and the status of each node."""
    given = setting(after, _REQUEST)
    if given is None or given == setting(before, _REQUEST):
        return
    size = _parse_int(given)
    if size is not None and size < _LEAST_REQUEST:
        raise Refusal(
            f"args: invalid {_REQUEST} {given}: must be at least {_LEAST_REQUEST}, etcd's default. Objects of Kubernetes may be that large,"
            " and etcd refuses to write one that is larger than its limit."
        )


def _format_bytes(size: int) -> str:
    return f"{size / 1024**3:.1f} GiB" if size >= 1024**3 else f"{size / 1024**2:.1f} MiB"


# ---- the cluster -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Risks:
    """What makes it a risk to stop a member. found: one sentence each. warning: what comes of it where it is none; empty for nothing.

    counts_for_repair: whether not even a member that is not healthy may be stopped, as is done to repair it.
    """

    found: list[str]
    warning: str
    counts_for_repair: bool


def assess_risks(cluster: Cluster) -> Risks:
    """Check whether this member may be stopped."""
    verdict = check_quorum(cluster.members)
    others = [member for member in cluster.members if not member.is_this]
    found = [verdict.refusal] if verdict.refusal else []
    if cluster.alarms:
        found.append(
            f"etcd has the alarm {', '.join(cluster.alarms)}. Check etcdctl alarm list; after the repair, etcdctl alarm disarm."
        )
    learners = [member.name for member in cluster.members if not member.votes]
    if learners:
        found.append(f"{', '.join(learners)} is a learner, so a change of the members is under way. Let it end first.")
    silent = [member.name for member in others if member.votes and not member.healthy]
    if silent and not verdict.refusal:
        found.append(f"{', '.join(silent)} of etcd is not healthy. Bring it back first.")
    late = [name for name in cluster.behind if name not in silent]
    if late:
        found.append(f"{', '.join(late)} of etcd has not caught up with the others yet. Let it do so first.")
    # With this alarm, of the API or the health check, no member is healthy, and nothing that is done to one of them repairs it.
    is_corrupt = any(alarm.startswith("CORRUPT") or "alarm:CORRUPT" in alarm for alarm in cluster.alarms)
    return Risks(found, verdict.warning or "", bool(verdict.refusal) or is_corrupt)


# ---- where it is -----------------------------------------------------------------------------------------------------


def is_external(servers: t.Sequence[tuple[str, int]], listening: t.Sequence[tuple[str, int]]) -> bool:
    """Whether none of the addresses that an API server uses is one at which this node's own member listens.

    Each as host and port.
    """
    if not servers or not listening:
        return False
    own = _own_addresses(servers, listening)
    return not any(server in own for server in servers)


def lone_member_warning(node: str, servers: t.Sequence[tuple[str, int]], listening: t.Sequence[tuple[str, int]]) -> str:
    """What becomes of an API server that uses this member and no other one; empty for another. The arguments are those of C(is_external)."""
    own = _own_addresses(servers, listening)
    if not servers or not all(server in own for server in servers):
        return ""
    return (
        f"the API server of {node} uses this member of etcd alone (--etcd-servers), so from its stop until it is ready again that API server answers"
        " with errors, or late, and a load balancer notices only when it checks /readyz; with the other members there as well, it uses these"
    )


def _own_addresses(
    servers: t.Sequence[tuple[str, int]], listening: t.Sequence[tuple[str, int]]
) -> set[tuple[str, int]]:
    """At which addresses a member is reached from its node."""
    # What listens on all addresses of its node may be reached by any.
    own = {
        *listening,
        *(server for server in servers for host, port in listening if host in _ANYWHERE and server[1] == port),
    }
    for host, port in listening:
        if host in _LOOPBACK:
            own |= {(each, port) for each in _LOOPBACK}
    return own


def refuse_external(node: str, servers: t.Sequence[str]) -> t.NoReturn:
    """Raises Refusal for an etcd that does not run as a static pod of this node."""
    raise Refusal(
        f"etcd is external: kube-apiserver on {node} uses {', '.join(servers)}, which is no static pod of this node. This collection"
        " changes etcd where kubeadm runs it as a static pod beside the API server. Remove etcd from the settings of this node, and from"
        " control_plane_static_pods where this collection had changed a member of it before."
    )
