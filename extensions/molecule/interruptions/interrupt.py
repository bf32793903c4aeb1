# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start a command, wait for a line of its output, and interrupt or kill it.

Prints, as JSON, its output until then and the result of another command, run just before the end.
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

END_TIMEOUT = 120  # seconds that the command may take to end after the signal
# A worker of ansible-core that is interrupted while it hands over a line dies with the lock of the queue, and the main
# process then waits for that lock for ever (seen in one of five tries right at the line, in none of thirty a moment later).
PAUSE = 1.0


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


def end_process(process: subprocess.Popen[str], how: str) -> None:
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
    args = parser.parse_args()
    lines: list[str] = []
    with subprocess.Popen(
        args.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    ) as process:
        output = t.cast(t.TextIO, process.stdout)
        for line in output:
            lines.append(line)
            if re.search(args.when, line):
                break
        else:
            sys.exit(f"it ended without saying {args.when}:\n{''.join(lines)}")
        meanwhile = (
            subprocess.run(args.meanwhile, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if args.meanwhile
            else None
        )
        time.sleep(PAUSE)
        alive = process.poll() is None
        end_process(process, args.how)
        guard = threading.Timer(END_TIMEOUT, end_process, (process, "KILL"))
        guard.start()
        lines.append(output.read())
        if not guard.is_alive():
            sys.exit(f"it did not end within {END_TIMEOUT} s of {args.how}:\n{''.join(lines)}")
        guard.cancel()
    json.dump(
        {
            "output": "".join(lines),
            "alive": alive,
            "rc": process.returncode,
            "meanwhile": {"rc": meanwhile.returncode, "output": meanwhile.stdout} if meanwhile else None,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
