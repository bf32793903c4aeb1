# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records each task that begins on a host, whatever becomes of it: includes and what is skipped are processes too."""

from __future__ import annotations

import os
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: stage_starts
type: notification
short_description: Records each start of a task on a host
description: Appends a line to the file that the stage names in the environment.
author: nodecraft.kubeadm contributors (@nodecraft)
options: {}
"""


class CallbackModule(CallbackBase):
    """C(STUB_RUNS): the file."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "stage_starts"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_start(self, host: t.Any, task: t.Any) -> None:
        """One line."""
        with open(os.environ["STUB_RUNS"], "a", encoding="utf-8") as runs:
            runs.write(f"start {host.get_name()}\n")
