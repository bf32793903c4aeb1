# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(device_plugin): reads the state from the API and the nodes, and returns what was decided."""

from __future__ import annotations

import dataclasses
import os
import sys
import typing as t

from ansible.plugins.filter.core import to_nice_yaml

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import ModuleResult
from ...module_utils._plan.device import deployment, desired
from ...module_utils._plan.device.deployment import (
    Mode,
    PluginCheck,
    PluginDecision,
    PluginHost,
    PluginSettings,
    PluginTurn,
    Verification,
)
from ...module_utils._plan.device.desired import Settings
from ...module_utils._plan.kubernetes import clusters
from ...module_utils._plan.transaction import api_host, rollout
from ...module_utils._plan.transaction.api_host import ApiHost
from ...module_utils._plan.transaction.results import KubeletInfo, NodesInfo
from ...module_utils._plan.transaction.rollout import ClusterFound, PassEnd, StepResult
from .base_steps import UNCHANGED_PREFIX
from .play_view import Json
from .role_rollout import RoleRollout
from .run_key import digest

R = t.TypeVar("R", bound=ModuleResult)

# May differ from host to host.
_HOST_VARIABLES = ("device_plugin_node_name", "device_plugin_ignored_variables")
# With the names of the options that they are of device_plugin_info.
_QUERY_OPTIONS = ("name", "namespace", "node_selector", "tolerations", "expected")


@dataclasses.dataclass(frozen=True)
class ImageState(ModuleResult):
    """The result of the module C(node_image)."""

    present: bool = False


@dataclasses.dataclass(frozen=True)
class BuildCheck(StepResult):
    """Of the step observe, before the image is built: whether it is only shown what would be built."""

    check_mode: bool = False


