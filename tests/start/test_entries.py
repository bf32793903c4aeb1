# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first seconds of each target on a machine that has only what the README names, and what is wrong there reported in one sentence.

No cluster comes up here: ``make test-bare`` shows on Debian's own smallest systems that the whole of each target works.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import host
from ansible_collections.nodecraft.kubeadm.tests.sessions.copies import copy_project
from ansible_collections.nodecraft.kubeadm.tests.start.bare import NO_NETWORK, ROOT, Bare, Result

BUILD = "Build 1 of 4"
LAB = f"start-{os.getpid()}"
Make = t.Callable[..., Bare]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as git knows it, with nothing built. All tests share what the first of them installs into it."""
    return copy_project(tmp_path_factory.mktemp("start") / "clone")


@pytest.fixture
def bare(tmp_path: Path, clone: Path) -> Make:
    """Makes a machine in a directory of this test."""
    return lambda **options: Bare(tmp_path, clone, **options)


def assert_refused(ended: Result, sentence: str) -> None:
    """The entry ended with this sentence, and shows no innards."""
    assert ended.status != 0, ended.output
    assert "Traceback" not in ended.output, ended.output
    assert sentence in ended.last, ended.output


@pytest.mark.parametrize("entry", host.NEEDS)
def test_what_is_missing_is_named_before_it_is_installed_and_without_network_it_is_reported(
    bare: Make, entry: str
) -> None:
    machine = bare(apt=NO_NETWORK, venv=False)
    ended = machine.run(f"make {entry}")
    assert_refused(ended, "apt-get install failed for")
    assert "Something could not be downloaded." in ended.last
    announced = next(line for line in ended.output.splitlines() if line.startswith("This machine lacks"))
    words = set(re.findall(r"[\w.+-]*\w", announced))
    assert ended.output.index(announced) < ended.output.index("failed for")
    for program, package in host.NEEDS[entry].programs.items():
        assert program not in machine.missing or {program, *package.split()} <= words


def test_ctrl_c_while_packages_are_installed(bare: Make) -> None:
    ended = bare(apt="sleep 60", venv=False).run("make demo", until="Installing with apt-get")
    assert_refused(ended, "make demo: interrupted.")


def test_lab_down_installs_nothing_and_has_nothing_to_remove(bare: Make) -> None:
    machine = bare(venv=False)
    ended = machine.run(f"make lab-down LAB={LAB}")
    assert ended.status == 0, ended.output
    assert "no podman, so there is no lab" in ended.output
    assert not machine.calls.exists()


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("git", "make demo: git is missing: install it first"),
        ("go", "make demo: go is missing: install it first"),
        ("python3", "Python 3.11 or newer is missing: install it first"),
        ("make", "make: not found"),
    ],
)
def test_a_program_that_the_readme_names(bare: Make, program: str, sentence: str) -> None:
    versions = {f"python3.{minor}" for minor in range(9, 16)} if program == "python3" else set()
    ended = bare(missing={program, *versions}, path_without_go=program == "go").run("make demo")
    assert ended.status != 0, ended.output
    assert "Traceback" not in ended.output
    assert sentence in ended.output


def test_a_user_who_is_not_root(bare: Make, clone: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:  # Its parents are open to everybody, as those of pytest's are not.
        own = Path(directory) / "own"
        shutil.copytree(clone, own, ignore=shutil.ignore_patterns("build"))
        subprocess.run(["chown", "--recursive", "65534:65534", directory], check=True)
        machine = bare()
        machine.clone = own
        unprivileged = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        assert_refused(machine.run("make lab-up", wrapper=unprivileged), "this needs root")


def test_a_name_of_the_environment_is_that_of_the_demo(bare: Make) -> None:
    machine = bare(missing=())
    machine.environment |= {"LAB": "NO"}
    assert_refused(machine.run("make demo"), "make demo: invalid LAB 'NO': must be")


def test_an_old_podman(bare: Make) -> None:
    machine = bare(missing=())
    machine.programs["podman"] = "#!/bin/sh\necho podman version 3.4.4\n"
    assert_refused(machine.run("make lab-up"), "invalid podman (podman version 3.4.4): must be 4.3 or newer")


def test_no_network_when_the_venv_is_made(bare: Make, clone: Path) -> None:
    machine = bare(missing=())
    machine.clone = clone.with_name("no-network")
    shutil.copytree(clone, machine.clone, ignore=shutil.ignore_patterns("build"))
    machine.environment |= {"PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
    assert_refused(machine.run("make lab-up", wrapper=("unshare", "--net")), "could not be installed into")


def test_a_full_disk_when_the_venv_is_made(bare: Make, tmp_path: Path, clone: Path) -> None:
    machine = bare(missing=())
    machine.clone = tmp_path / "small"
    machine.clone.mkdir()
    fill = f"mount -t tmpfs -o size=16m tmpfs {machine.clone}; cp -a {clone}/. {machine.clone}; rm -rf {machine.clone}/build; cd {machine.clone};"
    assert_refused(machine.run("make lab-up", before=fill), "The disk is full")


@pytest.fixture(scope="class")
def no_lab_is_left() -> t.Iterator[None]:
    """Whatever a test did not expect: its lab goes with it."""
    yield
    if left := containers(f"label=nodecraft.lab={LAB}"):
        podman("rm", "--force", "--time=0", "--volumes", *left)
    if networks := podman("network", "ls", "--quiet", f"--filter=label=nodecraft.lab={LAB}").split():
        podman("network", "rm", *networks)


@pytest.mark.usefixtures("no_lab_is_left")
class TestWithPodman:
    """What comes after the programs are there: the stand-in of apt-get brings them back."""

    def test_the_first_seconds_of_lab_up(self, bare: Make) -> None:
        machine = bare(venv=False)
        ended = machine.run(f"make lab-up LAB={LAB} K8S=1.5")
        assert "This machine lacks debootstrap, " in ended.output
        assert_refused(ended, "make lab-up ended with status")
        assert "The lab has no Kubernetes 1.5." in ended.output

    def test_no_network_in_the_middle_of_a_build(self, bare: Make, tmp_path: Path) -> None:
        machine = bare(missing=())
        machine.environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "GOMODCACHE": str(tmp_path / "go")}
        machine.run(f"make lab-up LAB={LAB} K8S=1.5")  # It installs what the playbook runs in.
        ended = machine.run(f"make lab-up LAB={LAB}", wrapper=("unshare", "--net"))
        assert_refused(ended, "Something could not be downloaded.")
        assert BUILD in ended.output

    def test_a_full_disk_in_the_middle_of_a_build(self, bare: Make, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        machine = bare(missing=())
        machine.environment |= {"XDG_CACHE_HOME": str(cache)}
        fill = f"mkdir -p {cache}; mount -t tmpfs -o size=8m tmpfs {cache};"
        ended = machine.run(f"make lab-up LAB={LAB}", before=fill)
        assert_refused(ended, "The disk is full")
        assert BUILD in ended.output

    def test_the_lab_of_another_clone(self, bare: Make, foreign_lab: str) -> None:
        for entry in ("lab-up", "lab-down"):
            ended = bare(missing=()).run(f"make {entry} LAB={foreign_lab}")
            assert_refused(ended, f"make {entry} ended with status")
            assert (
                ended.output.count(f"There is a lab named {foreign_lab} that belongs to /elsewhere/build/lab/x.") == 1
            )
        assert containers(f"label=nodecraft.lab={foreign_lab}") != []

    def test_what_this_clone_has_of_it_is_removed_all_the_same(self, bare: Make, clone: Path, foreign_lab: str) -> None:
        directory = clone / "build" / "lab" / foreign_lab
        directory.mkdir(parents=True)
        podman("network", "create", f"--label=nodecraft.lab.directory={directory}", f"{foreign_lab}-left")
        with standing_lab(foreign_lab, clone, "", foreign_lab, node="w2"):
            assert_refused(bare(missing=()).run(f"make lab-down LAB={foreign_lab}"), "make lab-down ended with status")
        assert not directory.exists()
        assert containers(f"label=nodecraft.lab.directory={directory}") == []
        assert podman("network", "ls", "--quiet", f"--filter=label=nodecraft.lab.directory={directory}") == ""
        assert len(containers(f"label=nodecraft.lab={foreign_lab}")) == 2

    def test_a_foreign_container_in_the_network_is_named(self, bare: Make, clone: Path, foreign_lab: str) -> None:
        name = f"{LAB}-n"
        podman("network", "create", f"--label=nodecraft.lab.directory={clone}/build/lab/{name}", name)
        podman("create", f"--network={name}", f"--name={name}-guest", f"localhost/{foreign_lab}:1", "/nothing")
        try:
            ended = bare(missing=()).run(f"make lab-down LAB={name}")
        finally:
            podman("rm", "--force", f"{name}-guest")
            podman("network", "rm", name)
        assert_refused(ended, "make lab-down ended with status")
        assert f"Remove them (podman rm --force {name}-guest) and run the same command again." in ended.output

    @pytest.mark.parametrize(
        ("program", "variables", "sentence"),
        [
            (
                "",
                "",
                f"Lab {LAB}-s was not created by make demo, which begins with a fresh one. Remove it first (make lab-down",
            ),
            ("demo", "K8S=1.99", "The lab has no Kubernetes 1.99."),
            ("demo", "CONTROL_PLANES=200", "1 to 99 control planes (CONTROL_PLANES or lab_control_planes, here 200)"),
        ],
        ids=["a lab of the user", "no such Kubernetes", "no such size"],
    )
    def test_a_lab_that_stands_is_not_removed_for_a_demo_that_cannot_be(
        self, bare: Make, clone: Path, foreign_lab: str, program: str, variables: str, sentence: str
    ) -> None:
        name = f"{LAB}-s"
        with standing_lab(name, clone, program, foreign_lab):
            ended = bare(missing=()).run(f"make demo LAB={name} {variables}")
            assert_refused(ended, "make demo ended with status")
            assert sentence in ended.output
            assert containers(f"label=nodecraft.lab={name}") != []

    def test_a_lab_without_its_key(self, bare: Make, clone: Path, foreign_lab: str) -> None:
        name = f"{LAB}-s"
        releases = (ROOT / "lab" / "vars" / "releases.yml").read_text(encoding="utf-8")
        shape = {
            "kubernetes": re.findall(r'"version": "([^"]+)"', releases)[-1],
            "control_planes": 1,
            "workers": 0,
            "grace_seconds": 30,
            "node_status_seconds": 10,
        }
        directory = clone / "build" / "lab" / name
        directory.mkdir(parents=True)
        (directory / "lab.yml").write_text(json.dumps(shape), encoding="utf-8")
        for made in ("kubectl", f"{name}-cp1.conf"):
            (directory / made).touch()
        with standing_lab(name, clone, "", foreign_lab):
            ended = bare(missing=()).run(f"make lab-up LAB={name} WORKERS=0")
            assert_refused(ended, "make lab-up ended with status")
            assert f"Lab {name} has lost {directory}/ssh_key: no such container or file." in ended.output

    def test_containers_of_others_with_the_names_of_nodes(self, bare: Make, foreign_lab: str) -> None:
        ended = bare(missing=()).run(f"make lab-up LAB={foreign_lab}-o")
        assert_refused(ended, "make lab-up ended with status")
        assert f"The containers {foreign_lab}-o-cp1 are not of lab {foreign_lab}-o" in ended.output

    def test_ctrl_c_in_the_demo_leaves_no_container_and_the_next_run_starts(self, bare: Make) -> None:
        for _time in range(2):
            ended = bare(missing=()).run(f"make demo LAB={LAB}", until=f"Starting lab {LAB}")
            assert ended.status != 0
            assert "Traceback" not in ended.output, ended.output
            assert containers(f"label=nodecraft.lab={LAB}") == []

    def test_two_demos_at_once(self, bare: Make, clone: Path) -> None:
        lock = clone / "build" / "demo" / "lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            ended = bare(missing=()).run(f"make demo LAB={LAB}")
        assert_refused(ended, "make demo ended with status")
        assert "Another demo runs in this clone" in ended.output


@contextlib.contextmanager
def standing_lab(name: str, clone: Path, program: str, image: str, node: str = "cp1") -> t.Iterator[None]:
    """A container with the labels of a node of this clone's lab; it never runs. program: what made the lab."""
    labels = {"": name, ".directory": f"{clone}/build/lab/{name}", ".program": program}
    options = [f"--label=nodecraft.lab{key}={value}" for key, value in labels.items()]
    podman("create", "--network=none", f"--name={name}-{node}", *options, f"localhost/{image}:1", "/nothing")
    try:
        yield
    finally:
        podman("rm", "--force", "--ignore", f"{name}-{node}")


