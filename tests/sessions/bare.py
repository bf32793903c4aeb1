# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the commands of the README on machines that have only the packages the README names.

``python -m tests.sessions.bare [--suite NAME]... [--cold] [--entries NAME...]``

A machine is a root directory made by debootstrap, entered in namespaces of its own. It shares the kernel and the cgroups of
this machine, so labs of real clusters run in it. Its network is its own, too: podman gives bridges and subnets away before
they are up, so two podmans in one network can take the same. It reaches registries through this machine.

Every command starts from a clean clone of the current commit. Changes that are not committed are refused, for the result
would be about other files.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from . import host
from .bare_rules import (
    ENTRIES,
    SITE_GO,
    Wire,
    apt_options,
    automatic_packages,
    faults_of,
    installed_packages,
    left_behind,
    machines_for,
    mirror_of,
    os_release,
    pip_variables,
    root_name,
    site_variables,
    wire_of,
)
from .places import BUILD, RESULTS, ROOT, fresh_directory

WORK = BUILD / "bare"
LOGS = RESULTS / "bare"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
LAB_CACHE = CACHE / "nodecraft-kubeadm"

SUITES = ("bookworm", "trixie")
# What the README names. git recommends the certificates, and without them no registry is reached; minbase leaves out what
# else it recommends.
PACKAGES = ("ca-certificates", "git", "golang-go", "make", "python3")
CLONE = "/root/kubeadm"
HOME = "/root"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


# What this site needs to reach registries at all: its name servers, proxies, mirrors and certificate authorities. A user's
# machine has such settings of its own, or needs none. Nothing else of this machine is handed over: GOTOOLCHAIN, GOFLAGS and
# caches of an interpreter would hide what a bare machine does.
SITE_HOSTS = Path("/etc/hosts")
# The first that is there. A machine has a loopback interface of its own, so it uses the servers behind systemd-resolved.
SITE_RESOLVERS = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))
SITE_AUTHORITIES = Path("/usr/local/share/ca-certificates")
SITE_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
# Makes the namespace's file systems, becomes its first process and stays until standard input ends, which it does when
# this program ends in whatever way. Then podman removes its containers, for their cgroups are those of this machine.
# Arguments: the root directory, then pairs of a directory of this machine and the place where the root sees it.
HOLDER = r"""
read -r pid rest </proc/self/stat  # still seen with the numbers of this machine
root=$1
shift
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys  # shows the interfaces of this namespace
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=0755 tmpfs run
mkdir -m 1777 run/lock
while [ $# -ge 2 ]; do
  mkdir -p "$1" ".$2"
  mount --bind "$1" ".$2"
  shift 2
done
mkdir -p .host
pivot_root . .host
cd /
umount --lazy /.host
rmdir /.host
echo "$pid"
exec 3<&0
cat <&3 >/dev/null &
wait $! || :
if command -v podman >/dev/null; then
  exec >&2
  timeout 120 podman rm --all --force --time=0 --volumes
fi
"""


class Bare(Exception):
    """What keeps this program from its work, for the user."""


def output_of(*command: str) -> str:
    """What a program of this machine prints; nothing where it does not exist or fails."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def check_host() -> None:
    """Prepare this machine, and refuse changes that a clone would not have."""
    host.prepare("test-bare", host.Machine.this(), print)
    if changes := output_of("git", "-C", str(ROOT), "status", "--porcelain"):
        raise Bare(
            f"A machine gets a clone of the current commit. Please commit or stash these changes first:\n{changes}"
        )


@contextlib.contextmanager
def lock() -> t.Iterator[int]:
    """Keep other runs in this clone out. The first process of a machine inherits the lock, for it may end later."""
    WORK.mkdir(parents=True, exist_ok=True)
    with (WORK / "lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Bare(f"Another run works in {WORK}, or its machine is about to end: try again later.") from error
        yield file.fileno()


def run_logged(log: Path, *command: str) -> None:
    """Run a program of this machine that has to succeed."""
    with log.open("a", encoding="utf-8") as output:
        result = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    if result.returncode != 0:
        raise Bare(f"{command[0]} failed with exit status {result.returncode}, see {log}")


def cached_root(suite: str) -> Path:
    """The archive of a suite's root, made when the cache has none."""
    archive = LAB_CACHE / root_name(suite, PACKAGES, platform.machine())
    if not archive.exists():
        make_root(suite, archive)
    return archive


