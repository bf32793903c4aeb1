# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Encryption at rest: which change of an EncryptionConfiguration could leave stored values that no API server can read.

For each resource the configuration lists providers and their keys. All of them read, the first one writes. So what reads may
go only when no stored value needs it, and what writes must be readable before: by the other API servers, which still have
the former file, and by this one after a rollback.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import typing as t

from ..common.errors import KubeadmError
from ..documents import configuration

STEPS = (
    "A key is rotated in steps, each on all API servers before the next one: add the new key behind the one in use; put it"
    " first; write all stored values again (kubectl get secrets --all-namespaces -o json | kubectl replace -f -, and the same"
    " for every other encrypted resource); remove the old key. Encryption is switched on and off in the same steps, with"
    " identity as the other key."
)
ENCRYPTED = b"k8s:enc:"  # no plain value begins with it
_KINDS = (b"EncryptionConfiguration", b"EncryptionConfig")
_KMS = "kms"
_ANY = "*"


@dataclasses.dataclass(frozen=True)
class Key:
    """What reads stored values, and writes them where it comes first.

    kind: aescbc, aesgcm, secretbox, kms v1, kms v2 or identity. name: of the key, or of the KMS provider.
    material: the secret, or where the KMS is: never displayed, only compared.
    """

    kind: str
    name: str = ""
    material: t.Any = dataclasses.field(default=None, repr=False)

    @property
    def prefix(self) -> bytes:
        """What the values that it wrote begin with; nothing for plain text."""
        if self == IDENTITY:
            return b""
        kind, dummy, version = self.kind.partition(" ")
        return f"k8s:enc:{kind}:{version or 'v1'}:{self.name}:".encode()

    def wrote(self, value: bytes) -> bool:
        """Whether a stored value, or its beginning, is by a key of this name."""
        return value.startswith(self.prefix) if self.prefix else not value.startswith(ENCRYPTED)

    def __str__(self) -> str:
        if self == IDENTITY:
            return "identity (plain text)"
        return f"{self.kind} {'provider' if self.kind.startswith(_KMS) else 'key'} {self.name}"


IDENTITY = Key("identity")

Resource = tuple[str, str]  # its name and its API group; both may be a star
Count = t.Callable[[str, Key], int]


@dataclasses.dataclass(frozen=True)
class Encryption:
    """A configuration: the keys of each resource that it names, in their order."""

    keys: t.Mapping[Resource, tuple[Key, ...]]

    def keys_of(self, resource: Resource) -> tuple[Key, ...]:
        """The keys of a resource, as the API server looks them up."""
        for known in (resource, (_ANY, resource[1]), (_ANY, _ANY)):
            if known in self.keys:
                return self.keys[known]
        return (IDENTITY,)

    def is_foreign(self, value: bytes) -> bool:
        """Whether a stored value, or its beginning, was written by a key that is nowhere in this configuration."""
        return value.startswith(ENCRYPTED) and not any(key.wrote(value) for keys in self.keys.values() for key in keys)


NONE = Encryption({})


# ---- reading ---------------------------------------------------------------------------------------------------------


def holds_keys(content: bytes) -> bool:
    """Whether a file is an EncryptionConfiguration, whatever else is wrong with it."""
    return any(kind in content for kind in _KINDS)


def parse(content: bytes) -> Encryption:
    """Read a configuration. Raises Refusal, without its content, when it is none."""
    return configuration.read(content, "EncryptionConfiguration", _parse_encryption)


def _parse_encryption(data: t.Any) -> Encryption:
    keys: dict[Resource, tuple[Key, ...]] = {}
    for entry in data["resources"]:
        each = [tuple(_parse_keys(provider)) for provider in entry["providers"]]
        if not all(each or [()]):
            raise ValueError
        own = tuple(key for keys_ in each for key in keys_)
        for resource in entry["resources"]:
            name, dummy, group = resource.partition(".")
            keys[name, group] = keys.get((name, group), ()) + own
    return Encryption(keys)


def _parse_keys(provider: t.Mapping[str, t.Any]) -> t.Iterator[Key]:
    for kind, settings in provider.items():
        if settings is None:  # as if it were not there
            continue
        if kind == IDENTITY.kind:
            yield IDENTITY
        elif kind == _KMS:
            yield Key(f"{_KMS} {settings.get('apiVersion') or 'v1'}", str(settings["name"]), settings["endpoint"])
        else:
            for key in settings["keys"]:
                yield Key(kind, str(key["name"]), _decode_secret(str(key["secret"])))


def _decode_secret(secret: str) -> str | bytes:
    try:
        return base64.b64decode(secret)
    except (binascii.Error, ValueError):
        return secret


# ---- risks -----------------------------------------------------------------------------------------------------------


def resource_name(resource: Resource) -> str:
    """A resource as configurations write it."""
    return ".".join(resource) if resource[1] or resource[0] == _ANY else resource[0]


def find_risks(before: Encryption, after: Encryption, count: Count) -> list[str]:
    """The risks of a change, one sentence each; empty when every stored value stays readable.

    count: how many stored values of a resource a key wrote; raises KubeadmError when that cannot be known. It is called only
    for a key that goes.
    """
    found: dict[str, dict[str, None]] = {}
    for resource in dict.fromkeys([*before.keys, *after.keys]):
        name = resource_name(resource)
        for problem in _resource_risks(name, before.keys_of(resource), after.keys_of(resource), count):
            found.setdefault(problem, {})[name] = None
    return [f"{', '.join(resources)}: {problem}" for problem, resources in found.items()]


def _resource_risks(resource: str, before: t.Sequence[Key], after: t.Sequence[Key], count: Count) -> t.Iterator[str]:
    old_writer, writer = before[0], after[0]
    if writer not in before:
        yield (
            f"{writer} would write values that the other API servers, and this one after a rollback, cannot read, because it is"
            " not in the present configuration"
        )
    elif writer == IDENTITY != old_writer:
        yield "values would be stored in plain text from now on"
    for key in before:
        if key not in after:
            name = f"{key} (another one gets its name)" if _has_namesake(key, after) else str(key)
            if key == old_writer:
                yield f"{name} would be removed, and values are written with it up to this moment"
            else:
                yield from _removal_risks(resource, key, name, count)
    for key in after:
        if _has_namesake(key, after) and not _has_namesake(key, before):
            yield f"{key} would be the name of two different keys, and stored values do not tell which of them wrote"


def _removal_risks(resource: str, key: Key, name: str, count: Count) -> t.Iterator[str]:
    try:
        number = count(resource, key)
    except KubeadmError as exc:
        yield f"{name} would be removed, and whether stored values need it cannot be determined ({str(exc).rstrip('.')})"
    else:
        if number:
            yield f"{name} would be removed, and {number} stored value{'s need' if number > 1 else ' needs'} it"


def _has_namesake(key: Key, keys: t.Iterable[Key]) -> bool:
    return any((key.kind, key.name) == (each.kind, each.name) and key != each for each in keys)
