# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which host queries the API for a role, and as which user.

What is named counts: a host, or credentials in the environment of the controller. Else a control plane of the inventory does with its own
admin.conf, if possible one that does not restart its API server meanwhile.
"""

from __future__ import annotations

import typing as t

from ..common.plain import is_true

ADMIN_CONF = "/etc/kubernetes/admin.conf"
CONTROL_PLANES = "kube_control_plane"

# Of the controller; with one of them it queries the API itself.
CREDENTIAL_VARIABLES = ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST")

CONTROLLER = "localhost"
_BECOME = "ansible_become"


class ApiHost(t.NamedTuple):
    """The host that queries the API. become: whether as root, which admin.conf is readable for."""

    host: str
    become: bool

    @classmethod
    def parse(cls, value: t.Mapping[str, t.Any]) -> ApiHost:
        """From what a step handed on."""
        return cls(**value)


def rank_api_hosts(
    candidates: t.Sequence[str],
    named: str = "",
    *,
    variables: t.Sequence[str] = (),
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    reachable: t.Collection[str] = (),
    changing: t.Collection[str] = (),
    impaired: t.Collection[str] = (),
) -> list[ApiHost]:
    """The hosts that may query the API, the best first, one at least. candidates: the control planes.

    named: the host that the user names. variables: the values of CREDENTIAL_VARIABLES on the controller.
    hostvars: the variables of each host. reachable: the hosts that were reached in this run and not lost. changing: those that have their
    turn. impaired: those whose API server is not ready.
    Where nothing is left, the controller does, and reports that it has no credentials.
    """

    def rank(host: str) -> tuple[bool, bool, bool]:
        return host in impaired, host not in reachable, host in changing

    if named:
        hosts = [named]
    elif any(variables) or not candidates:
        hosts = [CONTROLLER]
    else:
        hosts = sorted(candidates, key=rank)  # those that are equal stay in their order
    return [_as_api_host(host, hostvars, own=host in candidates) for host in hosts]


def _as_api_host(host: str, hostvars: t.Mapping[str, t.Mapping[str, t.Any]], *, own: bool) -> ApiHost:
    """own: whether it uses its own admin.conf."""
    if host not in hostvars or (host == CONTROLLER and not own):
        return ApiHost(host, own)  # the variable of all hosts is also the controller's
    return ApiHost(host, is_true(hostvars[host].get(_BECOME, own)))


def has_admin_conf(host: str, groups: t.Mapping[str, t.Collection[str]], *, is_local: bool) -> bool:
    """Whether the admin.conf of the host where a task runs is that of the inventory's cluster.

    is_local: it is the controller itself. Its own may be that of any cluster, unless it is a control plane of the inventory.
    """
    return host in groups.get(CONTROL_PLANES if is_local else "all", ())
