# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(device_plugin): fetches what is decided from, asks the API and the nodes, and hands over what was decided."""

from __future__ import annotations

import os
import sys
import typing as t

from ansible.plugins.filter.core import to_nice_yaml

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.device import deployment, desired
from ...module_utils._plan.device.deployment import Mode
from ...module_utils._plan.device.desired import Settings
from ...module_utils._plan.transaction import api_host, rollout
from .role_rollout import RoleRollout
from .rollout_pass import Json
from .run_key import digest

# May differ from host to host.
_OF_ONE_HOST = ("device_plugin_node_name", "device_plugin_ignored_variables")
# With the names of the options that they are of device_plugin_info.
_ASKED = ("name", "namespace", "node_selector", "tolerations", "expected")


class DevicePluginRollout(RoleRollout):
    """The steps of one host. One host, the coordinator, deploys the plugin for all; the others only load its image."""

    _changes_hosts = False
    _plans_each_host = False

    # ---- the image, which is built on its own --------------------------------------------------------------------------

    def check(self, step: str) -> None:
        """As in all roles, except that what builds the image is no pass, which other hosts would wait for."""
        if step != "look":
            super().check(step)

    def look(self) -> Json:
        """Check the variables, and see whether the image is only to be told of."""
        self._refuse_variables()
        return {"check_mode": self._pass.check_mode}

    # ---- every host --------------------------------------------------------------------------------------------------

    def _checked_settings(self) -> Json:
        options = self._pass.argument_specs()["main"]["options"]
        shared = {name: self._pass.variable(name) for name in options if name not in _OF_ONE_HOST}
        planes = self._pass.control_planes()
        (api,) = self._pass.api_hosts(planes, str(shared["device_plugin_api_host"]), reachable=())
        # A control plane has credentials of its own, which the modules of kubernetes.core do not look for.
        own_credentials = api["host"] in planes
        return {
            "digests": {name: digest(value) for name, value in shared.items()},
            "api": api,
            "environment": {"K8S_AUTH_KUBECONFIG": api_host.ADMIN_CONF} if own_credentials else {},
        }

    def turn(self) -> Json:
        """See whether this host is a node that gets the plugin and does not have its image."""
        node = self._variable("node_name") or self._on_node("kubelet_info", {})["node"]
        coordinator = self._pass.registers(self._pass.own["decide"]["coordinator"])
        if node not in coordinator["decide"]["selected"]:
            return {"loads": False}
        return {"loads": not self._on_node("node_image", {"name": self._variable("image")})["present"]}

    def _on_node(self, module: str, arguments: Json) -> Json:
        """The result of a module on the node. Raises Refusal when it failed."""
        return _checked(self._pass.ask(module, arguments), f"Nothing was deployed, because of {self._pass.host}")

    # ---- the coordinator ---------------------------------------------------------------------------------------------

    def decide(self) -> Json:
        """Work out on one host what is written and removed, and see what speaks against it. The others only hear which host that is."""
        coordinator = self._pass.coordinator
        if coordinator != self._pass.host:
            return {"coordinator": coordinator}
        digests = {host: rollout.settings_of(each)["digests"] for host, each in self._pass.hosts().items()}
        _refuse(deployment.difference(digests))
        settings = self._role_settings()
        files = self._files(settings)
        if settings.is_present:
            _refuse(" ".join(desired.objections(settings)))
            _refuse(desired.config_problem(self._validation(files) if settings.is_ours else {}, sys.executable))
        look = self._look(settings)
        config_map = desired.config_map(settings.name, files) if files else ""
        found = deployment.sort_out(settings, config_map, look["objects"], look["others"])
        _refuse(deployment.refusal(settings, found))
        return {
            "coordinator": coordinator,
            **{name: look[name] for name in ("selected", "nodes", "problems", "summary")},
            **deployment.decision(settings, found, self._mode, has_files=bool(files), problems=look["problems"]),
            "files": files,
            "config_map": config_map,
            "is_ours": settings.is_ours,
            "cdi": desired.uses_cdi(settings),
            "pod_resources": desired.shares_pod_resources(desired.config(settings)),
            "token_secret": desired.token_secret(settings.name) if settings.has_token else "",
        }

    def _files(self, settings: Settings) -> Json:
        """The files of the plugin by name, as texts."""
        if not settings.is_present:
            return {}
        if settings.is_ours:
            return {"config.yaml": to_nice_yaml(desired.config(settings), sort_keys=False)}
        return dict(settings.files)

    def _validation(self, files: Json) -> Json:
        """What the plugin's own reader says on the controller of the text that it would read in its pods."""
        command = [sys.executable, "-B", "-m", "nodecraft_device_plugin.validate", "/dev/stdin"]
        source = os.path.join(self._pass.role_path(), "files", "plugin", "src")
        return self._pass.run_here(command, files["config.yaml"], source)

    def _look(self, settings: Settings) -> Json:
        """What is there before anything is written."""
        if settings.is_present:
            question = {**self._question(), "cdi": desired.uses_cdi(settings), "gather_subset": ["nodes", "objects"]}
        else:
            question = {"name": settings.name, "namespace": settings.namespace, "gather_subset": ["objects", "others"]}
        return _checked(self._pass.ask("device_plugin_info", question), "Nothing was changed")

    def admit(self) -> Json:
        """Let the coordinator write when no node is without the image."""
        _refuse(rollout.step_refusal(self._pass.hosts(), "turn"))
        return {}

    def verify(self) -> Json:
        """Wait until every node offers what is expected; of a plugin that was removed, see what kubelets still show."""
        settings, own = self._role_settings(), self._pass.own
        if not settings.is_present:
            answer = self._pass.ask("node_resource_info", {"requested": False})
            problem = (
                f"{settings.namespace}/{settings.name} was removed, but what kubelets still show of it is not known"
            )
            return {"kept": deployment.kept(settings, _checked(answer, problem)["nodes"])}
        if not deployment.waits(own["decide"], own["change"], self._mode):
            return {}
        question = {**self._question(), "wait": True, "wait_timeout": self._variable("wait_timeout")}
        answer = self._pass.ask("device_plugin_info", question)
        _checked(
            answer, f"{settings.namespace}/{settings.name} was deployed, but what the nodes advertise is not known"
        )
        problem = deployment.doubt(settings, answer)
        proof = {name: answer[name] for name in ("nodes", "problems", "summary")}
        return {"proof": proof, **({"failed": True, "msg": problem} if problem else {})}

    def end(self) -> Json:
        """Tell on the coordinator what became of the plugin."""
        own = self._pass.own
        decision = rollout.of_pass(own, "decide")
        # The others cannot fail to decide, because they do not.
        if not (decision.get("failed") or decision.get("coordinator") == self._pass.host):
            return {"at_work": False}
        settings = self._role_settings()
        verified = rollout.of_pass(own, "verify")
        changed = deployment.is_changed(settings, own, [each for _host, each in self._pass.all_hosts()])
        report = deployment.report(decision, verified, changed=changed)
        warnings = deployment.hidden_warnings(own["change"]) if deployment.is_written(settings, own) else []
        return {
            "at_work": False,
            "report": report,
            "lines": [] if decision.get("failed") else deployment.lines(settings, decision, verified, changed=changed),
            "ansible_stats": {"data": {f"{self._pass.role}_report": report}, "per_host": False, "aggregate": False},
            "warnings": warnings,
        }

    # ---- variables ---------------------------------------------------------------------------------------------------

    def _variable(self, name: str) -> t.Any:
        return self._pass.variable(f"{self._pass.role}_{name}")

    def _question(self) -> Json:
        """Of which plugin, and what of its nodes."""
        return {name: self._variable(name) for name in _ASKED}

    @property
    def _mode(self) -> Mode:
        return Mode(check=self._pass.check_mode, diff=self._pass.diff_mode)

    def _role_settings(self) -> Settings:
        return Settings(
            state=self._variable("state"),
            name=str(self._variable("name")),
            namespace=str(self._variable("namespace")),
            image=str(self._variable("image") or ""),
            has_archive=self._variable("image_archive") is not None,
            has_token=bool(self._variable("pod_resources_token")),
            config=self._variable("config"),
            files=self._variable("files"),
            expected=self._variable("expected"),
            pod_spec=self._variable("pod_spec"),
            excluded=self._pass.excluded_by_serial(),
        )


def _refuse(reason: str) -> None:
    """Raise Refusal when there is a reason, as sentences."""
    if reason:
        raise Refusal(f"Nothing was changed. {reason}")


def _checked(answer: Json, otherwise: str) -> Json:
    """An answer of the API. Raises Refusal when there is none. otherwise: what has to be told then."""
    if answer.get("failed") or answer.get("unreachable"):
        raise Refusal(f"{otherwise}: {answer.get('msg') or 'no answer'}")
    return answer
