# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where the checks of this project are listed; make only starts what stands here.

``nox --list`` shows all sessions. Everything they write is below ``build/``.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import typing as t
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import antsibull_nox
import nox

ROOT = Path(__file__).parent.resolve()
BUILD = ROOT / "build"
RESULTS = BUILD / "results"
FAULTS = BUILD / "faults"
COLLECTIONS = BUILD / "collections"
CONSTRAINTS = ROOT / "tests" / "constraints.txt"


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
# The plays of the roles. Each of their tasks is a process for each host, so they take minutes, twenty times as long as all other
# unit tests; `make test` has a slice of them.
PLAYS = "tests/unit/roles"
# The device plugin runs in an image of its own, so on any Python from 3.11 on: the oldest and the newest one here.
DEVICE_PLUGIN = ROOT / "device_plugin"
# The fault tests on labs are the controller's, too.
NEED_ANSIBLE = (
    "bench",
    "demo",
    "lab",
    "sessions",
    "plugins/action",
    "plugins/modules",
    "plugins/module_utils/_module",
    "faults/test_lab_plugin.py",
    "faults/test_lab_records.py",
)
# The versions of Kubernetes that `make test-lab` plays, and how many of them at once: a cluster mostly waits for its components to stop
# and start, so two of them hardly get in each other's way.
LAB_VERSIONS = ("1.32", "1.34", "1.35", "1.36", "1.37")
LABS_AT_ONCE = 2
# What `make test` plays of the Molecule scenarios, on the oldest version and the newest: each kind of change once, about as long on
# either; before 1.33 a gate of all components has to be switched for pod_resize. `make test-lab` plays all on each version. What
# becomes of a change in trouble, and of a device plugin, is also what `make test-faults` is about.
SCENARIOS = {
    "1.32": ("control_plane", "node_resources"),
    "1.37": ("node_kubelet", "placement_guard", "pod_resize"),
}

# The requirements of this release candidate's pylint name an archive on GitHub, no release of it.
SANITY_ARGUMENTS = {"2.22": ("--skip-test", "pylint")}

# Seconds that what is interrupted gets to put things in order; nox by itself kills it after half a second.
PATIENCE = 120

# Where the fault tests on real clusters are.
LAB_FAULTS = ROOT / "tests" / "faults" / "lab"


class FaultLab(t.NamedTuple):
    """A cluster for fault tests: its nodes, the environment variable by which its tests know it, and their files."""

    control_planes: int
    workers: int
    named_by: str
    tests: tuple[str, ...]

    def variables(self, name: str) -> dict[str, str]:
        """What describes it to the playbooks of the lab."""
        sizes = {"CONTROL_PLANES": str(self.control_planes), "WORKERS": str(self.workers)}
        return {"LAB": name, "K8S": os.environ.get("K8S", "1.37"), **sizes}


# One after the other, each with the clusters that work at once. A roll-out is watched by clients that count on answers,
# so it has the machine for itself; the other tests mostly wait.
FAULT_LABS: tuple[dict[str, FaultLab], ...] = (
    {"faults-three": FaultLab(3, 0, "FAULTS_THREE", ("test_three_control_planes.py",))},
    {
        "faults-one": FaultLab(1, 1, "FAULTS_ONE", ("test_one_control_plane.py",)),
        "faults-kubelet": FaultLab(1, 1, "FAULTS_ONE", ("test_kubelet.py", "test_device_plugin.py", "test_by_hand.py")),
    },
)

# What `make test-faults` runs; `make test` has a slice of the second in the session ``faults``. The clusters come
# first: their tests watch how long things take, and a machine that is shared gives less after an hour's work.
FAULT_SESSIONS = ("faults_lab", "faults_files")

# Programs of Debian's package prometheus, and where it is unpacked for tests: installed it would start a service here.
PROMETHEUS_PROGRAMS = ("prometheus", "promtool")
PROMETHEUS = BUILD / "prometheus"


def pyenv_interpreters() -> list[str]:
    """The folders of pyenv's real interpreters, newest first.

    Its shims answer only for versions that are switched on, and ansible-test takes a shim that
    does not answer for a broken Python.
    """
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    versions = [
        path.parent
        for path in root.glob("versions/*/bin")
        if not (path.parent / "pyvenv.cfg").exists() and path.parent.name.replace(".", "").isdigit()
    ]
    versions.sort(key=lambda path: [int(part) for part in path.name.split(".")])
    return [str(path / "bin") for path in reversed(versions)]


