# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade does to the static pods of a control plane: those that the new kubeadm generates, alone and with the desired state."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._engine.files import Json
from ..._engine.node import Host
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.ownership import Values
from ..._plan.common.verdict import Verdict
from ..._plan.documents import configuration
from ..._plan.kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE, ClusterConfiguration, Endpoint
from ..._plan.kubernetes import versions
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod import reconciliation
from ..._plan.static_pod.desired import parse_desired
from ..._plan.static_pod.manifest import Manifest
from ..._plan.static_pod.plan import StaticPodPlan
from ..._plan.upgrade import api_versions, prerequisites, refusals
from ..._plan.upgrade import static_pod_settings as upgrade
from ..._plan.upgrade.findings import BREAKS, CONFIG_MAP, WARNS, Finding, UpgradeFindings
from ..._plan.upgrade.refusals import Setting
from ..._plan.upgrade.static_pod_settings import Sides
from ..runtime import programs
from ..runtime.container_runtime import Runtime
from ..runtime.programs import Program
from ..static_pod import static_pods
from ..static_pod.component_files import ComponentFiles
from ..static_pod.static_pods import API_SERVER, ETCD, StaticPod
from ..transaction.state import Run
from . import upgrade_checks
from .upgrade_manifests import Kubeadm, NotGenerated, endpoint_of, generate
from .upgrade_programs import KUBEADM, NewPrograms, installed_kubeadm, rehearse_all

_CONFIG_FILES = (
    "admission-control-config-file",
    "audit-policy-file",
    "authentication-config",
    "authorization-config",
    "config",
    "encryption-provider-config",
)


@dataclasses.dataclass(frozen=True)
class ControlPlane:
    """What the check of a control plane goes by.

    wanted: options of the module C(static_pod) by the name of the static pod, as the inventory asks for them; None when it asks for nothing.
    """

    node_name: str
    manifest_dir: str
    configuration: ClusterConfiguration
    programs: NewPrograms
    runtime: Runtime
    patches: str | None
    wanted: t.Mapping[str, Json] | None
    purge: bool
    run: Run
    host: Host
    clock: t.Callable[[], float]


@dataclasses.dataclass(frozen=True)
class _Trial:
    pod: StaticPod
    plan: StaticPodPlan
    program: Program
    node: ControlPlane

    def rehearse(self) -> Verdict:
        """Start the new component in the sandbox."""
        node = self.node
        return programs.rehearse(
            self.pod,
            self.plan,
            run=node.run,
            runtime=node.runtime,
            clock=node.clock,
            host=node.host,
            program=self.program,
        )

    def values(self) -> Values:
        """Its settings."""
        return self.plan.after.values()

    def without(self, blame: t.Sequence[Setting]) -> _Trial:
        """The same without settings."""
        return dataclasses.replace(
            self, plan=dataclasses.replace(self.plan, after=upgrade.without(self.plan.after, blame))
        )


def check(node: ControlPlane, found: UpgradeFindings) -> str | None:
    """Add what is found. Returns the version of the API server today, as its image tells it."""
    api_server = static_pods.parse_static_pod(
        API_SERVER, static_pods.find(API_SERVER, node.manifest_dir)[0], node.node_name
    )
    endpoint = endpoint_of(api_server.manifest, node.node_name, node.runtime)
    kubeadm = _kubeadm(node, node.programs.path(KUBEADM), node.programs.target, endpoint)
    upgrade_checks.check_certificates(kubeadm, found)
    try:
        new = generate(kubeadm)
    except NotGenerated as exc:
        message = f"the new kubeadm generates no manifests, so the upgrade does not begin: {exc}"
        found.findings.append(Finding(KUBEADM, BREAKS, message, set_by=CONFIG_MAP, file=CONFIG_MAP_SOURCE))
        _skip_others(node, {}, "there is no new manifest", found)
        return _tag(api_server.manifest)
    found.findings += [
        Finding(KUBEADM, WARNS, f"kubeadm ignores it: {complaint}", set_by=CONFIG_MAP, file=CONFIG_MAP_SOURCE)
        for complaint in new.complaints
    ]
    old = _baseline(node, endpoint, _tag(api_server.manifest))
    for name, text in new.manifests.items():
        _check_pod(name, text, old.get(name), node, found)
    _skip_others(node, new.manifests, "the new kubeadm generates no manifest of it", found)
    return _tag(api_server.manifest)


