# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.docs.blocks import (
    Block,
    Shape,
    note_beside,
    parse_blocks,
    rename_nodes,
)

PAGE = """\
# A page

```shell
make it
```

*Not executed here: needs a printer.*

1. In a list:

   ```console
   $ one
   printed
   $ two
   ```

*Not executed here: needs a plotter.*

```text
out
```
"""


def test_blocks_are_found_with_line_and_reason() -> None:
    assert parse_blocks("a.md", PAGE) == [
        Block("a.md", 3, "shell", "make it\n", "needs a printer"),
        Block("a.md", 11, "console", "$ one\nprinted\n$ two\n", "needs a plotter"),
        Block("a.md", 19, "text", "out\n", "needs a plotter"),
    ]


def test_a_note_belongs_to_the_block_beside_it_only() -> None:
    lines = ["*Not executed here: far.*", "", "Words.", "", "```shell", "a", "```", "", "Words."]
    assert note_beside(lines, 4, 6) == ""
    assert note_beside(["*Not executed here: near.*", *lines[3:]], 2, 4) == "near"


def test_only_what_is_behind_the_prompt_is_a_command() -> None:
    assert Block("a.md", 1, "console", "$ one\nprinted\n$ two\n", "").commands == "one\ntwo\n"
    assert Block("a.md", 1, "shell", "one\n$ two\n", "").commands == "one\n$ two\n"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("- hosts: all\n  roles: []\n", Shape.PLAYBOOK),
        ("- name: x\n  ansible.builtin.import_playbook: nodecraft.kubeadm.site\n", Shape.PLAYBOOK),
        ("- name: x\n  nodecraft.kubeadm.kubelet: {}\n", Shape.TASKS),
        ("- role: nodecraft.kubeadm.control_plane\n", Shape.OTHER),
        ("all:\n  vars: {}\nkube_node:\n  hosts: {}\n", Shape.INVENTORY),
        ("control_plane_feature_gates: {}\n", Shape.VARIABLES),
        ("control_plane_feature_gates: {}\nfailed_when: x\n", Shape.OTHER),
        ("apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Pod\n", Shape.OBJECTS),
        ("apiVersion: v1\nkind: Pod\n---\nall: {}\n", Shape.OTHER),
        ('"{{ found }}"\n', Shape.OTHER),
    ],
)
def test_yaml_is_recognized_by_its_keys(text: str, shape: Shape) -> None:
    assert Block("a.md", 1, "yaml", text, "").shape is shape


def test_what_is_executed() -> None:
    assert Block("a.md", 1, "shell", "true\n", "").executed
    assert not Block("a.md", 1, "shell", "true\n", "needs more").executed
    assert not Block("a.md", 1, "text", "out\n", "").executed


def test_a_first_line_names_a_file() -> None:
    assert Block("a.md", 1, "yaml", "# group_vars/all.yml\na: 1\n", "").file == "group_vars/all.yml"
    assert Block("a.md", 1, "yaml", "# What is it?\na: 1\n", "").file == ""


def test_the_hosts_of_the_reader_are_those_of_the_lab() -> None:
    assert rename_nodes("cp1, w1: nodes/w2/status --limit=cp1 hw1 w10 a.w1", "x") == (
        "x-cp1, x-w1: nodes/x-w2/status --limit=x-cp1 hw1 w10 a.w1"
    )