def without_shims(path: str) -> list[str]:
    """The entries of PATH that are not pyenv's shims."""
    return [entry for entry in path.split(os.pathsep) if not entry.endswith("shims")]


def answers(python: str) -> bool:
    """Whether an interpreter of that name starts."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", ""], check=False).returncode == 0


def hand_pip_settings_to_uv() -> None:
    """uv reads no pip configuration: without this it would ask another index than pip does."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        check=False,
        capture_output=True,
        text=True,
    ).stdout
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    for option, variable in {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "cert": "SSL_CERT_FILE",
    }.items():
        for source in (f"global.{option}", f":env:.{option}"):
            if source in settings:
                os.environ.setdefault(variable, settings[source].strip("'"))


def prepare_environment() -> None:
    """What every session needs around it."""
    os.environ["PATH"] = os.pathsep.join(without_shims(os.environ["PATH"]) + pyenv_interpreters())
    # ansible-core 2.19 and newer refuse to start without a UTF-8 locale.
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(COLLECTIONS)
    os.environ.setdefault("ANSIBLE_HOME", str(BUILD / "ansible"))
    os.environ["UV_PYTHON_DOWNLOADS"] = "never"
    # Without compiled files each start of Ansible takes twice as long, and each import of kubernetes. They lie below build/, and the
    # tree stays clean also for those who want no such files in it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(BUILD / "pycache")
    # What is installed below build/ belongs to no repository: antsibull-docs copies of a collection only what git knows.
    os.environ["GIT_CEILING_DIRECTORIES"] = str(BUILD)
    hand_pip_settings_to_uv()
    RESULTS.mkdir(parents=True, exist_ok=True)
    link = COLLECTIONS / "ansible_collections" / "nodecraft" / "kubeadm"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(ROOT, target_is_directory=True)


prepare_environment()

PYTHONS = [f"3.{minor}" for minor in range(9, 16) if answers(f"python3.{minor}")]
# Where ansible runs: the newest Python that the pinned tools know.
CONTROLLERS = [version for version in PYTHONS if version in UNIT_CORES] or ["3.11"]
CONTROLLER = CONTROLLERS[-1]
SANITY_PYTHONS = {
    name: next((python for python in core.pythons if python in PYTHONS), None) for name, core in CORES.items()
}
UNIT_SESSIONS = tuple(f"unit-{python}" for python in dict.fromkeys((PYTHONS[0], CONTROLLERS[0], CONTROLLER)))
RELEASED = [name for name, core in CORES.items() if "rc" not in core.release and SANITY_PYTHONS[name]]

# What `make test` runs: the cheap sessions first, so that most mistakes show within a minute. Its unit tests meet the oldest and
# the newest of the Pythons and cores, its sanity tests the newest core; `make test-unit` and `make test-sanity` meet all.
TEST_SESSIONS = (
    "ruff",
    *UNIT_SESSIONS,
    "plays",
    "contracts",
    "faults",
    "start",
    f"device_plugin-{CONTROLLERS[0]}",
    "typing",
    "yamllint",
    "antsibull-nox-config",
    "extra-checks",
    "license-check",
    "changelog",
    "execution-environment",
    "docs-check",
    "ansible-lint",
    "build-import-check",
    f"sanity({RELEASED[-1]})",
    "scenarios",
)
LINT_SESSIONS = tuple(
    name
    for name in TEST_SESSIONS
    if name not in (*UNIT_SESSIONS, "plays", "faults", "start", "scenarios")
    and not name.startswith(("device_plugin", "sanity"))
)

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.envdir = str(BUILD / "envs")
nox.options.reuse_venv = "yes"
nox.options.sessions = ["test"]
nox.options.error_on_missing_interpreters = True

antsibull_nox.load_antsibull_nox_toml()


def install(session: nox.Session, *packages: str) -> None:
    """Bring packages into the session's venv, in the pinned versions."""
    session.install("--constraint", str(CONSTRAINTS), *packages)


def apt_get(session: nox.Session, *arguments: str) -> None:
    """Run it without questions; another one that runs is waited for."""
    session.run(
        *("apt-get", "--quiet", "--yes", "--option=DPkg::Lock::Timeout=300", *arguments),
        external=True,
        env={"DEBIAN_FRONTEND": "noninteractive"},
    )


