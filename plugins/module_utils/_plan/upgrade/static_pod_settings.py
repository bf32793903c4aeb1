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
_ASKED = (
    "the image stays the same, so site treats it as removed manually and requires -e control_plane_restore_removed=true"
)
_PLAY_WIDE = {
    "feature_gates": "control_plane_feature_gates",
    "admission_plugins": "control_plane_admission_plugins",
}


@dataclasses.dataclass(frozen=True)
class Sides:
    """One static pod, as it is and as it will be.

    live: today's manifest. record: what the collection set of it. baseline: what kubeadm generates for today's version, None where it could not.
    generated: what the new kubeadm generates. after: that with the desired state of the inventory; None where it was refused or there is none.
    named: the settings that the desired state names. asked_about: those of ours that site will find taken out, since kubeadm writes a manifest
    with the same image, and so sets again only when it is told to. patches: the directory of patches that kubeadm was given; empty for none.
    """

    component: str
    live: Manifest
    record: Record
    baseline: Manifest | None
    generated: Manifest
    after: Manifest | None
    named: frozenset[tuple[str, str]]
    asked_about: frozenset[tuple[str, str]]
    configuration: ClusterConfiguration
    patches: str = ""

    @functools.cached_property
    def tables(self) -> tuple[Values, ...]:
        """The values of live, generated, after and baseline; without after, those of generated."""
        sides = (self.live, self.generated, self.after or self.generated, self.baseline)
        return tuple({} if manifest is None else manifest.values() for manifest in sides)


def variable_of(component: str, field: str) -> str:
    """The variable of the role control_plane that sets such a setting."""
    own = f"control_plane_components.{component}.{field}"
    wide = None if component == _ETCD else _PLAY_WIDE.get(field)
    return f"{wide} or {own}" if wide else own


def unchanged(manifest: Manifest, before: Manifest) -> StaticPodPlan:
    """A manifest as a plan with which it is rehearsed. before: the one in whose place it comes."""
    return StaticPodPlan(before, manifest, (), (), {}, ())


def compare(sides: Sides) -> list[Finding]:
    """The impact of each setting that is none of kubeadm's own defaults."""
    now, new, then, _base = sides.tables
    places = {(field, key): None for values in (now, new, then) for field, keys in values.items() for key in keys}
    return [finding for field, key in places for finding in _compare_one(sides, field, key)]


@dataclasses.dataclass(frozen=True)
class _Values:
    """One setting: as it is, as the new kubeadm generates it, as it is after site then, and as the kubeadm of today generates it."""

    now: t.Any
    new: t.Any
    then: t.Any
    base: t.Any


def _compare_one(sides: Sides, field: str, key: str) -> list[Finding]:
    if key == reconciliation.FILES_ANNOTATION or (sides.component == _ETCD and key in _OF_A_MEMBER):
        return []
    values = _Values(*(table.get(field, {}).get(key) for table in sides.tables))
    is_configured = sides.configuration.line(sides.component, field, key) is not None
    is_ours = _is_ours(sides, field, key)
    if values.now == values.new:
        through = ", set by this collection through kubeadm-config" if is_ours and is_configured else ""
        told = _told(sides, field, key, KEPT, f"{_shown(field, values.now)}{through}")
        return [told] if is_ours or is_configured else []
    if sides.baseline is not None and values.now == values.base and not is_ours:
        return []  # kubeadm changes a default of its own
    impact = _impact(values, is_named=(field, key) in sides.named, is_pending=is_configured and not is_ours)
    message = _change(field, values, impact)
    if impact == REAPPLIED and (field, key) in sides.asked_about:
        message += f"; {_ASKED}"
    return [_told(sides, field, key, impact, message)]


def _impact(values: _Values, *, is_named: bool, is_pending: bool) -> str:
    """What becomes of a setting that the new manifest has not. is_named: by the desired state. is_pending: it stands in
    kubeadm-config, and the node does not have it so yet."""
    if values.then == values.now or (is_named and values.then != values.new):
        return REAPPLIED
    return WARNS if is_pending else REMOVED


def _change(field: str, values: _Values, impact: str) -> str:
    """The values of today and of the new manifest, and that of site where it is neither."""
    told = f"{_shown(field, values.now)} -> {_shown(field, values.new)}"
    if impact == WARNS:
        return f"{told}: kubeadm-config says so and the node does not have it yet, the upgrade sets it"
    return (
        f"{told}; site makes it {_shown(field, values.then)}" if values.then not in (values.now, values.new) else told
    )


def _is_ours(sides: Sides, field: str, key: str) -> bool:
    owned = sides.record.get(field, {}).get(key)
    return owned is not None and owned.set == sides.tables[0].get(field, {}).get(key)


