# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which changes of an EncryptionConfiguration may pass: the decision table of docs/encryption.md."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import encryption
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.encryption import (
    IDENTITY,
    NONE,
    Encryption,
    Key,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.encryption import SECRETS, config, document, material

UNREADABLE, PLAIN, WRITER, NEEDED, UNKNOWN, TWO = (
    "would write values that the other API servers, and this one after a rollback, cannot read",
    "values would be stored in plain text from now on",
    "would be removed, and values are written with it up to this moment",
    "would be removed, and 3 stored values need it",
    "would be removed, and whether stored values need it cannot be determined (etcd is silent)",
    "would be the name of two different keys",
)


def parsed(keys: str | None) -> Encryption:
    """A configuration of Secrets; None: the flag is not set."""
    return NONE if keys is None else encryption.parse(config(*keys.split()).encode())


def none_stored(resource: str, key: Key) -> int:
    return 0


def three_stored(resource: str, key: Key) -> int:
    return 3


def silent(resource: str, key: Key) -> int:
    raise KubeadmError("etcd is silent.")


def never(resource: str, key: Key) -> int:
    raise AssertionError("etcd is asked without need")


@pytest.mark.parametrize(
    ("before", "after", "count", "expected"),
    [
        # switching on: first readable, then written
        (None, "identity k1", never, []),
        ("identity k1", "k1 identity", never, []),
        (None, "k1 identity", never, [f"aescbc key k1 {UNREADABLE}"]),
        (None, "k1", never, [f"aescbc key k1 {UNREADABLE}", f"identity (plain text) {WRITER}"]),
        # rotation
        ("k1 identity", "k1 k2 identity", never, []),
        ("k1 k2 identity", "k2 k1 identity", never, []),
        ("k1 identity", "k2 k1 identity", never, [f"aescbc key k2 {UNREADABLE}"]),
        ("k1 identity", "k2 identity", never, [f"aescbc key k2 {UNREADABLE}", f"aescbc key k1 {WRITER}"]),
        ("k1 k2 identity", "k2 identity", never, [f"aescbc key k1 {WRITER}"]),
        ("k2 k1 identity", "k2 identity", none_stored, []),
        ("k2 k1 identity", "k2 identity", three_stored, [f"aescbc key k1 {NEEDED}"]),
        ("k2 k1 identity", "k2 identity", silent, [f"aescbc key k1 {UNKNOWN}"]),
        # plain text
        ("k1 identity", "k1", none_stored, []),
        ("k1 identity", "k1", three_stored, [f"identity (plain text) {NEEDED}"]),
        ("k1", "k1 identity", never, []),
        # switching off
        ("k1 identity", "identity k1", never, [PLAIN]),
        ("k1", "identity k1", never, [f"identity (plain text) {UNREADABLE}"]),
        ("identity k1", "identity", three_stored, [f"aescbc key k1 {NEEDED}"]),
        ("identity k1", None, none_stored, []),
        ("identity k1", None, silent, [f"aescbc key k1 {UNKNOWN}"]),
        ("k1 identity", None, never, [PLAIN, f"aescbc key k1 {WRITER}"]),
        # another key under the same name
        (
            "k1 identity",
            "k1=k2 identity",
            never,
            [f"aescbc key k1 {UNREADABLE}", "k1 (another one gets its name) would"],
        ),
        ("k1 identity", "k1 k1=k2 identity", never, [f"aescbc key k1 {TWO}"]),
        ("k1 k1=k2 identity", "k1 k1=k2 k3 identity", never, []),
        ("k1 k1=k2 identity", "k1 identity", three_stored, ["k1 (another one gets its name) would be removed, and 3"]),
    ],
)
def test_a_change_passes_only_when_every_stored_value_stays_readable(
    before: str | None, after: str | None, count: encryption.Count, expected: list[str]
) -> None:
    found = encryption.find_risks(parsed(before), parsed(after), count)
    if not expected:
        assert found == []
        return
    assert len(found) == len(expected)
    assert all(word in finding for word, finding in zip(expected, found)), found
    assert all(finding.startswith("secrets: ") for finding in found)


def of(*entries: tuple[str, str]) -> Encryption:
    """A configuration of several entries: resources and keys."""
    return encryption.parse(json.dumps(document(*((names.split(), keys.split()) for names, keys in entries))).encode())


@pytest.mark.parametrize(
    ("before", "after", "resources"),
    [
        ([("secrets configmaps", "k1 identity")], [("secrets", "k1 identity")], "configmaps"),
        ([("secrets configmaps", "k1 identity")], [("pods", "identity k1")], "secrets, configmaps"),
        ([("*.*", "k1 identity")], [("events", "identity"), ("*.*", "k1 identity")], "events"),
        ([("*.*", "k1 identity")], [("*.apps", "k1 identity"), ("*.", "k1 identity")], "*.*"),
        ([("*.apps", "k1 identity")], [("deployments.apps", "k1 identity")], "*.apps"),
        ([("*.", "k1 identity")], [("secrets", "k1 identity")], "*."),
        ([("secrets", "k1 identity")], [("*.", "k1 identity")], "*."),
        ([("secrets", "k1 identity")], [("secrets", "k1 identity"), ("*.", "identity k1")], ""),
        ([("secrets", "k1"), ("secrets", "identity")], [("secrets", "k1 identity")], ""),
        ([("pandas.bears.example", "k1 identity")], [("pandas.example", "identity k1")], "pandas.bears.example"),
    ],
)
def test_each_resource_is_judged_by_what_the_api_server_searches_for_it(
    before: list[tuple[str, str]], after: list[tuple[str, str]], resources: str
) -> None:
    found = encryption.find_risks(of(*before), of(*after), never)
    assert {finding.partition(": ")[0] for finding in found} == ({resources} if resources else set())


def test_a_key_that_goes_is_requested_by_resource() -> None:
    counted: list[tuple[str, str]] = []

    def count(resource: str, key: Key) -> int:
        counted.append((resource, str(key)))
        return len(counted) - 1

    before, after = of(("secrets *.apps", "k2 k1")), of(("secrets *.apps", "k2"))
    assert encryption.find_risks(before, after, count) == [
        "*.apps: aescbc key k1 would be removed, and 1 stored value needs it"
    ]
    assert counted == [("secrets", "aescbc key k1"), ("*.apps", "aescbc key k1")]


ALL = """\
kind: EncryptionConfig
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: a, secret: bm90IGFsbCBvZiB0aGVt}]}
  - aesgcm: {keys: [{name: a, secret: "!"}, {name: 7, secret: bm90IGFsbCBvZiB0aGVt}]}
  - kms: {name: old, endpoint: "unix:///a.sock"}
  - kms: {apiVersion: v2, name: new, endpoint: "unix:///b.sock"}
  - identity: {}
"""


def test_every_provider_is_known_by_the_mark_of_its_values() -> None:
    keys = encryption.parse(ALL.encode()).keys_of(("secrets", ""))
    assert [(str(key), key.prefix) for key in keys] == [
        ("secretbox key a", b"k8s:enc:secretbox:v1:a:"),
        ("aesgcm key a", b"k8s:enc:aesgcm:v1:a:"),
        ("aesgcm key 7", b"k8s:enc:aesgcm:v1:7:"),
        ("kms v1 provider old", b"k8s:enc:kms:v1:old:"),
        ("kms v2 provider new", b"k8s:enc:kms:v2:new:"),
        ("identity (plain text)", b""),
    ]
    values = [key.prefix + b"x" for key in keys[:-1]] + [b"k8s\0 plain", b'{"kind": "Secret"}', b""]
    assert [sum(key.wrote(value) for value in values) for key in keys] == [1, 1, 1, 1, 1, 3]
    assert IDENTITY in keys


def test_a_provider_without_a_value_is_none() -> None:
    text = config("k1", "k2").replace('"aescbc"', '"aesgcm": null, "aescbc"', 1)
    assert encryption.parse(text.encode()) == parsed("k1 k2")
    with pytest.raises(Refusal, match=r"^it is not a EncryptionConfiguration"):
        encryption.parse(json.dumps({"resources": [{"resources": ["a"], "providers": [{"identity": None}]}]}).encode())


def test_a_kms_that_moves_is_another_one() -> None:
    before = encryption.parse(ALL.encode())
    after = encryption.parse(ALL.replace("b.sock", "c.sock").encode())
    (finding,) = encryption.find_risks(before, after, three_stored)
    assert "kms v2 provider new (another one gets its name) would be removed, and 3 stored values need it" in finding


def test_the_secret_of_a_key_is_compared_and_never_shown() -> None:
    (key,) = encryption.parse(config("k1").encode()).keys_of(("secrets", ""))
    for text in (repr(key), str(key), f"{key.prefix!r}"):
        assert SECRETS["k1"] not in text
        assert material("k1") not in text


@pytest.mark.parametrize(
    "content",
    ["", "x", "[]", "resources: 1", "resources: [{resources: [a]}]", "a: [", "a: 1\n---\nb: 2", "resources: [1]"]
    + [config().replace("secrets", "x")]
    + [json.dumps({"resources": [{"resources": ["a"], "providers": [{"aescbc": {"keys": [{"name": "k"}]}}]}]})],
)
def test_what_is_no_configuration_is_refused_without_a_word_of_it(content: str) -> None:
    with pytest.raises(Refusal, match=r"^it is not a (?:single YAML document|EncryptionConfiguration)"):
        encryption.parse(content.encode())


def test_a_damaged_configuration_is_not_quoted() -> None:
    with pytest.raises(Refusal) as refused:
        encryption.parse(f"resources:\n- x: {material('k1')}\n  - {material('k1')}\n".encode())
    assert str(refused.value) == "it is not a single YAML document (line 3)"
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [(config("k1"), True), (ALL, True), ("kind: Policy\n", False), ("kind: EncryptionConfiguration\nbroken: [", True)],
)
def test_a_configuration_is_recognised_whatever_is_wrong_with_it(content: str, expected: bool) -> None:
    assert encryption.holds_keys(content.encode()) is expected