def offer_prometheus(session: nox.Session) -> None:
    """Put Prometheus on the session's path: the one of this machine, else Debian's, unpacked below build/."""
    if all(shutil.which(program) for program in PROMETHEUS_PROGRAMS):
        return
    if not PROMETHEUS.exists():
        unpack_prometheus(session)
    session.env["PATH"] = os.pathsep.join((str(PROMETHEUS / "usr" / "bin"), os.environ["PATH"]))


def unpack_prometheus(session: nox.Session) -> None:
    """Download Debian's package and unpack it; nothing is installed."""
    please = f"Please put {' and '.join(PROMETHEUS_PROGRAMS)} on PATH; Debian has them in the packages prometheus and, from 13 on, promtool"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        session.error(please)
    download = fresh_folder(BUILD / "prometheus-download")
    try:
        if os.geteuid() == 0:
            apt_get(session, "update")
        # Debian 13 has promtool in a package of its own.
        packages = [name for name in ("prometheus", "promtool") if is_package(name)]
        with session.chdir(download):
            apt_get(session, "download", *packages)
        unpacked = download / "unpacked"
        for package in download.glob("*.deb"):
            session.run("dpkg-deb", "-x", str(package), str(unpacked), external=True)
    except nox.command.CommandFailed:
        session.error(f"Debian's package could not be brought. {please}")
    unpacked.rename(PROMETHEUS)
    shutil.rmtree(download)


def run_pytest(session: nox.Session, *arguments: str) -> None:
    """Run pytest and leave its counts where ``test`` reads them."""
    report = RESULTS / f"{session.name}.xml"
    report.unlink(missing_ok=True)
    session.run("pytest", f"--junit-xml={report}", *arguments, *session.posargs)


def is_package(name: str) -> bool:
    """Whether apt knows a package of that name."""
    return subprocess.run(["apt-cache", "show", name], check=False, capture_output=True).returncode == 0


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


def run_all(session: nox.Session, commands: t.Sequence[t.Sequence[str]]) -> None:
    """Run every command, also after one failed, so that one run shows all findings."""
    failed = False
    for command in commands:
        try:
            session.run(*command)
        except nox.command.CommandFailed:
            failed = True
    if failed:
        session.error("see above")


@nox.session(python=PYTHONS)
def unit(session: nox.Session) -> None:
    """Unit tests but for the plays of the roles: all of them where ansible-core runs, those of the node's side everywhere."""
    python = str(session.python)
    # The property-based tests search in earnest on the oldest Python that is here.
    profile = "quick" if python == PYTHONS[0] else "brief"
    session.env["HYPOTHESIS_PROFILE"] = os.environ.get("HYPOTHESIS_PROFILE", profile)
    install_unit_tools(session)
    left_out = [] if python in UNIT_CORES else [f"--ignore=tests/unit/{name}" for name in NEED_ANSIBLE]
    run_pytest(session, "--numprocesses=auto", "tests/unit", f"--ignore={PLAYS}", *left_out)


def install_unit_tools(session: nox.Session) -> None:
    """What unit tests need, with the ansible-core that goes with the session's Python where there is one."""
    core = UNIT_CORES.get(str(session.python))
    tools = ["pytest", "pytest-xdist", "hypothesis", "PyYAML", "jsonpatch", "urllib3"]
    install(session, *tools, *([f"ansible-core=={CORES[core].release}"] if core else []))


@nox.session(python=CONTROLLER)
def plays(session: nox.Session) -> None:
    """A slice of the plays of the roles, on the newest core: the way of each that goes well, and who is kept from what."""
    run_plays(session, "-m", "slice")


@nox.session(default=False, python=list(dict.fromkeys((CONTROLLERS[0], CONTROLLER))))
def plays_whole(session: nox.Session) -> None:
    """All plays of the roles, on the oldest and the newest core."""
    run_plays(session)


def run_plays(session: nox.Session, *arguments: str) -> None:
    """Run the tests that play roles with modules that change nothing."""
    install_unit_tools(session)
    run_pytest(session, "--numprocesses=auto", PLAYS, *arguments)


@nox.session(python=CONTROLLER)
def contracts(session: nox.Session) -> None:
    """The architecture's promises: imports, payloads, action groups, role specs, README."""
    # The documentation of modules that ask the API has parts of kubernetes.core's, which the package brings.
    install(session, "pytest", "PyYAML", "ansible")
    run_pytest(session, "tests/contracts")


