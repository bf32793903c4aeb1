# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A clone of the project on a machine where programs are out of reach, for the first seconds of each target.

Where programs are missing, a mount namespace of its own has this machine's /usr without them, as an overlay. apt-get is a stand-in there:
what it is to install, it brings back. That the real one does is shown by ``make test-bare``. No container may be started in such a
namespace: podman elsewhere would not see its mounts.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import signal
import subprocess
import threading
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What Debian's smallest installation does not have of what the entries start.
MISSING = (
    "debootstrap",
    "ip",
    "iptables",
    "modprobe",
    "netavark",
    "podman",
    "runc",
    "ssh",
    "ssh-keygen",
    "strace",
    "sysctl",
)
# Variables of this run itself, such as the outer make.
OF_THIS_RUN = (
    "ANSIBLE",
    "CONTROL_PLANES",
    "K8S",
    "LAB",
    "MAKE",
    "MFLAGS",
    "NOX",
    "PYENV",
    "VIRTUAL_ENV",
    "WORKERS",
    "XDG",
)
DIRECTORIES = ("bin", "sbin", "local/bin", "local/sbin", "local/go/bin", "lib/podman", "libexec/podman")
# Whatever an entry leaves at work ends with it: the first of them begins to compile a cluster's programs.
ALONE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
LONGEST = 120  # seconds that an entry may take to what is waited for

APT_GET = """#!/bin/sh
echo "$*" >> {calls}
case "$*" in *install*) {install} ;; esac
"""
NO_NETWORK = "echo \"E: Failed to fetch a package  Temporary failure resolving 'mirror.example'\" >&2; exit 100"


@dataclasses.dataclass(frozen=True)
class Result:
    """How an entry ended."""

    status: int
    output: str

    @property
    def last(self) -> str:
        """Its last line; make prints one of its own after that."""
        return [line for line in self.output.splitlines() if not line.startswith("make:")][-1]


class Bare:
    """The machine. directory: for its files; clone: the project there."""

    def __init__(
        self,
        directory: Path,
        clone: Path,
        *,
        missing: t.Iterable[str] = MISSING,
        venv: bool = True,
        apt: str | None = None,
        path_without_go: bool = False,
    ) -> None:
        self.directory, self.clone = directory, clone
        self.missing = tuple(missing)
        self.calls = directory / "apt-get.calls"
        self.programs: dict[str, str] = {}
        home = Path("~/.cache").expanduser()
        self.environment = {"UV_CACHE_DIR": str(home / "uv"), "PIP_CACHE_DIR": str(home / "pip")}
        self._venv, self._apt, self._path_without_go = venv, apt, path_without_go

    def run(self, command: str, *, until: str | None = None, wrapper: t.Sequence[str] = (), before: str = "") -> Result:
        """Run a command of a shell in the clone. until: a text upon which it is interrupted, as by Ctrl-C. before: a command
        of root's, in the same mount namespace."""
        setup = (
            f"mount --make-rprivate /\n{self._setup()}\n{before}"
            if self.missing or self.programs or not self._venv or before
            else ""
        )
        # Make is not the first process of its namespace, which no signal ends that it does not catch: on Ctrl-C make sends itself the signal
        # once more, and ran on without end in one of three tries.
        script = f"{setup}\ncd {shlex.quote(str(self.clone))}\n{shlex.join(wrapper)} {command}\nexit 0"
        process = subprocess.Popen(
            # Ctrl-C has to reach it, also where the tests themselves were started to take no notice of that.
            ["env", "--default-signal=INT", *ALONE, *(("--mount",) if setup else ()), "sh", "-euc", script],
            env=self._variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        output = ""
        assert process.stdout is not None
        timer = threading.Timer(LONGEST, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            for line in process.stdout:
                output += line
                if until is not None and until in line:
                    os.killpg(process.pid, signal.SIGINT)
                    until = None
            status = process.wait()
        finally:
            timer.cancel()
        return Result(status, output)

    def _variables(self) -> dict[str, str]:
        """This user's settings for registries, and a plain PATH: no Python or Go but the machine's own."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(OF_THIS_RUN)}
        go = shutil.which("go")
        path = [str(Path(go).parent)] if go and not self._path_without_go else []
        return {
            **own,
            "PATH": os.pathsep.join([*path, "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]),
            **self.environment,
        }

    def _setup(self) -> str:
        """Shell commands that take programs away and put stand-ins in."""
        upper, work, lower = (self.directory / name for name in ("upper", "work", "usr"))
        lines = [
            f"rm -rf {upper} {work}; mkdir -p {upper} {work} {lower}",
            f"mount --bind /usr {lower}",
            f"mount -t overlay overlay -o lowerdir={lower},upperdir={upper},workdir={work} /usr",
        ]
        gone = [f"{directory}/{name}" for name in self.missing for directory in DIRECTORIES]
        if not self._venv:
            gone += [str(path.relative_to("/usr")) for path in Path("/usr/lib").glob("python3.*/ensurepip")]
        lines += [f"rm -rf /usr/{path}" for path in gone]
        restore = "; ".join(f"cp -a {lower}/{path} /usr/{path} 2>/dev/null || :" for path in gone)
        for name, text in {
            "apt-get": APT_GET.format(calls=self.calls, install=self._apt or restore),
            **self.programs,
        }.items():
            lines.append(
                f"printf %s {shlex.quote(text)} > /usr/bin/{name}.new; chmod 755 /usr/bin/{name}.new; mv /usr/bin/{name}.new /usr/bin/{name}"
            )
        return "\n".join(lines)
