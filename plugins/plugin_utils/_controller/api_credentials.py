# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugin of modules that use the API: adds the credentials that only the controller has."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleActionFail, AnsibleFileNotFound
from ansible.plugins.action import ActionBase

from ...module_utils._plan.transaction import api_host


class ApiCredentials(ActionBase):
    """Decrypts a kubeconfig of the controller, and lets a host of the inventory use its own admin.conf."""

    _supports_async = True

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module of the task."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        arguments = dict(self._task.args)
        is_local = self._connection.transport == "local"
        kubeconfig = arguments.get("kubeconfig")
        readable = []
        if is_local and isinstance(kubeconfig, str) and kubeconfig:
            readable = [self._decrypt_file(path) for path in kubeconfig.split(os.pathsep)]
            arguments["kubeconfig"] = os.pathsep.join(readable)
        host = self._task.delegate_to or variables.get("inventory_hostname", "")
        if "admin_conf" not in arguments and api_host.has_admin_conf(
            host, variables.get("groups", {}), is_local=is_local
        ):
            arguments["admin_conf"] = api_host.ADMIN_CONF
        try:
            return {**result, **self._run_module(arguments, variables)}
        finally:
            for path in readable:
                self._loader.cleanup_tmp_file(path)

    def _run_module(self, arguments: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the module of the task."""
        wrap_async = bool(self._task.async_val) and not self._connection.has_native_async
        result: dict[str, t.Any] = self._execute_module(
            module_args=arguments, task_vars=task_vars, wrap_async=wrap_async
        )
        return result

    def _decrypt_file(self, path: str) -> str:
        """Decrypt a file of the controller, if it is encrypted. Returns the path to read; the module reports one that is not found."""
        try:
            source = self._find_needle("files", os.path.expanduser(path))
        except AnsibleFileNotFound:
            return path
        readable = str(self._loader.get_real_file(source, decrypt=True))
        if readable != source and self._task.async_val:
            self._loader.cleanup_tmp_file(readable)
            raise AnsibleActionFail(
                f"invalid kubeconfig {path}: must not be encrypted in a task with async, which reads it after its decrypted copy was removed."
                f" Give its content instead, as {{{{ lookup('ansible.builtin.file', '{path}') | from_yaml }}}}, or run the task without async."
            )
        return readable
