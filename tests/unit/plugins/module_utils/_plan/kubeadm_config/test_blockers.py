# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a run from writing kubeadm-config."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config import blockers
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import KNOWN, TEXT, Json

SAME = {"cp1": "v1.37.2", "cp2": "v1.37.2"}


def test_nothing_keeps_it() -> None:
    assert blockers.write_refusal(KNOWN, SAME) == ""
    assert blockers.write_refusal({**KNOWN, "text": TEXT.replace("v1.37.2", "1.37.2")}, SAME) == ""


@pytest.mark.parametrize(
    ("known", "versions", "why"),
    [
        ({"problem": "no answer"}, SAME, "could not be read: no answer"),
        ({"text": None}, SAME, "upload-config"),
        ({"text": "a: ["}, SAME, "is not valid YAML"),
        ({"text": TEXT.replace("v1beta4", "v1beta3")}, SAME, "kubeadm config migrate"),
        ({"managers": ["Cluster API (x)"]}, SAME, "Cluster API (x) renders"),
        ({"text": TEXT.replace("/etc/kubernetes/pki", "/etc/kubernetes/ssl")}, SAME, "Kubespray"),
        ({"immutable": ["kubeadm-config"]}, SAME, "kube-system/kubeadm-config is immutable"),
        ({"control_planes": ["cp1", "cp2", "cp3"]}, SAME, "cp3 is a control plane and no host of this run"),
        ({}, {**SAME, "cp2": "v1.36.3"}, "cp2 v1.36.3"),
        ({}, {**SAME, "cp2": ""}, "cp2 unknown"),
        ({"text": TEXT.replace("v1.37.2", "v1.37.1")}, SAME, "kubeadm-config v1.37.1"),
    ],
)
def test_what_keeps_it(known: Json, versions: t.Mapping[str, str], why: str) -> None:
    assert why in blockers.write_refusal({**KNOWN, **known}, versions)


def test_who_else_manages_the_nodes() -> None:
    def node(**metadata: Json) -> Json:
        return {"metadata": {"name": "n", **metadata}}

    assert (
        blockers.find_managers(
            [node(), node(labels={"kubernetes.io/hostname": "a"}, annotations={"kubeadm.alpha.kubernetes.io/x": ""})]
        )
        == []
    )
    assert blockers.find_managers([node(annotations={"cluster.x-k8s.io/cluster-name": "c"})]) == [
        "Cluster API (the Nodes have cluster.x-k8s.io/cluster-name)"
    ]
    assert blockers.find_managers([node(labels={"minikube.k8s.io/name": "m"})]) == [
        "minikube (the Nodes have minikube.k8s.io/name)"
    ]
