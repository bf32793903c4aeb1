# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check of a new kubeadm-config: what kubeadm generates from it differs in exactly the changed settings, and works."""

from __future__ import annotations

import time
import typing as t

from ..._engine.node import NODE, Host
from ..._plan.common.errors import Refusal
from ..._plan.kubeadm_config import settings
from ..._plan.kubeadm_config.cluster_configuration import ClusterConfiguration, Endpoint
from ..._plan.kubeadm_config.settings import SettingKey
from ..._plan.static_pod.manifest import Manifest
from ..._plan.upgrade.static_pod_settings import unchanged_plan
from ..kubelet.kubelet_down import read_running_kubelet
from ..runtime import programs
from ..runtime.container_runtime import Runtime, runtime_at
from ..static_pod import static_pods
from ..static_pod.component_files import refuse_unreachable_files
from ..static_pod.static_pods import API_SERVER, StaticPod
from ..transaction.state import Run
from .kubeadm_config import version_of_api_server
from .upgrade_manifests import Generated, Kubeadm, NotGenerated, endpoint_of, generate
from .upgrade_programs import installed_kubeadm


class Check:
    """One run of the module. Nothing is written to the node.

    params: C(before) and C(after), the two texts; C(settings), by static pod, field and key the new values; C(changes), what differs between
    the texts, each with component, field and key.
    """

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        *,
        run: Run,
        host: Host = NODE,
        clock: t.Callable[[], float] = time.monotonic,
        ready_timeout: float = static_pods.STABLE_SECONDS,
    ) -> None:
        self._params = params
        self._run = run
        self._host = host
        self._clock = clock
        self._ready_timeout = ready_timeout

    def read_all(self) -> dict[str, t.Any]:
        """Check it. Raises Refusal when the check fails, KubeadmError when it cannot be made."""
        began = self._clock()
        kubelet = read_running_kubelet(self._run, self._host, self._ready_timeout)
        version = version_of_api_server(kubelet.manifest_dir, kubelet.node_name)
        program = self._program(version, kubelet.node_name)
        runtime = runtime_at(kubelet.runtime, self._run)
        endpoint = endpoint_of(
            self._pod(API_SERVER, kubelet.manifest_dir, kubelet.node_name).manifest, kubelet.node_name, runtime
        )
        before, after = (
            self._generated(program, self._params[side], version, endpoint) for side in ("before", "after")
        )
        self._refuse_strict_errors(before, after)
        pods = {name: self._pod(name, kubelet.manifest_dir, kubelet.node_name) for name in after.manifests}
        source = f"what kubeadm {version} generates"
        old, new = (
            {name: Manifest.parse(text, source, name) for name, text in each.manifests.items()}
            for each in (before, after)
        )
        changes = [SettingKey(each["component"], each["field"], each["key"]) for each in self._params["changes"]]
        objections = settings.proof_errors(
            before={name: manifest.values() for name, manifest in old.items()},
            after={name: manifest.values() for name, manifest in new.items()},
            live={name: pod.manifest.values() for name, pod in pods.items()},
            settings=self._params["settings"],
            changes=changes,
        )
        if objections:
            raise Refusal(f"kubeadm-config was not changed: on {kubelet.node_name} {'; '.join(objections)}.")
        changed = [name for name in new if any(place.component == name for place in changes)]
        host = self._host._replace(**kubelet.paths)
        rehearsed = [self._rehearse(pods[name], new[name], runtime, host, kubelet.node_name) for name in changed]
        return {
            "node": kubelet.node_name,
            "version": version,
            "rehearsed": rehearsed,
            "seconds": round(self._clock() - began, 2),
        }

    def _program(self, version: str, node: str) -> str:
        """The node's own kubeadm. Raises Refusal where it is of another version than the API server."""
        installed = installed_kubeadm(self._run)
        if installed is None:
            raise Refusal(
                f"there is no kubeadm on {node}, so what it would generate is not known. Install kubeadm {version} there."
            )
        path, kubeadm_version = installed
        if kubeadm_version != version:
            raise Refusal(
                f"{path} on {node} is {kubeadm_version} and its API server {version}, so it would not generate the same. Install kubeadm {version}."
            )
        return path

    def _generated(self, program: str, text: str, version: str, endpoint: Endpoint) -> Generated:
        configuration = ClusterConfiguration.parse(text)
        try:
            config = configuration.for_kubeadm(version, endpoint)
            return generate(Kubeadm(program, config, configuration, self._run))
        except NotGenerated as exc:
            raise Refusal(
                f"kubeadm-config was not changed: on {endpoint.node_name} kubeadm generates no manifests from it: {exc}"
            ) from exc

    @staticmethod
    def _pod(name: str, manifest_dir: str, node_name: str) -> StaticPod:
        path, dummy = static_pods.find_manifest(name, manifest_dir)
        return static_pods.parse_static_pod(name, path, node_name)

    @staticmethod
    def _refuse_strict_errors(before: Generated, after: Generated) -> None:
        """Refuse what kubeadm ignores, but for what it ignores already."""
        new = [error for error in after.strict_errors if error not in before.strict_errors]
        if new:
            raise Refusal(f"kubeadm-config was not changed: kubeadm ignores what would be written: {'; '.join(new)}")

    def _rehearse(
        self, pod: StaticPod, generated: Manifest, runtime: Runtime, host: Host, node_name: str
    ) -> dict[str, t.Any]:
        """Start the component as it would be after an upgrade to its own version. Raises Refusal when it does not accept that."""
        plan = unchanged_plan(generated, pod.manifest)
        verdict = programs.rehearse(
            pod,
            plan,
            run=self._run,
            runtime=runtime,
            clock=self._clock,
            host=host,
        )
        if verdict.is_refused:
            raise Refusal(
                f"kubeadm-config was not changed: {pod.name} on {node_name} does not accept what kubeadm would generate: {verdict.message}"
            )
        refuse_unreachable_files(plan)
        return {
            "component": pod.name,
            "verdict": verdict.verdict,
            "message": verdict.message,
            "seconds": verdict.seconds,
        }
