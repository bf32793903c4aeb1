# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reader who follows the guides on a lab: in a directory of their own, block after block, and who reverts all of it in the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.docs.blocks import Block, Shape, playbook_of, read_yaml, rename_nodes

ROOT = Path(__file__).resolve().parents[2]
BEFORE = Path(__file__).parent / "files" / "before.yml"
INVENTORY = "inventory.yml"
COMMAND_TIMEOUT = 900  # seconds that one command may take
# The variables of a role are where its hosts have them; all others are for all.
GROUP_OF = {"control_plane_": "kube_control_plane", "node_resources_": "kube_node"}
CHANGED = re.compile(r" changed=(\d+) ")
# Nodes of the lab stop their pods after 3 seconds, so these are long enough.
SHORT_WAITS = {"control_plane_min_ready_seconds": 3, "control_plane_wait_timeout": 120}
# With these a run of site reverts all that the collection set.
OF_COMPONENT: dict[str, t.Any] = {
    **{field: {} for field in ("args", "env", "resources", "probes", "priority")},
    **{field: [] for field in ("volumes", "files")},
}
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NOTHING: dict[str, t.Any] = {
    "control_plane_feature_gates": {},
    "control_plane_admission_plugins": {},
    "control_plane_components": dict.fromkeys(COMPONENTS, OF_COMPONENT),
    "node_kubelet_feature_gates": {},
    "node_kubelet_config": {},
    "node_kubelet_args": {},
    "node_kubelet_register_with_taints": [],
    "node_resources_extended_resources": {},
    "node_resources_labels": {},
    "node_resources_taints": [],
}
# What else a page may have set, by the variable that sets it.
ABSENT = {
    "placement_guard_": ("placement_guard", {"placement_guard_state": "absent"}),
    "device_plugin_": ("device_plugin", {"device_plugin_state": "absent"}),
}
# What its rollback needs, by a word of the page.
WITH = {
    "control_plane_persist:": ("control_plane_persist", True),
    "cpuManagerPolicy:": ("node_kubelet_force", True),
}
# Files that the collection changes, and that are as before when all is reverted.
FILES = "/etc/kubernetes/manifests /etc/kubernetes/kubelet.conf.d /etc/systemd/system/kubelet.service.d /etc/default/kubelet"
KUBEADM_CONFIG = [
    "kubectl",
    "--namespace=kube-system",
    "get",
    "configmap",
    "kubeadm-config",
    "--output=jsonpath={.data.ClusterConfiguration}",
]
# What the reader's nodes have: four dongles on each worker, and on all of them the programs of the version to upgrade to, which is their own.
DONGLES = "mkdir -p /dev/serial/by-id; cd /dev/serial/by-id; rm -f *; for minor in 3 5 7 8; do mknod usb-FTDI_$minor c 1 $minor; done"
PROGRAMS = "directory=/opt/kubernetes-$(kubeadm version --output short | tr -d v); mkdir -p $directory; cp /usr/bin/kubeadm /usr/bin/kubelet $directory"
# What the reader's inventory has already: enough for a run of site on a page that sets nothing.
BASE_VARIABLES = {"node_resources_labels": {"example.com/rack": "r7"}}
# A kubelet remembers the devices of a plugin that is gone for five minutes, or until its checkpoint is gone.
FORGET = (
    "systemctl stop kubelet; rm -f /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint; systemctl start kubelet"
)
# What a block starts in the background would keep its output open.
NO_JOB_STAYS = "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n"
# Without hosts a command of Ansible succeeds, and has tried nothing.
SETTINGS = {
    "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
    "ANSIBLE_NOCOLOR": "1",
    "ANSIBLE_PIPELINING": "1",
}
EXPORT = re.compile(r"^export (?P<name>\w+)=(?P<value>\S+)$", re.MULTILINE)