def make_root(suite: str, archive: Path) -> None:
    """Let debootstrap make a root, and keep it as an archive."""
    print(f"{suite}: debootstrap makes a root with {', '.join(PACKAGES)}", flush=True)
    log = LOGS / f"{suite}-root.log"
    root = fresh_directory(WORK / f"{suite}-new")
    include = f"--include={','.join(PACKAGES)}"
    run_logged(log, "debootstrap", "--variant=minbase", include, suite, str(root), *filter(None, [own_mirror()]))
    # As in an image: what installs packages has to fetch the lists itself.
    fresh_directory(root / "var/lib/apt/lists")
    for package in (root / "var/cache/apt/archives").glob("*.deb"):
        package.unlink()
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part")
    run_logged(log, "tar", f"--directory={root}", "--one-file-system", "--numeric-owner", "-cf", str(part), ".")
    part.rename(archive)
    shutil.rmtree(root)


def own_mirror() -> str | None:
    """Debian's mirror of this machine, where this is Debian; debootstrap has one of its own."""
    release = os_release(Path("/etc/os-release").read_text(encoding="utf-8"))
    if release.get("ID") != "debian":
        return None
    targets = output_of("apt-get", "indextargets", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)")
    return mirror_of(targets, release.get("VERSION_CODENAME", ""))


def site_environment() -> dict[str, str]:
    """The environment of a command: a new root shell's, and the site's settings."""
    go = json.loads(output_of("go", "env", "-json", *SITE_GO) or "{}")
    pip = pip_variables(output_of(sys.executable, "-m", "pip", "config", "list"))
    return {"HOME": HOME, "PATH": SEARCH_PATH, "TERM": "dumb", **site_variables(go, pip, os.environ)}


def hand_over_site(root: Path, variables: t.Mapping[str, str], log: Path) -> None:
    """Give a root what this site needs to reach registries."""
    copy_into_root(SITE_HOSTS, root)
    copy_into_root(next(file for file in SITE_RESOLVERS if file.exists()), root, Path("/etc/resolv.conf"))
    (root / "etc/apt/apt.conf.d/90site").write_text(apt_options(output_of("apt-config", "dump")), encoding="utf-8")
    for file in SITE_AUTHORITIES.rglob("*.crt"):
        copy_into_root(file, root)
    run_logged(log, "chroot", str(root), "update-ca-certificates")
    named = (Path(value) for value in variables.values() if value.startswith("/"))
    for file in {SITE_BUNDLE, *named}:
        if file.is_file():
            copy_into_root(file, root)


def copy_into_root(file: Path, root: Path, place: Path | None = None) -> None:
    """Copy a file of this machine to its place in a root. A link there would lead back to this machine."""
    target = root / (place or file).relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copyfile(file, target)


def cold_binds(suite: str) -> list[tuple[str, str]]:
    """Caches that the machines of a suite share and the first of them begins with empty, and where they see them."""
    return [(str(WORK / f"{suite}-cache" / str(number)), there) for number, (_here, there) in enumerate(cache_binds())]


def cache_binds() -> list[tuple[str, str]]:
    """The caches of this machine, and where a machine sees them."""
    go = json.loads(output_of("go", "env", "-json", "GOMODCACHE", "GOCACHE") or "{}")
    binds = {
        f"{HOME}/.cache/nodecraft-kubeadm": str(LAB_CACHE),
        f"{HOME}/.cache/pip": os.environ.get("PIP_CACHE_DIR", str(CACHE / "pip")),
        f"{HOME}/.cache/uv": os.environ.get("UV_CACHE_DIR", str(CACHE / "uv")),
        f"{HOME}/go/pkg/mod": go.get("GOMODCACHE", ""),
        f"{HOME}/.cache/go-build": go.get("GOCACHE", ""),
    }
    return [(here, there) for there, here in binds.items() if here]


