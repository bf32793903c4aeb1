# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts of a rollout over the control plane and kubeadm-config: what of their static pods stands there, shall stand there, and cannot.

Of the plans, C(kubeadm_config) and C(persistable) of each static pod count.
"""

from __future__ import annotations

import dataclasses
import functools

from ..common.errors import Refusal
from ..common.file_values import text_digest
from ..kubernetes import access
from ..static_pod import rollout as control_planes
from ..static_pod.static_pod_results import ConfigWritten, KubeadmConfig, StaticPodHost
from ..transaction.rollout import Hosts
from . import blockers, report
from . import plan as kubeadm_config
from .cluster_configuration import CONFIG_MAP, NAMESPACE
from .entries import Asked, Entries, collect
from .plan import ConfigPlan
from .record import NAME, Persisted
from .settings import Json

_WITHOUT = "To continue without that, run with -e control_plane_persist=false."


@dataclasses.dataclass(frozen=True)
class Persistence:
    """What one host works out for all. hosts: those that take part. dry: whether nothing may be written."""

    hosts: Hosts[StaticPodHost]
    dry: bool

    @classmethod
    def of(cls, hosts: Hosts[StaticPodHost], *, dry: bool) -> Persistence | None:
        """None where the plans do not tell, or a later pass of the run does."""
        plans = [host.plan for host in hosts.values()]
        known = [pod.persistable for plan in plans for pod in plan.static_pods.values()]
        is_last = all(host.settings.persists for host in hosts.values())
        is_told = bool(plans) and all(plan.kubeadm_config for plan in plans) and None not in known
        return cls(hosts, dry) if is_last and is_told else None

    # ---- what the plans tell -----------------------------------------------------------------------------------------

    @functools.cached_property
    def is_asked(self) -> bool:
        """Whether the run may write."""
        return all(host.settings.control_plane_persist for host in self.hosts.values())

    @functools.cached_property
    def _known(self) -> KubeadmConfig:
        """What the API tells, by a host that could query it."""
        told = [host.plan.kubeadm_config for host in self.hosts.values() if host.plan.kubeadm_config]
        return next((each for each in told if not each.problem), told[0])

    @functools.cached_property
    def _persisted(self) -> Persisted:
        return Persisted() if self._known.problem else Persisted.parse(self._known.record)

    @functools.cached_property
    def _refusal(self) -> str:
        """Why nothing may be written, whatever it would be; empty when nothing keeps it."""
        plans = [host.plan for host in self.hosts.values()]
        versions = {plan.node: plan.kubeadm_config.version for plan in plans if plan.kubeadm_config}
        return blockers.refusal(dict(self._known.raw), versions)

    @functools.cached_property
    def _entries(self) -> Entries:
        settings = [host.settings for host in self.hosts.values()]
        asked = Asked(
            gates=settings[0].control_plane_persist_feature_gates,
            vaulted={name for each in settings for name in each.vaulted},
        )
        told = {
            name: {pod: dict(plan.raw["persistable"]) for pod, plan in host.plan.static_pods.items()}
            for name, host in self.hosts.items()
        }
        return collect(told, settings[0].static_pods, self._persisted, asked)

    @functools.cached_property
    def _planned(self) -> tuple[ConfigPlan | None, str]:
        """The change of the text, or why the text does not allow it; neither where there is no text."""
        if self._known.problem or not self._known.text:
            return None, ""
        try:
            return kubeadm_config.plan(self._known.text, self._persisted, self._entries.wanted), ""
        except Refusal as exc:
            return None, str(exc)

    @property
    def _plan(self) -> ConfigPlan | None:
        return self._planned[0]

    # ---- decisions ---------------------------------------------------------------------------------------------------

    def refusal(self) -> str:
        """Why the run is refused before its first write; empty when it is not.

        What could not be read is none: the run may be there to repair the API.
        """
        if not self.is_asked or self._known.problem:
            return ""
        is_work = self._plan.operations if self._plan else self._entries.wanted or self._persisted.entries
        return f"{self._reason} {_WITHOUT}" if is_work and self._reason else ""

    @property
    def _reason(self) -> str:
        return self._refusal or self._planned[1]

    @property
    def work(self) -> ConfigPlan | None:
        """What is to be written into kubeadm-config at the end of the run; None when nothing is."""
        if not self.is_asked or self.dry or self._reason:
            return None
        return self._plan if self._plan and self._plan.operations else None

    @property
    def rights(self) -> list[access.Right]:
        """What the account must be allowed before the first write of the run, in check mode as well; none where nothing is to be written."""
        is_work = self.is_asked and not self._reason and self._plan is not None and bool(self._plan.operations)
        return access.of_config_maps(CONFIG_MAP, NAME, NAMESPACE) if is_work else []

    @property
    def failure(self) -> str:
        """Why a run that was asked to write could not find out whether it has to; empty otherwise."""
        is_unknown = bool(self._known.problem) and bool(self._entries.wanted)
        is_told = self.is_asked and not self.dry and is_unknown
        return f"kubeadm-config was not written: {self._refusal} Run again." if is_told else ""

    # ---- requests ----------------------------------------------------------------------------------------------------

    def proof(self, plan: ConfigPlan) -> Json:
        """The options of the module C(kubeadm_config_check)."""
        changes = [change for change in plan.operations if change.field != "record"]
        return {
            "before": plan.before,
            "after": plan.after,
            "settings": {
                component: {
                    field: {key: entry["value"] for key, entry in keys.items()} for field, keys in fields.items()
                }
                for component, fields in self._settings().items()
            },
            "changes": [
                {"component": change.field, "field": change.key.partition(" ")[0], "key": change.key.partition(" ")[2]}
                for change in changes
            ],
        }

    def write(self, plan: ConfigPlan) -> Json:
        """The options of the module C(kubeadm_config)."""
        return {
            "settings": self._settings(),
            "verified": {"before": text_digest(plan.before), "after": text_digest(plan.after)},
            "cluster": control_planes.expected_cluster(self.hosts),
        }

    def _settings(self) -> Json:
        found: Json = {}
        skipped = self._plan.skipped if self._plan else {}
        for place, wanted in self._entries.wanted.items():
            if place not in skipped:
                fields = found.setdefault(place.component, {})
                fields.setdefault(place.field, {})[place.key] = dataclasses.asdict(wanted)
        return found

    # ---- the end -----------------------------------------------------------------------------------------------------

    def lines(self, written: ConfigWritten | None, *, diff: bool) -> list[str]:
        """What is told at the end. written: of the step apply. diff: whether to show the difference."""
        others: dict[str, list[str]] = {}
        for host in self.hosts.values():
            for name, pod in host.plan.static_pods.items():
                kept = pod.persistable.others if pod.persistable else ()
                others[name] = list(dict.fromkeys([*others.get(name, ()), *kept]))
        outlook = report.Outlook(self._ending(written), self._reason, self._entries, self._plan, others)
        return report.lines(outlook, diff=diff)

    def _ending(self, written: ConfigWritten | None) -> str:
        if not self.is_asked:
            return report.NOT_ASKED
        if self._plan is not None and not self._plan.operations:
            return report.UNCHANGED
        if self.dry:
            return report.PLANNED
        return report.WRITTEN if written and written.operations and not written.failed else report.FAILED
