# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python of a module: one that has PyYAML."""

from __future__ import annotations

import os
import sys
import typing as t

from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module

from .._plan.common import python

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # another Python may have it

if t.TYPE_CHECKING:  # pragma: no cover
    from ansible.module_utils.basic import AnsibleModule

_SYSTEM_PYTHON = "/usr/bin/python3"


def require_yaml(module: AnsibleModule) -> None:
    """Respawn in the system's interpreter where this one has no PyYAML; end the module without it."""
    if hasattr(yaml, "SafeLoader"):
        return
    if not has_respawned():
        interpreter = probe_interpreters_for_module([_SYSTEM_PYTHON], "yaml")
        if interpreter and _is_supported(module, interpreter):
            respawn_module(interpreter)
    version = ".".join(map(str, sys.version_info[:2]))
    module.fail_json(
        msg=(
            f"{os.uname().nodename}: PyYAML is missing for {sys.executable}, which is Python {version}, and {_SYSTEM_PYTHON} cannot be used instead"
            " (it is missing, too old, or has none either). Install the package python3-yaml (Debian, Ubuntu), python3-pyyaml (RHEL,"
            " Rocky, Fedora) or python3-PyYAML (SUSE) for the system's own Python, or the one of that interpreter, such as"
            f" python{version}-pyyaml (RHEL, Rocky)."
        )
    )


def _is_supported(module: AnsibleModule, interpreter: str) -> bool:
    test = f"import sys; sys.exit(sys.version_info < {python.OLDEST})"
    return bool(module.run_command([interpreter, "-c", test], expand_user_and_vars=False)[0] == 0)
