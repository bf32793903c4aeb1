# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kubeconfigs, read as a kubelet reads its own: where the API server is, whom to trust, and as which user."""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
import functools
import os
import re
import typing as t
from urllib.parse import quote, urlsplit

from . import tls
from .engine_errors import CredentialError
from .files import open_to_read
from .http_requests import HeaderValues, Proxy, Server, basic_auth

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # modules start again with a Python that has it, and an engine is packed with it

Json = dict[str, t.Any]

KINDS = ("clusters", "users", "contexts")
# Who gets credentials in one of these ways can use them only where a program of that name, or a provider, is at hand.
FOREIGN = ("exec", "auth-provider")
_FILES = {"clusters": ("certificate-authority",), "users": ("client-certificate", "client-key", "tokenFile")}
_INSECURE = "insecure-skip-tls-verify"
_IMPERSONATION = {"as": "Impersonate-User", "as-uid": "Impersonate-Uid"}
_IMPERSONATION_LISTS = ("as-groups", "as-user-extra")
_YAML = "tag:yaml.org,2002:"
_HEADER_CHARACTERS = "!#$&'*+^`|"  # that a name may have besides those of a URL


def _no_headers() -> HeaderValues:
    return {}


@dataclasses.dataclass(frozen=True)
class User:
    """The user. certificate, key: PEM. headers: determined again for each request, because tokens run out."""

    certificate: bytes = b""
    key: bytes = b""
    headers: t.Callable[[], HeaderValues] = _no_headers


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What a connection is made of. source: where that was found, for messages. authority: PEM; empty for those of the system.

    server_name: the name that the server's certificate is for, where that is not its host's.
    """

    source: str
    server: str
    user: User = User()
    authority: bytes = b""
    verify: bool = True
    server_name: str = ""
    proxy: Proxy | None = None

    @property
    def certificate_name(self) -> str:
        """The name that the server's certificate has to be for. Raises CredentialError."""
        with naming_kubeconfig(self.source):
            return self.server_name or urlsplit(self.server).hostname or ""

    def at(self, url: str = "", server_name: str = "") -> Server:
        """The server, or directly the one at another address, with a certificate of the same authority for that address or for a name.

        Raises CredentialError.
        """
        pair = tls.Pair(self.user.certificate, self.user.key) if self.user.certificate else None
        with naming_kubeconfig(self.source):
            if pair and not pair.key:
                raise ValueError("it has a client certificate without its key")
            is_tls = urlsplit(url or self.server).scheme == "https"
            context = tls.client_context(self.authority or None, pair, verify=self.verify) if is_tls else None
            if url:
                return Server(url, context=context, server_name=server_name)
            return Server(self.server, context=context, server_name=self.server_name, proxy=self.proxy)


class Selection(t.NamedTuple):
    """What a context selects. user: None where the kubeconfig has none of that name, so that the requests are anonymous; without
    credentials where the requests are not encrypted.
    """

    cluster: Json
    user_name: str
    user: Json | None


def read_credentials(path: str) -> Credentials:
    """The credentials of the current context of a file. Raises CredentialError, with the file and why it cannot be used."""
    config = load_config(path)
    with naming_kubeconfig(path):
        cluster, user_name, user = select_context(config)
        return credentials_of(path, cluster, user_of(user or {}, user_name))


def find_problem(path: str) -> str:
    """Why the credentials of a file cannot be used, with its name; empty when they can."""
    try:
        read_credentials(path).at()
    except CredentialError as exc:
        return str(exc)
    return ""


class Cluster(t.NamedTuple):
    """The URL of an API server, and the authority of its certificate as PEM. Both are empty where they are not known."""

    server: str = ""
    authority: bytes = b""


def read_cluster(path: str, root: str = "/") -> Cluster:
    """The cluster of a file's current context, as far as it can be read. root: as of load_config."""
    server = ""
    try:
        cluster = select_context(load_config(path, root)).cluster
        server = _server_of(cluster)
        return Cluster(server, _content_of(cluster, "certificate-authority"))
    except (CredentialError, OSError, ValueError):
        return Cluster(server)


