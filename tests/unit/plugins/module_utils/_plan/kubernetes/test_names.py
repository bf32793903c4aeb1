# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names by Kubernetes' rules."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import names as node_names

LONG = "n" * 64


@pytest.mark.parametrize("name", ["example.com/dongle", "a/b", f"example.com/{LONG[1:]}", "x.io/A_b.c-1"])
def test_resources_that_pods_can_request(name: str) -> None:
    assert node_names.check_resource(name) == name
    assert node_names.is_extended_resource(name)


@pytest.mark.parametrize(
    "name",
    [
        "foo",
        "cpu",
        "hugepages-2Mi",
        "attachable-volumes-aws-ebs",
        "kubernetes.io/foo",
        "node.kubernetes.io/foo",
        "requests.example.com/foo",
        f"example.com/{LONG}",
        "example.com/",
        "/foo",
        "Example.com/foo",
        "example.com/-foo",
        "a/b/c",
        f"{'p' * 245}/foo",
        4,
        None,
    ],
)
def test_resources_that_no_pod_can_request(name: t.Any) -> None:
    with pytest.raises(Refusal, match="no pod could request"):
        node_names.check_resource(name)
    assert not isinstance(name, str) or not node_names.is_extended_resource(name)


@pytest.mark.parametrize(
    "key", ["a", "example.com/rack", "node-role.kubernetes.io/worker", "topology.kubernetes.io/zone", LONG[1:]]
)
def test_labels_that_may_be_set(key: str) -> None:
    assert node_names.check_label(key) == key


@pytest.mark.parametrize("key", ["", "-a", "a-", "a b", "example.com/", "a/b/c", LONG, f"{'p' * 254}/a", "É", 1, "a\n"])
def test_keys_that_kubernetes_does_not_take(key: t.Any) -> None:
    for check in (node_names.check_label, node_names.check_taint):
        with pytest.raises(Refusal, match="invalid key"):
            check(key)


@pytest.mark.parametrize(
    ("check", "key"),
    [
        (node_names.check_label, "kubernetes.io/hostname"),
        (node_names.check_label, "kubernetes.io/os"),
        (node_names.check_label, "beta.kubernetes.io/arch"),
        (node_names.check_label, "node.cloudprovider.kubernetes.io/x"),
        (node_names.check_taint, "node.kubernetes.io/not-ready"),
        (node_names.check_taint, "node.kubernetes.io/unschedulable"),
        (node_names.check_taint, "node.cloudprovider.kubernetes.io/uninitialized"),
    ],
)
def test_keys_of_controllers(check: t.Callable[[str], str], key: str) -> None:
    with pytest.raises(Refusal, match=f"{key} is not set manually"):
        check(key)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "it is empty"),
        ("example.com/", "there is no name after the slash"),
        (f"example.com/{LONG}", "its name has 64 characters, and at most 63 are allowed"),
        ("a b", "'a b' is not made of letters"),
        ("Example.com/a", "'Example.com' before the slash is not a domain"),
    ],
)
def test_what_is_wrong_with_a_key(key: str, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        node_names.check_label(key)


def test_a_taint_that_people_set() -> None:
    assert node_names.check_taint("node.kubernetes.io/out-of-service")


@pytest.mark.parametrize(
    ("value", "text"), [("x", "x"), ("", ""), (True, "true"), (False, "false"), (4, "4"), ("a.b_c-1", "a.b_c-1")]
)
def test_values_as_kubernetes_writes_them(value: t.Any, text: str) -> None:
    assert node_names.text_value("labels", "k", value) == text


@pytest.mark.parametrize("value", [1.5, None, [1], {}, "a b", "-a", "a-", LONG, "a\n"])
def test_values_that_kubernetes_does_not_take(value: t.Any) -> None:
    with pytest.raises(Refusal, match=r"labels: invalid value .* of k: must be"):
        node_names.text_value("labels", "k", value)


def test_names_of_nodes() -> None:
    assert node_names.check_node("nodes", "w1.example.com") == "w1.example.com"
    for name in ("", "a/b", "..", "W1", "a" * 254, 1):
        with pytest.raises(Refusal, match=r"invalid nodes .*: must be the name of a node"):
            node_names.check_node("nodes", name)
