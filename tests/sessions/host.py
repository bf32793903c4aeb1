# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that this machine needs, in one place: what a user installs, and what is installed for him.

``host.py ENTRY`` prepares the machine for a target of the Makefile. Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import typing as t

# The programs that the README names, which nothing here installs, and the Debian package that brings each.
README = {"git": "git", "go": "golang-go"}
# The programs that the lab starts.
LAB = {
    # Without the keys debootstrap does not check what it downloads; Debian itself has them.
    "debootstrap": "debootstrap debian-archive-keyring",
    "dpkg-deb": "dpkg",
    "flock": "util-linux",
    "ip": "iproute2",
    "iptables": "iptables",
    "modprobe": "kmod",
    "netavark": "netavark",
    "nft": "nftables",  # the netavark of Debian 13 calls it
    "podman": "podman",
    "runc": "runc",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sysctl": "procps",
    "tar": "tar",
}
# The programs that make a machine for make test-bare and connect it.
BARE = {
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "unshare": "util-linux",
}
# The programs that make an execution environment, and those that its containers need.
EE = {name: LAB[name] for name in ("debootstrap", "iptables", "netavark", "podman", "runc", "tar")}
# The programs that tests start.
TESTS = {
    "mount": "mount",
    "openssl": "openssl",
    "ssh": "openssh-client",
    "strace": "strace",
    "unshare": "util-linux",
}
# Not everybody's PATH has these directories, and podman has its helpers in directories of its own.
# Go's own distribution is in one that sudo takes off the PATH.
DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/go/bin", "/usr/lib/podman", "/usr/libexec/podman")
# Debian 12 has 4.3; older releases know neither netavark nor the options that the lab needs.
OLDEST_PODMAN = (4, 3)


class Problem(Exception):
    """Why an entry cannot start, and what to do: one sentence."""


@dataclasses.dataclass(frozen=True)
class Need:
    """What an entry needs of the machine. lab: whether it compiles Kubernetes and starts nodes. root: whether it needs root anyway."""

    programs: t.Mapping[str, str]
    lab: bool = False
    root: bool = False


_CODE = Need({})
_CLUSTER = Need(LAB, lab=True)
NEEDS = {
    "demo": _CLUSTER,
    "test": Need({**LAB, **TESTS}, lab=True),
    "test-first": Need(TESTS),
    "test-unit": Need(TESTS),
    "test-sanity": _CODE,
    "test-lint": _CODE,
    "test-lab": _CLUSTER,
    "test-docs": _CLUSTER,
    "test-faults": Need({**LAB, **TESTS}, lab=True),
    "test-bare": Need(BARE, root=True),
    "lab-up": _CLUSTER,
    "bench": _CLUSTER,
    "ee": Need(EE, root=True),
    "release": _CODE,
}
# The parts of the bench, as BENCH_ONLY names them, that are measured without a cluster.
BENCH_WITHOUT_LAB = frozenset({"rollout"})


@dataclasses.dataclass(frozen=True)
class Machine:
    """What is used of the machine, so that tests can replace it."""

    find: t.Callable[[str], str | None]
    run: t.Callable[..., subprocess.CompletedProcess[str]]
    is_root: bool
    has_venv: bool

    @classmethod
    def this(cls) -> Machine:
        """The one that this runs on."""
        # Debian has a package of its own for what makes a venv.
        return cls(find, subprocess.run, os.geteuid() == 0, importlib.util.find_spec("ensurepip") is not None)


def find(program: str) -> str | None:
    """The path of a program; None when the machine does not have it."""
    return shutil.which(program, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *DIRECTORIES)))


def need_of(entry: str) -> Need:
    """What an entry needs, in the environment of this run."""
    parts = set(os.environ.get("BENCH_ONLY", "").split()) if entry == "bench" else set()
    return _CODE if parts and parts <= BENCH_WITHOUT_LAB else NEEDS[entry]


def prepare(entry: str, machine: Machine, echo: t.Callable[[str], None], output: t.TextIO | None = None) -> None:
    """Install what the entry needs and the machine lacks, after printing so. output: where apt-get writes.

    Raises Problem when that is not possible.
    """
    need = need_of(entry)
    required = README if need.lab else {"git": README["git"]}
    for program, package in required.items():
        if machine.find(program) is None:
            raise Problem(f"{program} is missing: install it first, on Debian and Ubuntu by apt-get install {package}.")
    check_root(entry, is_root=machine.is_root)
    missing = {program: package for program, package in need.programs.items() if machine.find(program) is None}
    if not machine.has_venv:
        missing["venv"] = f"python3.{sys.version_info[1]}-venv"
    if missing:
        install(missing, machine, echo, output)
        still = [program for program in missing if program != "venv" and machine.find(program) is None]
        if still:
            raise Problem(
                f"{', '.join(still)} is still missing after {' '.join(missing[one] for one in still)} was installed."
            )
    if "podman" in need.programs:
        check_podman(machine)


def check_root(entry: str, *, is_root: bool) -> None:
    """Refuse an entry that needs root to another user."""
    need = need_of(entry)
    if (need.lab or need.root) and not is_root:
        raise Problem(
            "this needs root: nodes are privileged containers, and bare machines and execution environments begin with debootstrap. Run the same"
            " command as root."
        )


def install(
    missing: t.Mapping[str, str], machine: Machine, echo: t.Callable[[str], None], output: t.TextIO | None
) -> None:
    """Install Debian packages. missing: program -> package."""
    programs, packages = ", ".join(missing), " ".join(sorted(set(" ".join(missing.values()).split())))
    if machine.find("apt-get") is None:
        raise Problem(
            f"this machine lacks {programs}, and has no apt-get. Install what Debian has in the packages {packages}."
        )
    if not machine.is_root:
        raise Problem(
            f"this machine lacks {programs}. Install the packages {packages}, or run the same command as root, which does."
        )
    echo(f"This machine lacks {programs}. Installing with apt-get (usually 30 s): {packages}")
    apt_get = ("apt-get", "--quiet", "--yes", "--option=DPkg::Lock::Timeout=300")
    for action in (("update",), ("install", "--no-install-recommends", *packages.split())):
        done = machine.run(
            (*apt_get, *action),
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output and subprocess.STDOUT,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
        )
        # A repository that does not respond is no reason to stop as long as another one has the packages.
        if done.returncode != 0 and action[0] == "install":
            raise Problem(f"apt-get {action[0]} failed for {packages}.")


def check_podman(machine: Machine) -> None:
    """Refuse a podman that is older than the lab's options."""
    version_text = machine.run(("podman", "--version"), check=False, capture_output=True, text=True).stdout
    found = re.search(r"(\d+)\.(\d+)", version_text or "")
    if found is None or tuple(map(int, found.groups())) < OLDEST_PODMAN:
        oldest = ".".join(map(str, OLDEST_PODMAN))
        raise Problem(
            f"invalid podman ({(version_text or 'no answer').strip()}): must be {oldest} or newer, which Debian 12 and Ubuntu 24.04 have."
        )


def main() -> None:
    """Prepare this machine for one entry."""
    (entry,) = sys.argv[1:]
    try:
        prepare(entry, Machine.this(), print)
    except Problem as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
