# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs modules of this collection within the step of a rollout, where the task of the step runs."""

from __future__ import annotations

import os
import shlex
import typing as t

from ansible.errors import AnsibleConnectionFailure

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.plain import to_plain
from ...module_utils._plan.common.typed import ModuleResult
from ...module_utils._plan.transaction import api_host

if t.TYPE_CHECKING:
    from ansible.plugins.action import ActionBase

Json = dict[str, t.Any]
R = t.TypeVar("R", bound=ModuleResult)


class ModuleRunner:
    """The modules of one step. warnings, deprecations: of those that it ran."""

    def __init__(self, action: ActionBase, variables: Json) -> None:
        self._action = action
        self._variables = variables
        self.warnings: list[t.Any] = []
        self.deprecations: list[t.Any] = []
        if action._task.delegate_to == api_host.CONTROLLER and not action._task.become:
            # The variable of the inventory overrides the keyword, and that of all hosts is also the controller's.
            action._connection.become = None

    def run(
        self, module: str, arguments: Json, result_type: type[R], *, is_plan: bool = False, is_complete: bool = False
    ) -> R:
        """The result of a module, with its own action plugin. A lost connection is a result with C(unreachable).

        is_plan: in check mode, whatever the mode of the task is, and without a diff. is_complete: without the C(module_defaults) of this module,
        as the task of a role is that has its arguments there.
        """
        name = f"nodecraft.kubeadm.{module}"
        merged = {**self._module_defaults(name, is_complete=is_complete), **arguments}
        omitted = self._variables.get("omit")
        # Newer ones than 2.18 have no such variable, and leave nothing of what is omitted. A value that is null stays.
        given = merged if omitted is None else _without_omitted(omitted, merged)
        return typed.parse(result_type, self._run_action(name, given, is_plan=is_plan))

    def _run_action(self, name: str, arguments: Json, *, is_plan: bool) -> Json:
        action = self._action
        task = action._task.copy()
        task.action, task.args = name, arguments
        if is_plan:
            task.check_mode, task.diff = True, False
        plugin = action._shared_loader_obj.action_loader.get(
            name,
            task=task,
            connection=action._connection,
            play_context=action._play_context,
            loader=action._loader,
            templar=action._templar,
            shared_loader_obj=action._shared_loader_obj,
        )
        try:
            result: Json = (
                _run_plugin(plugin, self._variables)
                if plugin
                else action._execute_module(name, module_args=arguments, task_vars=self._variables)
            )
        except AnsibleConnectionFailure as exc:
            # A task that is tried again has the same object, which may keep a connection open that is dead.
            action._connection.close()
            return {"unreachable": True, "msg": str(exc)}
        self.warnings += result.pop("warnings", None) or []
        self.deprecations += result.pop("deprecations", None) or []
        result.pop("invocation", None)
        found: Json = to_plain(result)
        return found

    def _module_defaults(self, module: str, *, is_complete: bool) -> Json:
        """The C(module_defaults) of the play for a module and for the action groups that have it, as Ansible merges them for a task."""
        task = self._action._task
        groups = [f"group/{group}" for group in task.get_play()._action_groups.get(module, ())]
        merged: Json = {}
        for defaults in task.module_defaults:
            merged.update(defaults)
        found: Json = {}
        for name in groups if is_complete else (*groups, module):
            found.update(to_plain(self._action._templar.template(merged.get(name) or {})))
        return found

    def run_on_controller(self, command: t.Sequence[str], text: str, directory: str) -> Json:
        """Run a program on the controller, whatever the host. text: its input. Returns C(rc) and C(stderr_lines), as the module command does."""
        loader, context = self._action._shared_loader_obj.connection_loader, self._action._play_context.copy()
        local = loader.get("ansible.builtin.local", context, os.devnull)
        local.cwd = directory
        status, _stdout, stderr = local.exec_command(shlex.join(command), in_data=text.encode(), sudoable=False)
        return {"rc": status, "stderr_lines": stderr.decode(errors="replace").splitlines()}


def _without_omitted(omitted: t.Any, value: t.Any) -> t.Any:
    """A value without what is omitted in its mappings. On ansible-core 2.18 that is a text, which Ansible takes out of the arguments of a task."""
    if isinstance(value, dict):
        return {key: _without_omitted(omitted, each) for key, each in value.items() if each != omitted}
    return [_without_omitted(omitted, each) for each in value] if isinstance(value, list) else value


def _run_plugin(plugin: ActionBase, variables: Json) -> Json:
    """The result of an action plugin. Without pipelining it puts the module, with its arguments, into a directory on the host."""
    try:
        result: Json = plugin.run(task_vars=variables)
    finally:
        plugin.cleanup()  # Ansible calls that of the step's own plugin only
    return result
