# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(kubelet_info) returns."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ..._engine.files import Json
from ..._engine.node import NODE, Host
from ..._plan.common.errors import Refusal
from ..._plan.common.ownership import Change
from ..._plan.kubelet import config as kubelet_config
from ..._plan.kubelet import kubelet_undo, rejoining
from ..._plan.kubelet import manager_policies as kubelet_policies
from ..._plan.kubelet import plan as kubelet
from ..._plan.kubelet.config import CONFIG, GATES
from ..._plan.transaction.previous_change import Rollback
from ..transaction import journal_history, undo
from ..transaction.state import Run
from . import control_planes
from .kubelet_units import KUBELET_NAME, KubeletUnit, read_unit, unread_files, warnings_of


def read_all(*, run: Run, warn: t.Callable[[str], None], host: Host = NODE) -> Json:
    """Read the kubelet of a node: its settings by its files, the source of each, and its process."""
    unit = read_unit(run, host)
    for warning in warnings_of(unit):
        warn(warning)
    settings = unit.layout.settings
    gates = settings.gates()
    fields = {kubelet_config.key_of(path): value for path, value in kubelet_config.flatten(settings.config).items()}
    return {
        "node": unit.node_name,
        "cluster": dataclasses.asdict(unit.cluster),
        "control_plane": control_planes.reasons(unit, host),
        "version": unit.version,
        "files": [file.path for file in (*unit.state.unit, *unit.state.used_files(unit.layout.command))],
        "arguments": [
            {"argument": argument.text, "source": str(argument.source)} for argument in unit.layout.service.arguments
        ],
        "config": settings.config,
        "feature_gates": gates,
        "sources": {
            GATES: {gate: _sources(settings, GATES, gate) for gate in gates},
            CONFIG: {key: _sources(settings, CONFIG, key) for key in fields if not key.startswith("featureGates/")},
        },
        "resource_managers": {policy.field: _describe_manager(policy, unit) for policy in kubelet_policies.MANAGERS},
        "owned": {field: sorted(keys) for field, keys in unit.state.record.items()},
        "rejoined": _describe_rejoin(unit),
        "process": _describe_process(unit, host),
        "in_sync": unit.state.running is not None
        and list(unit.state.running) == unit.layout.command
        and not unit.state.newer
        and not unread_files(unit, host),
        "blocked_by": _blocker(unit),
        **journal_history.describe_transactions(KUBELET_NAME),
        "undo": undo.describe(KUBELET_NAME, unit.node_name, lambda rollback: _plan_rollback(rollback, unit)),
    }


def _plan_rollback(rollback: Rollback, unit: KubeletUnit) -> tuple[t.Sequence[Change], t.Sequence[t.Mapping[str, str]]]:
    """What reverting a change does: the operations, and the differences of our files."""
    plan = kubelet_undo.plan(rollback, unit.state, force=False)
    others = [change.path for change in plan.files if change.is_foreign]
    return plan.operations, [entry for entry in kubelet.diff_files(plan) if entry["after_header"] not in others]


def _sources(settings: kubelet_config.Settings, field: str, key: str) -> list[str]:
    return [str(source) for source in settings.sources(field, key)]


def _describe_manager(policy: kubelet_policies.Policy, unit: KubeletUnit) -> Json:
    """The policy of a resource manager, and that of its state file."""
    settings, remembered = unit.layout.settings, unit.state.state_policies
    return {
        "policy": policy.value(settings),
        "state_file": os.path.join(unit.root, policy.state_file) if policy.state_file else None,
        "state_policy": remembered.get(policy.state_file) if policy.state_file else None,
        "mismatch": policy.mismatch(settings, remembered),
    }


def _describe_rejoin(unit: KubeletUnit) -> Json | None:
    """When the node was joined again after our last change, and which settings of ours override what kubeadm wrote then."""
    if not unit.state.joined:
        return None
    base = unit.state.without_ours().layout()
    return {
        "at": unit.state.joined,
        "overrides": [each._asdict() for each in rejoining.find_overrides(unit.state.record, base)],
    }


def _describe_process(unit: KubeletUnit, host: Host) -> Json | None:
    if unit.pid is None or unit.state.running is None:
        return None
    return {"pid": unit.pid, "arguments": list(unit.state.running), "started": host.read_start_time(unit.pid)}


def _blocker(unit: KubeletUnit) -> str | None:
    try:
        kubelet.check_changeable(unit.state)
    except Refusal as exc:
        return str(exc)
    return None