@nox.session(python=list(dict.fromkeys((CONTROLLERS[0], CONTROLLER))))
def device_plugin(session: nox.Session) -> None:
    """Types and tests of the device plugin, and that its package holds all it needs."""
    offer_prometheus(session)
    install_device_plugin(session, "mypy", "types-PyYAML", "pytest", "pytest-xdist", "grpcio-tools")
    session.run("nodecraft-device-plugin", "--config", str(DEVICE_PLUGIN / "config.example.yaml"), "--validate")
    with session.chdir(DEVICE_PLUGIN):
        session.run("mypy", f"--cache-dir={BUILD / 'mypy-device-plugin'}", "src", "tests", "generate_protocol.py")
        run_pytest(session, "--numprocesses=auto")


@nox.session(default=False, python=CONTROLLER)
def device_plugin_bench(session: nox.Session) -> None:
    """Size and speed of the device plugin with a thousand devices."""
    install_device_plugin(session)
    session.run("python", str(DEVICE_PLUGIN / "tests" / "bench.py"))


def install_device_plugin(session: nox.Session, *tools: str) -> None:
    """Bring the device plugin and tools into the session's venv."""
    # Built from a copy: a build leaves its files beside the sources.
    package = str(collection_copy(session.name) / "device_plugin")
    install(session, *tools, package)
    install(session, "--no-deps", "--force-reinstall", package)


@nox.session
def changelog(session: nox.Session) -> None:
    """The fragments of the changelog."""
    install(session, "antsibull-changelog")
    session.run("antsibull-changelog", "lint")


@nox.session(name="execution-environment", python=CONTROLLER)
def execution_environment(session: nox.Session) -> None:
    """What the collection tells ansible-builder, and the definition of its execution environment."""
    install(session, "ansible-builder")
    tree = collection_copy("execution-environment")
    session.run("ansible-builder", "introspect", str(tree.parents[2]))
    context = f"--context={BUILD / 'ee'}"
    session.run("ansible-builder", "create", "--file=ee/execution-environment.yml", context)


@nox.session(name="ansible-lint", python=CONTROLLER)
def ansible_lint(session: nox.Session) -> None:
    """Playbooks, roles and metadata under the profile that certification asks for."""
    install(session, "ansible", "ansible-lint")
    with session.chdir(collection_copy("lint")):
        session.run("ansible-lint", "--offline", "--strict", "--profile", "production")


def collection_copy(name: str) -> Path:
    """A copy of what git knows or would take, in a tree as Ansible's own tools want it.

    What ansible-test made there stays: its venvs serve the next run.
    """
    tree = BUILD / "trees" / name / "ansible_collections" / "nodecraft" / "kubeadm"
    for path in tree.glob("*"):
        if path.name != "tests":
            remove(path)
    for path in tree.glob("tests/*"):
        if path.name != "output":
            remove(path)
    for name_of_file in project_files():
        (tree / name_of_file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name_of_file, tree / name_of_file)
    # Without a repository of its own the copy would be taken for a part of this one that git ignores.
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    return tree


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def project_files() -> list[str]:
    """Every file that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@nox.session
@nox.parametrize(
    "python,core",
    [nox.param(python, name, id=name) for name, python in SANITY_PYTHONS.items() if python is not None],
)
def sanity(session: nox.Session, core: str) -> None:
    """All sanity tests of ansible-test, without a container and without an ignore file."""
    install(session, f"ansible-core=={CORES[core].release}")
    home = BUILD / "trees" / "home"
    offer_pip(session, home)
    tree = collection_copy(f"sanity-{core}")
    offer_kubernetes_core(session, tree.parents[1])
    with session.chdir(tree):
        session.run(
            "ansible-test",
            "sanity",
            "--venv",
            "--color=no",
            *SANITY_ARGUMENTS.get(core, ()),
            *session.posargs,
            env={"HOME": str(home), "PIP_CACHE_DIR": pip_cache()},
        )


def offer_kubernetes_core(session: nox.Session, collections: Path) -> None:
    """Put kubernetes.core beside a copy of the collection: documentation and options of our modules have parts of its own."""
    # Without its dependencies, for ansible-core is there in the version to be tested.
    install(session, "--no-deps", "ansible")
    link = collections / "kubernetes"
    link.unlink(missing_ok=True)
    link.symlink_to(next(Path(session.bin).parent.glob("lib/python*/site-packages/ansible_collections/kubernetes")))


def pip_cache() -> str:
    """pip's cache of this user, for a process whose HOME is another."""
    default = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "pip"
    return os.environ.get("PIP_CACHE_DIR", str(default))


