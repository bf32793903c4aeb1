# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where the checks of this project are listed; make only starts what stands here.

``nox --list`` shows all sessions. Everything they write is below ``build/``. What they do is in tests/sessions/.
"""

from __future__ import annotations

import os
import runpy
import sys
import typing as t
from pathlib import Path

import antsibull_nox
import nox

ROOT = Path(__file__).parent.resolve()
runpy.run_path(str(ROOT / "tests" / "sessions" / "places.py"))["link_collection"]()
sys.path.insert(0, str(ROOT / "build" / "collections"))

from ansible_collections.nodecraft.kubeadm.tests.sessions.clusters import (
    lab_variables,
    run_program,
    start_lab,
    stop_lab,
)
from ansible_collections.nodecraft.kubeadm.tests.sessions.copies import collection_copy
from ansible_collections.nodecraft.kubeadm.tests.sessions.device_plugin import (
    check_device_plugin,
    install_device_plugin,
)
from ansible_collections.nodecraft.kubeadm.tests.sessions.ee import build_image, check_awx, run_jobs
from ansible_collections.nodecraft.kubeadm.tests.sessions.environment import prepare_environment, python_starts
from ansible_collections.nodecraft.kubeadm.tests.sessions.faults import FaultLab, run_all_lab_faults, run_file_faults
from ansible_collections.nodecraft.kubeadm.tests.sessions.guides import run_guides
from ansible_collections.nodecraft.kubeadm.tests.sessions.importer import check_import
from ansible_collections.nodecraft.kubeadm.tests.sessions.installed import check_installed
from ansible_collections.nodecraft.kubeadm.tests.sessions.locks import write_locks
from ansible_collections.nodecraft.kubeadm.tests.sessions.places import BUILD, DEVICE_PLUGIN, ENVS
from ansible_collections.nodecraft.kubeadm.tests.sessions.results import run_counted
from ansible_collections.nodecraft.kubeadm.tests.sessions.sanity import run_sanity
from ansible_collections.nodecraft.kubeadm.tests.sessions.scenarios import play_scenarios, selected_scenarios
from ansible_collections.nodecraft.kubeadm.tests.sessions.site import build_site
from ansible_collections.nodecraft.kubeadm.tests.sessions.tools import install, python_with_core, run_all, run_pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions.unit import run_core_tests, run_plays, run_unit_tests


class Core(t.NamedTuple):
    """One ansible-core: the release that is tested, and the Pythons it can be started with."""

    release: str
    pythons: tuple[str, ...]


CORES = {
    "2.18": Core("2.18.19", ("3.11", "3.12", "3.13")),
    "2.19": Core("2.19.14", ("3.11", "3.12", "3.13")),
    "2.20": Core("2.20.10", ("3.12", "3.13", "3.14")),
    "2.21": Core("2.21.5", ("3.13", "3.12", "3.14")),
    "2.22": Core("2.22.0rc1", ("3.13", "3.14")),
}
# The unit tests meet the oldest and the newest core, each on a Python it supports. Older Pythons
# run no ansible-core of today: there the tests of what needs none run, the node's side.
UNIT_CORES = {"3.11": "2.18", "3.12": "2.20", "3.13": "2.21", "3.14": "2.21"}
# A release that is still to come.
CANDIDATE = "2.22"
# The versions of Kubernetes that `make test-lab` plays.
LAB_VERSIONS = ("1.32", "1.34", "1.35", "1.36", "1.37")
# What `make test` plays of the Molecule scenarios, on the oldest version and the newest: each kind of change once, about as long on
# either; before 1.33 a gate of all components has to be switched for pod_resize. `make test-lab` plays all on each version. What
# becomes of a change in trouble, and of a device plugin, is also what `make test-faults` is about.
SCENARIOS = {
    "1.32": ("control_plane", "node_resources"),
    "1.37": ("node_kubelet", "placement_guard", "pod_resize"),
}
# One after the other, each with the clusters that work at once. A rollout is watched by clients that count on responses,
# so it has the machine for itself; the other tests mostly wait.
FAULT_LABS: tuple[dict[str, FaultLab], ...] = (
    {"faults-three": FaultLab(3, 0, "FAULTS_THREE", ("test_three_control_planes.py",))},
    {
        "faults-one": FaultLab(1, 1, "FAULTS_ONE", ("test_one_control_plane.py",)),
        "faults-kubelet": FaultLab(1, 1, "FAULTS_ONE", ("test_kubelet.py", "test_device_plugin.py", "test_manual.py")),
    },
    # Needs all processors for itself.
    {"faults-observations": FaultLab(1, 2, "FAULTS_ONE", ("test_observations.py",))},
    # Upgraded to the version of those before, whose programs are there then.
    {"faults-upgrade-three": FaultLab(3, 1, "FAULTS_UPGRADE_THREE", ("test_upgrade.py",), "1.36")},
    # Upgraded last.
    {"faults-upgrade-one": FaultLab(1, 1, "FAULTS_UPGRADE_ONE", ("test_upgrade_check.py", "test_upgrade.py"), "1.36")},
)
# What `make test-faults` runs; `make test` has a slice of the second in the session ``faults``. The clusters come
# first: their tests watch how long things take, and a machine that is shared gives less after an hour's work.
FAULT_SESSIONS = ("faults_lab", "faults_files")

prepare_environment()

PYTHONS = [f"3.{minor}" for minor in range(9, 16) if python_starts(f"python3.{minor}")]
# Where ansible runs: the newest Python that the pinned tools know.
CONTROLLERS = [version for version in PYTHONS if version in UNIT_CORES] or ["3.11"]
CONTROLLER = CONTROLLERS[-1]
SANITY_PYTHONS = {
    name: next((python for python in core.pythons if python in PYTHONS), None) for name, core in CORES.items()
}
UNIT_SESSIONS = tuple(f"unit-{python}" for python in dict.fromkeys((PYTHONS[0], CONTROLLER)))
OLDEST = next(iter(CORES))
# What the other sessions of the unit tests do not meet: an old core, and one that is still to come.
UNIT_CORE_PYTHONS = {name: SANITY_PYTHONS[name] for name in (OLDEST, CANDIDATE) if SANITY_PYTHONS[name]}
UNIT_CORE_SESSIONS = tuple(f"unit_core({name})" for name in UNIT_CORE_PYTHONS)
RELEASED = [name for name, core in CORES.items() if "rc" not in core.release and SANITY_PYTHONS[name]]

# What `make test` runs. First what finds most mistakes, for a verdict within four minutes: all unit tests on the newest Python, and
# beside them style and types.
FIRST_SESSIONS = ((f"unit-{CONTROLLER}",), ("ruff", "yamllint", "typing"))
# Then the scenarios, whose clusters mostly wait, with the sanity tests behind them, and beside them the others: two groups that take about
# as long as each other, or one core has nothing to do in the end. Their unit tests meet the oldest and the newest of the Pythons and
# cores, their sanity tests the newest core; `make test-unit` and `make test-sanity` meet all.
LATER_SESSIONS = (
    ("scenarios", f"sanity({RELEASED[-1]})"),
    (
        *(name for name in UNIT_SESSIONS if name != f"unit-{CONTROLLER}"),
        *UNIT_CORE_SESSIONS,
        "plays",
        "contracts",
        "faults",
        "start",
        f"device_plugin-{CONTROLLERS[0]}",
        "antsibull-nox-config",
        "extra-checks",
        "license-check",
        "changelog",
        "execution-environment",
        "docs-check",
        "docs-site",
        "ansible-lint",
        "importer",
        "installed",
    ),
)
TEST_SESSIONS = tuple(name for group in (*FIRST_SESSIONS, *LATER_SESSIONS) for name in group)
LINT_SESSIONS = tuple(
    name
    for name in TEST_SESSIONS
    if name not in (*UNIT_SESSIONS, *UNIT_CORE_SESSIONS, "plays", "faults", "start", "scenarios")
    and not name.startswith(("device_plugin", "sanity"))
)

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"  # pip takes no constraints with hashes
nox.options.download_python = "never"
nox.options.envdir = str(ENVS)
nox.options.reuse_venv = "yes"
nox.options.sessions = ["test"]
nox.options.error_on_missing_interpreters = True

antsibull_nox.load_antsibull_nox_toml()


def core_of(session: nox.Session) -> str | None:
    """The release of ansible-core that goes with the session's Python, where there is one."""
    name = UNIT_CORES.get(str(session.python))
    return CORES[name].release if name else None


