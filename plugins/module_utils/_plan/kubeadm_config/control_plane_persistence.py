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
from .entries import Entries, PersistRequest, collect_entries
from .plan import ConfigPlan
from .record import NAME, Persisted
from .settings import Json

_WITHOUT = "To continue without that, run with -e control_plane_persist=false."


@dataclasses.dataclass(frozen=True)
class Persistence:
    """The persistence that one host plans for all. hosts: those that take part. dry: whether nothing may be written."""

    hosts: Hosts[StaticPodHost]
    dry: bool

    @classmethod
    def of(cls, hosts: Hosts[StaticPodHost], *, dry: bool) -> Persistence | None:
        """None where the plans have no facts for it, or a later pass of the run persists."""
        plans = [host.plan for host in hosts.values()]
        known = [pod.persistable for plan in plans for pod in plan.static_pods.values()]
        is_last = all(host.settings.persists for host in hosts.values())
        is_complete = bool(plans) and all(plan.kubeadm_config for plan in plans) and None not in known
        return cls(hosts, dry) if is_last and is_complete else None

    # ---- facts of the plans ------------------------------------------------------------------------------------------

    @functools.cached_property
    def is_enabled(self) -> bool:
        """Whether the run may write."""
        return all(host.settings.control_plane_persist for host in self.hosts.values())

    @functools.cached_property
    def _observed(self) -> KubeadmConfig:
        """What the API has, by a host that could query it."""
        reported = [host.plan.kubeadm_config for host in self.hosts.values() if host.plan.kubeadm_config]
        return next((each for each in reported if not each.problem), reported[0])

    @functools.cached_property
    def _persisted(self) -> Persisted:
        return Persisted() if self._observed.problem else Persisted.parse(self._observed.record)

    @functools.cached_property
    def _refusal(self) -> str:
        """Why nothing may be written, whatever it would be; empty when nothing keeps it."""
        plans = [host.plan for host in self.hosts.values()]
        versions = {plan.node: plan.kubeadm_config.version for plan in plans if plan.kubeadm_config}
        return blockers.write_refusal(dict(self._observed.raw), versions)

    @functools.cached_property
    def _entries(self) -> Entries:
        settings = [host.settings for host in self.hosts.values()]
        request = PersistRequest(
            gates=settings[0].control_plane_persist_feature_gates,
            vaulted={name for each in settings for name in each.vaulted},
        )
        reported = {
            name: {pod: dict(plan.raw["persistable"]) for pod, plan in host.plan.static_pods.items()}
            for name, host in self.hosts.items()
        }
        return collect_entries(reported, settings[0].static_pods, self._persisted, request)

    @functools.cached_property
    def _planned(self) -> tuple[ConfigPlan | None, str]:
        """The change of the text, or why the text does not allow it; neither where there is no text."""
        if self._observed.problem or not self._observed.text:
            return None, ""
        try:
            return kubeadm_config.plan(self._observed.text, self._persisted, self._entries.desired), ""
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
        if not self.is_enabled or self._observed.problem:
            return ""
        has_work = self._plan.operations if self._plan else self._entries.desired or self._persisted.entries
        return f"{self._reason} {_WITHOUT}" if has_work and self._reason else ""

    @property
    def _reason(self) -> str:
        return self._refusal or self._planned[1]

    @property
    def pending_plan(self) -> ConfigPlan | None:
        """What is to be written into kubeadm-config at the end of the run; None when nothing is."""
        if not self.is_enabled or self.dry or self._reason:
            return None
        return self._plan if self._plan and self._plan.operations else None

    @property
    def rights(self) -> list[access.Right]:
        """What the account must be allowed before the first write of the run, in check mode as well; none where nothing is to be written."""
        has_work = self.is_enabled and not self._reason and self._plan is not None and bool(self._plan.operations)
        return access.of_config_maps(CONFIG_MAP, NAME, NAMESPACE) if has_work else []

    @property
    def failure(self) -> str:
        """Why a run that may write could not find out whether it has to; empty otherwise."""
        is_unknown = bool(self._observed.problem) and bool(self._entries.desired)
        is_failure = self.is_enabled and not self.dry and is_unknown
        return f"kubeadm-config was not written: {self._refusal} Run again." if is_failure else ""

    # ---- requests ----------------------------------------------------------------------------------------------------

    def proof_options(self, plan: ConfigPlan) -> Json:
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

    def write_options(self, plan: ConfigPlan) -> Json:
        """The options of the module C(kubeadm_config)."""
        return {
            "settings": self._settings(),
            "verified": {"before": text_digest(plan.before), "after": text_digest(plan.after)},
            "cluster": control_planes.expected_cluster(self.hosts),
        }

    def _settings(self) -> Json:
        found: Json = {}
        skipped = self._plan.skipped if self._plan else {}
        for setting, desired in self._entries.desired.items():
            if setting not in skipped:
                fields = found.setdefault(setting.component, {})
                fields.setdefault(setting.field, {})[setting.key] = dataclasses.asdict(desired)
        return found

    # ---- the end -----------------------------------------------------------------------------------------------------

    def report_lines(self, written: ConfigWritten | None, *, diff: bool) -> list[str]:
        """The lines at the end. written: of the step apply. diff: whether to show the difference."""
        others: dict[str, list[str]] = {}
        for host in self.hosts.values():
            for name, pod in host.plan.static_pods.items():
                names = pod.persistable.others if pod.persistable else ()
                others[name] = list(dict.fromkeys([*others.get(name, ()), *names]))
        result = report.PersistenceReport(self._outcome(written), self._reason, self._entries, self._plan, others)
        return report.report_lines(result, diff=diff)

    def _outcome(self, written: ConfigWritten | None) -> str:
        if not self.is_enabled:
            return report.NOT_REQUESTED
        if self._plan is not None and not self._plan.operations:
            return report.UNCHANGED
        if self.dry:
            return report.PLANNED
        return report.WRITTEN if written and written.operations and not written.failed else report.FAILED
