#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_image
short_description: Load a container image on a node
description:
  - Checks whether the container runtime of a node has an image, and loads an archive when it does not. The role
    P(nodecraft.kubeadm.device_plugin#role) uses it for nodes without a registry.
  - The runtime is the one at the kubelet's C(containerRuntimeEndpoint). Images are loaded into containerd by C(ctr), into CRI-O by
    C(podman), whose storage it shares, and into Docker, with cri-dockerd, by C(docker). Whether an image is there the runtime itself is asked, as
    the kubelet does.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.transaction.actiongroup_node
  - nodecraft.kubeadm.versions
attributes:
  check_mode:
    support: full
    description: Returns whether the archive would be loaded. The archive need not exist yet.
  diff_mode:
    support: none
    description: There is nothing to compare.
  idempotent:
    support: full
    description: An existing image is not loaded again, whatever the archive contains.
  platform:
    platforms: posix
    support: full
    description: Needs a node that kubeadm set up, with systemd.
requirements:
  - PyYAML on the node, for C(ansible_python_interpreter) or for C(/usr/bin/python3)
  - C(ctr), C(podman) or C(docker) on the node, whichever belongs to its runtime
options:
  name:
    description: Name of the image, with a registry or C(localhost/) before it and a tag behind it, as the archive has it.
    type: str
    required: true
  archive:
    description:
      - Path on the node of the archive, as C(podman save) and C(docker save) write it.
      - Without it nothing is loaded, and RV(present) says whether the image is there.
    type: path
seealso:
  - module: nodecraft.kubeadm.kubelet_info
"""

EXAMPLES = r"""
- name: Copy the archive to the node
  ansible.builtin.copy:
    src: images/plugin.tar
    dest: /var/tmp/plugin.tar
    mode: "0600"

- name: Load the image
  nodecraft.kubeadm.node_image:
    name: localhost/plugin:1
    archive: /var/tmp/plugin.tar
"""

RETURN = r"""
name:
  description: Name of the image.
  returned: always
  type: str
node:
  description: Name of the node, as its kubelet registers it. V(null) when the task failed before the kubelet was asked.
  returned: always
  type: str
runtime:
  description: V(containerd), V(CRI-O) or V(Docker), by the name of its socket. V(null) when the task failed before the kubelet was asked.
  returned: always
  type: str
present:
  description: Whether the image was there before. V(null) when no program of the node could check it.
  returned: always
  type: bool
unverified:
  description: What could not be verified, each entry with the reason. Each is a warning, too.
  returned: always
  type: list
  elements: str
  sample: []
rehearsal:
  description: An archive cannot be rehearsed. C(verdict) is V(not_needed), or V(skipped) when the task failed before.
  returned: always
  type: dict
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.image_steps import ImageSteps


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    module = NodeModule(argument_spec={"name": {"type": "str", "required": True}, "archive": {"type": "path"}})
    require_yaml(module)
    # There is no option rehearse: the steps report that an archive cannot be rehearsed.
    runner.run_steps(module, ImageSteps(module.params, run=module.run), rehearse=True)


if __name__ == "__main__":
    main()
