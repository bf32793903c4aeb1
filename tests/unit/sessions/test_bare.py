# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What decides about a run on bare machines: what is handed over, what runs together, and what is called a fault."""

from __future__ import annotations

from ipaddress import IPv4Interface
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import bare, bare_rules

INSTALLS = "Installing with apt-get: openssl strace"
UNPACKED = "Selecting previously unselected package openssl.\nUnpacking openssl (3.0.17-1) ...\n"


def test_the_name_of_a_root_changes_with_what_it_is_made_from() -> None:
    name = bare_rules.root_name("trixie", ("git", "make"), "x86_64")
    assert name.startswith("bare-root-trixie-")
    assert name == bare_rules.root_name("trixie", ("make", "git"), "x86_64")
    others = [
        ("bookworm", ("git", "make"), "x86_64"),
        ("trixie", ("git",), "x86_64"),
        ("trixie", ("git", "make"), "arm"),
    ]
    assert name not in [bare_rules.root_name(*first_other) for first_other in others]


def test_the_mirror_is_the_one_of_this_machines_own_release() -> None:
    targets = (
        "here-updates main http://a.example/\nhere contrib http://b.example/\nhere main http://c.example/debian/\n"
    )
    assert bare_rules.mirror_of(targets, "here") == "http://c.example/debian/"
    assert bare_rules.mirror_of(targets, "there") is None


def test_os_release_has_quotes_or_not() -> None:
    assert bare_rules.os_release('ID=debian\nVERSION="13 (trixie)"\n\n') == {"ID": "debian", "VERSION": "13 (trixie)"}


def test_settings_of_pip_become_variables() -> None:
    listed = ":env:.cert='/a.pem'\nglobal.index-url='https://i.example/simple'\nglobal.find-links='/wheels'\n"
    assert bare_rules.pip_variables(listed) == {"PIP_INDEX_URL": "https://i.example/simple"}


def test_only_settings_of_the_site_are_handed_over() -> None:
    go = {"GOPROXY": "https://g.example", "GOPRIVATE": ""}
    own = {"https_proxy": "http://p.example", "NO_PROXY": "localhost", "SSL_CERT_FILE": "/c.pem", "PIP_TIMEOUT": "60"}
    hides = {"GOTOOLCHAIN": "local", "GOFLAGS": "-x", "PIP_FIND_LINKS": "/wheels", "PATH": "/opt/bin", "LAB": "mine"}
    assert bare_rules.site_variables(go, {**own, **hides}) == {"GOPROXY": "https://g.example", **own}


def test_the_environment_wins_over_files() -> None:
    assert bare_rules.site_variables({"PIP_CERT": "/file.pem"}, {"PIP_CERT": "/own.pem"}) == {"PIP_CERT": "/own.pem"}


def test_only_options_of_apt_that_belong_to_the_site_are_handed_over() -> None:
    ours = (
        'Acquire::Check-Valid-Until "false";',
        'Acquire::http::Proxy "http://p.example:3142";',
        'Acquire::http::Proxy::m.example "DIRECT";',
    )
    others = ('Acquire::Languages "none";', 'Acquire::https::Proxy "";', 'APT::Install-Recommends "0";')
    assert bare_rules.apt_options("\n".join([*ours, *others])) == "".join(f"{line}\n" for line in ours)


def test_a_package_is_installed_when_dpkg_reports_it() -> None:
    status = (
        "Package: git\nStatus: install ok installed\nDescription: fast\n Package: none\n\n"
        "Package: gone\nStatus: deinstall ok config-files\n\n"
        "Package: kept\nStatus: hold ok installed\n"
    )
    assert bare_rules.installed_packages(status) == {"git", "kept"}


def test_a_package_can_be_there_for_others_only() -> None:
    states = "Package: liberror-perl\nArchitecture: amd64\nAuto-Installed: 1\n\nPackage: git\nAuto-Installed: 0\n"
    assert bare_rules.automatic_packages(states) == {"liberror-perl"}


@pytest.mark.parametrize(
    ("log", "missing"),
    [
        (f"{INSTALLS}\n{UNPACKED}", []),
        (INSTALLS, []),
        (f"{UNPACKED}{INSTALLS}", ["openssl"]),
        (UNPACKED, ["openssl", "strace"]),
        ("Installing with apt-get: openssl3 libopenssl strace-doc", ["openssl", "strace"]),
        ("nox > apt-get --yes install openssl\nThis needs strace.", ["strace"]),
        ("Please install openssl, strace.", []),
    ],
)
def test_an_installation_is_announced(log: str, missing: list[str]) -> None:
    packages = ["strace", "openssl"] if "strace" in log or log == UNPACKED else ["openssl"]
    assert bare_rules.unannounced(log, packages) == missing


