# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(read_kubeadm_config), for the runner: two ConfigMaps, kubeadm's and the record of its former values."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from http import HTTPStatus

from .._plan.common.errors import Refusal
from .._plan.common.file_values import text_digest
from .._plan.common.verdict import Verdict
from .._plan.kubeadm_config import plan as config_plan
from .._plan.kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE, IN_CONFIG_MAP, KIND
from .._plan.kubeadm_config.plan import ConfigPlan, DesiredSetting
from .._plan.kubeadm_config.record import KEY, NAME, Persisted
from .._plan.kubeadm_config.settings import SettingKey, settings_error
from .api_steps import ApiSteps, diff_entry, retry_on_conflict
from .client import ApiError, Connect, Json, Params
from .upgrade_facts import CONFIG_MAP, read_kubeadm_config

_CONFIG_MAPS = "namespaces/kube-system/configmaps"
_RECORD = f"{_CONFIG_MAPS}/{NAME}"


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads. config: kubeadm's ConfigMap. record: that of the former values, if there is one."""

    config: Json
    record: Json | None

    @property
    def persisted(self) -> Persisted:
        """The content of the record."""
        return Persisted.parse(((self.record or {}).get("data") or {}).get(KEY))


class KubeadmConfigSteps(ApiSteps[Observed, ConfigPlan]):
    """One run of the module."""

    unrehearsed = "the API server validates the write when it is made"

    def __init__(self, params: Params, *, connect: Connect, diff: bool) -> None:
        super().__init__(params, connect=connect, diff=diff)
        self._new_plan: ConfigPlan | None = None  # for the result, after a conflict with another writer

    @functools.cached_property
    def _desired(self) -> dict[SettingKey, DesiredSetting]:
        """The desired settings. Raises Refusal."""
        settings = self._params["settings"]
        if problem := settings_error(settings):
            raise Refusal(problem)
        return {
            SettingKey(component, field, key): DesiredSetting(
                entry["value"], entry.get("original"), bool(entry.get("named", True))
            )
            for component, fields in settings.items()
            for field, keys in fields.items()
            for key, entry in keys.items()
        }

    def _check_options(self) -> None:
        dummy = self._desired

    def read(self, *, dry: bool) -> Observed:
        """Read both. Raises KubeadmError where there is no kubeadm-config."""
        return Observed(read_kubeadm_config(self._api), self._api.find(_RECORD))

    def plan(self, observed: Observed) -> ConfigPlan:
        """Work out the new text."""
        return config_plan.plan(str(observed.config["data"][KIND]), observed.persisted, self._desired)

    def preflight(self, observed: Observed, plan: ConfigPlan) -> tuple[str, ...]:
        """Raises Refusal where the new text is not the one that was verified."""
        verified = self._params["verified"]
        if verified and (text_digest(plan.before), text_digest(plan.after)) != (verified["before"], verified["after"]):
            raise Refusal(
                f"{CONFIG_MAP_SOURCE} was changed by another client since this run read it, so its verification does not hold. Nothing was written. Run again."
            )
        return ()

    def rehearse(self, observed: Observed, plan: ConfigPlan) -> Verdict:
        """The API server validates the write without storing it."""
        return self._rehearse_by_dry_run(lambda: self._dry_run_errors(observed, plan), each="both ConfigMaps")

    def _dry_run_errors(self, observed: Observed, plan: ConfigPlan) -> list[str]:
        try:
            self._write_record(observed.record, plan.record, dry_run=True)
            self._write_config(observed, plan, dry_run=True)
        except ApiError as exc:
            return [str(exc)]
        return []

    def apply(self, observed: Observed, plan: ConfigPlan) -> None:
        """Write both. The former values are recorded first, so that each value has an owner even if this run is interrupted."""

        def attempt() -> bool:
            if not plan.operations:
                return True
            former = plan.record.merge_former(observed.persisted, plan.before)
            recorded = self._write_record(observed.record, former, dry_run=False)
            self._write_config(observed, plan, dry_run=False)
            self._write_record(recorded, plan.record, dry_run=False)
            return True

        def replan(_refusal: ApiError) -> None:
            nonlocal observed, plan
            observed = self.read(dry=False)
            plan = self._new_plan = self.plan(observed)
            self.preflight(observed, plan)

        cause = f"{CONFIG_MAP_SOURCE}: another client changed it"
        retry_on_conflict(attempt, replan, cause=cause, statuses=(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))

    def report(self, observed: Observed | None, plan: ConfigPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        plan = self._new_plan or plan
        return {
            "operations": [operation.to_result() for operation in plan.operations] if plan else [],
            "not_persisted": {str(place): reason for place, reason in plan.skipped.items()} if plan else {},
            "diff": [diff_entry(IN_CONFIG_MAP, plan.before, plan.after)]
            if plan and self._diff and plan.before != plan.after
            else [],
        }

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _write_record(self, current: Json | None, record: Persisted, *, dry_run: bool) -> Json | None:
        """Write the record; an empty one is deleted. current: the ConfigMap as it was read. Returns it as it is then."""
        data = {KEY: record.dump()}
        if not record.entries:
            if current is not None:
                self._api.delete(_RECORD, dry_run=dry_run)
            return None
        if current is None:
            metadata = {"name": NAME, "namespace": "kube-system"}
            return self._api.create(
                _CONFIG_MAPS,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data},
                dry_run=dry_run,
            )
        if current.get("data") != data:
            return self._api.replace(_RECORD, {**current, "data": data}, dry_run=dry_run)
        return current

    def _write_config(self, observed: Observed, plan: ConfigPlan, *, dry_run: bool) -> None:
        if plan.after == plan.before:
            return
        data = {**observed.config["data"], KIND: plan.after}
        self._api.replace(CONFIG_MAP, {**observed.config, "data": data}, dry_run=dry_run)