@contextlib.contextmanager
def naming_kubeconfig(source: str) -> t.Iterator[None]:
    """Have every error name the kubeconfig, and nothing of what stands in it, as a CredentialError."""
    try:
        yield
    except OSError as exc:
        raise CredentialError(
            f"{source} cannot be used: {exc.filename or 'a file'}: {exc.strerror or type(exc).__name__}"
        ) from exc
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        place = f" in line {mark.line + 1}" if mark else ""
        raise CredentialError(f"{source} cannot be used: invalid YAML{place}") from None
    except (CredentialError, ValueError) as exc:
        raise CredentialError(f"{source} cannot be used: {str(exc).rstrip('.')}") from exc


def load_config(path: str, root: str = "/") -> Json:
    """A file as a mapping, in which all paths are absolute. root: what is the root of the file system for who uses it."""
    place = os.path.abspath(os.path.expanduser(path))
    with naming_kubeconfig(path), open_to_read(_below(root, place)) as stream:
        # Go's parser takes one document, and tabs between words. JSON is YAML, too.
        text = stream.read().decode("utf-8-sig").replace("\t", " ")
        content = next(yaml.load_all(text, Loader=_reader()), None)
        config = dict(_mapping(content, "kubeconfig"))
        for kind in KINDS:
            _refuse_duplicates(config, kind)
        for kind, names in _FILES.items():
            config[kind] = [_with_paths(entry, kind[:-1], names, root, place) for entry in _entries(config, kind)]
        return config


