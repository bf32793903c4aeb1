# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugins of modules whose changes this controller may have to confirm: checks first whether it could."""

from __future__ import annotations

import dataclasses
import http.client
import os
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._engine import tls
from ...module_utils._engine.engine_errors import CredentialError
from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import join_failures
from ...module_utils._plan.transaction import confirmation
from .lock_waiter import LockWaiter

# An address that is silent must leave time for more attempts: confirm_timeout is 60 s by default.
_REACH_SECONDS = 5


@dataclasses.dataclass(frozen=True)
class ConfirmOptions:
    """Options of a task, not yet validated."""

    confirm: t.Any = None
    confirm_url: t.Any = None
    confirm_ca_cert: t.Any = None


class Confirmer(LockWaiter):
    """Runs the module of the task; where this controller could not confirm a change, no change is started."""

    def _run_attempt(self, arguments: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """One call of the module. Where this controller could not confirm a change, it only plans and rehearses, to see whether
        there is anything to do."""
        problem = self.connection_problem() if self.confirms() else ""
        check_mode = self._task.check_mode
        self._task.check_mode = check_mode or bool(problem)
        try:
            result = super()._run_attempt(arguments, task_vars)
        finally:
            self._task.check_mode = check_mode
        if problem:
            self.fail_change(result, self._options().confirm_url, problem)
        return result

    def fail_change(self, result: dict[str, t.Any], url: str, problem: str) -> None:
        """Make a failure of a plan that would change something."""
        if (result.get("changed") or result.get("open_transaction")) and not result.get("failed"):
            refusal = confirmation.unreachable_message(result["name"], result["node"], url, problem)
            result.update(failed=True, changed=False, msg=refusal)

    def confirms(self) -> bool:
        """Whether this controller confirms the change. The module reports invalid options."""
        options = self._options()
        return confirmation.is_url(options.confirm_url) and boolean(options.confirm, strict=False)

    def _options(self) -> ConfirmOptions:
        return typed.parse(ConfirmOptions, self._task.args)

    def connection_problem(self) -> str:
        """Why this controller does not reach the API server; empty when it does."""
        options = self._options()
        authority = os.path.expanduser(str(options.confirm_ca_cert or ""))
        if authority and not os.path.isfile(authority):
            return f"confirm_ca_cert {authority} is not a file on this controller"
        try:
            with _https_opener(authority).open(options.confirm_url, timeout=_REACH_SECONDS) as response:
                return confirmation.status_problem(response.status)
        except CredentialError as exc:
            return f"confirm_ca_cert {authority}: {exc}"
        except urllib.error.HTTPError as exc:
            return confirmation.status_problem(exc.code)
        except (OSError, ValueError, http.client.HTTPException) as exc:
            return str(exc) or type(exc).__name__


def _https_opener(authority: str) -> urllib.request.OpenerDirector:
    """Sends requests as the environment of this controller says, by its proxy if it names one. authority: a file; empty to verify nothing.

    Not Ansible's C(open_url): on Python 3.11 and 3.12 it takes no authority that another one signed. Raises OSError and CredentialError.
    """
    context = tls.client_context(Path(authority).read_bytes() if authority else None, verify=bool(authority))
    return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))


class StaticPodPlanner(Confirmer):
    """Plans, waiting for others."""

    def fail_change(self, result: dict[str, t.Any], url: str, problem: str) -> None:
        """Make a failure of each plan that would change something, and so of the task."""
        plans = result.get("static_pods") or {}
        for plan in plans.values():
            super().fail_change(plan, url, problem)
        failures = {name: plan["msg"] for name, plan in plans.items() if plan["failed"]}
        if failures:
            result.update(
                failed=True,
                msg=join_failures(failures),
                busy=all(plan["busy"] for plan in plans.values() if plan["failed"]),
            )
