# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of all roles and playbooks share: how a pass begins, and how it is told of at its end."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common import role_variables
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubernetes import access, coverage
from ...module_utils._plan.transaction import rollout
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


# The first step, and those that are taken whatever became of it.
_AROUND = ("begin", "end", "report")


class RoleRollout(Steps):
    """The steps of one role in one pass."""

    # Whether the hosts of the play are what is changed, so that none of them may be missing.
    _changes_hosts = True
    # Whether each host is planned by itself, so that the results of one must not be those of all.
    _plans_each_host = True

    def check(self, step: str) -> None:
        """Raise Refusal when a step is taken without the first one, which would do nothing and say nothing."""
        if step not in _AROUND and not self.is_at_work:
            raise Refusal(
                f"Nothing was changed on {self._pass.host}: the role {self._pass.role} has not begun there. Run it from its first task, without"
                " --start-at-task."
            )

    def begin(self) -> Json:
        """Check what the role was given, and tell the other hosts what they have to know of this one.

        Raises Refusal when the role cannot serve this host, or not in this play.
        """
        self._refuse_variables()
        settings = self._checked_settings()
        lost = self._pass.lost_hosts() if self._changes_hosts else []
        if lost:
            raise Refusal(
                f"Nothing was changed on {self._pass.host}: nodes that failed, could not be reached or were ended earlier in this play cannot"
                f" be planned ({', '.join(lost)}). Repair them, or exclude them with --limit."
            )
        _node, excluded = self._read_node() if settings.get("max_unreachable") else ({}, "")
        return self._begun(settings, excluded)

    @staticmethod
    def _begun(settings: Json, excluded: str) -> Json:
        """The result of the step begin. excluded: why this host cannot be reached; empty when it takes part."""
        return {"at_work": True, "settings": settings, "excluded": excluded}

    def _checked_settings(self) -> Json:
        """The settings of the step begin in their types. Raises Refusal for those that cannot be used."""
        raise NotImplementedError

    def _refuse_variables(self) -> None:
        """Raise Refusal when something is wrong with the role's variables or with the play."""
        specs, role, names = self._pass.argument_specs(), self._pass.role, set(self._pass.variable_names())
        ignored = self._pass.variable(f"{role}_ignored_variables", [])
        found = role_variables.objections(role, specs, names, ignored=ignored)
        texts = [
            objection
            for name, option in role_variables.options(specs).items()
            if name in names
            for objection in role_variables.value_objections(name, self._pass.variable(name), option)
        ]
        strategy = self._pass.unordered_strategy()
        if strategy:
            texts.append(
                f"invalid strategy {strategy}: must be linear, because a turn begins only when every host has planned."
            )
        if self._plans_each_host and self._pass.is_run_once:
            texts.append(
                "invalid run_once true: must be false, because every host plans for itself. Name the hosts of the run with --limit."
            )
        objections = found + texts
        if objections:
            raise Refusal(f"Nothing was changed on {self._pass.host}. {' '.join(objections)}")

    def _read_node(self) -> tuple[Json, str]:
        """What the node tells of itself, and why it cannot be reached; empty when it can. What else is wrong with it, its plan tells."""
        answer = self._pass.ask("kubelet_info", {})
        return answer, str(answer.get("msg") or "no answer") if answer.get("unreachable") else ""

    # ---- deciding for all --------------------------------------------------------------------------------------------

    def _excluded_refusal(self, hosts: rollout.Hosts) -> str:
        """Why hosts that cannot be reached must not be skipped; empty when they may. hosts: all that use the role."""
        objection = coverage.objection(
            rollout.excluded(hosts),
            self._pass.control_planes(),
            hosts=hosts,
            limit=rollout.settings_of(self._pass.own)["max_unreachable"],
            variable=f"{self._pass.role}_max_unreachable",
        )
        return f"These {objection}" if objection else ""

    def _review(self, rights: t.Sequence[access.Right], cluster: Json | None, purpose: str) -> tuple[Json, str]:
        """Ask for rights where the step runs. Returns the result of C(access_info), and why nothing may be changed; empty when the account has
        all rights, or no API server answers. purpose: what they are for, as C(access.refusal) takes it."""
        own = {"cluster": cluster} if cluster else {}
        result = self._pass.ask("access_info", {"rights": access.question(rights), **own})
        return result, access.refusal(result, purpose) if "missing" in result else ""

    @property
    def _plan_only(self) -> bool:
        """Whether the step belongs to the plan of a playbook, which decides then whether anything is changed."""
        return bool(boolean(self._settings.get("plan_only", False)))

    @property
    def _coordinator(self) -> rollout.Registers:
        """The results of the host that decides for all, as this host noted it in its own step decide; none before that."""
        name = rollout.of_pass(self._pass.own, "decide").get("coordinator")
        return self._pass.registers(name) if name else {}

    @property
    def _decision(self) -> Json:
        """What was decided for all."""
        return dict(rollout.of_pass(self._coordinator, "decide"))

    @property
    def is_at_work(self) -> bool:
        """Whether this host began the pass and has not ended it."""
        return rollout.is_at_work(self._pass.own)

    def planned(self, hosts: t.Iterable[str] | None = None) -> dict[str, dict[str, Json]]:
        """What was planned, by host and part; of the roles that a playbook plans before it uses any. hosts: all that use the role, or these."""
        raise NotImplementedError

    def kubelet_refusal(self, repaired: t.Collection[str]) -> str:
        """Why a kubelet that does not work stops a whole run after its plan; empty when it does not. repaired: the hosts whose kubelets the run is
        about to change."""
        return ""

    def _named_in(self, host: str, variable: str) -> str:
        """Where a variable of a host comes from, as text behind a revert; empty where Ansible does not tell."""
        place = self._pass.place_of(host, variable)
        return f"; {variable} is from {place}" if place else ""

    # ---- the end -----------------------------------------------------------------------------------------------------

    def end(self) -> Json:
        """Tell what became of this host, and on one host of all."""
        raise NotImplementedError

    def _ended(self, report: Json, lines: t.Sequence[str] = (), others: Json | None = None) -> Json:
        """The result of the step end. report: of this host. lines: of all, on the host that speaks. others: reports of hosts that cannot."""
        reports = {**(others or {}), **({self._pass.host: report} if report else {})}
        name = f"{self._pass.role}_report"
        # AWX keeps the statistics of the whole run only, so each host adds itself to one of those.
        stats = {"data": {name: reports}, "per_host": False, "aggregate": True}
        return {
            "at_work": False,
            "report": report,
            "lines": list(lines),
            **({"ansible_stats": stats} if reports else {}),
        }

    def report(self) -> Json:
        """Show the lines on the host that speaks, and fail on a host whose turn did not come."""
        ended = self._pass.own["pass"]
        own_report = ended.get("report") or {}
        self.acknowledge(own_report)
        lines, why = ended.get("lines") or [], self.why_failed(own_report)
        if why:
            return self._failed(why, lines)
        return self._shown(lines)

    def acknowledge(self, own_report: Json) -> None:
        """Note on the node which outcomes were reported of it. Only as they are shown: a run that is killed before it has verified a change leaves
        the next one its outcome."""
        for told in rollout.reported(self._transactions(own_report)):
            self._pass.ask("node_transaction", told)

    @staticmethod
    def _transactions(own_report: Json) -> t.Mapping[str, Json]:
        """The results of this host that have a transaction, by its name."""
        return {}

    def why_failed(self, own_report: Json) -> str:
        """Why this host fails at the end, although no task of it did: its turn did not come. Empty when it did, or when there was nothing to change."""
        is_missed = own_report.get("begun") is False and own_report.get("failed")
        return str(own_report["msg"]) if is_missed else ""