class Reader:
    """Where the reader is: on a page, with what its blocks have set so far."""

    def __init__(self, lab: str, directory: Path) -> None:
        self.lab = lab
        self.directory = directory
        self.lab_directory = ROOT / "build" / "lab" / lab
        self.nodes = yaml.safe_load((self.lab_directory / "inventory-ssh.yml").read_text(encoding="utf-8"))["all"]
        self.environment: dict[str, str] = {}
        self.page = ""
        self.text = ""
        self._reset_directory("")
        self._run_on("kube_node", DONGLES)
        self._run_on("all", PROGRAMS)
        self._reset_objects()
        self.original = self.read_state()

    def open_page(self, page: str) -> None:
        """Turn to a page, with a control plane that works."""
        self._reset_directory(page)
        self._stabilize()

    def _reset_directory(self, page: str) -> None:
        """An inventory of the lab's hosts and nothing else."""
        self.page, self.text = page, ""
        self.environment = environment_of(self.lab_directory / "activate", self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.copytree(ROOT / "docs", self.directory / "docs")
        (self.directory / ".kube").mkdir()
        shutil.copy2(self.lab_directory / "kubeconfig", self.directory / ".kube" / "config")
        self._clear()

    def execute_block(self, block: Block, used_by_next: bool) -> None:
        """Execute a block. used_by_next: whether the block behind it is what applies a file that it shows."""
        text = rename_nodes(block.commands, self.lab)
        self.text += text
        if block.shape is Shape.COMMANDS:
            for match in EXPORT.finditer(text):
                self.environment[match["name"]] = match["value"].replace("~", str(self.directory))
            self.run("bash", "-euo", "pipefail", "-c", f"{NO_JOB_STAYS}{text}")
        elif block.shape is Shape.OBJECTS:
            self.run("kubectl", "apply", "--filename", self._write_text("objects.yml", text))
        elif block.shape is Shape.PLAYBOOK:
            self.play_twice(self._write_text(block.file or "play.yml", text))
        elif block.shape is Shape.TASKS:
            self.play_twice(self._write(block.file or "tasks.yml", [play_of(read_yaml(text)[0])]))
        else:
            self._set(block, read_yaml(text)[0])
            if not used_by_next:
                self.play_twice(f"nodecraft.kubeadm.{applied_by(read_yaml(text)[0])}")

    def _set(self, block: Block, content: dict[str, t.Any]) -> None:
        """Put an inventory, or variables, where Ansible finds them."""
        if block.shape is Shape.INVENTORY:
            whole = "children" in content.get("all", {})
            self._write(INVENTORY, content if whole else merge(self._inventory(), content))
        elif block.file:
            # Ansible takes either a file or a directory of a name.
            file = rename_nodes(block.file, self.lab)
            self._write(re.sub(r"^((?:group|host)_vars/[\w-]+)\.yml$", r"\1/page.yml", file), content)
        else:
            for name, value in content.items():
                group = next((group for prefix, group in GROUP_OF.items() if name.startswith(prefix)), "all")
                self._write(f"group_vars/{group}/{name}.yml", {name: value})

    def revert(self) -> None:
        """Remove the objects of the page, and revert what it set, as a user does."""
        # An account of the page may be among its objects, so the administrator of the lab does it.
        self.environment["K8S_AUTH_KUBECONFIG"] = str(self.directory / ".kube" / "config")
        if (self.directory / "objects.yml").exists():
            self.run("kubectl", "delete", "--ignore-not-found", "--filename=objects.yml")
        for prefix, (playbook, variables) in ABSENT.items():
            if prefix in self.text:
                self._play(f"nodecraft.kubeadm.{playbook}", f"--extra-vars={json.dumps(variables)}")
        if "device_plugin_" in self.text:
            self._forget_devices()
        self._clear()
        self._stabilize()
        more = {name: value for word, (name, value) in WITH.items() if word in self.text}
        self._write("group_vars/kube_node/nothing.yml", NOTHING)
        self._write("group_vars/all/nothing.yml", {**NOTHING, **more})
        self._play("nodecraft.kubeadm.site")
        self._reset_objects()

    def _forget_devices(self) -> None:
        """Remove the names that kubelets remember of a plugin that is gone: for another page they would be those of a plugin."""
        left = [
            (node["metadata"]["name"], name)
            for node in self._nodes_of_api()
            for name, amount in node["status"]["allocatable"].items()
            if "/" in name and amount == "0"
        ]
        self._run_on("all", FORGET)
        for node, name in left:
            path = f"/status/capacity/{name.replace('/', '~1')}"
            patch = json.dumps([{"op": "remove", "path": path}])
            self.run("kubectl", "patch", "node", node, "--subresource=status", "--type=json", f"--patch={patch}")

    def _nodes_of_api(self) -> list[dict[str, t.Any]]:
        return t.cast(list[dict[str, t.Any]], json.loads(self.run("kubectl", "get", "nodes", "--output=json"))["items"])

    def _clear(self) -> None:
        """The reader's inventory, without the variables of a page."""
        for directory in ("group_vars", "host_vars"):
            shutil.rmtree(self.directory / directory, ignore_errors=True)
        self._write("group_vars/all/lab.yml", {**SHORT_WAITS, **plugin_variables(self.lab_directory)})
        for group in self.nodes["children"].values():
            for host, variables in group["hosts"].items():
                # Of hosts: the controller is not reached like them.
                self._write(f"host_vars/{host}/lab.yml", {**self.nodes["vars"], **variables})
        self._write(INVENTORY, self._inventory())

    def _inventory(self) -> dict[str, t.Any]:
        return t.cast(dict[str, t.Any], merge(self.nodes["children"], {"kube_node": {"vars": BASE_VARIABLES}}))

    def read_state(self) -> dict[str, t.Any]:
        """What a page may change: files of the nodes, what kubeadm generates them from, and the nodes in the API."""
        command = f"find {FILES} -type f 2>/dev/null | sort | xargs sha256sum | sed s/^/$(hostname):/"
        files = self._run_on("all", command)
        return {
            "files": sorted(line for line in files.splitlines() if line.startswith(f"{self.lab}-") and ":" in line),
            "kubeadm-config": self.run(*KUBEADM_CONFIG),
            **{node["metadata"]["name"]: state_of(node) for node in self._nodes_of_api()},
        }

    def play_twice(self, playbook: str) -> None:
        """Run a playbook, and once more: the second run changes nothing."""
        self._play(playbook)
        assert changes(self._play(playbook)) == 0, f"the second run of {playbook} changed something"

    def _play(self, playbook: str, *arguments: str) -> str:
        return self.run("ansible-playbook", "-i", INVENTORY, *arguments, playbook)

    def _run_on(self, hosts: str, command: str) -> str:
        inventory = str(self.lab_directory / "inventory-ssh.yml")
        return self.run("ansible", hosts, "-i", inventory, "-m", "ansible.builtin.shell", "-a", command)

    def run(self, *command: str) -> str:
        """Run a command in the reader's directory. Returns its output."""
        # Into a file: a connection that ssh keeps open for the next command would keep a pipe open, too.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            status = subprocess.run(
                command,
                cwd=self.directory,
                env=self.environment,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=COMMAND_TIMEOUT,
            ).returncode
            output.seek(0)
            text = output.read()
        sys.stdout.write(f"$ {' '.join(command)}\n{text}\n")  # pytest shows it when the test fails
        assert status == 0, f"status {status}"
        return text

    def _reset_objects(self) -> None:
        """What is in the cluster before a page: the reader's own Deployment, and no pod of another page."""
        self.run("kubectl", "delete", "pods", "--namespace=default", "--all", "--now")
        self.run("kubectl", "delete", "namespace", "shop", "--ignore-not-found")
        self.run("kubectl", "apply", "--filename", str(BEFORE))
        self.run("kubectl", "--namespace=shop", "rollout", "status", "deployment/web", "--timeout=120s")

    def _stabilize(self) -> None:
        """Controller manager and scheduler end when their API server restarts, and stay down the longer the more often that was.

        A restarted kubelet has forgotten it.
        """
        restart = "systemctl restart kubelet"
        self._run_on("kube_control_plane", restart)
        wait = "until kubectl get --raw /readyz; do sleep 1; done; kubectl --namespace=kube-system wait --for=condition=Ready pod --all --timeout=180s"
        self.run("bash", "-ec", wait)

    def _write(self, path: str, content: object) -> str:
        return self._write_text(path, yaml.safe_dump(content, sort_keys=False))

    def _write_text(self, path: str, text: str) -> str:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return path


