# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugin of the module C(static_pod_plan): what could not be confirmed is refused before the first change of a rollout."""

from __future__ import annotations

import typing as t

from ...module_utils._plan.common.errors import several
from .confirmer import Confirmer


class StaticPodPlanner(Confirmer):
    """Plans, waiting for others."""

    def refuse(self, answer: dict[str, t.Any], url: str, problem: str) -> None:
        """Make a failure of each plan that would change something, and so of the task."""
        plans = answer.get("static_pods") or {}
        for plan in plans.values():
            super().refuse(plan, url, problem)
        failures = {name: plan["msg"] for name, plan in plans.items() if plan["failed"]}
        if failures:
            answer.update(
                failed=True, msg=several(failures), busy=all(plan["busy"] for plan in plans.values() if plan["failed"])
            )
