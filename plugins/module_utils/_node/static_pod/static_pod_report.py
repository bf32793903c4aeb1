# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(static_pod_info) returns."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._engine.files import Json
from ..._engine.node import NODE, Host, Process, redact
from ..._plan.common.errors import KubeadmError
from ..._plan.common.ownership import Change, Values
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod import pod_fields, reconciliation
from ..._plan.static_pod.manifest import OTHER_VOLUME, Manifest
from ..._plan.static_pod.plan import build_diff
from ..._plan.transaction.previous_change import Rollback
from ..kubelet.kubelet_down import read_any_kubelet
from ..kubelet.kubelet_reader import Kubelet, manifest_files, version_warnings
from ..transaction import journal_history, undo
from ..transaction.state import Run
from . import static_pods


def read_all(
    name: str | None,
    manifest_dir: str | None,
    *,
    run: Run,
    warn: t.Callable[[str], None],
    host: Host = NODE,
) -> Json:
    """Read the static pods of a node, or the one of that name; none when it is not there. host: whose processes are read."""
    kubelet = read_any_kubelet(run, host)
    host = host._replace(**kubelet.paths)
    directory = manifest_dir or kubelet.manifest_dir
    files = manifest_files(directory)
    identities = {path: static_pods.pod_identity(path) for path in files}
    names = sorted({identity[1] for identity in identities.values() if identity})
    pods = [_describe(pod, directory, kubelet, host) for pod in names if name in (None, pod)]
    images = {pod["name"]: pod["image"] for pod in pods if not pod["error"]}
    for warning in version_warnings(kubelet, images, run):
        warn(warning)
    return {
        "node": kubelet.node_name,
        "cluster": dataclasses.asdict(kubelet.cluster),
        "kubelet_problem": kubelet.problem or None,
        "manifest_dir": directory,
        "unreadable_files": [path for path in files if identities[path] is None],
        "static_pods": pods,
    }


def _describe(name: str, directory: str, kubelet: Kubelet, host: Host) -> Json:
    node_name = kubelet.node_name
    return {
        "name": name,
        **_describe_pod(name, directory, kubelet, host),
        **journal_history.describe_transactions(name),
        "undo": undo.describe(name, node_name, lambda rollback: _plan_rollback(rollback, name, directory, node_name)),
    }


def _plan_rollback(
    rollback: Rollback, name: str, directory: str, node_name: str
) -> tuple[t.Sequence[Change], t.Sequence[t.Mapping[str, str]]]:
    """What reverting a change does: the operations, and the difference of the manifest."""
    pod = static_pods.read_static_pod(name, directory, node_name)
    plan = static_pod.plan_undo(name, rollback, static_pod.State(pod.manifest, pod.record, {}))
    return plan.operations, [entry for entry in build_diff(plan) if entry["after_header"] == pod.path]


def _describe_pod(name: str, directory: str, kubelet: Kubelet, host: Host) -> Json:
    path, other_files = static_pods.find_manifest(name, directory)
    empty: Json = dict.fromkeys(
        (
            "image",
            "arguments",
            "feature_gates",
            "admission_plugins",
            "args",
            "env",
            "volumes",
            *pod_fields.FIELDS,
            "owned",
            "lost",
            "removed",
            "process",
            "in_sync",
        )
    )
    try:
        pod = static_pods.parse_static_pod(name, path, kubelet.node_name, joined_at=kubelet.joined)
    except KubeadmError as exc:
        unknown = {**static_pods.unready(str(exc)), "stray_files": [], "error": str(exc)}
        return {**empty, "manifest": path, **unknown}
    values = pod.manifest.values()
    process = static_pods.running_process(pod, host)
    observation = static_pods.observe(pod, host)
    return {
        "manifest": path,
        "image": pod.manifest.container.get("image"),
        "arguments": pod.manifest.command_line,
        "feature_gates": values["feature_gates"],
        "admission_plugins": values["admission_plugins"],
        "args": values["args"],
        "env": sorted(values["env"]),
        "volumes": {key: value for key, value in values["volumes"].items() if OTHER_VOLUME not in value},
        **{field: values[field] for field in pod_fields.FIELDS},
        **_describe_owned(pod, values),
        "process": None if process is None else _describe_process(process, pod, host),
        "in_sync": process is not None and _is_in_sync(process, pod.manifest),
        **static_pods.readiness_of(observation),
        "stray_files": static_pods.stray_files(path, other_files, pod.manifest.pod),
        "error": None,
    }


def _describe_owned(pod: static_pods.StaticPod, values: Values) -> Json:
    """Our settings: those that are there (owned), that an upgrade removed (lost), and that someone removed (removed)."""
    image = pod.manifest.container.get("image")
    found = reconciliation.reconcile(pod.record, values, image=image, written_image=pod.written_image)
    files = {path: entry for path, entry in pod.record.get("files", {}).items() if os.path.lexists(path)}
    return {
        "owned": reconciliation.keys_by_field(reconciliation.add_files(found.unchanged, files)),
        "lost": reconciliation.keys_by_field(found.lost),
        "removed": reconciliation.keys_by_field(found.removed),
    }


def _describe_process(process: Process, pod: static_pods.StaticPod, host: Host) -> Json:
    manifest = pod.manifest
    as_written = manifest.entrypoint is not None and _is_in_sync(process, manifest)
    return {
        **process._asdict(),
        # Expanded arguments may hold the values of environment variables.
        "arguments": manifest.arguments
        if as_written
        else [_format_argument(argument, manifest) for argument in process.arguments],
        "started": host.read_start_time(process.pid),
    }


def _is_in_sync(process: Process, manifest: Manifest) -> bool:
    return process.runs(manifest.expected_arguments(), of_image=static_pods.instance_of(manifest)["of_image"])


def _format_argument(argument: str, manifest: Manifest) -> str:
    """As the manifest has it, where that is expanded from the environment."""
    flag = argument.partition("=")[0]
    written = [each for each in manifest.arguments if each.partition("=")[0] == flag and "$(" in each]
    return written[-1] if written else redact(argument, manifest.hidden)