def _skip_others(node: ControlPlane, names: t.Container[str], reason: str, found: UpgradeFindings) -> None:
    """Note the static pods of a control plane that are none of these, and so were not rehearsed."""
    for name in (ETCD, *versions.COMPONENTS):
        if name not in names and not (name == ETCD and node.configuration.has_external_etcd):
            found.skip(name, reason, "see what the new kubeadm makes of kubeadm-config")


def _kubeadm(node: ControlPlane, program: str, version: str, endpoint: Endpoint) -> Kubeadm:
    """A kubeadm that generates for a version of Kubernetes."""
    config = node.configuration.for_kubeadm(version, endpoint, node.patches)
    return Kubeadm(program, config, node.configuration, node.run, node.patches)


def _baseline(node: ControlPlane, endpoint: Endpoint, tag: str) -> dict[str, str]:
    """What kubeadm generates for the version of today: by the node's own kubeadm where it is of that version. Empty when it cannot.

    tag: of the API server's image. In the middle of an upgrade the ConfigMap has another version.
    """
    current = tag if prerequisites.parse(tag) else node.configuration.version
    own = installed_kubeadm(node.run)
    is_same = (
        own is not None and (prerequisites.parse(own[1]) or ())[:2] == (prerequisites.parse(current) or (None,))[:2]
    )
    program = own[0] if own and is_same else node.programs.path(KUBEADM)
    try:
        return generate(_kubeadm(node, program, current, endpoint)).manifests
    except NotGenerated:
        return {}


def _tag(manifest: Manifest) -> str:
    return versions.tag_of(str(manifest.container.get("image") or ""))


def _check_pod(name: str, text: str, baseline: str | None, node: ControlPlane, found: UpgradeFindings) -> None:
    try:
        pod = static_pods.parse_static_pod(name, static_pods.find(name, node.manifest_dir)[0], node.node_name)
    except KubeadmError as exc:
        found.skip(name, str(exc))
        return
    source = f"what kubeadm {node.programs.target} generates"
    generated = Manifest.parse(text, source, name)
    if name == ETCD:
        found.findings += prerequisites.etcd_step(_tag(pod.manifest), _tag(generated))
    plan, named = _planned(pod, generated, node, found)
    left = reconciliation.reconcile(
        pod.record, generated.values(), image=generated.container.get("image"), written_image=pod.written_image
    )
    sides = Sides(
        component=name,
        live=pod.manifest,
        record=pod.record,
        baseline=Manifest.parse(baseline, source, name) if baseline else None,
        generated=generated,
        after=plan.after if plan else None,
        named=named,
        asked_about=frozenset((field, key) for field, keys in left.removed.items() for key in keys),
        configuration=node.configuration,
        patches=node.patches or "",
    )
    compared = upgrade.compare(sides)
    found.findings += _ending(name, plan.after if plan else pod.manifest, node)
    broken = UpgradeFindings()
    try:
        with node.programs.component(
            name, str(generated.container["image"]), str(generated.entrypoint), node.runtime
        ) as program:
            _rehearse(sides, pod, plan, program, node, broken)
    except KubeadmError as exc:
        broken.skip(name, str(exc))
    if broken.not_rehearsed:
        broken.findings += _removed_gates(sides, prerequisites.exact(node.programs.target) or ())
    found.add(broken, upgrade.worst([*compared, *broken.findings]))