@nox.session
def ruff(session: nox.Session) -> None:
    """Style, imports and format; what runs on nodes is held to their oldest Python."""
    install(session, "ruff")
    run_all(session, [("ruff", "check", "--output-format=concise", "."), ("ruff", "format", "--check", "--diff", ".")])


@nox.session(name="format", default=False)
def write_format(session: nox.Session) -> None:
    """Write the format that ``ruff`` checks."""
    install(session, "ruff")
    session.run("ruff", "check", "--fix-only", ".")
    session.run("ruff", "format", ".")


@nox.session(default=False, python=False)
def locks(session: nox.Session) -> None:
    """Write the hashes of the pinned versions; run it after a change in tests/constraints.txt."""
    write_locks(session)


@nox.session(python=PYTHONS)
def unit(session: nox.Session) -> None:
    """Unit tests but for the plays of the roles: all of them where ansible-core runs, those of the node's side everywhere."""
    # The property-based tests search in earnest on the oldest Python that is here.
    profile = "quick" if session.python == PYTHONS[0] else "brief"
    run_unit_tests(session, core_of(session), profile=profile, covered=session.python == CONTROLLER)


@nox.session(default=False)
@nox.parametrize(
    "python,core",
    [nox.param(python, name, id=name) for name, python in UNIT_CORE_PYTHONS.items()],
)
def unit_core(session: nox.Session, core: str) -> None:
    """The unit tests of what imports ansible-core, on its oldest release and on its release candidate."""
    run_core_tests(session, CORES[core].release)


