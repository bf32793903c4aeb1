# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which credentials a module uses: those of its options, else of the variables K8S_AUTH_*, else of the cluster's own admin.conf.

Nothing is used that was not named for this run: neither C(~/.kube/config), whose current context may be any cluster, nor the
account of a pod.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import os
import typing as t
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

from .._engine.http_requests import Proxy, basic_auth
from .._engine.kubeconfig import Credentials, User
from .._plan.common.errors import KubeadmError
from .credentials import load_credentials, read_pem

Json = dict[str, t.Any]
Environment = t.Mapping[str, str]

_PREFIX = "K8S_AUTH_"
# Each option with the variables that stand for it, the first of which counts.
_VARIABLES: dict[str, tuple[str, ...]] = {
    "kubeconfig": ("KUBECONFIG",),
    "context": ("CONTEXT",),
    "host": ("HOST",),
    "api_key": ("API_KEY",),
    "username": ("USERNAME",),
    "password": ("PASSWORD",),
    "validate_certs": ("VALIDATE_CERTS", "VERIFY_SSL"),
    "ca_cert": ("CA_CERT", "SSL_CA_CERT"),
    "client_cert": ("CLIENT_CERT", "CERT_FILE"),
    "client_key": ("CLIENT_KEY", "KEY_FILE"),
    "proxy": ("PROXY",),
    "no_proxy": ("NO_PROXY",),
    "persist_config": ("PERSIST_CONFIG",),
    "impersonate_user": ("IMPERSONATE_USER",),
    "impersonate_groups": ("IMPERSONATE_GROUPS",),
}
_PROXY_HEADERS = ("proxy_basic_auth", "basic_auth", "user_agent")
_ACCOUNT = ("api_key", "username", "password", "client_cert", "client_key")
# Where an option has the credentials, the variables of these options are ignored.
_OVERRIDDEN = {"kubeconfig": ("host", "context", "ca_cert", *_ACCOUNT), "host": ("kubeconfig", "context")}
_REMEDY = (
    "Set kubeconfig to a file there, or host with api_key or with client_cert and client_key, or the variables K8S_AUTH_*; or run the task"
    " on a control plane of the inventory as root, whose admin.conf needs no other setup. ~/.kube/config is used only where it is named."
)


def find_credentials(params: t.Mapping[str, t.Any], environment: Environment) -> Credentials:
    """The credentials of a task. params: the options of a module. Raises KubeadmError when there are none that can be used."""
    named = merge_environment(params, environment)
    try:
        if named.get("kubeconfig"):
            credentials = load_credentials(
                named["kubeconfig"], named.get("context"), persist=bool(named.get("persist_config"))
            )
        elif named.get("host"):
            credentials = Credentials("the options of the task", named["host"])
        elif params.get("admin_conf"):
            credentials = load_credentials(params["admin_conf"], named.get("context"))
        else:
            raise KubeadmError(
                "none are named for it, neither by an option nor by K8S_AUTH_KUBECONFIG or K8S_AUTH_HOST."
            )
        return _override_credentials(credentials, named)
    except (KubeadmError, OSError, ValueError) as exc:
        problem = f"{exc.filename}: {exc.strerror}" if isinstance(exc, OSError) else str(exc).rstrip(".")
        raise KubeadmError(
            f"{os.uname().nodename}: there are no usable credentials for the Kubernetes API: {problem}. {_REMEDY}"
        ) from exc


def is_admin_conf(params: t.Mapping[str, t.Any], environment: Environment) -> bool:
    """Whether nothing is named, so that the cluster's own admin.conf is used."""
    named = merge_environment(params, environment)
    return not named.get("kubeconfig") and not named.get("host") and bool(params.get("admin_conf"))


