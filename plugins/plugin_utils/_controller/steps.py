# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of all roles and playbooks share."""

from __future__ import annotations

from ...module_utils._plan.common.errors import Refusal
from .rollout_pass import Json, RolloutPass


class Steps:
    """The steps of one role or playbook in one pass. settings: what the task of the step gives it."""

    def __init__(self, its_pass: RolloutPass, settings: Json) -> None:
        self._pass = its_pass
        self._settings = settings

    def check(self, step: str) -> None:
        """Raise Refusal when a step cannot be taken now. step: its name."""

    @staticmethod
    def _refuse(reason: str) -> None:
        """Raise Refusal when there is a reason."""
        if reason:
            raise Refusal(reason)

    @staticmethod
    def _shown(lines: list[str]) -> Json:
        """The result of the step report. lines: of all hosts, on the one that speaks."""
        # As the module debug does it: shown without -v, too.
        return {"msg": lines, "_ansible_verbose_always": True} if lines else {}

    @staticmethod
    def _failed(why: str, lines: list[str]) -> Json:
        """The result of the step report on a host whose turn did not come. lines: of all hosts, if it is the one that speaks: each on its own."""
        return {"failed": True, "msg": why, **({"report": lines, "_ansible_verbose_always": True} if lines else {})}

    def _cluster(self, candidates: list[str], named: str) -> Json:
        """Ask the node where the step runs which cluster it belongs to, and decide who asks the API of that cluster.

        candidates: the control planes, each of which is asked until one answers. named: the host that the user names for the API.
        Returns api_reachable, false when the next one is to be asked, and then api and cluster, as modules that ask the API take it.
        """
        here = self._pass.asked_host
        node = self._pass.ask("kubelet_info", {})
        api_reachable = "cluster" in node
        if not api_reachable and here != candidates[-1]:
            return {"api_reachable": False}
        api, *_others = self._pass.api_hosts(
            self._pass.control_planes(), named, reachable=[here] if api_reachable else []
        )
        if not api_reachable:
            return {"api_reachable": True, "api": api, "cluster": {"ca_sha256": "", "machine_ids": {}}}
        identity = node["cluster"]
        machine_ids = {node["node"]: identity["machine_id"]}
        return {
            "api_reachable": True,
            "api": api,
            "cluster": {"ca_sha256": identity["ca_sha256"], "machine_ids": machine_ids},
        }
