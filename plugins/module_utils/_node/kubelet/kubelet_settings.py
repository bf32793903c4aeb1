# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings with which a kubelet is healthy, and its node is not what the cluster needs."""

from __future__ import annotations

from ..._plan.common.errors import Refusal
from ..._plan.kubelet import limits
from ..._plan.kubelet.plan import KubeletPlan
from ..._plan.kubernetes import heartbeats, notable_settings
from . import control_planes
from .kubelet_units import KUBELET_NAME, KubeletUnit


def check_settings(unit: KubeletUnit, plan: KubeletPlan, *, force: bool) -> list[str]:
    """The consequences of settings that may be overlooked. Raises Refusal for one with which no pod starts, or the node counts as lost."""
    before, after = plan.before.settings, plan.after.settings
    limits.refuse_few_pids(before, after)
    grace = control_planes.read_flag(unit.manifests(), notable_settings.CONTROLLER_MANAGER, heartbeats.GRACE_FLAG)
    problem = heartbeats.kubelet_problem(before.field_named, after.field_named, grace)
    if problem and not force:
        raise Refusal(
            f"kubelet on {unit.node_name}: {problem}. Nothing was changed. Set that flag of kube-controller-manager first; force: true changes it anyway."
        )
    return [
        *([f"forced: kubelet on {unit.node_name}: {problem}"] if problem else []),
        *notable_settings.warnings(KUBELET_NAME, before.field_named, after.field_named),
    ]
