# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade is checked for, by the names under which a report says that something was not checked, and under which that is accepted.

A check is a rehearsal by a program of the new version, or something that is read. One that was not made says nothing, so a cluster is not safe
without it, unless a person accepts that by its name. There is no name for all of them: what is new or was overlooked must not be accepted by habit.
"""

from __future__ import annotations

import typing as t

from ..common.errors import KubeadmError

ACCEPT = "upgrade_check_accept_unrehearsed"
NODE = "node/"  # before the name of a node that was not checked

CERTIFICATES = "certificates"
KUBE_PROXY = "kube-proxy"
KUBEADM_CONFIG = "kubeadm-config"
KUBELET_GATES = "kubelet-gates"
KUBELET_MANIFESTS = "kubelet-manifests"
RUNTIME = "container-runtime"
USER_NAMESPACES = "user-namespaces"

_PULL = "pull the images of the new version on this node (kubeadm config images pull), or put the program into upgrade_check_programs"
_ACCESS = "give the account the right, and the API server the time, to answer"


class Check(t.NamedTuple):
    """One check. subject: what it is about. remedy: how a run comes to make it; empty where nothing does. since: the minor version from which on
    an upgrade depends on it."""

    subject: str
    remedy: str
    since: tuple[int, int] = (0, 0)


CHECKS: dict[str, Check] = {
    "etcd": Check("the new etcd with its manifest", _PULL),
    "kube-apiserver": Check("the new kube-apiserver with its manifest", _PULL),
    "kube-controller-manager": Check("the new kube-controller-manager with its manifest", _PULL),
    "kube-scheduler": Check("the new kube-scheduler with its manifest", _PULL),
    KUBE_PROXY: Check("the new kube-proxy with its ConfigMap", _PULL),
    "kubelet": Check("the new kubelet with its settings", "use a release of this collection that is tested with it"),
    KUBELET_GATES: Check(
        "the feature gates of a kubelet that is not started, by the new kube-apiserver",
        "put kube-apiserver of the new version into upgrade_check_programs on this node",
    ),
    KUBELET_MANIFESTS: Check(
        "the new kubelet with the manifests of static pods",
        "",
        (1, 38),
    ),
    USER_NAMESPACES: Check(
        "the ID ranges of pods with a user namespace",
        "repair what the kubelet itself reads there",
        (1, 38),
    ),
    RUNTIME: Check(
        "whether the container runtime reports its cgroup driver", "have its program in the path of the connection"
    ),
    CERTIFICATES: Check(
        "certificates that end before the upgrade, or that it does not renew",
        "see why the new kubeadm certs check-expiration fails",
    ),
    "deprecated-apis": Check("APIs that clients request and the new version does not serve", _ACCESS),
    "webhooks": Check("admission webhooks that fail closed", _ACCESS),
    "device-classes": Check("DeviceClasses with a resource of this collection", _ACCESS),
    "coredns": Check(
        "whether kubeadm knows each plugin of the Corefile",
        "try the Corefile with the new CoreDNS on a test cluster",
    ),
    KUBEADM_CONFIG: Check("whether kubeadm-config changed during the check", _ACCESS),
}


class NotChecked(KubeadmError):
    """A check could not be made, for the reason that the message gives."""


def applies(name: str, target: t.Sequence[int]) -> bool:
    """Whether an upgrade to a version depends on a check."""
    return tuple(target[:2]) >= CHECKS[name].since


def unrehearsed(name: str, reason: str, remedy: str | None = None) -> dict[str, str]:
    """What was not checked, as results and reports have it. remedy: other than that of the check."""
    usual = "check it with the others" if name.startswith(NODE) else CHECKS[name].remedy
    return {"name": name, "reason": reason.rstrip("."), "remedy": usual if remedy is None else remedy}


# ---- accepting by name ---------------------------------------------------------------------------------------------------


def name_refusal(names: t.Iterable[str]) -> str:
    """Why names cannot be accepted, whatever a run finds; empty when they can."""
    unknown = [name for name in names if name not in CHECKS and not name.startswith(NODE)]
    if not unknown:
        return ""
    return (
        f"invalid {ACCEPT} {', '.join(unknown)}: must be names of what was not rehearsed, as the report prints them: {', '.join(CHECKS)}, or"
        f" {NODE}NAME for a node that is not in the run."
    )


def differing_refusal(values: t.Sequence[t.Any]) -> str:
    """Why the values of several hosts are refused: one list counts for the run; empty when they are the same."""
    if all(value == values[0] for value in values):
        return ""
    return f"invalid {ACCEPT}: must be the same on all hosts. Give it for the run, with -e."


def stale_refusal(names: t.Iterable[str], missing: t.Collection[str], made: t.Collection[str]) -> str:
    """Why names are not accepted after a run that checked all its nodes; empty when they are.

    missing: what was not rehearsed on some node. made: what was on some node. A name in neither is of no concern to this cluster.
    """
    stale = [name for name in names if name not in missing and (name in made or name.startswith(NODE))]
    if not stale:
        return ""
    valid = ", ".join(sorted(missing))
    what = (
        f"must be of what was not rehearsed: {valid}" if valid else "everything was rehearsed, so remove the variable"
    )
    return f"invalid {ACCEPT} {', '.join(stale)}: {what}. What was rehearsed is not accepted in advance."