@pytest.fixture(scope="module")
def foreign_lab(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[str]:
    """Containers with the label of another clone's lab, and with the name of a node; none of them ever runs."""
    name, directory = f"{LAB}-f", tmp_path_factory.mktemp("image")
    archive = directory / "empty.tar"
    subprocess.run(["tar", "-cf", archive, "-T", "/dev/null"], check=True)
    podman("import", "--quiet", str(archive), f"localhost/{name}:1")
    labels = (f"--label=nodecraft.lab={name}", "--label=nodecraft.lab.directory=/elsewhere/build/lab/x")
    for node in ("cp1", "w1"):
        podman("create", "--network=none", f"--name={name}-{node}", *labels, f"localhost/{name}:1", "/nothing")
    podman("create", "--network=none", f"--name={name}-o-cp1", f"localhost/{name}:1", "/nothing")
    yield name
    podman("rm", "--force", f"{name}-cp1", f"{name}-w1", f"{name}-o-cp1")
    podman("rmi", "--force", f"localhost/{name}:1")


def podman(*arguments: str) -> str:
    """What podman prints."""
    return subprocess.run(["podman", *arguments], check=True, capture_output=True, text=True).stdout


def containers(label: str) -> list[str]:
    """The containers with a label."""
    return podman("ps", "--all", "--quiet", "--filter", label).split()
