# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of the lab's playbooks: a line for each task that takes long, and one sentence for one that fails.

All results go to the file build/log/lab-NAME.jsonl, and a build notes in build/log/lab-NAME.progress how far it is.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import typing as t
from pathlib import Path

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: progress
type: stdout
short_description: Lines for tasks that take long
description:
  - Prints a line for each task that takes longer than five seconds, and one sentence for each that fails.
  - Writes all results to a log, one JSON object in a line.
"""

LOG = Path(__file__).resolve().parents[2] / "build" / "log"
PATIENCE = 5.0  # seconds that a task may take in silence
PERIOD = 15.0  # seconds between two lines of the same task


class Waiting:
    """Tells, from a thread of its own, what is waited for and for how long."""

    def __init__(
        self,
        say: t.Callable[[str], None],
        state: t.Callable[[], str],
        *,
        clock: t.Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
        period: float = PERIOD,
    ) -> None:
        self._say, self._state, self._clock = say, state, clock
        self._patience, self._period = patience, period
        self._ended = threading.Event()

    def begin(self, what: str) -> None:
        """Another thing is waited for."""
        self.end()
        self._ended = threading.Event()
        threading.Thread(target=self._tell, args=(what, self._ended, self._clock()), daemon=True).start()

    def end(self) -> None:
        """Nothing is waited for."""
        self._ended.set()

    def _tell(self, what: str, ended: threading.Event, began: float) -> None:
        if ended.wait(self._patience):
            return
        self._say(what)
        while not ended.wait(self._period):
            self._say(line(self._clock() - began, self._state()))


def line(seconds: float, state: str) -> str:
    """How far a task is."""
    return f"   {seconds:.0f} s{', ' if state else ''}{state}"


def reason(result: t.Mapping[str, t.Any]) -> str:
    """Why a task failed, in one line: its message, and the last line that its command wrote."""
    message = " ".join(str(result.get("msg", "failed")).split())
    written = str(result.get("stderr") or result.get("stdout") or "").strip().splitlines()
    return f"{message}: {written[-1].strip()}" if written else message


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types of its own
    """The callback that Ansible loads."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "progress"

    def __init__(self) -> None:
        super().__init__()
        self._files = LOG / "lab"
        self._waiting = Waiting(say, self._state)

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Learn the name of the lab."""
        LOG.mkdir(parents=True, exist_ok=True)
        self._files = LOG / f"lab-{play.get_variable_manager().extra_vars.get('lab_name', 'lab')}"

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Watch how long it takes."""
        self._waiting.begin(str(task.get_name()))

    v2_playbook_on_handler_task_start = v2_playbook_on_task_start

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Show what the play itself says."""
        self._note("ok", result)
        if result._task.action == "ansible.builtin.debug":
            said = result._result.get("msg", "")
            for text in said if isinstance(said, list) else [said]:
                say(str(text))

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Say why, unless each item of a loop did."""
        self._note("failed", result)
        if not ignore_errors and "results" not in result._result:
            self._say_failed(result)

    def v2_runner_item_on_failed(self, result: t.Any) -> None:
        """Say why."""
        self._note("failed", result)
        self._say_failed(result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Say why."""
        self._note("unreachable", result)
        self._say_failed(result)

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """The end."""
        self._waiting.end()

    def _say_failed(self, result: t.Any) -> None:
        self._waiting.end()
        say(f"{result._task.get_name()}: {reason(result._result)}")

    def _note(self, how: str, result: t.Any) -> None:
        record = {"task": result._task.get_name(), "host": result._host.get_name(), how: result._result}
        with self._files.with_suffix(".jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(record, default=str) + "\n")

    def _state(self) -> str:
        """What a build noted last; see lab/files/compile-go."""
        try:
            return self._files.with_suffix(".progress").read_text(encoding="utf-8").strip()
        except OSError:
            return ""


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
