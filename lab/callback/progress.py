# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab's playbooks print: a line for each task that takes long, and one sentence for one that fails.

All results go to the file build/log/lab-NAME.jsonl.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import typing as t
from pathlib import Path

from ansible.plugins.callback import CallbackBase
from ansible_collections.nodecraft.kubeadm.lab.programs import USUAL_SECONDS, Release
from ansible_collections.nodecraft.kubeadm.lab.results import content_of
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting, minutes_left
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

DOCUMENTATION = """
name: progress
type: stdout
short_description: Lines for tasks that take long
description:
  - Prints a line for each task that takes longer than five seconds, and one sentence for each that fails.
  - Writes all results to a log, one JSON object in a line.
"""

LOG = Path(__file__).resolve().parents[2] / "build" / "log"
FIRST_PLAY = "Prepare the host and what the nodes are made of"  # of up.yml
# What a lab whose programs are there usually takes on two idle cores, and what the program that makes it has to do afterwards, in seconds.
LAB_SECONDS = 60
AFTERWARDS = float(os.environ.get("SECONDS_AFTER_LAB", "0"))


def failure_reason(result: t.Mapping[str, t.Any]) -> str:
    """Why a task failed, in one line: its message, and the last line that its command wrote."""
    message = " ".join(str(result.get("msg", "failed")).split())
    written = str(result.get("stderr") or result.get("stdout") or "").strip().splitlines()
    return f"{message}: {written[-1].strip()}" if written else message


class CallbackModule(CallbackBase):
    """The callback that Ansible loads."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "progress"

    def __init__(self) -> None:
        super().__init__()
        self._log: Path | None = None
        self._release: Release | None = None
        self._compiled = time.monotonic()  # when its programs were, if they were not from the start
        self._watch = contextlib.ExitStack()
        self._waiting = self._watch.enter_context(Waiting("Ansible starts", state=self._state, left=self._time_left))

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Learn the name of the lab, and begin its log, which no other user has to read: it may hold what a command printed."""
        if self._log is not None:
            return
        variables = play.get_variable_manager().extra_vars
        LOG.mkdir(parents=True, exist_ok=True)
        self._log = LOG / f"lab-{variables.get('lab_name', 'lab')}.jsonl"
        self._log.unlink(missing_ok=True)
        self._log.touch(mode=0o600)
        if play.get_name() == FIRST_PLAY:
            with contextlib.suppress(SystemExit):  # The play itself fails for an unknown release.
                self._release = Release.by_name(str(variables.get("lab_kubernetes", "1.37")))

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Watch how long it takes."""
        self._waiting.turn_to(str(task.get_name()))

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Print the messages of the play itself."""
        self._log_result("ok", result)
        if result._task.action == "ansible.builtin.debug":
            messages = content_of(result).get("msg", "")
            for message in messages if isinstance(messages, list) else [messages]:
                echo(str(message))

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Print why, unless each item of a loop did."""
        self._log_result("failed", result)
        if not ignore_errors and "results" not in content_of(result):
            self._print_failure(result)

    def v2_runner_item_on_failed(self, result: t.Any) -> None:
        """Print why."""
        self._log_result("failed", result)
        self._print_failure(result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Print why."""
        self._log_result("unreachable", result)
        self._print_failure(result)

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """The end."""
        self._watch.close()

    def _print_failure(self, result: t.Any) -> None:
        echo(f"{result._task.get_name()}: {failure_reason(content_of(result))}")

    def _log_result(self, how: str, result: t.Any) -> None:
        record = {"task": result._task.get_name(), "host": result._host.get_name(), how: content_of(result)}
        if self._log is not None:
            with self._log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(record, default=str) + "\n")

    def _state(self) -> str:
        """How far the compilation of the programs is; empty while there is none."""
        progress = self._release and self._release.progress
        return str(progress) if progress else ""

    def _time_left(self) -> str:
        """How long it takes until the lab stands, and what comes afterwards is done; empty for other playbooks."""
        if self._release is None:
            return ""
        now, programs = time.monotonic(), 0.0
        if not self._release.directory.exists():
            progress = self._release.progress
            self._compiled, programs = now, progress.seconds_left if progress else USUAL_SECONDS
        return minutes_left(programs + max(self._compiled + LAB_SECONDS - now, 0) + AFTERWARDS)