def offer_pip(session: nox.Session, home: Path) -> None:
    """Put Python's own copy of pip where ansible-test keeps the script it would download for it."""
    version = session.run(
        "python",
        "-c",
        "import re, ansible_test._internal.python_requirements as m;"
        "print(re.search(r\"pip='([0-9.]+)'\", open(m.__file__).read())[1])",
        silent=True,
    )
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    script = cache / f"get_pip_{str(version).strip().replace('.', '_')}.py"
    script.write_text(
        "import ensurepip\nensurepip.bootstrap(upgrade=True, default_pip=True)\n",
        encoding="utf-8",
    )


def lab_variables() -> dict[str, str]:
    """What make hands over, or its defaults."""
    return {
        "LAB": os.environ.get("LAB", "lab"),
        "K8S": os.environ.get("K8S", "1.37"),
        "CONTROL_PLANES": os.environ.get("CONTROL_PLANES", "1"),
        "WORKERS": os.environ.get("WORKERS", "2"),
    }


def lab_of_this_clone(name: str) -> str:
    """What a cluster for tests is called: two clones on one machine can each have theirs."""
    return f"{name}-{hashlib.sha256(bytes(ROOT)).hexdigest()[:4]}"


@nox.session(default=False, python=CONTROLLER)
def lab_up(session: nox.Session) -> None:
    """A cluster to work with."""
    # What the playbooks need is there for the command that its last line names.
    install(session, "ansible", "kubernetes", "jsonpatch")
    start_lab(session, lab_variables(), *session.posargs)


def start_lab(session: nox.Session, lab: t.Mapping[str, str], *arguments: str) -> None:
    """Start the cluster that these variables describe, or leave it when it is there."""
    play_lab(
        session,
        "up",
        lab["LAB"],
        f"--extra-vars=lab_kubernetes={lab['K8S']}",
        f"--extra-vars=lab_control_planes={lab['CONTROL_PLANES']}",
        f"--extra-vars=lab_workers={lab['WORKERS']}",
        *arguments,
    )


@nox.session(default=False, python=CONTROLLER)
def lab_down(session: nox.Session) -> None:
    """Remove a cluster of ``lab_up``."""
    install(session, "ansible")
    stop_lab(session, lab_variables()["LAB"], *session.posargs)


def stop_lab(session: nox.Session, name: str, *arguments: str) -> None:
    """Remove a cluster."""
    play_lab(session, "down", name, *arguments)


def play_lab(session: nox.Session, playbook: str, name: str, *arguments: str) -> None:
    """Run a playbook of the lab. It prints lines for a person; all results are in build/log/lab-NAME.jsonl."""
    session.run(
        "ansible-playbook",
        f"lab/{playbook}.yml",
        f"--extra-vars=lab_name={name}",
        *arguments,
        env={"ANSIBLE_CONFIG": str(ROOT / "lab" / "ansible.cfg")},
        interrupt_timeout=PATIENCE,
    )


@nox.session(python=CONTROLLER)
def scenarios(session: nox.Session) -> None:
    """A Molecule scenario for each kind of change on real clusters, each on one version of Kubernetes."""
    play(session, SCENARIOS)


@nox.session(default=False, python=CONTROLLER)
def test_lab(session: nox.Session) -> None:
    """Every Molecule scenario on every version of Kubernetes; arguments select versions."""
    # As many as the scenario device_plugin has to stand; the scenarios of each day make do with a few.
    session.env["KUBELET_RESTARTS"] = "20"
    play(session, {version: all_scenarios() for version in session.posargs or LAB_VERSIONS})


def all_scenarios() -> list[str]:
    """The names of the scenarios; C(default) only makes the clusters that the others share."""
    folders = (ROOT / "extensions" / "molecule").glob("*/molecule.yml")
    return sorted(path.parent.name for path in folders if path.parent.name != "default")


