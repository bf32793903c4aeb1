# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``bare.py`` decides: what a bare machine gets from this site, and what is wrong with a command that ended there.

Pure: values in, values out.
"""

from __future__ import annotations

import hashlib
import json
import re
import typing as t
from pathlib import Path


class Entry(t.NamedTuple):
    """A command of the README. fresh: it starts on a new machine. after: what removes what it leaves running."""

    minutes: int
    fresh: bool = True
    last_line: str = ""
    forbidden: str = ""
    after: tuple[str, ...] = ()


ENTRIES = {
    "lab-up": Entry(minutes=60),
    "lab-down": Entry(minutes=10, fresh=False),
    "demo": Entry(minutes=90, forbidden="NOT AS CLAIMED", after=("make", "lab-down", "LAB=demo")),
    "test": Entry(minutes=150, last_line=r"\d+ passed, 0 failed"),
}

# What of settings belongs to the site.
SITE_VARIABLES = re.compile(
    r"(?i:(?:https?|ftp|all|no)_proxy)"
    r"|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO"
    r"|PIP_(?:INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|PROXY|CERT|RETRIES|TIMEOUT|DEFAULT_TIMEOUT)"
)
SITE_GO = ("GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE")
SITE_APT = re.compile(r"Acquire::(?:Check-Valid-Until|Check-Date|Retries|(?:http|https)::(?:Proxy|Timeout)[^ ]*) ")


def root_name(suite: str, packages: t.Sequence[str], architecture: str) -> str:
    """The name of a cached root: a hash of all it is made from, so it is never stale."""
    made_from = json.dumps([suite, sorted(packages), architecture])
    return f"bare-root-{suite}-{hashlib.sha256(made_from.encode()).hexdigest()[:12]}.tar"


def mirror_of(targets: str, codename: str) -> str | None:
    """The repository from which this machine has its own release. targets: lines of release, component and address."""
    for line in targets.splitlines():
        release, component, address = line.split(maxsplit=2)
        if (release, component) == (codename, "main"):
            return address
    return None


def os_release(text: str) -> dict[str, str]:
    """The fields of /etc/os-release."""
    fields = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name: value.strip("\"'") for name, _equals, value in fields}


def pip_variables(listed: str) -> dict[str, str]:
    """The environment variables for the lines of ``pip config list``."""
    found = re.findall(r"^global\.([a-z-]+)='(.*)'$", listed, re.MULTILINE)
    variables = {f"PIP_{option.upper().replace('-', '_')}": value for option, value in found}
    return {name: value for name, value in variables.items() if SITE_VARIABLES.fullmatch(name)}


def site_variables(*sources: t.Mapping[str, str]) -> dict[str, str]:
    """What of these environments belongs to the site; later ones come first."""
    together = {name: value for source in sources for name, value in source.items()}
    return {
        name: value for name, value in together.items() if value and (name in SITE_GO or SITE_VARIABLES.fullmatch(name))
    }


def apt_options(dump: str) -> str:
    """What of the output of ``apt-config dump`` belongs to the site."""
    return "".join(f"{line}\n" for line in dump.splitlines() if SITE_APT.match(line) and not line.endswith(' "";'))


def paragraphs(text: str) -> list[dict[str, str]]:
    """The fields of the paragraphs of a file of dpkg or apt, without continued lines."""
    return [
        dict(line.split(": ", 1) for line in paragraph.splitlines() if re.match(r"[A-Za-z-]+: ", line))
        for paragraph in text.split("\n\n")
    ]


def installed_packages(status: str) -> set[str]:
    """The packages that dpkg's status file calls installed."""
    return {fields["Package"] for fields in paragraphs(status) if fields.get("Status", "").endswith(" ok installed")}


def automatic_packages(states: str) -> set[str]:
    """The packages that apt installed because others need them."""
    return {fields["Package"] for fields in paragraphs(states) if fields.get("Auto-Installed") == "1"}


def unannounced(log: str, packages: t.Iterable[str]) -> list[str]:
    """The packages whose installation no line named before it began.

    A line names a package when it has its name and a form of the word install. Where apt's own output is in the log, the
    line has to stand above the one in which apt unpacks the package.
    """
    lines = log.splitlines()
    return [package for package in sorted(packages) if not announced(lines, package)]


def announced(lines: t.Sequence[str], package: str) -> bool:
    """Whether a line names the package before apt unpacks it."""
    name = re.compile(rf"(?<![\w.+-]){re.escape(package)}(?![\w+-]|\.\w)")
    for line in lines:
        if re.match(rf"(?:Selecting previously unselected package|Unpacking) {re.escape(package)}[ :.]", line):
            return False
        if "install" in line.lower() and name.search(line):
            return True
    return False


def faults_of(entry: Entry, status: int | None, log: str, packages: t.Iterable[str]) -> list[str]:
    """What is wrong with a command that ended with this status, or did not end, and installed these packages."""
    faults = []
    if status is None:
        faults.append(f"no end within {entry.minutes} minutes")
    elif status != 0:
        faults.append(f"exit status {status}")
    if "Traceback (most recent call last)" in log:
        faults.append("a traceback in the log")
    if entry.forbidden and entry.forbidden in log:
        faults.append(f"{entry.forbidden!r} in the log")
    last_line = (log.strip().splitlines() or [""])[-1]
    if not re.fullmatch(entry.last_line or ".*", last_line):
        faults.append(f"the last line is {last_line!r}, not {entry.last_line!r}")
    if missing := unannounced(log, packages):
        faults.append(f"installed without saying so before: {', '.join(missing)}")
    return faults


def machines_for(entries: t.Sequence[str]) -> list[list[str]]:
    """Which entries run on the same machine, one after the other."""
    machines: list[list[str]] = []
    for name in entries:
        if ENTRIES[name].fresh or not machines:
            machines.append([])
        machines[-1].append(name)
    return machines


class Wire(t.NamedTuple):
    """What connects a machine with this one: the interface here, and both addresses, of a range that is for tests."""

    interface: str
    here: str
    there: str

    @property
    def rules(self) -> list[tuple[str, ...]]:
        """The firewall rules that let the machine reach what this one reaches: table, chain, and the rule."""
        return [
            (
                "nat",
                "POSTROUTING",
                "--source",
                self.there,
                "!",
                "--out-interface",
                self.interface,
                "--jump",
                "MASQUERADE",
            ),
            ("filter", "FORWARD", "--in-interface", self.interface, "--jump", "ACCEPT"),
            ("filter", "FORWARD", "--out-interface", self.interface, "--jump", "ACCEPT"),
        ]


def wire_of(clone: Path) -> Wire:
    """The wire of a clone's machine, for it has one at a time: two clones can each have theirs."""
    digest = hashlib.sha256(bytes(clone)).digest()
    network = f"198.18.{digest[0]}.{digest[1] & 0xFC}".rpartition(".")
    first = int(network[2])
    return Wire(f"bare-{digest[:2].hex()}", f"{network[0]}.{first + 1}", f"{network[0]}.{first + 2}")


def left_behind(wire: Wire, root: Path, interfaces: t.Iterable[str], rules: str, mounts: str) -> list[str]:
    """What is still there of a machine that is gone. rules: of ``iptables-save``; mounts: of /proc/self/mountinfo."""
    found = [f"the interface {name}" for name in interfaces if name == wire.interface]
    found += [f"the firewall rule {rule}" for rule in rules.splitlines() if wire.interface in rule.split()]
    points = [line.split()[4] for line in mounts.splitlines()]
    return found + [f"a mount at {point}" for point in points if Path(point).is_relative_to(root)]
