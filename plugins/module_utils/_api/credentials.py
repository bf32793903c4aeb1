# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kubeconfigs as tasks name them: files, several of them with a colon between, or their content as a mapping, and any of their contexts.

Only a user that runs a program or asks a provider for credentials needs the package C(kubernetes).
"""

from __future__ import annotations

import os
import typing as t

from .._engine.engine_errors import CredentialError
from .._engine.files import open_to_read
from .._engine.http_requests import HeaderValues
from .._engine.kubeconfig import (
    FOREIGN,
    KINDS,
    Credentials,
    User,
    credentials_of,
    load_config,
    naming_kubeconfig,
    select_context,
    user_of,
)
from .._plan.common.errors import KubeadmError
from .http_pool import Pool

try:
    import kubernetes
except ImportError:
    kubernetes = None  # only few kubeconfigs need it

Json = dict[str, t.Any]
Source = t.Union[str, Json]


def load_credentials(source: Source, context: str | None = None, *, persist: bool = False) -> Credentials:
    """The credentials of a kubeconfig. context: one of its contexts, for another than its current one.

    persist: whether new tokens of a provider are written to the file. Raises KubeadmError when it cannot be used.
    """
    name = source if isinstance(source, str) else "the kubeconfig of the task"
    try:
        config = _merge_files(source)
        with naming_kubeconfig(name):
            cluster, user_name, user = select_context(config, context)
            if user is None and user_name:
                raise ValueError(f"it has no user {user_name}")
            kind = next((kind for kind in FOREIGN if (user or {}).get(kind)), "")
            owner = f"{name}: the user {user_name}"
            return credentials_of(
                name,
                cluster,
                _load_foreign_user(source, context, persist, owner, kind) if kind else user_of(user or {}, user_name),
            )
    except CredentialError as exc:
        raise KubeadmError(f"{exc}.") from exc


def pool_of(credentials: Credentials, url: str = "") -> Pool:
    """Connections to the server, or directly to another one of the same cluster. Raises KubeadmError."""
    try:
        return Pool(credentials.at(url))
    except CredentialError as exc:
        raise KubeadmError(f"{exc}.") from exc


def _merge_files(source: Source) -> Json:
    """One mapping of all files that are there, in which the first entry of a name counts."""
    if not isinstance(source, str):
        return source
    merged: Json = {kind: [] for kind in KINDS}
    paths = list(filter(None, source.split(os.pathsep)))
    for path in [path for path in paths if os.path.exists(os.path.expanduser(path))] or paths:
        config = load_config(path)
        for kind in KINDS:
            merged[kind] += config.get(kind) or []
        merged["current-context"] = merged.get("current-context") or config.get("current-context")
    return merged


def _load_foreign_user(source: Source, context: str | None, persist: bool, owner: str, kind: str) -> User:
    """The user with the credentials that a program or a provider issues."""
    if kubernetes is None:
        raise KubeadmError(
            f"{owner} gets its credentials by {kind}, for which the Python package kubernetes is needed on {os.uname().nodename}:"
            " install it there, or use a kubeconfig with a certificate or a token."
        )
    configuration = kubernetes.client.Configuration()
    arguments: Json = {"context": context, "client_configuration": configuration, "persist_config": persist}
    try:
        if isinstance(source, str):
            kubernetes.config.load_kube_config(config_file=source, **arguments)
        else:
            kubernetes.config.load_kube_config_from_dict(config_dict=source, **arguments)
    except kubernetes.config.ConfigException as exc:
        raise KubeadmError(f"{owner} gets no credentials by {kind}: {exc}") from exc

    def headers() -> HeaderValues:
        settings = configuration.auth_settings().values()
        return {each["key"].title(): each["value"] for each in settings if each["in"] == "header" and each["value"]}

    files = (configuration.cert_file, configuration.key_file)
    certificate, key = (read_pem(path) if path else b"" for path in files)
    return User(certificate, key, headers)


def read_pem(path: str) -> bytes:
    """A file of certificates or of a key. Raises OSError."""
    with open_to_read(os.path.expanduser(path)) as stream:
        return stream.read()