def _removed_gates(sides: Sides, target: t.Sequence[int]) -> list[Finding]:
    """What a table knows of the gates of a component whose new program has not said what it refuses."""
    new = sides.generated.values().get("feature_gates", {})
    own = [gate for gate in (sides.after.values().get("feature_gates", {}) if sides.after else {}) if gate not in new]
    return [
        *(upgrade.broken_by_kubeadm(sides, *refused) for refused in refusals.removed_gates(new, target)),
        *(upgrade.broken_by_site(sides, *refused) for refused in refusals.removed_gates(own, target)),
    ]


def _ending(name: str, manifest: Manifest, node: ControlPlane) -> list[Finding]:
    """Files of a component whose API version ends."""
    files = ComponentFiles(manifest)
    found: list[Finding] = []
    for flag in _CONFIG_FILES:
        path = files.flag(flag)
        try:
            if path:
                known = configuration.read(files.read(path), "configuration", api_versions.documents)
                found += api_versions.ending(name, flag, path, known, node.programs.target)
        except KubeadmError as exc:
            message = f"whether its API version ends is not known: {exc}"
            found.append(Finding(name, WARNS, message, "args", flag, file=path or ""))
    return found


def _planned(
    pod: StaticPod, generated: Manifest, node: ControlPlane, found: UpgradeFindings
) -> tuple[StaticPodPlan | None, frozenset[Setting]]:
    """The desired state on top of the new manifest, and the settings that it names; no plan where site would refuse it."""
    if node.wanted is None or pod.name not in node.wanted:
        return None, frozenset()
    named: Values = {}
    try:
        fixed = {"name": pod.name, "state": "present", "purge": node.purge, "restore_removed": True}
        desired = parse_desired({**node.wanted[pod.name], **fixed})
        named = desired.values
        paths = {entry.path for entry in desired.files} | set(pod.record.get("files", {}))
        users, groups = static_pods.read_accounts(desired.files)
        state = static_pod.State(generated, pod.record, static_pods.read_files(paths), users, groups)
        plan = static_pod.plan(desired, state)
        static_pods.refuse_unreachable_files(plan)
    except Refusal as exc:
        live = Sides(
            pod.name, pod.manifest, pod.record, None, generated, None, frozenset(), frozenset(), node.configuration
        )
        blame = refusals.blamed(str(exc), named)
        found.findings.append(upgrade.broken_by_site(live, blame[0] if blame else None, str(exc)))
        return None, frozenset()
    return plan, frozenset((field, key) for field, keys in named.items() for key in keys)


def _rehearse(
    sides: Sides,
    pod: StaticPod,
    plan: StaticPodPlan | None,
    program: Program,
    node: ControlPlane,
    found: UpgradeFindings,
) -> None:
    """The new program with the manifest that kubeadm generates, and with the desired state on top of it."""
    generated = upgrade.unchanged(sides.generated, pod.manifest)
    verdict, refused = rehearse_all(_Trial(pod, generated, program, node))
    found.note(pod.name, "generated", verdict)
    if not refused:  # many files are opened after the point at which a rehearsal ends
        refused = _unreachable(generated)
    found.findings += [upgrade.broken_by_kubeadm(sides, blame, message) for blame, message in refused]
    if plan is None or not plan.operations:
        return
    verdict, again = rehearse_all(_Trial(pod, plan, program, node))
    found.note(pod.name, "desired", verdict)
    known = [blame for blame, dummy in refused if blame not in sides.named]
    found.findings += [upgrade.broken_by_site(sides, blame, message) for blame, message in again if blame not in known]


def _unreachable(generated: StaticPodPlan) -> list[tuple[Setting | None, str]]:
    """The argument that names a file which the component could not open, if there is one, and what is wrong."""
    try:
        static_pods.refuse_unreachable_files(generated)
    except Refusal as exc:
        blame = refusals.blamed(str(exc), generated.after.values())
        return [(blame[0] if blame else None, str(exc))]
    return []
