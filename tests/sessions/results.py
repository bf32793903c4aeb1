# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run of all checks came to, and how long it still takes while it runs."""

from __future__ import annotations

import atexit
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import typing as t
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .console import echo
from .places import BUILD, RESULTS, ROOT

if t.TYPE_CHECKING:
    import nox

# The seconds that each session took when it ran in this clone last, and on two idle cores.
DURATIONS = BUILD / "durations.json"
USUAL_DURATIONS = ROOT / "tests" / "sessions" / "durations.json"
BEHIND = 10  # how nice groups are that take what another leaves
EVERY = 60  # seconds between two lines about how long it still takes
STARTED = re.compile(r"nox > Running session (\S+)")
ENDED = re.compile(r"nox > Session (\S+) (?:was successful|failed|aborted|skipped)")

Group = t.Sequence[str]
Entry = t.Mapping[str, t.Any]


def run_counted(
    session: nox.Session,
    first: t.Sequence[Group],
    later: t.Sequence[Group],
    without: t.Sequence[str],
) -> None:
    """Run sessions and count what passed and failed. Groups run at once, the sessions of one after each other; the first group has the
    processors first, for it takes longest, and clusters count on responses in time.

    first: those that give the first verdict: when one fails, the later ones do not run, unless KEEP_GOING is 1.
    without: what does not run for lack of a Python.
    """
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    began = time.monotonic()
    with Watch([first, later], {**read_durations(USUAL_DURATIONS), **read_durations(DURATIONS)}) as watch:
        entries = run_groups(first, watch)
        failed = [entry["signatures"][0] for entry in entries if count_of(entry, RESULTS).failed]
        goes_on = bool(later) and (not failed or os.environ.get("KEEP_GOING") == "1")
        echo(f"First verdict after {format_minutes(time.monotonic() - began)}: {verdict(failed, goes_on=goes_on)}")
        if goes_on:
            entries += run_groups(later, watch)
    counted = [entry for entry in entries if entry["result"] != "skipped"]
    total = sum((count_of(entry, RESULTS) for entry in counted), Count(0, 0))
    took = {entry["signatures"][0]: round(entry["duration"], 1) for entry in counted}
    DURATIONS.write_text(json.dumps({**read_durations(DURATIONS), **took}, indent=2), encoding="utf-8")
    for name in sorted(took, key=took.__getitem__, reverse=True):
        echo(f"{took[name]:8.1f} s  {name}")
    for what in without:
        session.warn(f"Not run: {what}, no Python for it is here")
    # nox prints a last line of its own; the count comes after it.
    atexit.register(print, f"{total.passed} passed, {total.failed} failed", flush=True)
    if total.failed:
        session.error("not everything passed")


def verdict(failed: t.Sequence[str], *, goes_on: bool) -> str:
    """What the first sessions came to. failed: their names."""
    if not failed:
        return "lint, types and the unit tests of one Python passed."
    advice = "the others run all the same." if goes_on else "no other session runs. KEEP_GOING=1 make test runs all."
    return f"{', '.join(failed)} failed, and {advice}"


def format_minutes(seconds: float) -> str:
    """A time for a person."""
    return f"{seconds / 60:.1f} min"


def read_durations(path: Path) -> dict[str, float]:
    """What was measured before: the seconds of each session; nothing where that cannot be read."""
    try:
        return t.cast("dict[str, float]", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def run_groups(groups: t.Sequence[Group], watch: Watch) -> list[Entry]:
    """Run groups of sessions at once; returns nox's entry of each session."""
    with ThreadPoolExecutor(max(len(groups), 1)) as pool:
        runs = [pool.submit(run_group, group, watch, BEHIND if number else 0) for number, group in enumerate(groups)]
        return [entry for run in runs for entry in run.result()]


def run_group(names: Group, watch: Watch, niceness: int) -> list[Entry]:
    """Run sessions one after the other; returns nox's entry of each."""
    report = RESULTS / f"nox-{names[0]}.json"
    nox_command = ["nice", f"--adjustment={niceness}", sys.executable, "-m", "nox"]
    nox_command += [f"--noxfile={ROOT / 'noxfile.py'}", "--non-interactive"]
    command = [*nox_command, f"--report={report}", "--sessions", *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for block in session_blocks(t.cast("t.IO[str]", process.stdout), watch):
            echo(block)
    return t.cast("list[Entry]", json.loads(report.read_text(encoding="utf-8"))["sessions"])


def session_blocks(lines: t.Iterable[str], watch: Watch) -> t.Iterator[str]:
    """What nox prints, the lines of a session in one piece when it has ended: others print meanwhile."""
    block = ""
    for line in lines:
        block += line
        if started := STARTED.match(line):
            watch.begin(started[1])
        if ended := ENDED.match(line):
            watch.end(ended[1])
            yield block.rstrip("\n")
            block = ""
    if block:
        yield block.rstrip("\n")


class Watch:
    """Prints each minute how long it still takes. phases: groups of sessions, those of a phase at once; usual: seconds of a session."""

    def __init__(
        self,
        phases: t.Sequence[t.Sequence[Group]],
        usual: t.Mapping[str, float],
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._phases = phases
        self._usual = usual
        self._clock = clock
        self._started: dict[str, float] = {}
        self._ended: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._print, daemon=True)

    def begin(self, name: str) -> None:
        """A session begins."""
        self._started[name] = self._clock()

    def end(self, name: str) -> None:
        """A session has ended."""
        self._ended.add(name)

    @property
    def line(self) -> str:
        """What runs, and how long all of it still takes."""
        seconds = sum(max((sum(map(self._left, group)) for group in groups), default=0) for groups in self._phases)
        runs = ", ".join(name for name in self._started if name not in self._ended)
        names = {name for groups in self._phases for group in groups for name in group}
        unknown = len(names - set(self._usual) - self._ended)
        parts = [
            f"about {math.ceil(seconds / 60)} min left" if seconds or not unknown else "",
            f"{unknown} to go that did not run here before" if unknown else "",
            f"at work: {runs}",
        ]
        return "; ".join(filter(None, parts))

    def _left(self, name: str) -> float:
        if name in self._ended:
            return 0
        spent = self._clock() - self._started[name] if name in self._started else 0
        return max(self._usual.get(name, 0) - spent, 0)

    def _print(self) -> None:
        while not self._over.wait(EVERY):
            echo(self.line)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()


class Count(t.NamedTuple):
    """How many checks passed and failed."""

    passed: int
    failed: int

    def __add__(self, other: t.Any) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed)


def own_count(session_name: str, directory: Path) -> Count:
    """The checks that a session counted itself in a directory: tests of pytest, scenarios of Molecule."""
    junit = directory / f"{session_name}.xml"
    if junit.exists():
        suite = next(ET.parse(junit).iter("testsuite"))
        total, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        return Count(total - failures - errors - skipped, failures + errors)
    outcome = directory / f"{session_name}.json"
    if outcome.exists():
        passed = list(json.loads(outcome.read_text(encoding="utf-8")).values())
        return Count(passed.count(True), passed.count(False))
    return Count(0, 0)


def count_of(session: t.Mapping[str, t.Any], directory: Path) -> Count:
    """The checks of one session; a session that counts nothing itself is one check."""
    # The first signature is what the session itself is called, with its Python and parameters.
    own = own_count(session["signatures"][0], directory)
    succeeded = session["result"] == "success"
    if succeeded:
        return own if sum(own) else Count(1, 0)
    # A session that broke outside its own tests must not look better than they do.
    return own if own.failed else own + Count(0, 1)
