# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From a module's options to a C(Client)."""

from __future__ import annotations

import functools
import os
import typing as t
from http import HTTPStatus

from .._engine.kubeconfig import Credentials
from .._plan.documents import configuration
from .._plan.kubernetes.clusters import OwnCluster, own_api_server_url
from . import sources
from .client import OUTAGE_TIMEOUT, Client
from .credentials import pool_of
from .objects import read_nodes

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # ApiModule starts again with a Python that has it

MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"


def connect(module: t.Any) -> Client:
    """A client for the options of a module, else for the environment or the cluster's own admin.conf.

    module: an ApiModule.
    """
    params = module.params
    credentials = sources.find_credentials(params, os.environ)
    if not credentials.verify and params.get("validate_certs") is None:
        module.warn(
            f"the certificate of {credentials.server} is not checked: the environment or the kubeconfig switches that off."
        )
    uses_admin_conf = sources.is_admin_conf(params, os.environ)
    pools = [pool_of(credentials)]
    local_url = _read_local_url() if uses_admin_conf else None
    if local_url and local_url != pools[0].url:
        pools.append(pool_of(credentials, local_url))
    client = Client(
        pools,
        credentials.user.headers,
        outage_timeout=params["wait_timeout"] if params.get("wait") else OUTAGE_TIMEOUT,
        advice=_admin_conf_advice(params["admin_conf"]) if uses_admin_conf else {},
        check=_cluster_check(credentials, OwnCluster.parse(params.get("cluster")), params["concurrency"]),
        connect_to=functools.partial(pool_of, credentials),
    )
    module.client = client
    return client


def _read_local_url() -> str | None:
    """The URL at which the API server of this very node listens."""
    try:
        with open(MANIFEST, encoding="utf-8") as stream:
            return own_api_server_url(configuration.load_first(stream.read()))
    except (OSError, ValueError, yaml.YAMLError):
        return None


def _admin_conf_advice(path: str) -> dict[int, str]:
    """What to do when the cluster's own administrator is refused, by HTTP status."""
    host = os.uname().nodename
    other = os.path.join(os.path.dirname(path), "super-admin.conf")
    remedy = f" {other} there still has every right." if os.path.exists(other) and other != path else ""
    return {
        HTTPStatus.UNAUTHORIZED: (
            f"The certificate in {path} on {host} has expired or is of another cluster: kubeadm certs check-expiration there shows it,"
            " and kubeadm certs renew admin.conf renews it."
        ),
        HTTPStatus.FORBIDDEN: (
            f"The account of {path} on {host} lacks this right, which the ClusterRoleBinding kubeadm:cluster-admins gives it.{remedy}"
        ),
    }


def _cluster_check(
    credentials: Credentials, expected: OwnCluster | None, workers: int
) -> t.Callable[[Client], None] | None:
    """The check before the first request that the API is that of these nodes; None where the CA already proves it."""
    if expected is None or (credentials.verify and expected.trusts(credentials.authority.decode("ascii", "replace"))):
        return None

    def check(client: Client) -> None:
        nodes = read_nodes(client, list(expected.machine_ids), None, workers=workers)
        expected.check_machines(nodes, client.url, credentials.source)

    return check
