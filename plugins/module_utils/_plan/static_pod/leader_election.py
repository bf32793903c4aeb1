# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When an instance becomes the leader, and whether it may send enough requests to stay one.

The limit on its requests counts for its lease as well. The burst lasts for a minute or so of renewals, so the component is healthy for that
long; then it loses the lease and ends, again and again.
"""

from __future__ import annotations

import math
import typing as t
from fractions import Fraction

from ..common.errors import Refusal
from ..documents import configuration
from ..kubernetes import flags, quantities
from .manifest import Manifest

CONTROLLER_MANAGER = "kube-controller-manager"
ELECTED = (CONTROLLER_MANAGER, "kube-scheduler")
_LEASE = {"lease-duration": Fraction(15), "retry-period": Fraction(2)}  # seconds, by default
_RETRY_JITTER = Fraction(22, 10)  # client-go waits for up to 2.2 periods
_DEADLINE = Fraction(10)  # seconds, by default
_REQUESTS = 2  # a lease that is not as the leader remembers it is read and then written


def seconds_until_leading(manifest: Manifest) -> int:
    """How long the next instance may be healthy and do nothing, because the lease of this one has to run out: a controller manager does not
    give it back, and starts its controllers only when it has it. 0 for every other component.
    """
    elects = flags.gate_value(manifest.flag_value("leader-elect") or "true") is not False
    if manifest.program != CONTROLLER_MANAGER or not elects:
        return 0
    lease, retry = (
        quantities.parse_duration(manifest.flag_value(f"leader-elect-{name}")) or default
        for name, default in _LEASE.items()
    )
    return math.ceil(lease + retry * _RETRY_JITTER)


def lease_path(name: str, flag: t.Callable[[str], str | None], election: t.Mapping[str, t.Any]) -> str:
    """Where at the API the Lease of the leader is; empty where no leader is elected.

    name: of the component. flag: the value of a flag; it wins. election: C(leaderElection) of the file that C(--config) names.
    """
    if name not in ELECTED:
        return ""
    elects = flag("leader-elect") or str(election.get("leaderElect", True))
    namespace = flag("leader-elect-resource-namespace") or election.get("resourceNamespace") or "kube-system"
    lease = flag("leader-elect-resource-name") or election.get("resourceName") or name
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{lease}"
    return "" if flags.gate_value(elects.lower()) is False else path


def is_holder(lease: t.Mapping[str, t.Any] | None, names: t.Container[str]) -> bool:
    """Whether the Lease of a leader is held by a node of one of these names; client-go adds C(_) and a random ID. lease: None where it cannot be read."""
    holder = str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")
    return holder.rpartition("_")[0] in names


class Renewal(t.NamedTuple):
    """How a component renews its lease. setting: what sets the limit. qps: its requests a second; None for no limit that matters."""

    setting: str
    qps: Fraction | None
    deadline: Fraction


def renewal_of_flags(flag: t.Callable[[str], str | None]) -> Renewal:
    """By the flags of a command line."""
    return _renewal("--kube-api-qps", flag("kube-api-qps"), flag("leader-elect-renew-deadline"), flag("leader-elect"))


def renewal_of_file(content: bytes, flag: t.Callable[[str], str | None]) -> Renewal:
    """By a configuration of the scheduler, of which flags win over the leader election alone. Raises Refusal when it is none."""
    return configuration.read(
        content,
        "KubeSchedulerConfiguration",
        lambda data: _of_data(data.get("clientConnection") or {}, data.get("leaderElection") or {}, flag),
    )


def _of_data(
    connection: t.Mapping[str, t.Any], election: t.Mapping[str, t.Any], flag: t.Callable[[str], str | None]
) -> Renewal:
    elects = election.get("leaderElect")
    return _renewal(
        "--config: clientConnection.qps",
        connection.get("qps"),
        flag("leader-elect-renew-deadline") or election.get("renewDeadline"),
        flag("leader-elect") or (None if elects is None else str(elects)),
    )


def _renewal(setting: str, qps: t.Any, deadline: t.Any, elects: str | None) -> Renewal:
    seconds = quantities.parse_duration(deadline) or _DEADLINE
    if flags.gate_value((elects or "true").lower()) is False:
        return Renewal(setting, None, seconds)
    try:
        rate = Fraction(str(qps)) if qps is not None else None
    except (ValueError, ZeroDivisionError):
        rate = None  # the rehearsal's to refuse
    # 0 stands for the default, and less for no limit.
    return Renewal(setting, rate if rate is not None and rate > 0 else None, seconds)


def refuse_slow_renewal(renewal: Renewal) -> None:
    """Raises Refusal for a limit with which the lease is lost."""
    least = _REQUESTS / renewal.deadline
    if renewal.qps is not None and renewal.qps < least:
        raise Refusal(
            f"args: invalid {renewal.setting} {float(renewal.qps):g}: must be at least {float(least):g}, {_REQUESTS} requests within the renew"
            f" deadline of {float(renewal.deadline):g} s. The component would lose its lease as soon as its burst is spent, and end, again and"
            " again."
        )
