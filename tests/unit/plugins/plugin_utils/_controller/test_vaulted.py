# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that come from a vault, whatever they are called on the way."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.vaulted import vaulted_keys

Json = dict[str, t.Any]


class EncryptedString:
    """As Ansible calls a value that is not decrypted yet."""


class VaultedValue:
    """As Ansible calls the tag of a value that was."""


class Tagged(str):
    """A decrypted text."""

    _ansible_tags_mapping = t.cast(t.Any, {VaultedValue: None})


class Origin:
    """As Ansible calls the tag of where a value stands."""

    def __init__(self, path: str | None) -> None:
        self.path = path


class Placed(str):
    """A text from a file, with its origin as ansible-core 2.19 and later tag it, or as 2.18 does."""

    def __init__(self, dummy: str) -> None:
        self._ansible_tags_mapping: t.Any = {}
        self.ansible_pos: t.Any = None


def components(value: t.Any) -> Json:
    return {"kube-apiserver": {"env": {"TOKEN": value, "PLAIN": "x"}, "files": [{"content": {"PLAIN": value}}]}}


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"c": components("x")}, []),
        ({"c": components(EncryptedString())}, ["TOKEN", "PLAIN"]),
        ({"c": components(Tagged("x"))}, ["TOKEN", "PLAIN"]),
        ({"c": components("{{ secret }}"), "secret": EncryptedString()}, ["TOKEN", "PLAIN"]),
        ({"c": components("{{ outer }}"), "outer": "a{{ secret }}", "secret": EncryptedString()}, ["TOKEN", "PLAIN"]),
        ({"c": components("{{ other }}"), "other": "x", "secret": EncryptedString()}, []),
        ({"c": "{{ mine | combine(yours) }}", "mine": components(EncryptedString()), "yours": {}}, ["TOKEN", "PLAIN"]),
        ({"c": components("{{ c }}")}, []),
        ({"c": {"args": {"flag": ["x", EncryptedString()], "other": ["x"]}}}, ["flag"]),
        ({}, []),
    ],
)
def test_where_a_value_comes_from(variables: Json, found: list[str]) -> None:
    assert vaulted_keys(variables, "c") == found


@pytest.mark.parametrize(
    ("content", "found"), [("$ANSIBLE_VAULT;1.1;AES256\n61", ["TOKEN", "PLAIN"]), ("secret: x\n", [])]
)
def test_a_whole_file_may_be_encrypted(tmp_path: pathlib.Path, content: str, found: list[str]) -> None:
    file = tmp_path / "vault.yml"
    file.write_text(content, encoding="utf-8")
    for new, old in ((str(file), None), (None, (str(file), 1, 1))):
        secret = Placed("x")
        secret._ansible_tags_mapping, secret.ansible_pos = {Origin: Origin(new)}, old
        assert vaulted_keys({"c": components("{{ secret }}"), "secret": secret}, "c") == found
    secret._ansible_tags_mapping, secret.ansible_pos = {}, (str(tmp_path / "gone"), 1, 1)
    assert vaulted_keys({"c": components(secret)}, "c") == []
