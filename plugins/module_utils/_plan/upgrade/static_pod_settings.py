# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an upgrade does to each setting of a static pod, whose manifest kubeadm writes again."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..common.ownership import Change, Record, Values
from ..kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE, IN_CONFIG_MAP, ClusterConfiguration
from ..static_pod import reconciliation
from ..static_pod.manifest import Manifest, image_tag
from ..static_pod.plan import StaticPodPlan
from . import prerequisites, refusals
from .findings import (
    BROKEN,
    COLLECTION,
    CONFIG_MAP,
    INVENTORY,
    KEPT,
    KUBEADM,
    OTHER,
    PATCHES,
    REAPPLIED,
    REMOVED,
    WARNS,
    Finding,
)

_ETCD = "etcd"
# What kubeadm writes of a member when it joins, and otherwise later; a member that has its data does not read it.
_OF_A_MEMBER = frozenset(("initial-cluster", "initial-cluster-state"))
_HIDDEN_FIELDS = ("env",)  # their values may be secrets
_CONFIRMATION_NOTE = (
    "the image stays the same, so site treats it as removed manually and requires -e control_plane_restore_removed=true"
)
_PLAY_WIDE = {
    "feature_gates": "control_plane_feature_gates",
    "admission_plugins": "control_plane_admission_plugins",
}


@dataclasses.dataclass(frozen=True)
class ManifestVersions:
    """One static pod, as it is and as it will be.

    live: today's manifest. record: what the collection set of it. baseline: what kubeadm generates for today's version, None where it could not.
    generated: what the new kubeadm generates. after: that with the desired state of the inventory; None where it was refused or there is none.
    named: the settings that the desired state names. unconfirmed: those of ours that site will find removed, since kubeadm writes a manifest
    with the same image, and so sets again only when that is confirmed. patches: the directory of patches that kubeadm uses; empty for none.
    """

    component: str
    live: Manifest
    record: Record
    baseline: Manifest | None
    generated: Manifest
    after: Manifest | None
    named: frozenset[tuple[str, str]]
    unconfirmed: frozenset[tuple[str, str]]
    configuration: ClusterConfiguration
    patches: str = ""

    @functools.cached_property
    def tables(self) -> tuple[Values, ...]:
        """The values of live, generated, after and baseline; without after, those of generated."""
        pod = (self.live, self.generated, self.after or self.generated, self.baseline)
        return tuple({} if manifest is None else manifest.values() for manifest in pod)


def variable_of(component: str, field: str) -> str:
    """The variable of the role control_plane that sets such a setting."""
    own = f"control_plane_components.{component}.{field}"
    wide = None if component == _ETCD else _PLAY_WIDE.get(field)
    return f"{wide} or {own}" if wide else own


def unchanged_plan(manifest: Manifest, before: Manifest) -> StaticPodPlan:
    """A manifest as a plan with which it is rehearsed. before: the one in whose place it comes."""
    return StaticPodPlan(before, manifest, (), (), {}, ())


def compare_settings(pod: ManifestVersions) -> list[Finding]:
    """The findings of each setting that is none of kubeadm's own defaults."""
    now, new, then, _base = pod.tables
    places = {(field, key): None for values in (now, new, then) for field, keys in values.items() for key in keys}
    return [finding for field, key in places for finding in _compare_setting(pod, field, key)]


@dataclasses.dataclass(frozen=True)
class _Values:
    """One setting: as it is, as the new kubeadm generates it, as it is after site then, and as the kubeadm of today generates it."""

    now: t.Any
    new: t.Any
    then: t.Any
    base: t.Any


def _compare_setting(pod: ManifestVersions, field: str, key: str) -> list[Finding]:
    if key == reconciliation.FILES_ANNOTATION or (pod.component == _ETCD and key in _OF_A_MEMBER):
        return []
    values = _Values(*(table.get(field, {}).get(key) for table in pod.tables))
    is_configured = pod.configuration.line(pod.component, field, key) is not None
    is_ours = _is_ours(pod, field, key)
    if values.now == values.new:
        through = ", set by this collection through kubeadm-config" if is_ours and is_configured else ""
        finding = _make_finding(pod, field, key, KEPT, f"{_format_value(field, values.now)}{through}")
        return [finding] if is_ours or is_configured else []
    if pod.baseline is not None and values.now == values.base and not is_ours:
        return []  # kubeadm changes a default of its own
    impact = _find_impact(values, is_named=(field, key) in pod.named, is_pending=is_configured and not is_ours)
    message = _describe_change(field, values, impact)
    if impact == REAPPLIED and (field, key) in pod.unconfirmed:
        message += f"; {_CONFIRMATION_NOTE}"
    return [_make_finding(pod, field, key, impact, message)]


def _find_impact(values: _Values, *, is_named: bool, is_pending: bool) -> str:
    """The impact on a setting that the new manifest does not have. is_named: by the desired state. is_pending: it stands in
    kubeadm-config, and the node does not have it so yet."""
    if values.then == values.now or (is_named and values.then != values.new):
        return REAPPLIED
    return WARNS if is_pending else REMOVED


def _describe_change(field: str, values: _Values, impact: str) -> str:
    """The values of today and of the new manifest, and that of site where it is neither."""
    text = f"{_format_value(field, values.now)} -> {_format_value(field, values.new)}"
    if impact == WARNS:
        return f"{text}: kubeadm-config says so and the node does not have it yet, the upgrade sets it"
    return (
        f"{text}; site makes it {_format_value(field, values.then)}"
        if values.then not in (values.now, values.new)
        else text
    )