@functools.cache
def _reader() -> t.Any:
    """PyYAML's loader with y and n as booleans, and with dates, an equals sign and numbers such as 12:30 as texts: so does Kubernetes."""
    resolvers = {
        first: [
            (tag, re.compile(f"(?![^:]*:){pattern.pattern}", pattern.flags))
            for tag, pattern in known
            if tag not in (f"{_YAML}timestamp", f"{_YAML}value")
        ]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for letter in "yYnN":
        resolvers[letter] = [*resolvers[letter], (f"{_YAML}bool", re.compile("[yYnN]$"))]
    bools = {**yaml.SafeLoader.bool_values, "y": True, "n": False}
    return type("Reader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers, "bool_values": bools})


def _refuse_duplicates(config: Json, kind: str) -> None:
    names = [_text(entry, "name") for entry in _entries(config, kind)]
    duplicates = ", ".join(sorted({name for name in names if names.count(name) > 1}))
    if duplicates:
        raise ValueError(f"it has more than one {kind[:-1]} {duplicates}, which Kubernetes refuses: remove all but one")


def _below(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))


def _with_paths(entry: Json, key: str, names: t.Sequence[str], root: str, place: str) -> Json:
    inner = _mapping(entry.get(key), key)
    directory = os.path.dirname(place)
    paths = {name: _below(root, os.path.join(directory, path)) for name in names if (path := _text(inner, name))}
    return {**entry, key: {**inner, **paths}}


def select_context(config: Json, context: str | None = None) -> Selection:
    """What the current context selects, or another one. The first entry of a name counts. Raises ValueError."""
    name = context or _text(config, "current-context")
    if not name:
        raise ValueError("it has no current-context")
    chosen = _entry(config, "contexts", name)
    user_name = _text(chosen, "user")
    users = {_text(entry, "name"): _mapping(entry.get("user"), "user") for entry in reversed(_entries(config, "users"))}
    cluster, user = _entry(config, "clusters", _text(chosen, "cluster")), users.get(user_name)
    if user and not _is_encrypted(_server_of(cluster)):
        # As Kubernetes' own clients do it: no secret goes where everybody can read it.
        user = {key: value for key, value in user.items() if key in (*_IMPERSONATION, *_IMPERSONATION_LISTS)}
    return Selection(cluster, user_name, user)


def _entry(config: Json, kind: str, name: str) -> Json:
    entries = _entries(config, kind)
    for entry in entries:
        if _text(entry, "name") == name:
            return _mapping(entry.get(kind[:-1]), kind[:-1])
    known = ", ".join(_text(entry, "name") for entry in entries)
    raise ValueError(f"it has no {kind[:-1]} {name}; it has {known or 'none'}")


def _entries(config: Json, kind: str) -> list[Json]:
    listed = config.get(kind) or []
    if not isinstance(listed, list):
        raise ValueError(f"invalid {kind}: must be a list")
    return [_mapping(entry, f"entry of {kind}") for entry in listed]


def _mapping(value: t.Any, what: str) -> Json:
    if not isinstance(value or {}, dict):
        raise ValueError(f"invalid {what}: must be a mapping")
    return value or {}


def _text(entry: Json, key: str) -> str:
    value = "" if entry.get(key) is None else entry[key]
    if not isinstance(value, str):
        raise ValueError(f"invalid {key}: must be a text")
    return value


def _texts(entry: Json, key: str) -> list[str]:
    values = entry.get(key) or []
    if not (isinstance(values, list) and all(isinstance(value, str) for value in values)):
        raise ValueError(f"invalid {key}: must be a list of texts")
    return values


def _content_of(entry: Json, name: str) -> bytes:
    """PEM, out of the kubeconfig or of a file that it names; empty without either. Raises OSError, ValueError."""
    data, path = _text(entry, f"{name}-data"), _text(entry, name)
    if data and path:
        raise ValueError(f"it has both {name} and {name}-data, which Kubernetes refuses: remove one")
    try:
        return _read(path) if path else base64.b64decode(data)
    except binascii.Error:
        raise ValueError(f"invalid {name}-data: must be in base64") from None


def _read(path: str) -> bytes:
    with open_to_read(path) as stream:
        return stream.read()


def _server_of(cluster: Json) -> str:
    """The URL of a cluster's API server. Without a scheme it is not encrypted, whatever there is to encrypt it with."""
    server = _text(cluster, "server")
    return f"http://{server}" if server and "://" not in server else server


def _is_encrypted(server: str) -> bool:
    return server.lower().startswith("https://")


def credentials_of(source: str, cluster: Json, user: User) -> Credentials:
    """The credentials of a user for a cluster. Raises OSError, ValueError."""
    server, proxy = _server_of(cluster), _text(cluster, "proxy-url")
    authority, verify = _content_of(cluster, "certificate-authority"), cluster.get(_INSECURE) is not True
    if not server:
        raise ValueError("its cluster has no server")
    if authority and not verify:
        raise ValueError(f"it has both {_INSECURE} and an authority, which Kubernetes refuses: remove one")
    return Credentials(
        source=source,
        server=server,
        user=user,
        authority=authority,
        verify=verify,
        server_name=_text(cluster, "tls-server-name"),
        proxy=Proxy(proxy) if proxy else None,
    )


def user_of(user: Json, name: str) -> User:
    """The user, by what stands in a kubeconfig and in the files that it names. Raises OSError, ValueError."""
    foreign = next((kind for kind in FOREIGN if user.get(kind)), None)
    if foreign:
        raise ValueError(f"the user {name} gets its credentials by {foreign}, which cannot be used on a node")
    path, token, account = _text(user, "tokenFile"), _text(user, "token"), _text(user, "username")
    if account and (path or token):
        raise ValueError(f"the user {name} has both a token and a username, which Kubernetes refuses: remove one")
    impersonation = _impersonation(user)

    def headers() -> HeaderValues:
        bearer = _bearer(path, token)
        if bearer:
            return {"Authorization": f"Bearer {bearer}", **impersonation}
        if account:
            return {"Authorization": basic_auth(account, _text(user, "password")), **impersonation}
        return impersonation

    headers()  # a file that cannot be read is found now
    return User(_content_of(user, "client-certificate"), _content_of(user, "client-key"), headers)


def _bearer(path: str, token: str) -> str:
    """The file of a token is written again before it runs out, and counts before the token that stands beside its name."""
    try:
        bearer = (_read(path).decode("utf-8").strip() if path else "") or token
    except OSError:
        if not token:
            raise
        bearer = token
    if path and not bearer:
        raise ValueError(f"{path} holds no token")
    # The library that sends it would put it in its error.
    if not (bearer.isascii() and bearer.isprintable()):
        raise ValueError("invalid token: must be of characters that a header may have")
    return bearer


def _impersonation(user: Json) -> HeaderValues:
    """The headers of an account that acts for another one."""
    texts = {header: _text(user, key) for key, header in _IMPERSONATION.items()}
    extra = _mapping(user.get("as-user-extra"), "as-user-extra")
    lists = {
        "Impersonate-Group": _texts(user, "as-groups"),
        # Some of Kubernetes' own keys have a slash, which no name of a header has.
        **{f"Impersonate-Extra-{quote(str(key), safe=_HEADER_CHARACTERS)}": _texts(extra, key) for key in extra},
    }
    return {header: value for header, value in {**texts, **lists}.items() if value}
