# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start a command, wait until it says a certain thing, and end it in a rude way.

Prints, as JSON, what it said until then and what another command, run just before the end, came to.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

LONGEST_END = 120  # seconds that the command may take to end once it was told to
# A worker of ansible-core that is interrupted while it hands over a line dies with the lock of the queue, and the main
# process then waits for that lock for ever (seen in one of five tries right at the line, in none of thirty a moment later).
LET_GO = 1.0


def descendants(pid: int) -> list[int]:
    """A process and all below it; Ansible's workers and its connections have sessions of their own."""
    children: dict[int, list[int]] = {}
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                parent = int((directory / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(directory.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def end(process: subprocess.Popen[str], how: str) -> None:
    """Ctrl-C reaches the foreground group, as from a terminal; KILL leaves nothing alive."""
    if how == "INT":
        os.killpg(process.pid, signal.SIGINT)
        return
    for pid in descendants(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def main() -> None:
    """Do it."""
    # A shell starts what it puts into the background deaf to Ctrl-C, and so is everything below it. A signal that is
    # handled here is back at its default in the command.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("--when", required=True, help="regular expression of the line to wait for")
    parser.add_argument("--how", required=True, choices=["INT", "KILL"])
    parser.add_argument(
        "--meanwhile", type=json.loads, default=[], help="a command, as a JSON list, to run just before the end"
    )
    parser.add_argument("command", nargs="+")
    wanted = parser.parse_args()
    said: list[str] = []
    with subprocess.Popen(
        wanted.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    ) as process:
        output = t.cast(t.TextIO, process.stdout)
        for line in output:
            said.append(line)
            if re.search(wanted.when, line):
                break
        else:
            sys.exit(f"it ended without saying {wanted.when}:\n{''.join(said)}")
        meanwhile = (
            subprocess.run(wanted.meanwhile, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if wanted.meanwhile
            else None
        )
        time.sleep(LET_GO)
        alive = process.poll() is None
        end(process, wanted.how)
        guard = threading.Timer(LONGEST_END, end, (process, "KILL"))
        guard.start()
        said.append(output.read())
        if not guard.is_alive():
            sys.exit(f"it did not end within {LONGEST_END} s of {wanted.how}:\n{''.join(said)}")
        guard.cancel()
    json.dump(
        {
            "said": "".join(said),
            "alive": alive,
            "rc": process.returncode,
            "meanwhile": {"rc": meanwhile.returncode, "said": meanwhile.stdout} if meanwhile else None,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