class DevicePluginRollout(RoleRollout[PluginHost]):
    """The steps of one host. One host, the coordinator, deploys the plugin for all; the others only load its image."""

    host_type = PluginHost
    _shared_object = "device plugin"

    # ---- the image, which is built on its own --------------------------------------------------------------------------

    def check(self, step: str) -> None:
        """As in all roles, except that what builds the image is no pass, which other hosts would wait for."""
        if step != "observe":
            super().check(step)

    def observe(self) -> BuildCheck:
        """Check the variables before the image is built."""
        self._refuse_variables()
        return BuildCheck(check_mode=self._play.check_mode)

    # ---- every host --------------------------------------------------------------------------------------------------

    def _checked_settings(self) -> PluginSettings:
        options = self._play.argument_specs()["main"]["options"]
        shared = {name: self._play.variable(name) for name in options if name not in _HOST_VARIABLES}
        planes = self._play.control_planes()
        (api,) = self._play.api_hosts(planes, str(shared["device_plugin_api_host"]), reachable=())
        # A control plane has credentials of its own, which the modules of kubernetes.core do not find.
        own_credentials = api.host in planes
        here = self._play.all_play_hosts
        readers = sorted(planes, key=lambda host: host not in here)  # with --limit there may be those of other clusters
        return PluginSettings(
            digests={name: digest(value) for name, value in shared.items()},
            api=api,
            environment={"K8S_AUTH_KUBECONFIG": api_host.ADMIN_CONF} if own_credentials else {},
            readers=tuple(ApiHost(host, become=True) for host in readers),
            loads=shared["device_plugin_image_archive"] is not None and shared["device_plugin_state"] == "present",
        )

    def identify(self) -> ClusterFound:
        """Read, for one host, from a control plane which cluster it belongs to, which the API has to be that of."""
        if self._pass.coordinator != self._play.host:
            return ClusterFound()
        candidates = [each.host for each in self._pass.own.settings.readers]
        found = self._read_cluster(candidates, "")
        if found.identity or not found.api_reachable:
            return found
        warning = "not verified: whether the API is that of these nodes: no control plane could be read"
        return dataclasses.replace(found, warnings=(warning,))

    def turn(self) -> PluginTurn:
        """See whether this host is a node that gets the plugin and does not have its image."""
        node = self._role_variable("node_name") or self._check_node()
        decision = self._coordinator.decision or PluginDecision()
        if node not in decision.selected:
            return PluginTurn()
        image = self._run_on_node("node_image", {"name": self._role_variable("image")}, ImageState)
        return PluginTurn(loads=not image.present)

    def _check_node(self) -> str:
        """The name of this node. Raises Refusal for one of another cluster, where a node may have that name, too."""
        info, found = self._run_on_node("kubelet_info", {}, KubeletInfo), self._coordinator.identified
        others = (
            clusters.outsiders({self._play.host: info.cluster}, found.member, found.identity) if found.identity else {}
        )
        reason = others.get(self._play.host)
        self._refuse(f"Nothing was deployed, because of {self._play.host}: {reason}." if reason else "")
        return info.node

    def _run_on_node(self, module: str, arguments: Json, kind: type[R]) -> R:
        """Run a module on the node. Raises Refusal when it failed."""
        result = self._modules.run(module, arguments, kind)
        return _require_success(result, f"Nothing was deployed, because of {self._play.host}")

    # ---- the coordinator ---------------------------------------------------------------------------------------------

    def decide(self) -> PluginDecision:
        """Work out on one host what is written and removed, and see what is against it. The others only learn which host that is."""
        coordinator = self._pass.coordinator
        if coordinator != self._play.host:
            return PluginDecision(coordinator=coordinator)
        digests = {name: host.settings.digests for name, host in self._pass.hosts().items()}
        self._refuse(deployment.differing_variables_error(digests), UNCHANGED_PREFIX)
        settings = self._role_settings()
        files = self._plugin_files(settings)
        if settings.is_present:
            self._refuse(" ".join(desired.validation_errors(settings)), UNCHANGED_PREFIX)
            validation = self._validate_config(files) if settings.is_bundled else {}
            self._refuse(desired.config_error(validation, sys.executable), UNCHANGED_PREFIX)
        check = self._check_nodes(settings)
        config_map = desired.config_map_name(settings.name, files) if files else ""
        found = deployment.classify_objects(settings, config_map, check.objects, check.others)
        self._refuse(deployment.write_refusal(settings, found), UNCHANGED_PREFIX)
        return dataclasses.replace(
            deployment.make_decision(settings, found, self._mode, has_files=bool(files), check=check),
            coordinator=coordinator,
            files=files,
            config_map=config_map,
            is_bundled=settings.is_bundled,
            cdi=desired.uses_cdi(settings),
            pod_resources=desired.shares_pod_resources(desired.complete_config(settings)),
            token_secret=desired.token_secret_name(settings.name) if settings.has_token else "",
        )

    def _plugin_files(self, settings: Settings) -> Json:
        """The files of the plugin by name, as texts."""
        if not settings.is_present:
            return {}
        if settings.is_bundled:
            return {"config.yaml": to_nice_yaml(desired.complete_config(settings), sort_keys=False)}
        return dict(settings.files)

    def _validate_config(self, files: Json) -> Json:
        """Validate, on the controller and with the plugin's own reader, the text that it would read in its pods."""
        command = [sys.executable, "-B", "-m", "nodecraft_device_plugin.validate", "/dev/stdin"]
        source = os.path.join(self._play.role_path(), "files", "plugin", "src")
        return self._modules.run_on_controller(command, files["config.yaml"], source)

    def _check_nodes(self, settings: Settings) -> PluginCheck:
        """What is there before anything is written."""
        if settings.is_present:
            arguments = {**self._query(), "cdi": desired.uses_cdi(settings), "gather_subset": ["nodes", "objects"]}
        else:
            arguments = {"name": settings.name, "namespace": settings.namespace, "gather_subset": ["objects", "others"]}
        found = self._pass.own.identified
        arguments.update({"cluster": found.cluster} if found.identity else {})
        return _require_success(self._modules.run("device_plugin_info", arguments, PluginCheck), "Nothing was changed")

    def admit(self) -> StepResult:
        """Let the coordinator write when no node is without the image."""
        self._refuse(rollout.step_refusal(self._pass.hosts(), "turn"), UNCHANGED_PREFIX)
        return StepResult()

    def verify(self) -> Verification:
        """Wait until every node offers what is expected; of a plugin that was removed, see what kubelets still show."""
        settings, own = self._role_settings(), self._pass.own
        if not settings.is_present:
            result = self._modules.run("node_resource_info", {"requested": False}, NodesInfo)
            problem = (
                f"{settings.namespace}/{settings.name} was removed, but what kubelets still show of it is not known"
            )
            return Verification(
                kept=deployment.leftover_resources(settings, _require_success(result, problem).nodes or {})
            )
        decision = self._coordinator.decision or PluginDecision()
        if not deployment.must_wait(decision, own.written, self._mode):
            return Verification()
        arguments = {**self._query(), "wait": True, "wait_timeout": self._role_variable("wait_timeout")}
        check = _require_success(
            self._modules.run("device_plugin_info", arguments, PluginCheck),
            f"{settings.namespace}/{settings.name} was deployed, but what the nodes advertise is not known",
        )
        problem = deployment.verification_error(settings, check)
        return Verification(proof=check, failed=bool(problem), msg=problem)

    def _end(self) -> PassEnd:
        own = self._pass.own
        decision = own.decision or PluginDecision()
        # The others cannot fail to decide, because they do not.
        if not (decision.failed or decision.coordinator == self._play.host):
            return PassEnd()
        settings = self._role_settings()
        changed = deployment.is_changed(settings, own, [host for _name, host in self._pass.all_hosts()])
        report = deployment.make_report(decision, own.verified, changed=changed)
        warnings = deployment.hidden_warnings(own.written) if deployment.is_written(settings, own) else []
        lines = [] if decision.failed else deployment.report_lines(settings, decision, own.verified, changed=changed)
        return PassEnd(report=report, lines=lines, warnings=warnings)

    # ---- variables ---------------------------------------------------------------------------------------------------

    def _role_variable(self, name: str) -> t.Any:
        return self._play.variable(f"{self._role}_{name}")

    def _query(self) -> Json:
        """Of which plugin, and what of its nodes."""
        return {name: self._role_variable(name) for name in _QUERY_OPTIONS}

    @property
    def _mode(self) -> Mode:
        return Mode(check=self._play.check_mode, diff=self._play.diff_mode)

    def _role_settings(self) -> Settings:
        return Settings(
            state=self._role_variable("state"),
            name=str(self._role_variable("name")),
            namespace=str(self._role_variable("namespace")),
            image=str(self._role_variable("image") or ""),
            has_archive=self._role_variable("image_archive") is not None,
            has_token=bool(self._role_variable("pod_resources_token")),
            config=self._role_variable("config"),
            files=self._role_variable("files"),
            expected=self._role_variable("expected"),
            pod_spec=self._role_variable("pod_spec"),
            excluded=self._play.excluded_by_serial(),
        )


def _require_success(result: R, prefix: str) -> R:
    """A result of a module that did not fail. Raises Refusal for another. prefix: of its message."""
    if result.has_failed:
        raise Refusal(f"{prefix}: {result.msg or 'no answer'}")
    return result
