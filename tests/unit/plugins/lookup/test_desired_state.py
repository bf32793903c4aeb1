# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lookup that reads what variables name."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible.errors import AnsibleUndefinedVariable
from ansible_collections.nodecraft.kubeadm.plugins.lookup.desired_state import LookupModule


def lookup_with(template: t.Callable[[object], object]) -> LookupModule:
    templar: t.Any = types.SimpleNamespace(template=template)
    return LookupModule(templar=templar)


def test_only_what_is_named_is_there() -> None:
    lookup = lookup_with(lambda value: value)
    variables = {"node_kubelet_config": {}, "node_kubelet_force": True, "node_resources_labels": None, "other": 1}
    assert lookup.run(["node_kubelet", "node_resources", "control_plane"], variables) == [
        {"config": {}},
        {"labels": None},
        {},
    ]


def test_one_that_cannot_be_worked_out_is_an_error() -> None:
    def template(value: object) -> object:
        raise AnsibleUndefinedVariable(str(value))

    with pytest.raises(AnsibleUndefinedVariable, match="deep"):
        lookup_with(template).run(["node_kubelet"], {"node_kubelet_args": "deep"})


@pytest.mark.parametrize(("group", "control_planes"), [({}, 1), ({"kube_control_plane_group": "masters"}, 3)])
def test_short_restarts_depend_on_the_number_of_control_planes(group: dict[str, str], control_planes: int) -> None:
    groups = {"kube_control_plane": ["cp1"], "masters": ["cp1", "cp2", "cp3"]}
    variables = {"control_plane_short_restarts": True, "groups": groups, **group}
    found = lookup_with(lambda value: value).run(["control_plane"], variables)
    assert found == [{"short_restarts": True, "control_planes": control_planes}]
