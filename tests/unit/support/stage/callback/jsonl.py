# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows each result as one line of JSON, as callbacks do whose output programs read."""

from __future__ import annotations

import json
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: jsonl
type: stdout
short_description: Shows results as lines of JSON
description: Shows each result of a task as one line of JSON.
author: nodecraft.kubeadm contributors (@nodecraft)
options: {}
"""


class CallbackModule(CallbackBase):
    """Shows results only, nothing else."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "jsonl"

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """One line."""
        self._display.display(json.dumps(dict(result._result), default=str))
