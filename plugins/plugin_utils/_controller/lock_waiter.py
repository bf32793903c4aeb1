# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action plugin of modules with C(lock_timeout): calls the module of its task until nothing else is at work on the node.

A call waits on the node for a slice of the time, so that the end of what is waited for is seen within a second, a lost connection within
a slice, and what is waited for is displayed meanwhile. A call that waited plans nothing and changes nothing.
"""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.module_utils.common.validation import check_type_int
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ...module_utils._plan.transaction import messages

display = Display()

# So long a call waits on its node at most when its controller or connection is lost.
_SLICE_SECONDS = 15
# After the first one what is waited for is displayed.
_FIRST_SLICE_SECONDS = 1
# Between two calls: one that lost a race at its end comes back at once.
_PAUSE_SECONDS = 1


def show_progress(message: str, seconds: float) -> None:
    """Display what a task waits for. seconds: how long it has so far."""
    # Standard output belongs to the callbacks, and some of them print JSON there.
    display.display(f"{message}, {seconds:.0f} s", stderr=True)


class LockWaiter(ActionBase):
    """Runs the module of the task, again while the node is busy and C(lock_timeout) is not over."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module when nothing else is at work, or see it fail as busy."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        result.update(self._run_when_free(task_vars or {}))
        result.pop("invocation", None)  # empty, because it would hold environment variables and file contents
        return result

    def cleanup(self, force: bool = False) -> None:
        """Remove what was put on the node, where it can be reached: Ansible takes the loss of a connection here for the end of the task, and forgets
        what its run returned. ansible-core 2.18 does not even call the host unreachable, and drops the results of a loop."""
        try:
            super().cleanup(force)
        except AnsibleConnectionFailure as exc:
            display.vvv(f"cleanup: {exc}")

    def _run_attempt(self, arguments: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """One call of the module."""
        result: dict[str, t.Any] = self._execute_module(module_args=arguments, task_vars=task_vars)
        return result

    def _run_when_free(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        arguments, timeout = dict(self._task.args), self._lock_timeout()
        if timeout <= 0:
            return self._run_attempt(arguments, task_vars)
        started_at, last_reason, slice_seconds = time.monotonic(), "", _FIRST_SLICE_SECONDS
        while True:
            remaining = max(0, round(started_at + timeout - time.monotonic()))
            result = self._run_attempt({**arguments, "lock_timeout": min(remaining, slice_seconds)}, task_vars)
            if not result.get("busy"):
                return result
            reason = str(result.get("msg", ""))
            if not remaining:
                return {**result, "msg": messages.lock_timeout_message(reason, timeout)}
            if reason != last_reason:
                show_progress(
                    f"{task_vars.get('inventory_hostname')}: waits up to {timeout} s: {reason.rstrip('.')}",
                    time.monotonic() - started_at,
                )
                last_reason = reason
            time.sleep(_PAUSE_SECONDS)
            slice_seconds = _SLICE_SECONDS

    def _lock_timeout(self) -> int:
        """How long the task waits. The module reports an invalid option."""
        try:
            return int(check_type_int(self._task.args.get("lock_timeout") or 0))
        except TypeError:
            return 0
