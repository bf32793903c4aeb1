# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugin of the module C(rollout_lease): shows whom a run waits for, before it does."""

from __future__ import annotations

import typing as t

from ...module_utils._plan.transaction import lease
from . import lease_holder
from .api_credentials import ApiCredentials
from .lock_waiter import show

Json = dict[str, t.Any]


class LeaseWaiter(ApiCredentials):
    """Asks for the Lease without waiting, and once more when another run holds it: a module says nothing before its end."""

    def _answer(self, arguments: Json, task_vars: Json) -> Json:
        if self._task.async_val:  # what comes back is no answer yet, and nothing is shown
            return super()._answer(arguments, task_vars)
        answer = super()._answer({**arguments, "wait_timeout": 0}, task_vars)
        if answer.get("busy") and lease_holder.is_gone(answer["holder"]):
            arguments = {**arguments, "gone": answer["holder"]}
            answer = super()._answer({**arguments, "wait_timeout": 0}, task_vars)
        timeout = arguments.get("wait_timeout", lease.WAIT_TIMEOUT)
        if not answer.get("busy") or str(timeout) == "0":
            return answer
        host, name = task_vars.get("inventory_hostname"), arguments.get("name", lease.LEASE_NAME)
        show(f"{host}: waits up to {timeout} s for {answer['holder']}, which holds the Lease {name}", 0)
        return super()._answer(arguments, task_vars)