def _is_ours(pod: ManifestVersions, field: str, key: str) -> bool:
    owned = pod.record.get(field, {}).get(key)
    return owned is not None and owned.set == pod.tables[0].get(field, {}).get(key)


def _format_value(field: str, value: t.Any) -> str:
    """A value in a few words; of one that may be secret or long, only that it is set."""
    if value is None:
        return "unset"
    if field in _HIDDEN_FIELDS or isinstance(value, dict):
        return "set"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _make_finding(pod: ManifestVersions, field: str, key: str, impact: str, message: str) -> Finding:
    configured = pod.configuration.line(pod.component, field, key)
    set_by = COLLECTION if _is_ours(pod, field, key) else CONFIG_MAP if configured else OTHER
    is_ours_to_set = (field, key) in pod.named or set_by == COLLECTION or impact == REMOVED
    live = pod.live.line(field, key)
    return Finding(
        component=pod.component,
        impact=impact,
        message=message,
        field=field,
        key=key,
        set_by=set_by,
        file=IN_CONFIG_MAP if configured and not live else pod.live.document.source,
        line=live or configured,
        variable=variable_of(pod.component, field) if is_ours_to_set else "",
    )


def without_superseded(findings: t.Iterable[Finding]) -> list[Finding]:
    """Without other findings of a setting that breaks: it is neither kept nor set again then."""
    found = list(findings)
    broken = {finding.place for finding in found if finding.impact == BROKEN and finding.key}
    return [finding for finding in found if finding.impact == BROKEN or finding.place not in broken]


# ---- what a rehearsal refused --------------------------------------------------------------------------------------------


def broken_by_kubeadm(pod: ManifestVersions, setting: tuple[str, str] | None, message: str) -> Finding:
    """What the new component refuses of the manifest that kubeadm generates. setting: the setting; None when the message does not name it."""
    if setting is None:
        return Finding(pod.component, BROKEN, message, set_by=KUBEADM, file=CONFIG_MAP_SOURCE)
    field, key = setting
    line = pod.configuration.line(pod.component, field, key)
    # What kubeadm adds by itself its own version takes.
    set_by = CONFIG_MAP if line else PATCHES if pod.patches else KUBEADM
    return Finding(
        component=pod.component,
        impact=BROKEN,
        message=message,
        field=field,
        key=key,
        set_by=set_by,
        file=IN_CONFIG_MAP if line else pod.patches or CONFIG_MAP_SOURCE,
        line=line,
        variable=_remedy(pod.component, field) if line else "",
    )


def _remedy(component: str, field: str) -> str:
    section = {"kube-apiserver": "apiServer", "kube-controller-manager": "controllerManager", "etcd": "etcd.local"}
    lists = {"env": "extraEnvs", "volumes": "extraVolumes"}
    return f"{section.get(component, 'scheduler')}.{lists.get(field, 'extraArgs')} in kubeadm-config"


def broken_by_site(pod: ManifestVersions, setting: tuple[str, str] | None, message: str) -> Finding:
    """What the new component refuses of the desired state on top of that manifest, so that site would refuse it."""
    text = f"site would not work after the upgrade: {message}"
    if setting is None:
        return Finding(
            pod.component, BROKEN, text, set_by=INVENTORY, variable=f"control_plane_components.{pod.component}"
        )
    field, key = setting
    line = pod.live.line(field, key)
    return Finding(
        component=pod.component,
        impact=BROKEN,
        message=text,
        field=field,
        key=key,
        set_by=INVENTORY,
        file=pod.live.document.source if line else "",
        line=line,
        variable=variable_of(pod.component, field),
    )


def without_settings(manifest: Manifest, settings: t.Iterable[tuple[str, str]]) -> Manifest:
    """The manifest without settings that were refused, to find what else would be. Raises Refusal where it cannot be edited so."""
    for field, key in settings:
        now = manifest.values()[field][key]
        manifest = manifest.change(Change(field, key, now, None))
    return manifest


def settings_found_removed(
    record: Record, generated: Manifest, written_image: str | None
) -> frozenset[tuple[str, str]]:
    """The settings of ours that site will find removed from the new manifest, as field and key. written_image: of our last write."""
    left = reconciliation.reconcile(
        record, generated.values(), image=generated.container.get("image"), written_image=written_image
    )
    return frozenset((field, key) for field, keys in left.removed.items() for key in keys)


def etcd_step(pod: ManifestVersions) -> list[Finding]:
    """A step of etcd that kubeadm or etcd does not support; none of other components."""
    return prerequisites.etcd_step(image_tag(pod.live), image_tag(pod.generated)) if pod.component == _ETCD else []


def removed_gates(pod: ManifestVersions, version: str) -> list[Finding]:
    """Findings by a table of gates, for a component whose new program was not rehearsed."""
    target = prerequisites.exact_version(version) or ()
    new = pod.generated.values().get("feature_gates", {})
    own = [gate for gate in (pod.after.values().get("feature_gates", {}) if pod.after else {}) if gate not in new]
    return [
        *(broken_by_kubeadm(pod, *refused) for refused in refusals.removed_gates(new, target)),
        *(broken_by_site(pod, *refused) for refused in refusals.removed_gates(own, target)),
    ]
