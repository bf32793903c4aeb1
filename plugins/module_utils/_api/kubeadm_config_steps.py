# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The steps of the module C(kubeadm_config), for the runner: two ConfigMaps, kubeadm's and that in which we note what stood there before."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t
from http import HTTPStatus

from .._plan.common.errors import Refusal
from .._plan.common.verdict import NOT_NEEDED, Verdict
from .._plan.kubeadm_config import plan as config_plan
from .._plan.kubeadm_config.cluster_configuration import CONFIG_MAP_SOURCE, IN_CONFIG_MAP, KIND
from .._plan.kubeadm_config.plan import ConfigPlan, Wanted
from .._plan.kubeadm_config.record import KEY, NAME, Persisted, digest_of
from .._plan.kubeadm_config.settings import Place
from .client import ApiError, Connect, Json, Params
from .conflicts import retry_on_conflict
from .steps import ApiSteps, difference
from .upgrade_facts import CONFIG_MAP, kubeadm_config

_CONFIG_MAPS = "namespaces/kube-system/configmaps"
_RECORD = f"{_CONFIG_MAPS}/{NAME}"


class KubeadmConfigSteps(ApiSteps):
    """One run of the module."""

    def __init__(self, params: Params, *, connect: Connect, dry: bool, diff: bool) -> None:
        super().__init__(params, connect=connect, dry=dry, diff=diff)
        self._wanted = {
            Place(component, field, key): Wanted(entry["value"], entry.get("original"), bool(entry.get("named", True)))
            for component, fields in params["settings"].items()
            for field, keys in fields.items()
            for key, entry in keys.items()
        }
        self._config: Json = {}
        self._record: Json | None = None
        self._plan: ConfigPlan | None = None

    @contextlib.contextmanager
    def session(self) -> t.Iterator[None]:
        """The connection to the API."""
        yield

    def read(self) -> None:
        """Read both. Raises KubeadmError where there is no kubeadm-config."""
        self._config = kubeadm_config(self._api)
        self._record = self._api.find(_RECORD)

    def plan(self) -> ConfigPlan:
        """Work out the new text. Raises Refusal where it is not the one that was proven."""
        text = str(self._config["data"][KIND])
        found = self._plan = config_plan.plan(text, self._persisted, self._wanted)
        proven = self._params["proven"]
        if proven and (digest_of(found.before), digest_of(found.after)) != (proven["before"], proven["after"]):
            raise Refusal(
                f"{CONFIG_MAP_SOURCE} was changed by another client since this run read it, so its verification does not hold. Nothing was written. Run again."
            )
        return found

    def settle(self) -> None:
        """What is there needs nothing."""

    def rehearse(self) -> Verdict:
        """In check mode the API server judges the write without keeping it."""
        if not self._dry:
            return Verdict(NOT_NEEDED, "the API server validates the write when it is made")
        return self._judge(self._declined, each="both ConfigMaps")

    def _declined(self) -> list[str]:
        try:
            self._note(self._planned.record, dry_run=True)
            self._write(dry_run=True)
        except ApiError as exc:
            return [str(exc)]
        return []

    def apply(self) -> None:
        """Write both. What stood there before is noted first: nothing that is written is without an owner, whatever ends this run."""

        def attempt() -> bool:
            if not self._planned.operations:
                return True
            self._note(self._planned.record.or_former(self._persisted, self._planned.before), dry_run=False)
            self._write(dry_run=False)
            self._note(self._planned.record, dry_run=False)
            return True

        def replan(_refusal: ApiError) -> None:
            self.read()
            self.plan()

        others = f"{CONFIG_MAP_SOURCE}: another client changed it"
        retry_on_conflict(attempt, replan, others=others, statuses=(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))

    def report(self) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        plan = self._plan
        return {
            "operations": [dataclasses.asdict(operation) for operation in plan.operations] if plan else [],
            "left_out": {str(place): reason for place, reason in plan.left_out.items()} if plan else {},
            "diff": [difference(IN_CONFIG_MAP, plan.before, plan.after)]
            if plan and self._diff and plan.before != plan.after
            else [],
        }

    # ---- writing -----------------------------------------------------------------------------------------------------

    @property
    def _planned(self) -> ConfigPlan:
        return t.cast(ConfigPlan, self._plan)

    @property
    def _persisted(self) -> Persisted:
        """What our ConfigMap says, as it was read or last written."""
        return Persisted.parse(((self._record or {}).get("data") or {}).get(KEY))

    def _note(self, record: Persisted, *, dry_run: bool) -> None:
        """Have our ConfigMap say what it shall; without anything of ours it goes."""
        data = {KEY: record.dump()}
        if not record.entries:
            if self._record is not None:
                self._api.delete(_RECORD, dry_run=dry_run)
                self._record = self._record if dry_run else None
        elif self._record is None:
            metadata = {"name": NAME, "namespace": "kube-system"}
            made = self._api.create(
                _CONFIG_MAPS,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data},
                dry_run=dry_run,
            )
            self._record = None if dry_run else made
        elif self._record.get("data") != data:
            made = self._api.replace(_RECORD, {**self._record, "data": data}, dry_run=dry_run)
            self._record = self._record if dry_run else made

    def _write(self, *, dry_run: bool) -> None:
        if self._planned.after == self._planned.before:
            return
        data = {**self._config["data"], KIND: self._planned.after}
        self._api.replace(CONFIG_MAP, {**self._config, "data": data}, dry_run=dry_run)