def test_a_run_without_a_fault() -> None:
    assert bare_rules.faults_of(bare_rules.ENTRIES["test"], 0, f"{INSTALLS}\n12 passed, 0 failed\n\n", ["strace"]) == []
    assert bare_rules.faults_of(bare_rules.ENTRIES["lab-down"], 0, "", []) == []


@pytest.mark.parametrize(
    ("name", "status", "log", "fault"),
    [
        ("lab-up", 2, "", "exit status 2"),
        ("lab-up", None, "", "no end within 60 minutes"),
        ("lab-up", 0, "Traceback (most recent call last):\n", "a traceback in the log"),
        ("demo", 0, "  NOT AS CLAIMED: pods run\n", "'NOT AS CLAIMED' in the log"),
        ("test", 0, "11 passed, 1 failed\n", "the last line is '11 passed, 1 failed'"),
        ("test", 0, "12 passed, 0 failed\nbye\n", "the last line is 'bye'"),
        ("test", 0, "", "the last line is ''"),
    ],
)
def test_a_fault_is_found(name: str, status: int | None, log: str, fault: str) -> None:
    (found,) = bare_rules.faults_of(bare_rules.ENTRIES[name], status, log, [])
    assert found.startswith(fault)


def test_a_silent_installation_is_a_fault() -> None:
    (found,) = bare_rules.faults_of(bare_rules.ENTRIES["demo"], 0, UNPACKED, ["openssl"])
    assert found == "installed without saying so before: openssl"


@pytest.mark.parametrize(
    ("entries", "machines"),
    [
        (["lab-up", "lab-down", "demo", "test"], [["lab-up", "lab-down"], ["demo"], ["test"]]),
        (["lab-down"], [["lab-down"]]),
        (["demo", "lab-up", "lab-down"], [["demo"], ["lab-up", "lab-down"]]),
    ],
)
def test_a_lab_goes_down_where_it_went_up(entries: list[str], machines: list[list[str]]) -> None:
    assert bare_rules.machines_for(entries) == machines


def test_the_wire_of_a_clone_is_a_small_network_of_its_own() -> None:
    wire = bare_rules.wire_of(Path("/a"))
    assert wire == bare_rules.wire_of(Path("/a"))
    assert len(wire.interface) < 16  # Linux takes no longer name
    here, there = (IPv4Interface(f"{address}/30") for address in (wire.here, wire.there))
    assert here.network == there.network
    assert {here.ip, there.ip} == set(here.network.hosts())
    assert len({bare_rules.wire_of(Path(f"/{number}")) for number in range(20)}) == 20


def test_every_rule_names_its_interface() -> None:
    wire = bare_rules.wire_of(Path("/a"))
    assert [wire.interface in rule for rule in wire.rules] == [True, True, True]


@pytest.mark.parametrize(
    ("interfaces", "rules", "mounts", "found"),
    [
        (["lo", "bare-1234"], "-A FORWARD -i bare-12345 -j ACCEPT", "1 2 0:1 / /b/trixie2 rw", []),
        (["lo", "bare-123"], "", "", ["the interface bare-123"]),
        (["lo"], "-A FORWARD -i bare-123 -j ACCEPT", "", ["the firewall rule -A FORWARD -i bare-123 -j ACCEPT"]),
        (["lo"], "", "1 2 0:1 / /b/trixie/proc rw", ["a mount at /b/trixie/proc"]),
    ],
)
def test_what_stays_behind_is_found(interfaces: list[str], rules: str, mounts: str, found: list[str]) -> None:
    wire = bare_rules.Wire("bare-123", "198.18.0.1", "198.18.0.2")
    assert bare_rules.left_behind(wire, Path("/b/trixie"), interfaces, rules, mounts) == found


def test_all_suites_and_entries_are_the_default() -> None:
    args = bare.parse_arguments([])
    assert (args.suite, args.entries, args.cold) == (None, list(bare_rules.ENTRIES), False)
    args = bare.parse_arguments(["--suite", "trixie", "--suite", "bookworm", "--cold", "--entries", "demo", "test"])
    assert (args.suite, args.entries, args.cold) == (["trixie", "bookworm"], ["demo", "test"], True)
