# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade does to one static pod: what the new kubeadm generates, alone and with the desired state, rehearsed by the new program."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.ownership import Values
from ..._plan.common.verdict import Verdict
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod.desired import parse_desired
from ..._plan.static_pod.manifest import Manifest
from ..._plan.static_pod.plan import StaticPodPlan
from ..._plan.upgrade import api_versions, refusals
from ..._plan.upgrade import static_pod_settings as upgrade
from ..._plan.upgrade.findings import WARNS, Finding, UpgradeFindings
from ..._plan.upgrade.refusals import Setting
from ..._plan.upgrade.static_pod_settings import ManifestVersions
from ..runtime.programs import Program
from ..static_pod import static_pods
from ..static_pod.component_files import ComponentFiles, refuse_unreachable_files
from ..static_pod.static_pods import StaticPod
from .control_plane_upgrade import ControlPlane
from .upgrade_programs import rehearse_all

_ADMISSION = "admission-control-config-file"
_CONFIG_FILES = (
    _ADMISSION,
    "audit-policy-file",
    "authentication-config",
    "authorization-config",
    "config",
    "encryption-provider-config",
)


# Advice for a static pod that cannot be read.
_MANIFEST = "repair its manifest on this node, or bring the static pod back"


@dataclasses.dataclass(frozen=True)
class _Trial:
    pod: StaticPod
    plan: StaticPodPlan
    program: Program
    node: ControlPlane

    def rehearse(self) -> Verdict:
        """Start the new component in the sandbox."""
        return self.node.rehearse(self.pod, self.plan, self.program)

    def values(self) -> Values:
        """Its settings."""
        return self.plan.after.values()

    def without(self, settings: t.Sequence[Setting]) -> _Trial:
        """The same without settings."""
        return dataclasses.replace(
            self, plan=dataclasses.replace(self.plan, after=upgrade.without_settings(self.plan.after, settings))
        )


def check_static_pod(name: str, text: str, baseline: str | None, node: ControlPlane, found: UpgradeFindings) -> None:
    """Add the findings about one static pod. text: its new manifest. baseline: the one that kubeadm generates today, if it can."""
    try:
        pod = node.read_pod(name)
    except KubeadmError as exc:
        found.skip(name, str(exc), _MANIFEST)
        return
    source = f"what kubeadm {node.programs.target} generates"
    generated = Manifest.parse(text, source, name)
    plan, named = _plan_desired(pod, generated, node, found)
    sides = ManifestVersions(
        component=name,
        live=pod.manifest,
        record=pod.record,
        baseline=Manifest.parse(baseline, source, name) if baseline else None,
        generated=generated,
        after=plan.after if plan else None,
        named=named,
        unconfirmed=upgrade.settings_found_removed(pod.record, generated, pod.written_image),
        configuration=node.configuration,
        patches=node.patches or "",
    )
    found.findings += upgrade.etcd_step(sides)
    compared = upgrade.compare_settings(sides)
    found.findings += _api_version_findings(name, plan.after if plan else pod.manifest, node)
    broken = UpgradeFindings()
    try:
        with node.programs.component(
            name, str(generated.container["image"]), str(generated.entrypoint), node.runtime
        ) as program:
            _rehearse_both(sides, pod, plan, program, node, broken)
    except KubeadmError as exc:
        broken.skip(name, str(exc))
    if broken.not_rehearsed:
        broken.findings += upgrade.removed_gates(sides, node.programs.target)
    found.add(broken, upgrade.without_superseded([*compared, *broken.findings]))


def _api_version_findings(name: str, manifest: Manifest, node: ControlPlane) -> list[Finding]:
    """Findings about files of a component with an API version that is removed."""
    files = ComponentFiles(manifest)
    named = {flag: files.flag(flag) for flag in _CONFIG_FILES}
    paths = [(flag, path) for flag, path in named.items() if path]
    paths += [(_ADMISSION, path) for path in _plugin_files(files, named[_ADMISSION])]
    return [each for flag, path in paths for each in _findings_of_file(name, flag, path, files, node.programs.target)]


def _findings_of_file(name: str, flag: str, path: str, files: ComponentFiles, target: str) -> list[Finding]:
    try:
        return api_versions.find_ending(name, flag, path, files.read(path), target)
    except KubeadmError as exc:
        message = f"whether its API version ends is not known: {exc}"
        return [Finding(name, WARNS, message, "args", flag, file=path)]


def _plugin_files(files: ComponentFiles, path: str | None) -> list[str]:
    """The files that an admission configuration names; none of an unreadable one, which is a finding itself."""
    try:
        return api_versions.plugin_files(path, files.read(path)) if path else []
    except KubeadmError:
        return []


def _plan_desired(
    pod: StaticPod, generated: Manifest, node: ControlPlane, found: UpgradeFindings
) -> tuple[StaticPodPlan | None, frozenset[Setting]]:
    """The desired state on top of the new manifest, and the settings that it names; no plan where site would refuse it."""
    if node.desired is None or pod.name not in node.desired:
        return None, frozenset()
    named: Values = {}
    try:
        fixed = {"name": pod.name, "state": "present", "purge": node.purge, "restore_removed": True}
        desired = parse_desired({**node.desired[pod.name], **fixed})
        named = desired.values
        paths = {entry.path for entry in desired.files} | set(pod.record.get("files", {}))
        users, groups = static_pods.read_accounts(desired.files)
        state = static_pod.State(generated, pod.record, static_pods.read_files(paths), users, groups)
        plan = static_pod.plan(desired, state)
        refuse_unreachable_files(plan)
    except Refusal as exc:
        live = ManifestVersions(
            pod.name, pod.manifest, pod.record, None, generated, None, frozenset(), frozenset(), node.configuration
        )
        offending = refusals.offending_settings(str(exc), named)
        found.findings.append(upgrade.broken_by_site(live, offending[0] if offending else None, str(exc)))
        return None, frozenset()
    return plan, frozenset((field, key) for field, keys in named.items() for key in keys)


def _rehearse_both(
    sides: ManifestVersions,
    pod: StaticPod,
    plan: StaticPodPlan | None,
    program: Program,
    node: ControlPlane,
    found: UpgradeFindings,
) -> None:
    """The new program with the manifest that kubeadm generates, and with the desired state on top of it."""
    generated = upgrade.unchanged_plan(sides.generated, pod.manifest)
    verdict, refused = rehearse_all(_Trial(pod, generated, program, node))
    found.note(pod.name, "generated", verdict)
    if not refused:  # many files are opened after the point at which a rehearsal ends
        refused = _find_unreachable(generated)
    found.findings += [upgrade.broken_by_kubeadm(sides, setting, message) for setting, message in refused]
    if plan is None or not plan.operations:
        return
    verdict, again = rehearse_all(_Trial(pod, plan, program, node))
    found.note(pod.name, "desired", verdict)
    known = [setting for setting, dummy in refused if setting not in sides.named]
    found.findings += [upgrade.broken_by_site(sides, *each) for each in again if each[0] not in known]


def _find_unreachable(generated: StaticPodPlan) -> list[tuple[Setting | None, str]]:
    """The argument that names a file which the component could not open, if there is one, and what is wrong."""
    try:
        refuse_unreachable_files(generated)
    except Refusal as exc:
        offending = refusals.offending_settings(str(exc), generated.after.values())
        return [(offending[0] if offending else None, str(exc))]
    return []
