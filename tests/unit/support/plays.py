# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays roles and playbooks of the collection as they are, run by Ansible, on nodes whose modules change nothing and query nothing.

Only the modules have stand-ins, which reach the hosts as the real ones do. Roles, playbooks, action plugins, filters, lookups and utilities
are those of the collection.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

from ansible.parsing.vault import VaultLib, VaultSecret

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PARTS = HERE / "stage"
# What stands in for which module.
STUBS = {
    "transaction.py": ("static_pod", "static_pod_plan", "kubelet"),
    "follower.py": ("node_transaction",),
    "access.py": ("access_info",),
    "canary.py": ("node_canary",),
    "api.py": ("node_resource_info",),
    "info.py": ("static_pod_info", "kubelet_info"),
    "image.py": ("node_image",),
    "lease.py": ("rollout_lease",),
    "device_plugin.py": ("device_plugin_info",),
    "results.py": (
        "pod_resize",
        "placement_guard",
        "upgrade_check",
        "upgrade_info",
        "kubeadm_config",
        "kubeadm_config_check",
    ),
    "nodes.py": ("node_taint", "node_extended_resource", "node_label"),
}
# The same for kubernetes.core.
CORE_STUBS = {"kubernetes.py": ("k8s",)}
STAND_INS = {name for stubs in (STUBS, CORE_STUBS) for names in stubs.values() for name in names}
# What is the collection's own. Of its modules, those that have no stand-in.
LINKED = (
    "meta",
    "playbooks",
    "roles",
    "plugins/action",
    "plugins/doc_fragments",
    "plugins/filter",
    "plugins/lookup",
    "plugins/plugin_utils",
)
FILLED = ("plugins/modules", "plugins/module_utils")
CONTROLLER = "localhost"
# A module knows its arguments and its environment. The first line of both is that of a shell, and `exec` leaves none behind.
INTERPRETER = """\
#!/bin/sh
export STUB_MACHINE='{host}'
echo "module {host} ${{1##*/}}" >> "$STUB_RUNS"
exec '{python}' "$@"
"""
SUDO = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
  if [ "$1" = -u ]; then shift; fi
  shift
