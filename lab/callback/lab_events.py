# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells the program that started Ansible what happens, while it happens: standard output has its report at the end only."""

from __future__ import annotations

import json
import typing as t

from ansible.plugins.callback import CallbackBase
from ansible_collections.nodecraft.kubeadm.lab.results import content_of

DOCUMENTATION = """
name: lab_events
type: notification
short_description: Write events as lines of JSON to standard error
description:
  - Each begins with the character "record separator" (U+001E). See lab/processes.py for who reads them.
"""

MARK = "\x1e"


class CallbackModule(CallbackBase):
    """The start of each task, each transaction on a node, items of loops included, and each failure."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "lab_events"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """A task begins."""
        self._write_event(event="task", name=task.get_name().strip())

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """A host ended a task."""
        self._write_transaction(result)

    def v2_runner_item_on_ok(self, result: t.Any) -> None:
        """A host ended an item of a loop."""
        self._write_transaction(result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """A host failed."""
        if not ignore_errors:
            self._write_failure(result)

    def v2_runner_item_on_failed(self, result: t.Any) -> None:
        """A host failed at an item of a loop."""
        self._write_failure(result)

    def _write_transaction(self, result: t.Any) -> None:
        content, action = content_of(result), result._task.action.rpartition(".")[2]
        if action in ("static_pod", "kubelet") and content.get("transaction"):
            self._write_event(event="transaction", action=action, result=content)

    def _write_failure(self, result: t.Any) -> None:
        self._write_event(event="failure", host=result._host.get_name(), message=str(content_of(result).get("msg", "")))

    def _write_event(self, **event: t.Any) -> None:
        self._display.display(MARK + json.dumps(event, default=str), stderr=True)
