# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rollouts of all roles share: how a pass begins, and who decides for all."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common import role_variables, typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import ModuleResult
from ...module_utils._plan.kubernetes import access, coverage
from ...module_utils._plan.kubernetes.access import AccessResult
from ...module_utils._plan.transaction import rollout
from ...module_utils._plan.transaction.results import KubeletInfo, Report
from ...module_utils._plan.transaction.rollout import Decision, HostResults, Hosts, PassStart
from .base_steps import UNCHANGED_PREFIX
from .inventory_check import value_objections
from .play_view import Json
from .role_end import RoleEnd

H = t.TypeVar("H", bound=HostResults[t.Any, t.Any])

# The first step, and those that are taken whatever became of it.
_UNCONDITIONAL = ("begin", "end", "acknowledge", "summary")


class RoleRollout(RoleEnd[H]):
    """The steps of one role in one pass."""

    # The module that plans one, with the arguments in the variable __ROLE_arguments; empty where the first step does not plan.
    _planner = ""

    def check(self, step: str) -> None:
        """Raise Refusal when a step is taken without the first one, which would do nothing and report nothing."""
        super().check(step)
        if step not in _UNCONDITIONAL and not self._pass.own.is_at_work:
            raise Refusal(
                f"Nothing was changed: the role {self._role} has not begun. Run it from its first task, without"
                " --start-at-task."
            )

    @property
    def pass_id(self) -> str:
        """As in all steps."""
        start: PassStart = self._pass.own.start
        return start.pass_id

    def begin(self) -> PassStart:
        """Check what the role was given, plan this host, and return what the others have to know of it.

        Raises Refusal when the role cannot serve this host, or not in this play.
        """
        self._refuse_variables()
        settings = self._checked_settings()
        # Beyond Ansible's forks a host begins when others have failed with the same task: 10 hosts, 5 forks, and four refused themselves for w1.
        lost = [host for host in self._play.lost_hosts() if self._pass.host(host).start.pass_id != self._play.task_id]
        if lost and not self._shared_object:
            raise Refusal(
                "Nothing was changed: nodes that failed, could not be reached or were ended earlier in this play cannot"
                f" be planned ({', '.join(lost)}), also behind a rescue. Repair them, or exclude them with --limit."
            )
        start = PassStart(at_work=True, settings=settings)
        return self._with_plan(start) if self._planner else start

    def _with_plan(self, start: PassStart) -> PassStart:
        """With the plan of this host, which fails or is lost with the module that plans."""
        arguments = self._play.variable(f"__{self._role}_arguments", {})
        plan = self._modules.run(self._planner, arguments, ModuleResult, is_plan=True, is_complete=True)
        return rollout.add_plan(start, plan)

    def _checked_settings(self) -> t.Any:
        """The settings of the step begin in their types. Raises Refusal for those that cannot be used."""
        raise NotImplementedError

    def _typed_settings(self, given: Json) -> t.Any:
        """Settings in the types of their class, from texts of templates."""
        kind = self.host_type.settings_type
        convert: dict[str, t.Callable[[t.Any], t.Any]] = {"bool": boolean, "int": int}
        types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
        return typed.parse(
            kind, {name: convert.get(types.get(name, ""), lambda each: each)(value) for name, value in given.items()}
        )

    def _refuse_variables(self) -> None:
        """Raise Refusal when something is wrong with the role's variables or with the play."""
        specs, role, names = self._play.argument_specs(), self._role, set(self._play.variable_names())
        ignored = self._play.variable(f"{role}_ignored_variables", [])
        found = role_variables.name_errors(role, specs, names, ignored=ignored)
        texts = [
            objection
            for name, option in role_variables.options_of(specs).items()
            if name in names
            for objection in value_objections(name, self._play.variable(name), option)
        ]
        strategy = self._play.unordered_strategy()
        if strategy:
            texts.append(
                f"invalid strategy {strategy}: must be linear, because a turn begins only when every host has planned."
            )
        if not self._shared_object and self._play.is_run_once:
            texts.append(
                "invalid run_once true: must be false, because every host plans for itself. Name the hosts of the run with --limit."
            )
        if self._play.delegate_host != self._play.host:
            texts.append(
                f"invalid delegate_to {self._play.delegate_host}: must not be set, because the role itself says where its tasks run."
            )
        self._refuse(" ".join(found + texts), UNCHANGED_PREFIX)

    def _read_node(self) -> tuple[KubeletInfo, str]:
        """What the module kubelet_info reads on the node, and why it cannot be reached; empty when it can. Its plan reports all other faults."""
        node = self._modules.run("kubelet_info", {}, KubeletInfo)
        return node, (node.msg or "no answer") if node.unreachable else ""

    # ---- deciding for all --------------------------------------------------------------------------------------------

    def _excluded_refusal(self, hosts: Hosts[H]) -> str:
        """Why hosts that cannot be reached must not be skipped; empty when they may. hosts: all that use the role."""
        objection = coverage.unreachable_refusal(
            rollout.excluded_hosts(hosts),
            self._play.control_planes(),
            hosts=hosts,
            limit=self._pass.own.settings.max_unreachable,
            variable=f"{self._role}_max_unreachable",
        )
        return f"These {objection}" if objection else ""

    def _review_rights(
        self, rights: t.Sequence[access.Right], cluster: Json | None, purpose: str
    ) -> tuple[AccessResult, str]:
        """Review rights where the step runs. Returns the result, and why nothing may be changed; empty when the account has all rights, or no API
        server responds. purpose: what they are for, as C(access.missing_rights_message) takes it."""
        own = {"cluster": cluster} if cluster else {}
        result = self._modules.run("access_info", {"rights": access.to_option(rights), **own}, AccessResult)
        return result, access.missing_rights_message(result, purpose)

    @property
    def _coordinator(self) -> H:
        """The results of the host that decides for all, as this host recorded it in its own step decide; empty before that."""
        own = self._pass.own.of_pass("decide", Decision)
        return self._pass.host(own.coordinator) if own and own.coordinator else self._pass.no_host

    def planned_reports(self, hosts: t.Iterable[str] | None = None) -> dict[str, Report]:
        """What was planned, by host; of the roles that a playbook plans before it uses any. hosts: all that use the role, or these."""
        raise NotImplementedError

    def kubelet_refusal(self, repaired: t.Collection[str]) -> str:
        """Why a kubelet that does not work stops a whole run after its plan; empty when it does not. repaired: the hosts whose kubelets the run is
        about to change."""
        return ""
