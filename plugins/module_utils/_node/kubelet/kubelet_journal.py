# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of a planned change of the kubelet, and how its process is identified."""

from __future__ import annotations

import contextlib
import os
import posixpath
import typing as t

from ..._engine.files import open_to_read
from ..._engine.journal import SYSTEMD_UNIT, Instance, Journal, NodeObject, UnitWatch
from ..._engine.state_files import MOVED_SUFFIX
from ..._plan.documents import configuration
from ..._plan.kubelet import layout as kubelet_layout
from ..._plan.kubelet import plan as kubelet
from ..._plan.kubelet.layout import Layout
from ..._plan.kubelet.plan import KubeletPlan
from ..._plan.transaction import planned_observations
from ..transaction import planned_journal
from ..transaction.owned_record import NO_DETAILS, RecordDetails, made_directories
from ..transaction.planned_journal import TransactionSettings
from .kubelet_reader import healthz_of
from .kubelet_unit_files import KUBELET_UNIT
from .kubelet_units import KUBELET_NAME, KubeletUnit

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package


def instance_of(layout: Layout) -> Instance:
    """How the process of a kubelet with these files is identified."""
    probe = healthz_of(layout.settings)
    return {"arguments": layout.command, "probes": [probe] if probe else []}


def kubelet_journal(
    unit: KubeletUnit, plan: KubeletPlan, settings: TransactionSettings, strict_errors: t.Sequence[str]
) -> Journal:
    """The journal of a planned change of the kubelet. strict_errors: of configuration that is not ours, known before."""
    obsolete, details = _directories(plan)
    files = [
        *(planned_journal.file_entry(change) for change in plan.files),
        *planned_journal.record_entry(KUBELET_NAME, before=unit.state.record, after=plan.record, details=details),
    ]
    node: NodeObject = {"name": unit.node_name, "kubeconfig": unit.kubeconfig}
    watch: UnitWatch = {
        "kind": SYSTEMD_UNIT,
        "unit": KUBELET_UNIT,
        "before": instance_of(plan.before),
        "after": instance_of(plan.after),
        "node": node,
        "observations": planned_observations.of_kubelet(
            plan.before.settings.field_named, plan.after.settings.field_named, node
        ),
        "complaints": list(strict_errors),
        "has_static_pods": bool(unit.manifests()),
        "static_pods": _static_pods(unit),
        "set_aside": [],
        "unverified": kubelet.unverified(plan),
    }
    journal = planned_journal.new_journal(KUBELET_NAME, files, watch, settings)
    for change in plan.policies:
        if change.policy.state_file:
            path = posixpath.join(unit.root, change.policy.state_file)
            aside = f"{path}{MOVED_SUFFIX}{journal['id']}"
            exists = os.path.exists(path)
            watch["set_aside"].append({"path": path, "aside": aside, "existed": exists, "policy": change.value})
    journal["obsolete"] = obsolete
    return journal


def _directories(plan: KubeletPlan) -> tuple[list[str], RecordDetails]:
    """The directories to remove with the last file of ours, and the record's details with those that stay: only those that we made count."""
    missing = planned_journal.missing_directories(change.path for change in plan.files if change.after is not None)
    made = {*made_directories(KUBELET_NAME), *missing}
    # Removed when they are empty then; the directory of fragments only when no kubelet uses it any more.
    used = kubelet_layout.config_dir(plan.after.command)
    directories = {os.path.dirname(change.path) for change in plan.files if change.after is None}
    obsolete = sorted((directories & made) - {used})
    return obsolete, NO_DETAILS._replace(directories=tuple(sorted(made.difference(obsolete))))


def _static_pods(unit: KubeletUnit) -> list[str]:
    """The names at the API of the static pods that have a manifest. One that cannot be read is skipped: the kubelet would not start it either."""
    names = []
    for path in unit.manifests():
        unreadable = contextlib.suppress(OSError, ValueError, KeyError, TypeError, yaml.YAMLError)
        with unreadable, open_to_read(path) as stream:
            names.append(f"{configuration.load_first(stream.read().decode())['metadata']['name']}-{unit.node_name}")
    return names
