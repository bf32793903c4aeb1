# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugin of the steps of a rollout: which class takes the step of which role, and the result of a step."""

from __future__ import annotations

import os
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import KubeadmError
from ...module_utils._plan.transaction.rollout import STEPS, StepResult
from .base_steps import Steps
from .control_plane_rollout import ControlPlaneRollout
from .device_plugin_rollout import DevicePluginRollout
from .module_runner import ModuleRunner
from .node_kubelet_rollout import NodeKubeletRollout
from .node_resources_rollout import NodeResourcesRollout
from .placement_guard_rollout import PlacementGuardRollout
from .play_view import Json, PlayView
from .playbook_steps import ResizeSteps, RollbackSteps, UpgradeCheckSteps
from .site_steps import SiteSteps

# Roles, and playbooks.
ROLES: dict[str, type[Steps]] = {
    "control_plane": ControlPlaneRollout,
    "device_plugin": DevicePluginRollout,
    "node_kubelet": NodeKubeletRollout,
    "node_resources": NodeResourcesRollout,
    "placement_guard": PlacementGuardRollout,
    "site": SiteSteps,
    "rollback": RollbackSteps,
    "pod_resize": ResizeSteps,
    "upgrade_check": UpgradeCheckSteps,
}
# Keys of results that mean something to Ansible, and pass_id, which is known here.
ANSIBLE_KEYS = ("failed", "msg", "warnings", "unreachable", "pass_id")
# Those that refuse before a role writes anything.
_BEFORE_WRITES = ("begin", "identify", "decide", "admit")
# Those whose lines are printed for people.
_PRINTING = ("begin", "summary")
# Those whose result no step reads. Many hosts fail with them, and a failure shows all of it.
_UNREAD_STEPS = ("acknowledge", "report")
_RUNNER_CALLBACK = "ORIGINAL_STDOUT_CALLBACK"  # in the environment: the callback of the user, beside ansible-runner's
# Callbacks whose output is read by programs, which more lines would break.
_MACHINE_CALLBACKS = ("json", "jsonl", "junit", "null")


class RolloutSteps(ActionBase):
    """Takes one step for one host. Its result has in C(pass_id) the pass of the role to which it belongs, for the steps that read it."""

    _supports_check_mode = True
    _requires_connection = False  # only some steps run modules, on hosts that may not be reachable

    def run(self, tmp: t.Any = None, task_vars: Json | None = None) -> Json:
        """Take the step that the task names."""
        result: Json = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        role, step, settings = (
            arguments.pop("role", ""),
            arguments.pop("step", ""),
            arguments.pop("settings", None) or {},
        )
        if arguments:
            raise AnsibleActionFail(f"invalid options {', '.join(arguments)}: must be role, step and settings")
        if role not in ROLES or step not in STEPS:
            raise AnsibleActionFail(
                f"invalid role {role!r} or step {step!r}: must be one of {', '.join(ROLES)} and one of {', '.join(STEPS)}"
            )
        play, modules = PlayView(self, task_vars or {}), ModuleRunner(self, task_vars or {})
        steps = ROLES[role](play, modules, role, settings)
        if not hasattr(steps, step):
            raise AnsibleActionFail(f"invalid step {step!r}: must be one of those that {role} has")
        try:
            steps.check(step)
            found = _as_ansible_result(getattr(steps, step)())
        except KubeadmError as exc:
            found = {"failed": True, "msg": str(exc)}
        if found.get("failed") and step in _BEFORE_WRITES and not play.check_mode:
            found["msg"] = steps.refusal_message(found["msg"])
        if step in _PRINTING and not self._task.no_log:
            print_lines(found.get("lines") or ())
        # A pass that could not begin is one of its own, or its end would be taken for that of the pass before.
        pass_id = play.task_id if step == "begin" else steps.pass_id
        if pass_id and step not in _UNREAD_STEPS:
            found = {"pass_id": pass_id, **found}
        warnings = [*modules.warnings, *found.pop("warnings", ())]
        return {
            **result,
            "changed": False,
            **found,
            **({"warnings": warnings} if warnings else {}),
            **({"deprecations": modules.deprecations} if modules.deprecations else {}),
        }


def _as_ansible_result(result: StepResult | Json) -> Json:
    """The result of a step for Ansible: without those keys that Ansible interprets and that are empty."""
    found: Json = typed.as_mapping(result)
    return {key: value for key, value in found.items() if value or key not in ANSIBLE_KEYS}


def print_lines(lines: t.Sequence[str]) -> None:
    """Print lines whatever the callback prints of results: C(display_ok_hosts=false) and C(minimal) would leave them out."""
    callbacks = (
        constants.config.get_config_value("DEFAULT_STDOUT_CALLBACK"),
        os.environ.get(_RUNNER_CALLBACK, ""),
    )
    if lines and not any(str(name).rpartition(".")[2] in _MACHINE_CALLBACKS for name in callbacks):
        Display().display("\n".join(lines))
