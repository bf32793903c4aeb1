# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Kubeconfigs: files, several of them with a colon between, or their content as a mapping.

Only a user that runs a program or asks a provider for credentials needs the package C(kubernetes).
"""

from __future__ import annotations

import base64
import os
import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.kubernetes.kubeconfigs import Json, context_of, entry_of
from .credentials import Credentials, HeaderValues, User, basic, read_text

try:
    import kubernetes
except ImportError:
    kubernetes = None  # only few kubeconfigs need it

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # ApiModule starts again with a Python that has it

Source = t.Union[str, Json]

_KINDS = ("clusters", "users", "contexts")
_FOREIGN = ("exec", "auth-provider")
_FILES = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}


def load(source: Source, context: str | None = None, *, persist: bool = False) -> Credentials:
    """What a kubeconfig says. context: one of its contexts, for another than its current one.

    persist: what a provider newly hands out is written to the file. Raises KubeadmError when it cannot be used.
    """
    shown = source if isinstance(source, str) else "the kubeconfig of the task"
    try:
        config = _read(source)
        entry = context_of(config, shown, context)
        cluster = entry_of(config, "clusters", entry["cluster"], shown)
        user = entry_of(config, "users", entry["user"], shown) if entry.get("user") else {}
        foreign = next((kind for kind in _FOREIGN if user.get(kind)), "")
        who = (
            _foreign_user(source, context, persist, f"{shown}: the user {entry.get('user')}", foreign)
            if foreign
            else None
        )
        return _credentials(shown, cluster, who or _user(user))
    # What is called so may hold anything.
    except (OSError, ValueError, TypeError, LookupError, AttributeError, yaml.YAMLError) as exc:
        raise KubeadmError(f"{shown} cannot be used as a kubeconfig: {_problem(exc)}.") from exc


def _problem(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    # A message of the parser would show the text around.
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"invalid YAML in line {mark.line + 1}"
    return str(error).rstrip(".") or type(error).__name__


def _read(source: Source) -> Json:
    """One mapping of all files, in which the first entry of a name counts, with absolute paths."""
    if not isinstance(source, str):
        return source
    merged: Json = {kind: [] for kind in _KINDS}
    for path in filter(None, source.split(os.pathsep)):
        found = yaml.safe_load(read_text(path))
        if not isinstance(found, dict):
            raise ValueError(f"{path} is not a mapping")
        directory = os.path.dirname(os.path.abspath(os.path.expanduser(path)))
        for kind in _KINDS:
            merged[kind] += [_absolute(kind, entry, directory) for entry in found.get(kind) or []]
        merged["current-context"] = merged.get("current-context") or found.get("current-context")
    return merged


def _absolute(kind: str, entry: Json, directory: str) -> Json:
    inner = entry.get(kind[:-1]) or {}
    paths = {name: os.path.join(directory, inner[name]) for name in _FILES.get(kind, ()) if inner.get(name)}
    return {**entry, kind[:-1]: {**inner, **paths}}


def _credentials(source: str, cluster: Json, user: User) -> Credentials:
    return Credentials(
        source=source,
        server=cluster["server"],
        user=user,
        authority=_content(cluster, "certificate-authority"),
        verify=not cluster.get("insecure-skip-tls-verify"),
        server_name=cluster.get("tls-server-name") or "",
        proxy=cluster.get("proxy-url") or None,
    )


def _user(user: Json) -> User:
    """Who asks, by what stands in the kubeconfig itself."""
    path, token, password = user.get("tokenFile"), user.get("token"), user.get("password")
    as_whom = _impersonation(user)

    def headers() -> HeaderValues:
        # The file of a token is written again before it runs out.
        bearer = read_text(path).strip() if path else token
        if bearer:
            return {"Authorization": f"Bearer {bearer}", **as_whom}
        if user.get("username"):
            return {"Authorization": basic(user["username"], password or ""), **as_whom}
        return as_whom

    headers()  # so that a file that is not there is told of now
    return User(_content(user, "client-certificate"), _content(user, "client-key"), headers)


def _impersonation(user: Json) -> HeaderValues:
    """The headers of an account that acts for another one."""
    found: dict[str, str | list[str]] = {}
    for key, name in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid"), ("as-groups", "Impersonate-Group")):
        if user.get(key):
            found[name] = user[key]
    for key, values in (user.get("as-user-extra") or {}).items():
        found[f"Impersonate-Extra-{key}"] = list(values)
    return found


def _content(entry: Json, name: str) -> str:
    """PEM, out of the kubeconfig or of a file that it names."""
    data = entry.get(f"{name}-data")
    if data:
        return base64.b64decode(data).decode()
    return read_text(entry[name]) if entry.get(name) else ""


def _foreign_user(source: Source, context: str | None, persist: bool, shown: str, kind: str) -> User:
    """Who asks, by what a program or a provider hands out."""
    if kubernetes is None:
        raise KubeadmError(
            f"{shown} gets its credentials by {kind}, for which the Python package kubernetes is needed on {os.uname().nodename}:"
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
        raise KubeadmError(f"{shown} gets no credentials by {kind}: {exc}") from exc

    def headers() -> HeaderValues:
        settings = configuration.auth_settings().values()
        return {each["key"].title(): each["value"] for each in settings if each["in"] == "header" and each["value"]}

    files = (configuration.cert_file, configuration.key_file)
    certificate, key = (read_text(path) if path else "" for path in files)
    return User(certificate, key, headers)