def environment_of(activate: Path, home: Path) -> dict[str, str]:
    """The environment of a shell in which a lab was activated, but for what a reader has not: its inventory, and a choice of credentials.

    kubectl takes those of the reader's home.
    """
    exported = subprocess.run(
        ["bash", "-c", '. "$1"; env -0', "bash", str(activate)], check=True, capture_output=True, text=True
    ).stdout
    found = dict(entry.split("=", 1) for entry in exported.split("\0") if "=" in entry)
    left = {
        name: value
        for name, value in found.items()
        if name not in ("ANSIBLE_INVENTORY", "K8S_AUTH_KUBECONFIG", "KUBECONFIG")
    }
    path = os.pathsep.join((str(activate.parent), str(Path(sys.executable).parent), found["PATH"]))
    return {**left, "PATH": path, "HOME": str(home), **SETTINGS}


def plugin_variables(lab_directory: Path) -> dict[str, t.Any]:
    """What builds the image of the device plugin on a machine without a registry, where it was prepared."""
    prepared = lab_directory / "device_plugins.json"
    return json.loads(prepared.read_text(encoding="utf-8"))["build"] if prepared.exists() else {}


def play_of(tasks: list[dict[str, t.Any]]) -> dict[str, t.Any]:
    """A play of tasks that a page shows without one."""
    return {"name": "Tasks", "hosts": "kube_control_plane", "become": True, "gather_facts": False, "tasks": tasks}


def applied_by(content: dict[str, t.Any]) -> str:
    """The playbook that applies variables; an inventory is one of the whole cluster."""
    return next((playbook for playbook in map(playbook_of, content) if playbook), "site")


def merge(one: t.Any, other: t.Any) -> t.Any:
    """Two mappings as one; the other counts."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one if other is None else other
    return {key: merge(one.get(key), other[key]) if key in other else one[key] for key in {**one, **other}}


def changes(output: str) -> int:
    """How many changes all hosts of a run report."""
    return sum(int(number) for number in CHANGED.findall(output))


def state_of(node: dict[str, t.Any]) -> dict[str, t.Any]:
    """Of a Node what pages change."""
    capacity = node["status"]["capacity"]
    return {
        "labels": node["metadata"]["labels"],
        "annotations": sorted(name for name in node["metadata"]["annotations"] if "nodecraft" in name),
        "spec": {key: node["spec"].get(key) for key in ("taints", "unschedulable")},
        "resources": {name: amount for name, amount in capacity.items() if "/" in name},
    }
