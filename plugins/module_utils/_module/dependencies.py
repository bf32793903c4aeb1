# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Python libraries that a module needs on its node."""

from __future__ import annotations

import importlib.util
import typing as t

from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module

if t.TYPE_CHECKING:  # pragma: no cover
    from ansible.module_utils.basic import AnsibleModule

_SYSTEM_PYTHONS = ("/usr/bin/python3", "/usr/libexec/platform-python")


def require_yaml(module: AnsibleModule) -> None:
    """Go on with PyYAML: in this interpreter, in the system's, or not at all."""
    if importlib.util.find_spec("yaml") is not None:
        return
    if not has_respawned():
        interpreter = probe_interpreters_for_module(list(_SYSTEM_PYTHONS), "yaml")
        if interpreter:
            respawn_module(interpreter)
    module.fail_json(
        msg=(
            "PyYAML is missing for every Python on the node that was tried. Install the package python3-yaml (Debian,"
            " Ubuntu) or python3-pyyaml (RHEL, Rocky, Fedora, SUSE: python3-PyYAML)."
        )
    )