@nox.session(python=CONTROLLER)
def plays(session: nox.Session) -> None:
    """A slice of the plays of the roles, on the newest core: the way of each that goes well, and who is kept from what."""
    run_plays(session, core_of(session), "-m", "slice")


@nox.session(default=False, python=list(dict.fromkeys((CONTROLLERS[0], CONTROLLER))))
def plays_whole(session: nox.Session) -> None:
    """All plays of the roles, on the oldest and the newest core."""
    run_plays(session, core_of(session))


@nox.session(python=CONTROLLER)
def contracts(session: nox.Session) -> None:
    """The architecture's promises: imports, payloads, action groups, role specs, README."""
    # An action group extends one of kubernetes.core, which the package brings.
    install(session, "pytest", "PyYAML", "ansible")
    run_pytest(session, "tests/contracts")


@nox.session(python=list(dict.fromkeys((CONTROLLERS[0], CONTROLLER))))
def device_plugin(session: nox.Session) -> None:
    """Types and tests of the device plugin, and that its package holds all it needs."""
    check_device_plugin(session)


@nox.session(default=False, python=CONTROLLER)
def device_plugin_bench(session: nox.Session) -> None:
    """Size and speed of the device plugin with a thousand devices."""
    install_device_plugin(session)
    session.run("python", str(DEVICE_PLUGIN / "tests" / "bench.py"))


@nox.session
def changelog(session: nox.Session) -> None:
    """The fragments of the changelog, and the format of what releases wrote."""
    install(session, "antsibull-changelog")
    session.run("antsibull-changelog", "lint")
    session.run("antsibull-changelog", "lint-changelog-yaml", "--strict", "changelogs/changelog.yaml")


@nox.session(name="execution-environment", python=CONTROLLER)
def execution_environment(session: nox.Session) -> None:
    """What the collection declares for ansible-builder, and the definition of its execution environment."""
    install(session, "ansible-builder")
    tree = collection_copy("execution-environment")
    session.run("ansible-builder", "introspect", str(tree.parents[2]))
    context = f"--context={BUILD / 'ee-created'}"
    session.run("ansible-builder", "create", "--file=ee/execution-environment.yml", context)


@nox.session(name="ansible-lint", python=CONTROLLER)
def ansible_lint(session: nox.Session) -> None:
    """Playbooks, roles and metadata under the profile that certification asks for."""
    install(session, "ansible", "ansible-lint")
    with session.chdir(collection_copy("lint")):
        session.run("ansible-lint", "--offline", "--strict", "--profile", "production")


@nox.session(python=CONTROLLER)
def importer(session: nox.Session) -> None:
    """What Galaxy and Automation Hub report of the artifact when they import it: nothing."""
    check_import(session)


@nox.session(python=CONTROLLER)
def installed(session: nox.Session) -> None:
    """The artifact in an empty place; with a lab and its version as arguments, such as `lab 1.37`, a Molecule scenario there."""
    check_installed(session)


@nox.session
@nox.parametrize(
    "python,core",
    [nox.param(python, name, id=name) for name, python in SANITY_PYTHONS.items() if python is not None],
)
def sanity(session: nox.Session, core: str) -> None:
    """All sanity tests of ansible-test, without a container and without an ignore file."""
    run_sanity(session, core, CORES[core].release)


@nox.session(default=False, python=CONTROLLER)
def lab_up(session: nox.Session) -> None:
    """A cluster to work with."""
    # What the playbooks need is there for the command that its last line names.
    install(session, "ansible", "kubernetes", "jsonpatch")
    start_lab(session, lab_variables(), *session.posargs)


@nox.session(default=False, python=CONTROLLER)
def lab_down(session: nox.Session) -> None:
    """Remove a cluster of ``lab_up``."""
    install(session, "ansible")
    stop_lab(session, lab_variables()["LAB"], *session.posargs)


@nox.session(python=CONTROLLER)
def scenarios(session: nox.Session) -> None:
    """A Molecule scenario for each kind of change on real clusters, each on one version of Kubernetes."""
    play_scenarios(session, SCENARIOS)


@nox.session(default=False, python=CONTROLLER)
def test_lab(session: nox.Session) -> None:
    """Every Molecule scenario on every version of Kubernetes; arguments select versions, or scenarios of one: 1.37=site,restore."""
    # As many as the scenario device_plugin has to stand; the scenarios of each day make do with a few.
    session.env["KUBELET_RESTARTS"] = "20"
    play_scenarios(session, selected_scenarios(session.posargs or LAB_VERSIONS))