done
export STUB_BECOMES=1
exec "$@"
"""

Json = dict[str, t.Any]
# Runs a command in a directory, with an environment. Returns its status and all that it printed.
Start = t.Callable[[list[str], Path, dict[str, str]], tuple[int, str]]


def run_command(command: list[str], directory: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command to its end."""
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a play. calls: the recorded calls of the stand-ins in this play, in their order.

    tasks: host -> its tasks that began (includes and skipped ones too) and the modules that ran for them, each try and each item
    of a loop. What a module other than the stand-ins did counts for the host on which it ran.
    """

    status: int
    output: str
    calls: list[Json]
    tasks: dict[str, int]

    def hosts(self, step: str, component: str) -> list[str]:
        """The hosts on which a component was planned (C(plan)) or changed (C(change)), in their order."""
        return [call["host"] for call in self.calls if (call["step"], call["component"]) == (step, component)]

    @property
    def reports(self) -> list[str]:
        """The printed summaries of all hosts, one text for each time, with one space between columns. Others may end the task before the one that shows it."""
        texts = re.findall(
            r"^TASK \[[^]]*Show (?:the outcome|what the upgrade) [^]]*\] \*+\n(?:(?:skipping|ok): \S+\n)*(.*?)^(?:ok|fatal|skipping): ",
            self.output,
            re.DOTALL | re.MULTILINE,
        )
        return ["\n".join(" ".join(line.split()) for line in text.splitlines()) for text in texts]

    @property
    def statistics(self) -> Json:
        """The statistics of the run as a whole."""
        # What was written to the other channel may follow.
        found: Json = json.JSONDecoder().raw_decode(self.output.rpartition("RUN: ")[2])[0]
        return found


class Stage:
    """A directory with the collection, in which plays run.

    environment: of the controller, besides ours. python: of the controller and of the hosts. start_by: how the controller is started.
    """

    def __init__(self, directory: Path, *, python: str = sys.executable, start_by: Start = run_command) -> None:
        self.environment: dict[str, str] = {}
        self._directory = directory
        self._python = python
        self._start = start_by
        self._log = directory / "calls"
        self._runs = directory / "runs"
        self._log.touch()
        self._runs.touch()
        self._collection = directory / "ansible_collections/nodecraft/kubeadm"
        self._put_stubs(self._collection, STUBS)
        self._put_stubs(directory / "ansible_collections/kubernetes/core", CORE_STUBS)
        for name in LINKED:
            (self._collection / name).symlink_to(ROOT / name)
        for name in FILLED:
            _link_children(ROOT / name, self._collection / name)
        _write_program(directory / "sudo", SUDO)

    @staticmethod
    def _put_stubs(collection: Path, stubs: t.Mapping[str, t.Sequence[str]]) -> None:
        modules, utils = (collection / name for name in FILLED)
        modules.mkdir(parents=True)
        utils.mkdir()
        shutil.copy(PARTS / "module_utils/stand_in.py", utils)
        for stub, names in stubs.items():
            for name in names:
                shutil.copy(PARTS / "modules" / stub, modules / f"{name}.py")

    def replace(self, file: str, text: str, instead: str) -> None:
        """Play with another text in a file of the collection. Raises AssertionError unless it stands there exactly once."""
        path = self._collection
        for part in Path(file).parts:
            path /= part
            if path.is_symlink():
                target = path.resolve()
                path.unlink()
                if target.is_dir():
                    path.mkdir()
                    _link_children(target, path)
                else:
                    shutil.copy(target, path)
        content = path.read_text(encoding="utf-8")
        assert content.count(text) == 1, f"{file} must have {text!r} once, and has it {content.count(text)} times"
        path.write_text(content.replace(text, instead), encoding="utf-8")

    def play(self, groups: t.Mapping[str, Json], *options: str, **keywords: t.Any) -> Outcome:
        """Run one play on all hosts. groups: group -> host -> its variables. options: of C(ansible-playbook)."""
        return self._run(groups, {"hosts": "all", "gather_facts": False, **keywords}, *options)

    def playbook(
        self, name: str, groups: t.Mapping[str, Json], *options: str, variables: Json | None = None
    ) -> Outcome:
        """Run a playbook of the collection. variables: that stand where it is imported."""
        entry = {"import_playbook": f"nodecraft.kubeadm.{name}", "vars": variables or {}}
        return self.run_import(entry, groups, *options)

    def run_import(self, entry: Json, groups: t.Mapping[str, Json], *options: str) -> Outcome:
        """Run what a user's own playbook imports. entry: of that playbook."""
        return self._run(groups, entry, *options)

    def _run(self, groups: t.Mapping[str, Json], play: Json, *options: str) -> Outcome:
        self._write_inventory(groups, play)
        calls_before, before = self._log.stat().st_size, self._runs.stat().st_size
        command = [self._python, "-m", "ansible", "playbook", "--inventory=inventory.yml", *options, "play.yml"]
        status, output = self._start(command, self._directory, self._variables())
        calls = [json.loads(line) for line in self._log.read_bytes()[calls_before:].splitlines()]
        runs = self._runs.read_bytes()[before:].decode()
        return Outcome(status, output, calls, count_tasks(runs))

    def _write_inventory(self, groups: t.Mapping[str, Json], play: Json) -> None:
        """Write the inventory, the play, and the settings of the stand-ins: variables of hosts, or of the play, whose names begin with stub."""
        inventory = {
            group: {
                "hosts": {host: {**self._connection_variables(host), **variables} for host, variables in hosts.items()}
            }
            for group, hosts in groups.items()
        }
        settings: Json = {"all": _of_stubs(play.get("vars", {})), "hosts": collections.defaultdict(dict)}
        for hosts in groups.values():
            for host, variables in hosts.items():
                settings["hosts"][host].update(_of_stubs(variables))
        for name, content in (("inventory.yml", inventory), ("play.yml", [play]), ("stub_variables.json", settings)):
            (self._directory / name).write_text(json.dumps(content), encoding="utf-8")

    def _connection_variables(self, host: str) -> Json:
        """How Ansible connects to a host, and the variable by which the modules of its tasks know their host, wherever they run."""
        log_info = {"ansible_target_log_info": host}
        if host == CONTROLLER:
            return {**log_info, "ansible_connection": "local", "ansible_python_interpreter": self._python}
        program = self._directory / "machines" / host / "python"
        _write_program(program, INTERPRETER.format(host=host, python=self._python))
        return {**log_info, "ansible_connection": "stage", "ansible_python_interpreter": str(program)}

    def _variables(self) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("K8S_AUTH_")},
            **self.environment,
            # Otherwise a controller that is root already would never be seen to become it.
            "ANSIBLE_BECOME_ALLOW_SAME_USER": "true",
            "ANSIBLE_BECOME_EXE": str(self._directory / "sudo"),
            "ANSIBLE_CALLBACKS_ENABLED": "stage_starts",
            "ANSIBLE_CALLBACK_PLUGINS": str(PARTS / "callback"),
            "ANSIBLE_COLLECTIONS_PATH": str(self._directory),
            "ANSIBLE_CONNECTION_PLUGINS": str(PARTS / "connection"),
            "ANSIBLE_HOME": str(self._directory / "home"),
            "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_REMOTE_TMP": str(self._directory / "remote"),
            "ANSIBLE_SHOW_CUSTOM_STATS": "true",
            "ANSIBLE_FORCE_COLOR": "false",
            "LC_ALL": "C.UTF-8",
            "STUB_LOG": str(self._log),
            "STUB_RUNS": str(self._runs),
            "STUB_VARIABLES": str(self._directory / "stub_variables.json"),
        }


def vaulted(text: str, password: str) -> Json:
    """A value of a variable as C(!vault) makes it in an inventory of YAML."""
    return {"__ansible_vault": VaultLib([("default", VaultSecret(password.encode()))]).encrypt(text).decode()}


def count_tasks(runs: str) -> dict[str, int]:
    """host -> how many tasks and modules ran. runs: the lines of the callback, of the interpreters and of the stand-ins."""
    found: collections.Counter[str] = collections.Counter()
    for line in runs.splitlines():
        kind, host, *rest = line.split(" ")
        # A stand-in records for whom it ran, its interpreter only where.
        if kind != "module" or "".join(rest).removeprefix("AnsiballZ_").removesuffix(".py") not in STAND_INS:
            found[host] += 1
    return dict(found)


def _of_stubs(variables: Json) -> Json:
    return {name: value for name, value in variables.items() if name.startswith("stub")}


def _link_children(source: Path, target: Path) -> None:
    """Links to all that is in a directory and not in the other yet."""
    for child in source.iterdir():
        if child.name != "__pycache__" and not (target / child.name).exists():
            (target / child.name).symlink_to(child)


def _write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
