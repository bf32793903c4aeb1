# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all steps have: the settings of their task, the cluster that the API has to serve, and how the run was started."""

from __future__ import annotations

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubernetes import clusters
from ...module_utils._plan.transaction import site
from ...module_utils._plan.transaction.results import KubeletInfo
from ...module_utils._plan.transaction.rollout import ClusterFound, StepSettings
from .module_runner import ModuleRunner
from .play_view import Json, PlayView
from .rollout_pass import read_register

FAIL_ON_PENDING = "nodecraft_kubeadm_fail_on_pending"
BEGIN = "__play_begin"  # what the first task of a playbook registers
UNCHANGED_PREFIX = "Nothing was changed. "  # in front of a reason
FIRST_TASK_SKIPPED = "The first task was skipped. Run it from there, without --start-at-task."


class Steps:
    """The steps of one role or playbook in one pass. settings: what the task of the step gives it."""

    def __init__(self, play: PlayView, modules: ModuleRunner, role: str, settings: Json) -> None:
        self._play = play
        self._modules = modules
        self._role = role
        self._settings = settings
        self._step = typed.parse(StepSettings, settings)

    def check(self, step: str) -> None:
        """Raise Refusal when a step cannot be taken now. step: its name. A summary without the first step would report success; one that failed
        or was skipped has registered that."""
        hosts = self._play.all_play_hosts if step == "summary" else ()
        if hosts and not any(read_register(self._play, self._begin_register, host) for host in hosts):
            raise Refusal(f"Nothing was looked at. {FIRST_TASK_SKIPPED}")

    @property
    def _begin_register(self) -> str:
        """What the task of the first step registers."""
        return BEGIN

    @property
    def pass_id(self) -> str:
        """Of the pass in which the host is at work; empty for playbooks."""
        return ""

    def refusal_message(self, reason: str) -> str:
        """Why a run ends before a role writes anything. reason: as it stands, which knows of one pass only."""
        return site.refusal_message(reason, self._in_pass)

    @property
    def _in_pass(self) -> str:
        """Which pass of a run this is, one of C(site.PASSES)."""
        found: str = self._play.variable("__play_pass", site.WHOLE)
        return found

    def _outdated_refusal(self, *, is_stale: bool) -> str:
        """Why a first pass is refused behind another run, as C(site.outdated_refusal)."""
        return site.outdated_refusal(self._in_pass, is_stale=is_stale)

    @staticmethod
    def _refuse(reason: str, prefix: str = "") -> None:
        """Raise Refusal when there is a reason. prefix: of the message."""
        if reason:
            raise Refusal(f"{prefix}{reason}")

    @property
    def _fails_on_pending(self) -> bool:
        """Whether a host fails in check mode that has something to change."""
        return self._play.check_mode and boolean(self._play.variable(FAIL_ON_PENDING, False))

    @property
    def _run_fields(self) -> Json:
        """How a run was started, as fields of C(report.Run)."""
        return {"dry": self._play.check_mode, "fails_on_pending": self._fails_on_pending}

    def _read_cluster(self, candidates: list[str], named: str) -> ClusterFound:
        """Read which cluster the node belongs to where the step runs, and decide who uses the API of that cluster.

        candidates: the control planes, each of which is tried until one responds. named: the host that the user names for the API.
        """
        delegate_host = self._play.delegate_host
        node = self._modules.run("kubelet_info", {}, KubeletInfo)
        if node.cluster is None and delegate_host != candidates[-1]:
            return ClusterFound(api_reachable=False)
        reachable = [delegate_host] if node.cluster else []
        api, *_others = self._play.api_hosts(self._play.control_planes(), named, reachable=reachable)
        return ClusterFound(
            api=api,
            cluster=clusters.expected_identity({node.node: node.cluster} if node.cluster else {}),
            member=delegate_host,
            identity=node.cluster,
        )
