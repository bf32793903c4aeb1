# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings with which a kubelet is healthy, and its node is not what the cluster needs."""

from __future__ import annotations

import os

from ..._engine.node import Host
from ..._plan.common.errors import Refusal
from ..._plan.kubelet import limits, reboot
from ..._plan.kubelet.config import Settings
from ..._plan.kubelet.plan import KubeletPlan
from ..._plan.kubernetes import heartbeats, notable_settings
from ..transaction.state import Run
from . import boot_facts, control_planes
from .kubelet_units import KUBELET_NAME, KubeletUnit

# Files that a kubelet opens when it starts; sockets, and what a service writes to /run for resolvers, are there again after a boot.
_FILES = (
    "authentication.x509.clientCAFile",
    "tlsCertFile",
    "tlsPrivateKeyFile",
    "imageCredentialProviderConfig",
    "imageCredentialProviderBinDir",
    "staticPodPath",
)


def check_settings(unit: KubeletUnit, plan: KubeletPlan, host: Host, run: Run, *, force: bool) -> list[str]:
    """The consequences of settings that may be overlooked. Raises Refusal for one with which no pod starts, and, unless it is forced, where the
    kubelet would not start, now or after the next boot, or its node counts as lost."""
    before, after = plan.before.settings, plan.after.settings
    limits.refuse_few_pids(before, after)
    facts = boot_facts.read_boot_facts(host)
    grace = control_planes.read_flag(unit.manifests(), notable_settings.CONTROLLER_MANAGER, heartbeats.GRACE_FLAG)
    lost, warnings = _lost_files(before, after, host, run)
    problems = [
        heartbeats.kubelet_problem(before.field_named, after.field_named, grace),
        reboot.swap_problem(after, facts),
        reboot.lost_parameters(before, after, facts),
        *lost,
    ]
    found = [f"kubelet on {unit.node_name}: {problem}." for problem in problems if problem]
    if found and not force:
        raise Refusal(f"{' '.join(found)} Nothing was changed. force: true changes it anyway.")
    return [
        *(f"forced: {problem}" for problem in found),
        *(
            f"kubelet on {unit.node_name}: {warning}"
            for warning in (
                *warnings,
                *reboot.swap_warnings(before, after, facts),
                *reboot.cgroup_warnings(before, after),
            )
        ),
        *notable_settings.warnings(KUBELET_NAME, before.field_named, after.field_named),
    ]


def _lost_files(before: Settings, after: Settings, host: Host, run: Run) -> tuple[list[str], list[str]]:
    """Problems and warnings of new files that are gone after the next boot."""
    new = {str(after.field_named(name)): name for name in _FILES if after.field_named(name) != before.field_named(name)}
    lost = boot_facts.lost_files(filter(os.path.isabs, new), host, run)
    problems = [
        f"{new[path]}: {path} is in memory ({mount}), so it is gone after the next boot, and the kubelet would not start without it"
        for path, mount in lost.volatile.items()
    ]
    return problems, boot_facts.lost_files_warnings(lost)
