# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is taken back, and what is not taken back at once."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import rollback
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.rollback import (
    KubeletUndo,
    PodUndos,
    RollbackRequest,
    Undo,
)

Json = dict[str, t.Any]
HOSTS = ["cp1", "w1"]


def undo(after: t.Any = None, **more: t.Any) -> Undo:
    operation = {"field": "config", "key": "maxPods", "before": 5, "after": after}
    values = {"transaction": "T", "ended": "then", "operations": [operation], "blocked_by": None, **more}
    return typed.parse(Undo, values)


@pytest.mark.parametrize(("value", "names"), [(None, []), ("", []), ("a, b,", ["a", "b"]), (["a"], ["a"]), ([], [])])
def test_names_as_variables_have_them(value: t.Any, names: list[str]) -> None:
    assert rollback.parse_names(value) == names


def test_who_is_observed() -> None:
    pods, kubelet, nothing = (RollbackRequest([name], ["cp1"]) for name in ("etcd", "kubelet", "kube-proxy"))
    assert (pods.static_pods, kubelet.static_pods) == (["etcd"], [])
    assert [each.reads_static_pods("cp1", ["cp1"]) for each in (pods, kubelet, nothing)] == [True, False, False]
    assert not pods.reads_static_pods("cp1", [])
    assert not pods.reads_static_pods("cp2", ["cp2"])
    assert [each.reads_kubelet("cp1") for each in (pods, kubelet)] == [False, True]
    assert not kubelet.reads_kubelet("w1")
    # To tell what there is.
    assert RollbackRequest([], HOSTS).reads_static_pods("cp1", ["cp1"])
    assert RollbackRequest([], HOSTS).reads_kubelet("w1")


def test_the_rollbacks_of_a_host() -> None:
    pods = {"static_pods": [{"name": "etcd", "undo": {"ended": "a"}}, {"name": "kube-apiserver", "undo": None}]}
    found = rollback.undos_by_component(typed.parse(PodUndos, pods), typed.parse(KubeletUndo, {"undo": {"ended": "b"}}))
    assert found == {"etcd": Undo(ended="a"), "kubelet": Undo(ended="b")}
    assert rollback.undos_by_component(PodUndos(), KubeletUndo()) == {}


def test_names_that_are_not_known() -> None:
    names = ["rollback_node", "rollback_nodes", "rollback_mine", "other"]
    assert rollback.unknown_variables(names, ["rollback_mine"]).startswith(
        "This playbook does not know rollback_node; it knows"
    )
    assert rollback.unknown_variables(names[1:], ["rollback_mine"]) == ""


@pytest.mark.parametrize(
    ("components", "nodes", "undos", "words"),
    [
        (["kubelet"], HOSTS, {"w1": {"kubelet": undo()}}, ""),
        (["kubelet"], ["w9"], {}, "rollback_nodes names w9, which is not a host of this run."),
        (
            [],
            HOSTS,
            {"w1": {"kubelet": undo("x")}},
            "There is w1 kubelet: ~ maxPods: 5 -> x (transaction T, ended then).",
        ),
        (
            [],
            HOSTS,
            {"cp1": {"etcd": undo(["2"], operations=[{"field": "args", "key": "v", "before": ["4"], "after": ["2"]}])}},
            "There is cp1 etcd: ~ --v=4 -> 2 (transaction T, ended then).",
        ),
        ([], HOSTS, {}, "There is none."),
        (["kube-proxy"], HOSTS, {}, "invalid rollback_components kube-proxy: must be of etcd, kube-apiserver,"),
        (
            ["kubelet"],
            HOSTS,
            {"w1": {"kubelet": undo(blocked_by="changed since", transaction=None)}},
            "w1 kubelet: changed since",
        ),
        (
            ["kubelet"],
            HOSTS,
            {"cp1": {"kubelet": undo()}, "w1": {"kubelet": undo(True)}},
            "Different last changes are not reverted at once: cp1 kubelet: - maxPods: 5 (transaction T, ended then);"
            " w1 kubelet: ~ maxPods: 5 -> true (transaction T, ended then).",
        ),
        (["etcd"], HOSTS, {"cp1": {"kubelet": undo()}, "w1": {"kubelet": undo(True)}}, ""),
        (["kubelet"], ["w1"], {"cp1": {"kubelet": undo()}, "w1": {"kubelet": undo(True)}}, ""),
    ],
)
def test_what_is_not_reverted_at_once(components: list[str], nodes: list[str], undos: Json, words: str) -> None:
    found = rollback.rollback_refusal(RollbackRequest(components, nodes), undos, HOSTS, {})
    assert words in found
    assert bool(found) is bool(words)


def test_manifests_that_were_not_read_are_named_with_what_there_is() -> None:
    unread = {"cp1": ["/m/etcd.yaml"], "w1": []}
    found = rollback.rollback_refusal(RollbackRequest([], HOSTS), {}, HOSTS, unread)
    assert found.endswith("There is none. Whether there is one of /m/etcd.yaml on cp1 is not known: it cannot be read.")
    assert rollback.rollback_refusal(RollbackRequest(["kubelet"], HOSTS), {}, HOSTS, unread) == "", (
        "the role refuses its own"
    )
