# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of a module says of its result; read as text, because the node's side is tested without Ansible too."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import state

MODULES = Path(state.__file__).parents[2] / "modules"


def documented(module: str, *path: str) -> set[str]:
    """The keys of a module's result, or of what its keys at this path contain."""
    tree = ast.parse((MODULES / f"{module}.py").read_text(encoding="utf-8"))
    texts = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RETURN"
    )
    keys: dict[str, t.Any] = yaml.safe_load(next(texts))
    for name in path:
        keys = keys[name]["contains"]
    return set(keys)