def connect(wire: Wire, pid: str, log: Path) -> None:
    """Let the namespace of a process reach what this machine reaches."""
    inside = ("nsenter", f"--target={pid}", "--net")
    run_logged(log, "ip", "link", "add", wire.interface, "type", "veth", "peer", "name", "eth0", "netns", pid)
    run_logged(log, "ip", "address", "add", f"{wire.here}/30", "dev", wire.interface)
    run_logged(log, "ip", "link", "set", wire.interface, "up")
    run_logged(log, *inside, "ip", "link", "set", "lo", "up")
    run_logged(log, *inside, "ip", "address", "add", f"{wire.there}/30", "dev", "eth0")
    run_logged(log, *inside, "ip", "link", "set", "eth0", "up")
    run_logged(log, *inside, "ip", "route", "add", "default", "via", wire.here)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")
    for table, chain, *rule in wire.rules:
        run_logged(log, "iptables", "--wait", f"--table={table}", "--insert", chain, *rule)


def disconnect(wire: Wire) -> None:
    """Remove what ``connect`` made, also what an earlier run left when it was killed."""
    if Path("/sys/class/net", wire.interface).exists():
        output_of("ip", "link", "delete", wire.interface)
    for table, chain, *rule in wire.rules:
        output_of("iptables", "--wait", f"--table={table}", "--delete", chain, *rule)


