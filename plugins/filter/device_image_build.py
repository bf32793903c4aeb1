# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.common.plain import to_plain
from ..module_utils._plan.device import image_build

DOCUMENTATION = r"""
name: device_image_build
short_description: (internal) Determine how the image of the device plugin is built
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - The entry point C(image) of the role P(nodecraft.kubeadm.device_plugin#role) uses it.
positional: found
options:
  _input:
    description: The desired state, by the names of the role's variables without C(device_plugin_image_). C(name) is the image.
    type: dict
    required: true
  found:
    description: What exists.
    type: dict
    required: true
    suboptions:
      builders:
        description: What M(ansible.builtin.command) returns for the programs that build images, one result for each.
        type: list
        elements: dict
        required: true
      sources:
        description: What M(ansible.builtin.find) returns for the plugin's sources, one result for each place.
        type: list
        elements: dict
        required: true
      wheels:
        description: What it returns for wheels.
        type: dict
        required: true
      root:
        description: What M(ansible.builtin.stat) returns for the root file system.
        type: dict
        required: true
      archive:
        description: What it returns for the archive.
        type: dict
        required: true
      recipe:
        description: The text beside the archive. Empty when there is none.
        type: str
        required: true
"""

EXAMPLES = r"""
- name: Show what would be built
  ansible.builtin.debug:
    msg: "{{ build.builder if build.needed else 'nothing' }}"
  vars:
    build: "{{ request | nodecraft.kubeadm.device_image_build(found) }}"
"""

RETURN = r"""
_value:
  description: >-
    Why nothing can be built, as C(refusal), whether there is something to build, as C(needed), the program, as C(builder), its commands, as
    C(build), C(base_argument) and C(save), and all that the image depends on, as C(recipe).
  type: dict
"""


class FilterModule:
    """The filter, under the name by which Ansible loads it."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"device_image_build": _plan}


def _plan(request: t.Any, found: t.Any) -> dict[str, t.Any]:
    return image_build.plan(
        image_build.ImageRequest(**to_plain(request)), image_build.inputs_from_results(**to_plain(found))
    )
