# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which values of a variable come from a vault: by themselves, or through the variables that they name."""

from __future__ import annotations

import collections.abc
import functools
import re
import typing as t

# Ansible's classes of encrypted values and its tag of decrypted ones, by release.
_ENCRYPTED = frozenset(("EncryptedString", "AnsibleVaultEncryptedUnicode", "_AnsibleVaultEncryptedUnicode"))
_TAG = "VaultedValue"
_ORIGIN = "Origin"  # its tag of where a value stands
_HEADER = b"$ANSIBLE_VAULT"
_NAME = re.compile(r"[A-Za-z_]\w*")


def vaulted_keys(variables: t.Mapping[str, t.Any], name: str) -> list[str]:
    """The keys of mappings anywhere in a variable whose values, or texts in lists of values, are encrypted.

    variables: those of a host, not worked out.
    """
    seen = frozenset((name,))
    entries = _walk(variables, variables.get(name), seen)
    return list(dict.fromkeys(key for key, value in entries if _is_secret(variables, value, seen)))


def _walk(variables: t.Mapping[str, t.Any], value: t.Any, seen: frozenset[str]) -> t.Iterator[tuple[str, t.Any]]:
    """All keys with their values, at any depth, also in the variables that a template names."""
    if isinstance(value, collections.abc.Mapping):
        for key, entry in value.items():
            yield str(key), entry
            yield from _walk(variables, entry, seen)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _walk(variables, entry, seen)
    else:
        for named in _referenced(variables, value, seen):
            yield from _walk(variables, variables[named], seen | {named})


def _is_secret(variables: t.Mapping[str, t.Any], value: t.Any, seen: frozenset[str]) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_secret(variables, entry, seen) for entry in value)
    tags = getattr(value, "_ansible_tags_mapping", None) or ()
    if type(value).__name__ in _ENCRYPTED or any(tag.__name__ == _TAG for tag in tags):
        return True
    if _is_encrypted(_source_file(value, dict(tags))):
        return True
    return any(_is_secret(variables, variables[named], seen | {named}) for named in _referenced(variables, value, seen))


def _source_file(value: t.Any, tags: t.Mapping[type, t.Any]) -> str:
    """The file in which a value stands; empty where that is not known."""
    origin = next((tag for kind, tag in tags.items() if kind.__name__ == _ORIGIN), None)
    (path, *dummy) = getattr(value, "ansible_pos", None) or ("",)  # ansible-core 2.18
    return str(getattr(origin, "path", None) or path or "")


@functools.lru_cache
def _is_encrypted(path: str) -> bool:
    """Whether a whole file is: its values have no tag of their own."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return False


def _referenced(variables: t.Mapping[str, t.Any], value: t.Any, seen: frozenset[str]) -> list[str]:
    """The variables that a template names, as far as their names stand there."""
    if not isinstance(value, str) or "{" not in value:
        return []
    return [name for name in dict.fromkeys(_NAME.findall(value)) if name in variables and name not in seen]
