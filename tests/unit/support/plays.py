# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays roles and playbooks of the collection as they are, run by Ansible, with modules that change nothing and ask nobody."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
# What stands in for which module.
STUBS = {
    "stub_transaction.py": ("static_pod", "kubelet", "node_transaction"),
    "stub_api.py": ("node_resource_info",),
    "stub_info.py": ("static_pod_info", "kubelet_info"),
    "stub_image.py": ("node_image",),
    "stub_lease.py": ("rollout_lease",),
    "stub_kubernetes.py": ("device_plugin_info",),
    "stub_results.py": ("pod_resize", "placement_guard"),
    "stub_nodes.py": ("node_taint", "node_extended_resource", "node_label"),
}
# The same for kubernetes.core.
CORE_STUBS = {"stub_kubernetes.py": ("k8s", "k8s_info")}

Json = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came of a play. calls: what the stand-ins were asked for, in its order."""

    status: int
    output: str
    calls: list[Json]

    def hosts(self, step: str, component: str) -> list[str]:
        """The hosts on which a component was planned (C(plan)) or changed (C(change)), in their order."""
        return [call["host"] for call in self.calls if (call["step"], call["component"]) == (step, component)]

    @property
    def reports(self) -> list[str]:
        """The role's lines, one text for each time that it reported."""
        return [part.split("\n}", 1)[0] for part in self.output.split('"msg": [')[1:]]

    @property
    def statistics(self) -> Json:
        """What the run as a whole tells those who started it."""
        found: Json = json.loads(self.output.rpartition("RUN: ")[2])
        return found


class Stage:
    """A folder with the collection, in which plays run. environment: of the controller, besides ours."""

    def __init__(self, folder: Path) -> None:
        self.environment: dict[str, str] = {}
        self._folder = folder
        self._log = folder / "calls"
        self._log.touch()
        collection = folder / "ansible_collections/nodecraft/kubeadm"
        self._put_stubs(collection, STUBS)
        self._put_stubs(folder / "ansible_collections/kubernetes/core", CORE_STUBS)
        for name in ("meta", "playbooks", "roles", "plugins/modules", "plugins/filter", "plugins/module_utils"):
            (collection / name).symlink_to(ROOT / name)

    @staticmethod
    def _put_stubs(collection: Path, stubs: t.Mapping[str, t.Sequence[str]]) -> None:
        actions = collection / "plugins/action"
        actions.mkdir(parents=True)
        for stub, modules in stubs.items():
            for module in modules:
                shutil.copy(HERE / stub, actions / f"{module}.py")

    def play(self, groups: t.Mapping[str, Json], *options: str, **keywords: t.Any) -> Outcome:
        """Run one play on all hosts. groups: group -> host -> its variables. options: of C(ansible-playbook)."""
        return self._run(groups, {"hosts": "all", "gather_facts": False, **keywords}, *options)

    def playbook(
        self, name: str, groups: t.Mapping[str, Json], *options: str, variables: Json | None = None
    ) -> Outcome:
        """Run a playbook of the collection. variables: that stand where it is imported."""
        entry = {"import_playbook": f"nodecraft.kubeadm.{name}", "vars": variables or {}}
        return self.imported(entry, groups, *options)

    def imported(self, entry: Json, groups: t.Mapping[str, Json], *options: str) -> Outcome:
        """Run what a user's own playbook imports. entry: of that playbook."""
        return self._run(groups, entry, *options)

    def _run(self, groups: t.Mapping[str, Json], play: Json, *options: str) -> Outcome:
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {group: {"hosts": hosts, "vars": local} for group, hosts in groups.items()}
        (self._folder / "inventory.yml").write_text(json.dumps(inventory), encoding="utf-8")
        (self._folder / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "ansible", "playbook", "--inventory=inventory.yml", *options, "play.yml"],
            cwd=self._folder,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("K8S_AUTH_")},
                **self.environment,
                "ANSIBLE_COLLECTIONS_PATH": str(self._folder),
                "ANSIBLE_HOME": str(self._folder / "home"),
                "ANSIBLE_NOCOLOR": "true",
                "ANSIBLE_SHOW_CUSTOM_STATS": "true",
                "ANSIBLE_FORCE_COLOR": "false",
                "LC_ALL": "C.UTF-8",
                "STUB_LOG": str(self._log),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        calls = [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]
        return Outcome(done.returncode, done.stdout + done.stderr, calls)
