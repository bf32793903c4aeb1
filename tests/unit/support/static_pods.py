# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests as kubeadm lays them out, and what the tests need to speak about them."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import ownership
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.desired import (
    SETTINGS,
    Desired,
    parse_desired,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.manifest import Manifest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import State, StaticPodPlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support.data import data_text

POLICY = "/etc/kubernetes/audit/policy.yaml"
SOURCE = "/etc/kubernetes/manifests/kube-apiserver.yaml"

API_SERVER = data_text("kube-apiserver.yaml")
SCHEDULER = data_text("kube-scheduler.yaml")
ETCD = data_text("etcd.yaml")
KUBE_VIP = data_text("kube-vip.yaml")


def etcd(*arguments: str, pki: str = "/etc/kubernetes/pki/etcd", pair: str = "server") -> str:
    """A member's manifest with these flags, and with kubeadm's for its data and for the files in C(pki)."""
    files = {"cert-file": f"{pair}.crt", "key-file": f"{pair}.key", "trusted-ca-file": "ca.crt"}
    given = ["--data-dir=/var/lib/etcd", *(f"--{flag}={pki}/{name}" for flag, name in files.items()), *arguments]
    items = "".join(f"    - {argument}\n" for argument in given)
    return ETCD.replace("    - etcd\n", f"    - etcd\n{items}").replace("/etc/kubernetes/pki/etcd", pki)


def manifest(text: str = API_SERVER, name: str = "kube-apiserver") -> Manifest:
    """A parsed manifest."""
    return Manifest.parse(text, SOURCE, name)


def with_command(*arguments: str, base: str = API_SERVER) -> str:
    """The API server's manifest with other flags than kubeadm's."""
    start = base.index("    - --")
    end = base.index("    image: ")
    return base[:start] + "".join(f"    - {argument}\n" for argument in arguments) + base[end:]


def parameters(**given: t.Any) -> dict[str, t.Any]:
    """Module parameters with their defaults. With C(purge) every option is given, as the role does it."""
    nothing: dict[str, t.Any] = {option: [] if option in ("volumes", "files") else {} for option in SETTINGS}
    defaults = {
        "name": "kube-apiserver",
        **(nothing if given.get("purge") else dict.fromkeys(SETTINGS)),
        "state": "present",
        "purge": False,
        "force": False,
        "restore_removed": False,
        "canary": True,
        "canary_namespace": "nodecraft-kubeadm",
        "canary_image": None,
        "rehearse": True,
        "rollback": True,
        "wait_timeout": 300,
        "min_ready_seconds": 10,
        "confirm": False,
        "confirm_timeout": 60,
        "confirm_url": None,
        "confirm_ca_cert": None,
        "lock_timeout": 0,
        "acknowledge": True,
        "manifest_dir": None,
    }
    return {**defaults, **given}


def desired(**given: t.Any) -> Desired:
    """A desired state as the module makes it from its parameters."""
    return parse_desired(parameters(**given))


def state(text: str = API_SERVER, record: t.Any = None, files: t.Any = None) -> State:
    """What a node has."""
    return State(manifest(text), record or {}, files or {})


def planned(before: State | None = None, **given: t.Any) -> StaticPodPlan:
    """The plan of a desired state against what a node has: without anything given, kubeadm's manifest and none of the files."""
    return static_pod.plan(
        desired(**given), before or state(files={entry["path"]: None for entry in given.get("files") or []})
    )


def following(done: StaticPodPlan, before: State | None = None) -> State:
    """What the node has when a plan was carried out."""
    files = dict(before.files if before else {})
    files.update({change.path: change.after for change in done.files})
    record = ownership.load_record(json.loads(json.dumps(ownership.dump_record(done.record))))
    return State(manifest(done.after.text), record, files, written_image=done.image, former=done.former)


def volume(name: str, path: str, **given: t.Any) -> dict[str, t.Any]:
    """One entry of the option ``volumes`` with its defaults."""
    return {
        "name": name,
        "host_path": path,
        "mount_path": path,
        "read_only": True,
        "path_type": None,
        "state": "present",
        **given,
    }


def file(path: str, content: t.Any = "", **given: t.Any) -> dict[str, t.Any]:
    """One entry of the option ``files`` with its defaults."""
    return {
        "path": path,
        "content": content,
        "mode": "0600",
        "owner": None,
        "group": None,
        "sensitive": False,
        "state": "present",
        **given,
    }
