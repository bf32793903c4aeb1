# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(rollout_lease): answers as the host's variable C(stub_lease) says, and notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

FAILURES: dict[str, dict[str, t.Any]] = {
    "silent": {"msg": "the API server did not answer for 60 s.", "answered": False},
    "stranger": {"msg": "there are no usable credentials.", "answered": None},
    "refused": {"msg": "a roll-out of the same wish failed on cp1.", "answered": True},
}


class ActionModule(ActionBase):
    """C(stub_lease): state -> well (the default), stale, overtaken, silent, stranger, refused or gone.

    What is C(renewed) is a second C(held) of the same run.
    """

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        arguments = self._templar.template(self._task.args)
        state = "renewed" if arguments["state"] == "held" and arguments["wait_timeout"] == 0 else arguments["state"]
        call = {
            "step": "look" if self._task.check_mode else state,
            "host": variables["inventory_hostname"],
            "component": "lease",
            "arguments": arguments,
            "becomes": self._connection.become is not None,
            "asks": self._task.delegate_to,
        }
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            log.write(json.dumps(call) + "\n")
        behaviour = self._templar.template(variables.get("stub_lease", {})).get(state, "well")
        if behaviour == "gone":
            raise AnsibleConnectionFailure("gone")
        result = {
            "changed": True,
            "answered": True,
            "holder": arguments["holder"] if state in ("held", "renewed") and not self._task.check_mode else None,
            "taken_over_from": "them" if behaviour == "overtaken" else None,
            "stale": behaviour in ("stale", "overtaken"),
            "waited_seconds": 0.0,
        }
        if behaviour in FAILURES:
            return {**result, "holder": None, "failed": True, "changed": False, **FAILURES[behaviour]}
        return result