class Machine:
    """A bare machine that is up, until it is left."""

    def __init__(self, suite: str, cold: bool, lock_file: int) -> None:
        self.root = WORK / suite
        self.environment = site_environment()
        self._log = LOGS / f"{suite}-machine.log"
        self._wire = wire_of(ROOT)
        self._unpack(suite)
        self._holder = self._start(cold_binds(suite) if cold else cache_binds(), lock_file)
        assert self._holder.stdout is not None
        self._pid = self._holder.stdout.readline().strip()
        try:
            if not self._pid:
                raise Bare(f"The namespaces of {suite} could not be made, see {self._log}")
            disconnect(self._wire)
            connect(self._wire, self._pid, self._log)
        except BaseException:
            self.stop()
            raise

    def _unpack(self, suite: str) -> None:
        """Make the root from its archive, with a clean clone in it."""
        archive = cached_root(suite)
        fresh_directory(self.root)
        run_logged(self._log, "tar", f"--directory={self.root}", "--numeric-owner", "-xpf", str(archive))
        hand_over_site(self.root, self.environment, self._log)
        run_logged(self._log, "git", "clone", "--quiet", "--no-hardlinks", str(ROOT), f"{self.root}{CLONE}")

    def _start(self, binds: t.Sequence[tuple[str, str]], lock_file: int) -> subprocess.Popen[str]:
        """Start the first process of the machine; Ctrl-C does not reach it."""
        namespaces = ("--mount", "--pid", "--fork", "--net", "--uts", "--ipc", "--kill-child", "--propagation=private")
        arguments = [str(self.root), *(path for bind in binds for path in bind)]
        with self._log.open("a", encoding="utf-8") as log:
            return subprocess.Popen(
                [str(shutil.which("unshare")), *namespaces, "/bin/sh", "-euc", HOLDER, "holder", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self.environment,
                pass_fds=[lock_file],
                start_new_session=True,
                text=True,
            )

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End its processes; its first one removes containers before."""
        assert self._holder.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._holder.stdin.close()
        try:
            self._holder.wait(timeout=600)
        except subprocess.TimeoutExpired:
            # unshare ignores SIGTERM; when it is killed, its child goes with it, and with that one the whole namespace.
            self._holder.kill()
            self._holder.wait()
        finally:
            disconnect(self._wire)

    def run(self, command: t.Sequence[str], minutes: int, log: Path) -> int | None:
        """Run a command in the clone. Returns its exit status, or None when it did not end in time."""
        enter = ("nsenter", f"--target={self._pid}", "--mount", "--pid", "--net", "--uts", "--ipc")
        shell = ("/bin/sh", "-euc", 'cd "$0"; exec "$@"', CLONE)
        with log.open("w", encoding="utf-8") as output:
            process = subprocess.Popen(
                [str(shutil.which(enter[0])), *enter[1:], *shell, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=True,
            )
        try:
            return process.wait(timeout=minutes * 60)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_group(process)

    def leftovers(self) -> list[str]:
        """What of it outlived it."""
        interfaces = [path.name for path in Path("/sys/class/net").iterdir()]
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
        return left_behind(self._wire, self.root, interfaces, output_of("iptables-save"), mounts)

    def packages(self) -> tuple[set[str], set[str]]:
        """The installed packages, and those that were installed because others need them."""
        states = self.root / "var/lib/apt/extended_states"
        status = (self.root / "var/lib/dpkg/status").read_text(encoding="utf-8")
        automatic = automatic_packages(states.read_text(encoding="utf-8")) if states.exists() else set()
        return installed_packages(status), automatic


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)


class Report:
    """Prints how far the run is, and counts."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._started = 0
        self.passed = 0
        self.failed = 0

    def begin_check(self, title: str) -> str:
        """Print that a check begins. Returns its title with its number."""
        self._started += 1
        numbered = f"[{self._started}/{self._total}] {title}"
        print(f"{numbered} ...", flush=True)
        return numbered

    def end_check(self, title: str, faults: t.Sequence[str], seconds: float) -> None:
        """Print how it ended."""
        self.passed += not faults
        self.failed += bool(faults)
        print(f"{title}: {'; '.join(faults) or 'passed'}, {seconds:.0f} s", flush=True)


def run_entry(machine: Machine, suite: str, name: str) -> list[str]:
    """Run an entry on a machine. Returns its faults."""
    entry = ENTRIES[name]
    log = LOGS / f"{suite}-{name}.log"
    before, _automatic = machine.packages()
    status = machine.run(("make", name), entry.minutes, log)
    after, automatic = machine.packages()
    text = log.read_text(encoding="utf-8", errors="replace")
    faults = faults_of(entry, status, text, after - before - automatic)
    if faults:
        print("".join(f"    {line}\n" for line in [*text.splitlines()[-20:], f"see {log}"]), end="", flush=True)
    if entry.after and machine.run(entry.after, 10, log.with_name(f"{suite}-{name}-after.log")) != 0:
        faults.append(f"{' '.join(entry.after)} failed")
    return faults


def run_machine(suite: str, names: t.Sequence[str], cold: bool, report: Report, lock_file: int) -> None:
    """Run entries on a new machine, one after the other, and check what stays behind."""
    with Machine(suite, cold, lock_file) as machine:
        for name in names:
            title = report.begin_check(f"{suite}: make {name}")
            began = time.monotonic()
            report.end_check(title, run_entry(machine, suite, name), time.monotonic() - began)
    title = report.begin_check(f"{suite}: nothing stays behind after {', '.join(names)}")
    report.end_check(title, machine.leftovers(), 0)
    if not report.failed:
        shutil.rmtree(machine.root)


def parse_arguments(arguments: t.Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Run the commands of the README on bare machines.")
    parser.add_argument("--suite", action="append", choices=SUITES, help="a Debian suite, all by default; may repeat")
    parser.add_argument("--entries", nargs="+", choices=ENTRIES, default=list(ENTRIES), help="targets of the Makefile")
    parser.add_argument(
        "--cold", action="store_true", help="begin each suite with empty caches instead of this machine's"
    )
    return parser.parse_args(arguments)


def interrupt(_number: int, _frame: object) -> t.NoReturn:
    """End as on Ctrl-C, so that nothing is left running."""
    raise KeyboardInterrupt


def main() -> int:
    """Run all that the command line selects. Returns the exit status."""
    args = parse_arguments()
    suites = args.suite or SUITES
    machines = machines_for(args.entries)
    report = Report(len(suites) * (len(args.entries) + len(machines)))
    signal.signal(signal.SIGTERM, interrupt)
    try:
        check_host()
        LOGS.mkdir(parents=True, exist_ok=True)
        with lock() as lock_file:
            for suite in suites:
                fresh_directory(WORK / f"{suite}-cache")
                for names in machines:
                    run_machine(suite, names, args.cold, report, lock_file)
    except (Bare, host.Problem) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    print(f"{report.passed} passed, {report.failed} failed", flush=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
