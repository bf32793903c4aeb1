# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The AnsibleModule of everything that runs on nodes: as root, quietly, with PyYAML where it is needed."""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.respawn import has_respawned, probe_interpreters_for_module, respawn_module

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # NodeModule starts anew with a Python that has it

_SYSTEM_PYTHON = "/usr/bin/python3"


class NodeModule(AnsibleModule):
    """A module that reads or changes a node."""

    def __init__(self, argument_spec: dict[str, t.Any], *, needs_yaml: bool) -> None:
        """Parse the parameters and make sure that the node can be worked on; end the module otherwise."""
        super().__init__(argument_spec=argument_spec, supports_check_mode=True)
        if os.geteuid() != 0:
            self.fail_json(
                msg=f"{os.uname().nodename}: a node's files are root's; set become: true (this ran as uid {os.geteuid()})."
            )
        if needs_yaml:
            self._require_yaml()

    def _log_invocation(self) -> None:
        """Ansible writes every parameter to the node's syslog. Ours hold environment variables and file contents, and
        C(no_log) would also blot out their text in diffs, however short it is."""

    def _return_formatted(self, kwargs: dict[str, t.Any]) -> None:
        """Ansible adds every parameter to what a module prints, and a connection shows that at -vvv."""
        kwargs.setdefault("invocation", {})
        super()._return_formatted(kwargs)

    def _require_yaml(self) -> None:
        """Go on with PyYAML: in this interpreter, in the system's, or not at all."""
        if hasattr(yaml, "SafeLoader"):
            return
        if not has_respawned():
            interpreter = probe_interpreters_for_module([_SYSTEM_PYTHON], "yaml")
            if interpreter:
                respawn_module(interpreter)
        self.fail_json(
            msg=(
                f"{os.uname().nodename}: PyYAML is missing for every Python that was tried. Install the package python3-yaml"
                " (Debian, Ubuntu), python3-pyyaml (RHEL, Rocky, Fedora) or python3-PyYAML (SUSE)."
            )
        )

    def run(self, arguments: t.Sequence[str], **options: t.Any) -> tuple[int, str, str]:
        """Run a program with these literal arguments in the C locale: (status, output, error)."""
        result: tuple[int, str, str] = self.run_command(
            list(arguments), expand_user_and_vars=False, environ_update={"LC_ALL": "C", "LANGUAGE": "C"}, **options
        )
        return result
