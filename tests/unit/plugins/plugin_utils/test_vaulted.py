# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that come from a vault, whatever they are called on the way."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils.vaulted import vaulted

Json = dict[str, t.Any]


class EncryptedString:
    """As Ansible calls a value that is not decrypted yet."""


class VaultedValue:
    """As Ansible calls the tag of a value that was."""


class Tagged(str):
    """A decrypted text."""

    _ansible_tags_mapping = t.cast(t.Any, {VaultedValue: None})


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
        ({}, []),
    ],
)
def test_where_a_value_comes_from(variables: Json, found: list[str]) -> None:
    assert vaulted(variables, "c", ["TOKEN", "PLAIN"]) == found
    assert vaulted(variables, "c", ["TOKEN"]) == found[:1]
    assert vaulted(variables, "c", []) == []