def merge_environment(params: t.Mapping[str, t.Any], environment: Environment) -> Json:
    """The options, and the values of the variables where an option is not set."""
    own = {name: params[name] for name in _VARIABLES if params.get(name) is not None}
    overridden = {other for name, others in _OVERRIDDEN.items() if own.get(name) for other in others}
    variables = {name: _read_variable(name, environment) for name in _VARIABLES if name not in overridden}
    headers = {
        name: environment.get(f"{_PREFIX}PROXY_HEADERS_{name.upper()}") or (params.get("proxy_headers") or {}).get(name)
        for name in _PROXY_HEADERS
    }
    return {**{name: value for name, value in variables.items() if value is not None}, **own, "proxy_headers": headers}


def _read_variable(name: str, environment: Environment) -> t.Any:
    texts = (environment.get(f"{_PREFIX}{variable}") for variable in _VARIABLES[name])
    text = next(filter(None, texts), None)
    if text is None:
        return None
    if name in ("validate_certs", "persist_config"):
        return text.lower() not in ("0", "false", "no")
    return list(filter(None, text.split(","))) if name == "impersonate_groups" else text


def _override_credentials(credentials: Credentials, named: Json) -> Credentials:
    """The credentials of a kubeconfig, overridden by the options of the task."""
    changes: Json = {"user": _user_with_options(credentials.user, named)}
    if named.get("host"):
        changes["server"] = named["host"]
    if named.get("validate_certs") is not None:
        changes["verify"] = named["validate_certs"]
    if named.get("ca_cert"):
        changes["authority"] = read_pem(named["ca_cert"])
    changes["proxy"] = _choose_proxy(changes.get("server", credentials.server), credentials.proxy, named)
    return dataclasses.replace(credentials, **changes)


def _choose_proxy(server: str, known: Proxy | None, named: Json) -> Proxy | None:
    """The proxy of a server: that of the task, else of the kubeconfig (known), else of the environment."""
    address, no_proxy = urlsplit(server), named.get("no_proxy") or ""
    url = named["proxy"] if named.get("proxy") is not None else known.url if known else None
    if url is None:
        environment = getproxies_environment()
        url, no_proxy = environment.get(address.scheme, ""), no_proxy or environment.get("no", "")
    if not url or _is_direct(address.hostname or "", no_proxy):
        return None
    return Proxy(url if "://" in url else f"http://{url}", _proxy_headers(named["proxy_headers"]))


def _is_direct(host: str, no_proxy: str) -> bool:
    """Whether a host is reached without the proxy. no_proxy: names, which stand for all below them, addresses and networks."""
    for entry in filter(None, (part.strip() for part in no_proxy.split(","))):
        with contextlib.suppress(ValueError):
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False):
                return True
        if entry == "*" or f".{host}".endswith(f".{entry.lstrip('.')}"):
            return True
    return False


def _user_with_options(user: User, named: Json) -> User:
    account: Json = {}
    if named.get("api_key"):
        account["Authorization"] = f"Bearer {named['api_key']}"
    elif named.get("username"):
        account["Authorization"] = basic_auth(named["username"], named.get("password") or "")
    for name, header in (("impersonate_user", "Impersonate-User"), ("impersonate_groups", "Impersonate-Group")):
        if named.get(name):
            account[header] = named[name]
    former = user.headers
    if bool(named.get("client_cert")) != bool(named.get("client_key")):
        raise KubeadmError("client_cert and client_key are needed together, and one of them is missing.")
    if named.get("client_cert"):
        certificate, key = read_pem(named["client_cert"]), read_pem(named["client_key"])
    else:
        certificate, key = user.certificate, user.key
    return User(certificate, key, lambda: {**former(), **account})


def _proxy_headers(named: t.Mapping[str, str | None]) -> dict[str, str]:
    """The headers for a proxy."""
    headers = {}
    for name, header in (("proxy_basic_auth", "Proxy-Authorization"), ("basic_auth", "Authorization")):
        user, _colon, password = (named.get(name) or "").partition(":")
        if user:
            headers[header] = basic_auth(user, password)
    if named.get("user_agent"):
        headers["User-Agent"] = str(named["user_agent"])
    return headers
