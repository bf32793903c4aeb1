# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings with which a component is healthy, and that open a door, close one that the cluster needs, or replace a list of defaults.

They may be what is wanted, so a change that brings one is not refused: its consequence is named before anything is written. Seen with 1.37.2, each
committed and verified: C(controllers) without C(*) and no Deployment made a pod any more; C(enableServer) off and logs and exec were gone.
"""

from __future__ import annotations

import dataclasses
import typing as t

from . import quantities

API_SERVER, CONTROLLER_MANAGER, SCHEDULER = "kube-apiserver", "kube-controller-manager", "kube-scheduler"
KUBELET = "kubelet"
_SHORTEST_GRACE_SECONDS = 45  # a kubelet renews its Lease every 10 s, and may be late a few times
_LOOPBACK = ("127.", "::1", "localhost")


def _is(value: str) -> t.Callable[[str], bool]:
    return lambda text: text.lower() == value.lower()


def _lists(entry: str) -> t.Callable[[str], bool]:
    return lambda text: entry in text.split(",")


def _is_short(text: str) -> bool:
    seconds = quantities.parse_duration(text)
    return seconds is not None and seconds < _SHORTEST_GRACE_SECONDS


def _is_old_tls(text: str) -> bool:
    return text in ("VersionTLS10", "VersionTLS11")


@dataclasses.dataclass(frozen=True)
class NotableSetting:
    """components: the names of those that have it. name: of the flag, or of the kubelet's field, its parts joined by dots. is_notable: by its text."""

    components: tuple[str, ...]
    name: str
    is_notable: t.Callable[[str], bool]
    consequence: str


_CONTROL_PLANE = (API_SERVER, CONTROLLER_MANAGER, SCHEDULER)
_TABLE = (
    NotableSetting(
        (API_SERVER,), "authorization-mode", _lists("AlwaysAllow"), "allows every request that no other mode denies"
    ),
    NotableSetting(
        (API_SERVER,),
        "allow-privileged",
        _is("false"),
        "rejects privileged pods, such as kube-proxy's and most network plugins', once they are made again",
    ),
    NotableSetting(
        (API_SERVER,),
        "enable-admission-plugins",
        _lists("AlwaysPullImages"),
        "has every image pulled at each start of a pod, so none starts while its registry does not answer",
    ),
    NotableSetting(_CONTROL_PLANE, "profiling", _is("true"), "serves profiles of the process at /debug/pprof"),
    NotableSetting(_CONTROL_PLANE, "tls-min-version", _is_old_tls, "accepts a version of TLS that is broken"),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "controllers",
        lambda text: "*" not in text.split(","),
        "replaces the default list: without * only these controllers run, and without the others no Deployment makes a pod",
    ),
    NotableSetting(
        (CONTROLLER_MANAGER,),
        "node-monitor-grace-period",
        _is_short,
        f"is shorter than {_SHORTEST_GRACE_SECONDS} s: a kubelet or API server that is restarted may count as lost, and its pods are evicted",
    ),
    NotableSetting(
        (KUBELET,),
        "readOnlyPort",
        lambda text: text != "0",
        "serves all pods with their specifications to everyone, without authentication",
    ),
    NotableSetting(
        (KUBELET,),
        "authentication.anonymous.enabled",
        _is("true"),
        "takes requests of everyone, for the authorization to decide",
    ),
    NotableSetting(
        (KUBELET,),
        "authorization.mode",
        _is("AlwaysAllow"),
        "lets everyone who is authenticated run commands in every pod of the node",
    ),
    NotableSetting((KUBELET,), "tlsMinVersion", _is_old_tls, "accepts a version of TLS that is broken"),
    NotableSetting((KUBELET,), "enableServer", _is("false"), "ends logs, exec, port-forward and metrics of the node"),
    NotableSetting((KUBELET,), "enableDebuggingHandlers", _is("false"), "ends logs, exec and port-forward of the node"),
    NotableSetting(
        (KUBELET,),
        "address",
        lambda text: text.startswith(_LOOPBACK),
        "is not reached by the API server, so logs, exec, port-forward and metrics end",
    ),
)


def warnings(component: str, before: t.Callable[[str], t.Any], after: t.Callable[[str], t.Any]) -> list[str]:
    """What a change brings of the table. before, after: read a setting by its name; None where it is not set."""
    found = []
    for row in _TABLE:
        if component in row.components:
            text = _text(after(row.name))
            if text is not None and text != _text(before(row.name)) and row.is_notable(text):
                found.append(f"{component}: {row.name} {text} {row.consequence}")
    return found


def _text(value: t.Any) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)