def _shown(field: str, value: t.Any) -> str:
    """A value in a few words; of one that may be secret or long, only that it is set."""
    if value is None:
        return "unset"
    if field in _HIDDEN_FIELDS or isinstance(value, dict):
        return "set"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _told(sides: Sides, field: str, key: str, impact: str, message: str) -> Finding:
    configured = sides.configuration.line(sides.component, field, key)
    set_by = COLLECTION if _is_ours(sides, field, key) else CONFIG_MAP if configured else OTHER
    is_ours_to_set = (field, key) in sides.named or set_by == COLLECTION or impact == REMOVED
    live = sides.live.line(field, key)
    return Finding(
        component=sides.component,
        impact=impact,
        message=message,
        field=field,
        key=key,
        set_by=set_by,
        file=IN_CONFIG_MAP if configured and not live else sides.live.document.source,
        line=live or configured,
        variable=variable_of(sides.component, field) if is_ours_to_set else "",
    )


def worst(findings: t.Iterable[Finding]) -> list[Finding]:
    """Without what is told of a setting that breaks: it neither stays nor comes back then."""
    found = list(findings)
    broken = {finding.place for finding in found if finding.impact == BROKEN and finding.key}
    return [finding for finding in found if finding.impact == BROKEN or finding.place not in broken]


# ---- what a rehearsal refused --------------------------------------------------------------------------------------------


def broken_by_kubeadm(sides: Sides, blame: tuple[str, str] | None, message: str) -> Finding:
    """What the new component refuses of the manifest that kubeadm generates. blame: the setting; None when the words do not tell."""
    if blame is None:
        return Finding(sides.component, BROKEN, message, set_by=KUBEADM, file=CONFIG_MAP_SOURCE)
    field, key = blame
    line = sides.configuration.line(sides.component, field, key)
    # What kubeadm adds by itself its own version takes.
    set_by = CONFIG_MAP if line else PATCHES if sides.patches else KUBEADM
    return Finding(
        component=sides.component,
        impact=BROKEN,
        message=message,
        field=field,
        key=key,
        set_by=set_by,
        file=IN_CONFIG_MAP if line else sides.patches or CONFIG_MAP_SOURCE,
        line=line,
        variable=_remedy(sides.component, field) if line else "",
    )


def _remedy(component: str, field: str) -> str:
    section = {"kube-apiserver": "apiServer", "kube-controller-manager": "controllerManager", "etcd": "etcd.local"}
    lists = {"env": "extraEnvs", "volumes": "extraVolumes"}
    return f"{section.get(component, 'scheduler')}.{lists.get(field, 'extraArgs')} in kubeadm-config"


def broken_by_site(sides: Sides, blame: tuple[str, str] | None, message: str) -> Finding:
    """What the new component refuses of the desired state on top of that manifest, so that site would refuse it."""
    told = f"site would not work after the upgrade: {message}"
    if blame is None:
        return Finding(
            sides.component, BROKEN, told, set_by=INVENTORY, variable=f"control_plane_components.{sides.component}"
        )
    field, key = blame
    line = sides.live.line(field, key)
    return Finding(
        component=sides.component,
        impact=BROKEN,
        message=told,
        field=field,
        key=key,
        set_by=INVENTORY,
        file=sides.live.document.source if line else "",
        line=line,
        variable=variable_of(sides.component, field),
    )


def without(manifest: Manifest, blame: t.Iterable[tuple[str, str]]) -> Manifest:
    """The manifest without settings that were refused, to hear what else would be. Raises Refusal where it cannot be edited so."""
    for field, key in blame:
        now = manifest.values()[field][key]
        manifest = manifest.change(Change(field, key, now, None))
    return manifest


def settings_taken_out(record: Record, generated: Manifest, written_image: str | None) -> frozenset[tuple[str, str]]:
    """The settings of ours that site will find taken out of the new manifest, as field and key. written_image: of our last write."""
    left = reconciliation.reconcile(
        record, generated.values(), image=generated.container.get("image"), written_image=written_image
    )
    return frozenset((field, key) for field, keys in left.removed.items() for key in keys)


def etcd_step(sides: Sides) -> list[Finding]:
    """A step of etcd that kubeadm or etcd does not support; none of other components."""
    return (
        prerequisites.etcd_step(image_tag(sides.live), image_tag(sides.generated)) if sides.component == _ETCD else []
    )


def removed_gates(sides: Sides, version: str) -> list[Finding]:
    """What a table knows of the gates of a component whose new program has not said what it refuses."""
    target = prerequisites.exact(version) or ()
    new = sides.generated.values().get("feature_gates", {})
    own = [gate for gate in (sides.after.values().get("feature_gates", {}) if sides.after else {}) if gate not in new]
    return [
        *(broken_by_kubeadm(sides, *refused) for refused in refusals.removed_gates(new, target)),
        *(broken_by_site(sides, *refused) for refused in refusals.removed_gates(own, target)),
    ]