def play(session: nox.Session, wanted: t.Mapping[str, t.Sequence[str]]) -> None:
    """Play scenarios, two versions of Kubernetes at once. wanted: version -> its scenarios."""
    install(session, "ansible", "molecule", "kubernetes", "jsonpatch")
    with ThreadPoolExecutor(LABS_AT_ONCE) as pool:
        outcomes = list(pool.map(lambda version: play_on(session, version, wanted[version]), wanted))
    outcome = {name: passed for outcome in outcomes for name, passed in outcome.items()}
    (RESULTS / f"{session.name}.json").write_text(json.dumps(outcome, indent=2), encoding="utf-8")
    failed = [name for name, passed in outcome.items() if not passed]
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def play_on(session: nox.Session, kubernetes: str, names: t.Sequence[str]) -> dict[str, bool]:
    """The scenarios of one version; they share a cluster, and one that fails stops no other. Returns which passed."""

    def molecule(action: str, scenario: str, *options: str) -> bool:
        return run_molecule(session, kubernetes, action, f"--scenario-name={scenario}", *options)

    # What an interrupted run left behind would be taken for this run's lab.
    molecule("destroy", "default")
    try:
        outcome = {f"{kubernetes} lab": molecule("create", "default")}
        for name in names if all(outcome.values()) else ():
            outcome[f"{kubernetes} {name}"] = molecule("test", name, "--no-shared-state", "--destroy=never")
    finally:
        molecule("destroy", "default")
    return outcome


def run_molecule(session: nox.Session, kubernetes: str, *arguments: str) -> bool:
    """Run it for the lab of one version. Returns whether it ended well."""
    log = RESULTS / "molecule" / f"{kubernetes}-{'-'.join(arguments[:2]).replace('--scenario-name=', '')}.log"
    lab = lab_of_this_clone(f"test-{kubernetes.replace('.', '-')}")
    # Molecule notes below it which scenarios have a cluster, by their names alone: one lab must not be taken for another.
    environment = {"K8S": kubernetes, "LAB": lab, "ANSIBLE_HOME": str(BUILD / "ansible" / lab)}
    return run_logged(session, log, environment, "molecule", *arguments)


def run_logged(session: nox.Session, log: Path, environment: t.Mapping[str, str], *command: str) -> bool:
    """Run a command with its output in a log, which is shown when it failed: several run at once."""
    title = f"{log.stem}: {' '.join(command[:2])}"
    log.parent.mkdir(exist_ok=True)
    began = time.monotonic()
    try:
        with log.open("w", encoding="utf-8") as output:
            session.run(*command, env=environment, stdout=output, stderr=subprocess.STDOUT, log=False)
    except nox.command.CommandFailed:
        session.warn(f"{title}: failed after {time.monotonic() - began:.0f} s\n{log.read_text(encoding='utf-8')}")
        return False
    session.log(f"{title}: {time.monotonic() - began:.0f} s")
    return True


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


def run_file_faults(session: nox.Session, scope: str) -> None:
    """Run the fault tests that need no cluster, and keep their counts."""
    if os.geteuid() != 0:
        session.skip("processes of others are traced and files are given to others: run it as root")
    install(session, "pytest", "pytest-xdist", "PyYAML")
    session.env.update(FAULTS_SCOPE=scope, FAULTS_RECORD=str(fresh_folder(FAULTS / "files")))
    run_pytest(session, "--numprocesses=auto", "tests/faults", "--ignore=tests/faults/lab")


@nox.session(default=False, python=CONTROLLER)
def faults_lab(session: nox.Session) -> None:
    """The fault tests on real clusters, each cluster with its part of them."""
    install(session, "ansible", "kubernetes", "jsonpatch", "pytest", "pytest-rerunfailures", "PyYAML")
    forgotten = {path.name for path in LAB_FAULTS.glob("test_*.py")}.difference(
        *(lab.tests for labs in FAULT_LABS for lab in labs.values())
    )
    if forgotten:
        session.error(f"FAULT_LABS has no {', '.join(sorted(forgotten))}")
    record = fresh_folder(FAULTS / "lab")
    failed = [name for labs in FAULT_LABS for name in failed_on_labs(session, labs, record)]
    if failed:
        session.error(f"failed on {', '.join(failed)}")


