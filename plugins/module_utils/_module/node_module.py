# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The AnsibleModule of everything that runs on nodes: as root, without logging its parameters."""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

# Directories of a container runtime's programs, which the PATH of sudo may lack.
_MORE_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin", "/opt/bin")


class NodeModule(AnsibleModule):
    """A module that reads or changes a node."""

    def __init__(self, argument_spec: dict[str, t.Any]) -> None:
        """Parse the parameters and check that the module runs as root; end it otherwise."""
        super().__init__(argument_spec=argument_spec, supports_check_mode=True)
        if os.geteuid() != 0:
            self.fail_json(
                msg=f"{os.uname().nodename}: the files of a node belong to root; set become: true (this ran as uid {os.geteuid()})."
            )

    def _log_invocation(self) -> None:
        """Do not write the parameters to the node's syslog. They hold environment variables and file contents, and C(no_log)
        would also mask their text in diffs, however short it is."""

    def _return_formatted(self, kwargs: dict[str, t.Any]) -> None:
        """Omit the parameters, which Ansible adds to the result, and a connection shows at -vvv."""
        kwargs.setdefault("invocation", {})
        super()._return_formatted(kwargs)

    def run(self, arguments: t.Sequence[str], **options: t.Any) -> tuple[int, str, str]:
        """Run a program with these literal arguments in the C locale: (status, output, error).

        One that cannot be started has the status 127, as in a shell: it never ends the module.
        """
        directories = [*os.environ.get("PATH", "").split(":"), *_MORE_PROGRAMS]
        path = ":".join(filter(None, dict.fromkeys(directories)))
        try:
            result: tuple[int, str, str] = self.run_command(
                list(arguments),
                expand_user_and_vars=False,
                handle_exceptions=False,
                environ_update={"LC_ALL": "C", "LANGUAGE": "C", "PATH": path},
                **options,
            )
        except OSError as exc:
            missing = f"there is no program {arguments[0]} in {path}"
            return 127, "", missing if isinstance(exc, FileNotFoundError) else f"{arguments[0]}: {exc.strerror}"
        return result
