# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Labels of a node."""

from __future__ import annotations

import typing as t

from ..common.ownership import Change
from ..documents import json_patch
from ..kubernetes import names as node_names
from .plan import Keys, Kind, Node


def _parse(option: t.Mapping[str, t.Any], state: str) -> Keys:
    return {
        node_names.check_label(key): None if value is None else node_names.text_value("labels", key, value)
        for key, value in option.items()
    }


def live(node: Node) -> Keys:
    """The labels of a node."""
    return dict(node["metadata"].get("labels") or {})


def _edits(node: Node, changes: t.Sequence[Change]) -> list[json_patch.PatchOperation]:
    wanted = {change.key: change.after for change in changes}
    return json_patch.edit_members(("metadata", "labels"), node["metadata"].get("labels"), wanted)


LABELS = Kind(
    field="labels",
    annotation="nodecraft.kubeadm/owned-labels",
    subresource="",
    parse=_parse,
    live=live,
    edits=_edits,
    visible=live,
)