def failed_on_labs(session: nox.Session, labs: t.Mapping[str, FaultLab], record: Path) -> list[str]:
    """The fault tests of clusters that are there at the same time. Returns the names of those on which one failed."""
    labs = {lab_of_this_clone(name): lab for name, lab in labs.items()}
    try:
        for name, lab in labs.items():
            stop_lab(session, name)  # of a run that was interrupted
            # A real API server takes its whole grace period to stop, each of the many times.
            start_lab(session, lab.variables(name), "--extra-vars=lab_grace_seconds=3")
        with ThreadPoolExecutor(len(labs)) as pool:
            outcomes = list(pool.map(lambda name: run_lab_faults(session, name, labs[name], record), labs))
    finally:
        for name in labs:
            stop_lab(session, name)
    return [name for name, passed in zip(labs, outcomes, strict=True) if not passed]


def run_lab_faults(session: nox.Session, name: str, lab: FaultLab, record: Path) -> bool:
    """The fault tests of one lab. Returns whether they passed."""
    report = RESULTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    return run_logged(
        session,
        RESULTS / "faults" / f"{name}.log",
        {lab.named_by: name, "FAULTS_RECORD": str(record)},
        "pytest",
        f"--junit-xml={report}",
        # Only what failed while the host gave this machine no time; see starvation.py.
        "--reruns=2",
        "--only-rerun=Starved",
        *(str(LAB_FAULTS / file) for file in lab.tests),
        *session.posargs,
    )


def fresh_folder(path: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


@nox.session(python=False, default=False)
def test_faults(session: nox.Session) -> None:
    """All fault tests: the labs, then the whole file layer."""
    for name in FAULT_SESSIONS:
        session.notify(name)


@nox.session(default=False, python=CONTROLLER)
def demo(session: nox.Session) -> None:
    """The collection at work on a fresh cluster."""
    install(session, "ansible", "kubernetes", "jsonpatch")
    run_story(session, "demo/demo.py")


def run_story(session: nox.Session, program: str) -> None:
    """Run a program that works on a lab of its own and tells what it sees."""
    session.run(
        *("python", program, *session.posargs),
        env={**lab_variables(), "PYTHONPATH": str(COLLECTIONS)},
        interrupt_timeout=PATIENCE,
    )


@nox.session(default=False, python=CONTROLLER)
def bench(session: nox.Session) -> None:
    """Figures beside those of other ways to the same end."""
    install_device_plugin(session, "ansible", "kubernetes", "jsonpatch")
    run_story(session, "bench/bench.py")


class Count(t.NamedTuple):
    """How many checks passed and failed."""

    passed: int
    failed: int

    def __add__(self, other: t.Any) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed)


def own_count(session_name: str) -> Count:
    """The checks that a session counted itself: tests of pytest, scenarios of Molecule."""
    junit = RESULTS / f"{session_name}.xml"
    if junit.exists():
        suite = next(ET.parse(junit).iter("testsuite"))
        total, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        return Count(total - failures - errors - skipped, failures + errors)
    outcome = RESULTS / f"{session_name}.json"
    if outcome.exists():
        passed = list(json.loads(outcome.read_text(encoding="utf-8")).values())
        return Count(passed.count(True), passed.count(False))
    return Count(0, 0)


def count_of(session: dict[str, t.Any]) -> Count:
    """The checks of one session; a session that counts nothing itself is one check."""
    # The first signature is what the session itself is called, with its Python and parameters.
    own = own_count(session["signatures"][0])
    succeeded = session["result"] == "success"
    if succeeded:
        return own if sum(own) else Count(1, 0)
    # A session that broke outside its own tests must not look better than they do.
    return own if own.failed else own + Count(0, 1)


@nox.session(python=False)
def test(session: nox.Session) -> None:
    """All checks. The last line says how many passed and failed."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    report = RESULTS / "nox-report.json"
    session.run(
        sys.executable,
        "-m",
        "nox",
        f"--noxfile={__file__}",
        "--non-interactive",
        f"--report={report}",
        "--sessions",
        *(session.posargs or TEST_SESSIONS),
        success_codes=range(256),
        external=True,
    )
    sessions = json.loads(report.read_text(encoding="utf-8"))["sessions"]
    counted = [session for session in sessions if session["result"] != "skipped"]
    total = Count(0, 0)
    for entry in counted:
        total += count_of(entry)
    for core, python in SANITY_PYTHONS.items():
        if python is None:
            session.warn(f"Not run: sanity of ansible-core {core}, no Python for it is here")
    # nox has a last word of its own; the count comes after it.
    atexit.register(print, f"{total.passed} passed, {total.failed} failed", flush=True)
    if total.failed:
        session.error("not everything passed")


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