@nox.session(name="docs-site", python=CONTROLLER)
def docs_site(session: nox.Session) -> None:
    """The site of modules, roles and guides: no warning, and no link that leads nowhere."""
    build_site(session)


@nox.session(default=False, python=CONTROLLER)
def test_docs(session: nox.Session) -> None:
    """Every command and YAML block of the guides on a real cluster, in the order of its page; arguments are pytest's."""
    run_guides(session)


@nox.session(python=CONTROLLER)
def faults(session: nox.Session) -> None:
    """A slice of the fault tests at the file layer: each kind of system call on each file, killed and failed once."""
    run_file_faults(session, "slice")


@nox.session(default=False, python=CONTROLLER)
def faults_files(session: nox.Session) -> None:
    """The whole file layer: every system call killed and failed, and every safeguard taken out once."""
    run_file_faults(session, "whole")


@nox.session(python=CONTROLLER)
def start(session: nox.Session) -> None:
    """The first seconds of each target of the Makefile on a machine that has only what the README names."""
    if os.geteuid() != 0:
        session.skip("programs are taken out of reach in a mount namespace: run it as root")
    install(session, "pytest")
    run_pytest(session, "tests/start")


@nox.session(default=False, python=CONTROLLER)
def faults_lab(session: nox.Session) -> None:
    """The fault tests on real clusters, each cluster with its part of them; arguments name clusters, such as faults-three."""
    run_all_lab_faults(session, FAULT_LABS)


@nox.session(python=False, default=False)
def test_faults(session: nox.Session) -> None:
    """All fault tests: the labs, then the whole file layer."""
    for name in FAULT_SESSIONS:
        session.notify(name)


@nox.session(default=False, python=CONTROLLER)
def demo(session: nox.Session) -> None:
    """The collection at work on a fresh cluster."""
    install(session, "ansible", "kubernetes", "jsonpatch")
    run_program(session, "demo/demo.py")


@nox.session(default=False, python=CONTROLLER)
def bench(session: nox.Session) -> None:
    """Figures beside those of other ways to the same end."""
    install_device_plugin(session, "ansible", "kubernetes", "jsonpatch")
    oldest = CORES["2.18"]
    if "rollout" in os.environ.get("BENCH_ONLY", "rollout").split() and session.python in oldest.pythons:
        session.env["BENCH_OTHER_PYTHON"] = str(python_with_core(session, oldest.release))
    run_program(session, "bench/bench.py")


@nox.session(default=False, python=CONTROLLER)
def release(session: nox.Session) -> None:
    """Changelog, artifact, commit and tag of VERSION; with CHECK nothing stays of them. Nothing is pushed or published."""
    install(session, "ansible", "antsibull-changelog")
    check = ["--check"] if os.environ.get("CHECK") else []
    session.run("ansible-playbook", "--inventory=localhost,", *check, "release/release.yml")


@nox.session(default=False, python=CONTROLLER)
def ee(session: nox.Session) -> None:
    """The image of an execution environment with this collection, without a registry and without Galaxy."""
    build_image(session, CORES[UNIT_CORES[CONTROLLER]].release)


@nox.session(default=False, python=CONTROLLER)
def awx(session: nox.Session) -> None:
    """What contracts know of the modules of awx.awx against these modules, in the last package of Ansible with them."""
    check_awx(session)


@nox.session(default=False, python=CONTROLLER)
def test_ee(session: nox.Session) -> None:
    """Jobs of ansible-runner in the image of ``ee``, on a lab by SSH."""
    run_jobs(session)


@nox.session(python=False)
def test(session: nox.Session) -> None:
    """All checks. The last line has how many passed and failed."""
    without = [f"sanity of ansible-core {core}" for core, python in SANITY_PYTHONS.items() if python is None]
    first, later = ([session.posargs], ()) if session.posargs else (FIRST_SESSIONS, LATER_SESSIONS)
    run_counted(session, first, later, without)


@nox.session(python=False, default=False)
def test_first(session: nox.Session) -> None:
    """The sessions of the first verdict alone."""
    run_counted(session, FIRST_SESSIONS, (), ())


@nox.session(python=False, default=False)
def test_bare(session: nox.Session) -> None:
    """The commands of the README on machines that have only what it names; arguments are those of the program."""
    session.run(
        *(sys.executable, "-m", "tests.sessions.bare"),
        *session.posargs,
        external=True,
        interrupt_timeout=None,  # After Ctrl-C its machine still has containers to remove.
    )


@nox.session(python=False, default=False)
def test_lint(session: nox.Session) -> None:
    """Lint, types, documentation, contracts and what Galaxy checks."""
    for name in LINT_SESSIONS:
        session.notify(name)
