# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long an API server is away when it is restarted, and the flags that shorten that and have its clients outlive it.

Measured: docs/performance.md.
"""

from __future__ import annotations

import math
import typing as t

from ..common.ownership import Change
from ..kubernetes import flags, quantities
from .manifest import Manifest

_API_SERVER = "kube-apiserver"
_ELECTED = ("kube-controller-manager", "kube-scheduler")
_RETRY = "shutdown-send-retry-after"
_DELAY = "shutdown-delay-duration"
# Without it the API server waits for its watches, which do not end.
_STOP = {_RETRY: "true"}
# Renewed for longer than the API server of the same node is away. The deadline has to be shorter than the lease. What takes over from a leader that
# did not give its lease back waits for all of that, so no longer than needed.
_ELECTION = {"leader-elect-lease-duration": "40s", "leader-elect-renew-deadline": "30s"}
_OWN_ELECTION = ("leader-elect", *_ELECTION, "leader-elect-retry-period")
_SECONDS_TO_STOP = 2  # with the flag
# The kubelet checks whether the former instance has ended 10 to 15 s after it has read the new manifest, and so on.
_SECONDS_TO_CHECK = 12.5
_SECONDS_TO_CLEAR_UP = 4  # of the kubelet, with what the engine waits for that
_SECONDS_TO_START = 4
_INTERIM = "nodecraft.kubeadm/interim"


Settings = t.Mapping[str, t.Any]


def with_short_restarts(
    components: t.Mapping[str, Settings], names: t.Iterable[str], *, is_on: bool, control_planes: int
) -> dict[str, Settings]:
    """The settings of components with the flags for short restarts.

    components: what the user sets, by name of the component; its arguments win over these. names: of the components that are planned. is_on: without
    it none is set, and the arguments are named all the same, so that what was set earlier is reverted. control_planes: how many the cluster has.
    """
    found = dict(components)
    for name in names:
        if name in (_API_SERVER, *_ELECTED):
            entry = components.get(name, {})
            added = _flags_of(name, control_planes) if is_on else {}
            found[name] = {**entry, "args": _merge_args(added, entry.get("args") or {})}
    return found


def _flags_of(name: str, control_planes: int) -> dict[str, str]:
    """With one control plane, its controller manager and scheduler would lose their leases with each restart of the API server, end, and come back
    after a back-off that grows. With several, those of another node take over."""
    if name == _API_SERVER:
        return _STOP
    return _ELECTION if control_planes == 1 else {}


def _merge_args(added: Settings, own: Settings) -> dict[str, t.Any]:
    """The arguments of a leader election belong together, so one of the user's stands for all."""
    named = {flags.normalise(each) for each in own}
    if named.intersection(_OWN_ELECTION):
        named.update(_ELECTION)
    return {**{key: value for key, value in added.items() if key not in named}, **own}


def restart_notice(name: str, before: Manifest, after: Manifest) -> str:
    """The line of a plan about how long its restart takes; empty where it restarts nothing, or is about another component."""
    if name != _API_SERVER or before.text == after.text:
        return ""
    grace = before.pod["spec"].get("terminationGracePeriodSeconds", 30)
    if _ends_by_itself(before):
        delay = float(quantities.parse_duration(before.flag_value(_DELAY)) or 0)
        seconds = round(min(delay + _SECONDS_TO_STOP, grace) + _SECONDS_TO_CLEAR_UP + _SECONDS_TO_START)
        return f"{name} will be away for about {seconds} s: it ends by itself (--{_RETRY}=true)"
    checks = math.ceil((grace + 1) / _SECONDS_TO_CHECK)
    seconds = round(checks * _SECONDS_TO_CHECK + _SECONDS_TO_START)
    shortened = min(_SECONDS_TO_STOP, grace) + _SECONDS_TO_CLEAR_UP + _SECONDS_TO_START
    text = f"{name} will be away for about {seconds} s: it waits for its watches until the kubelet kills it after {grace} s"
    return f"{text}. With --{_RETRY}=true (control_plane_short_restarts) the next restart takes about {shortened} s"


def _ends_by_itself(manifest: Manifest) -> bool:
    return flags.gate_value(manifest.flag_value(_RETRY) or "false") is True


def interim_manifest(name: str, before: Manifest, after: Manifest) -> Manifest | None:
    """What is written first where the instance that runs ends soon: the same pod under another UID. A kubelet starts a pod at once that it sees first
    when the former one has ended, and checks only every 10 to 15 s for one that waits. None where that saves nothing."""
    if name != _API_SERVER or before.text == after.text or not _ends_by_itself(before):
        return None
    former = after.values()["annotations"].get(_INTERIM)
    return after.change(Change("annotations", _INTERIM, former, "true" if former is None else None))
