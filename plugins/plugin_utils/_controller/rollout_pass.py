# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rollout sees of a running play: the hosts with the results of their tasks as plain values, and the modules that it may run.

Results are read as they were registered, without templates, so that no other variable of a host matters: one that is undefined, or vaulted.
"""

from __future__ import annotations

import collections.abc
import functools
import os
import secrets
import shlex
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ...module_utils._plan.common.plain import plain
from ...module_utils._plan.kubernetes import control_plane_nodes
from ...module_utils._plan.transaction import api_host, rollout
from .vaulted import vaulted

try:  # of 2.19 and newer, and not a part of what Ansible promises to keep
    from ansible._internal._datatag._tags import Origin
except ImportError:
    Origin = None  # type: ignore[assignment,misc]

if t.TYPE_CHECKING:
    from ansible.plugins.action import ActionBase

Json = dict[str, t.Any]

STEPS = ("begin", "decide", "split", "note", "admit", "look", "turn", "verify", "apply", "compare", "end", "report")
REGISTERED = (
    "pass",
    "plan",
    "load",
    "change",
    "removal",
    "decide",
    "admit",
    "look",
    "turn",
    "verify",
    "apply",
    "compare",
)
# Of these steps, which ask one host after the other, the last result counts.
_LOOPING = ("decide", "admit", "apply", "compare")
_ID_CHARACTERS = 8
_UNORDERED = ("free", "host_pinned")  # strategies in which each host goes on by itself


class _Registers(collections.abc.Mapping[str, Json]):
    """The results of a host's tasks by their short names, each made plain when it is read."""

    def __init__(self, role: str, variables: t.Mapping[str, t.Any]) -> None:
        self._names = {name: f"__{role}_{name}" for name in REGISTERED if f"__{role}_{name}" in variables}
        self._variables = variables
        self._read: dict[str, Json] = {}

    def __getitem__(self, name: str) -> Json:
        if name not in self._read:
            found = plain(self._variables[self._names[name]])
            looped = name in _LOOPING and "results" in found
            self._read[name] = (found["results"] or [{}])[-1] if looped else found
        return self._read[name]

    def __iter__(self) -> t.Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class RolloutPass:
    """One pass of a role, as one of its hosts sees it in one step.

    action: the action plugin of the step. variables: those of its task.
    """

    def __init__(self, action: ActionBase, variables: Json, role: str) -> None:
        self._action = action
        self._variables = variables
        self._registers: dict[str, _Registers] = {}
        # What the modules warned of that this step ran.
        self.warnings: list[t.Any] = []
        self.role = role
        self.host: str = variables["inventory_hostname"]
        self.check_mode: bool = action._task.check_mode
        self.diff_mode: bool = action._task.diff
        # Where modules of this step run.
        self.asked_host: str = action._task.delegate_to or self.host
        if action._task.delegate_to == api_host.CONTROLLER and not action._task.become:
            # The variable of the inventory overrides the keyword, and that of all hosts is also the controller's.
            action._connection.become = None

    # ---- hosts and their results -------------------------------------------------------------------------------------

    @property
    def play_hosts(self) -> list[str]:
        """The hosts that the play still has."""
        return list(self._variables["ansible_play_hosts"])

    @property
    def batch_hosts(self) -> list[str]:
        """Those of them that C(serial) lets in now."""
        return list(self._variables["ansible_play_batch"])

    def registers(self, host: str) -> rollout.Registers:
        """The results of a host's tasks."""
        if host not in self._registers:
            self._registers[host] = _Registers(self.role, self.host_variables(host))
        return self._registers[host]

    @property
    def own(self) -> rollout.Registers:
        """The results of this host's tasks."""
        return self.registers(self.host)

    def all_hosts(self) -> t.Iterator[tuple[str, rollout.Registers]]:
        """The hosts of the play one after the other, also those that it has lost."""
        return ((host, self.registers(host)) for host in self.all_play_hosts)

    def hosts(self, names: t.Iterable[str] | None = None) -> dict[str, rollout.Registers]:
        """The hosts that use the role in this pass, or those of these names."""
        if names is not None:
            return {host: self.registers(host) for host in names}
        return {host: registers for host, registers in self.all_hosts() if rollout.is_at_work(registers)}

    @property
    def coordinator(self) -> str:
        """The host that decides and asks for all."""
        return rollout.coordinator(self.all_hosts())

    def host_variables(self, host: str) -> t.Mapping[str, t.Any]:
        """The variables of a host without those of the play and its roles, not worked out: what was registered there, or set as a fact, is."""
        found: t.Mapping[str, t.Any] = self._variables["hostvars"].raw_get(host)
        return found

    def registered(self, name: str, host: str = "") -> Json:
        """What a host registered under a name, or set as a fact; empty when nothing. host: by default the own one."""
        found: Json = plain(self.host_variables(host or self.host).get(name) or {})
        return found

    def of_role(self, role: str) -> RolloutPass:
        """The last pass of another role in this play."""
        return RolloutPass(self._action, self._variables, role)

    # ---- the play ----------------------------------------------------------------------------------------------------

    @property
    def all_play_hosts(self) -> list[str]:
        """The hosts of the play, also those that it has lost, in the order in which it takes them."""
        hosts = list(self._variables["ansible_play_hosts_all"])
        if self._action._task.get_play().order in (None, "inventory"):
            return hosts
        # That variable is in the order of the inventory; the keyword C(order) counts in the batch.
        return list(dict.fromkeys([*self.batch_hosts, *hosts]))

    def group(self, name: str) -> list[str]:
        """The hosts of a group of the inventory; none where there is no such group."""
        return list(self._variables["groups"].get(name, []))

    def lost_hosts(self) -> list[str]:
        """The hosts that failed, could not be reached or were ended earlier in this play."""
        left = set(self.play_hosts)
        return [host for host in self.all_play_hosts if host not in left]

    def excluded_by_serial(self) -> list[str]:
        """The hosts of the play that are not in this batch of it."""
        batch = set(self.batch_hosts)
        return [host for host in self.play_hosts if host not in batch]

    def unordered_strategy(self) -> str:
        """The strategy of the play, if it does not keep its hosts in sync; else an empty text."""
        name = str(self._action._task.get_play().strategy)
        return name if name.rpartition(".")[2] in _UNORDERED else ""

    def deselecting_tags(self) -> str:
        """The options of the command line that leave this task out but for its tag C(always), as they were given; empty when none does."""
        own = set(self._action._task.tags) - {"always"}
        run, skipped = (set(self._variables.get(f"ansible_{kind}_tags") or ()) for kind in ("run", "skip"))
        words = own | {"all", "tagged" if own else "untagged"}
        if skipped & words:
            return f"--skip-tags {','.join(sorted(skipped))}"
        return f"--tags {','.join(sorted(run))}" if run and not run & words else ""

    @property
    def is_run_once(self) -> bool:
        """Whether one host runs the task, and its results are those of all."""
        return bool(self._action._task.run_once)

    def variable(self, name: str, default: t.Any = None) -> t.Any:
        """The value of a variable of this host, worked out."""
        if name not in self._variables:
            return default
        return plain(self._action._templar.template(self._variables[name]))

    def vaulted(self, name: str) -> list[str]:
        """The keys in a variable of this host whose values come from a vault."""
        return vaulted(self._variables, name)

    def variable_names(self) -> list[str]:
        """The names of all variables of this host."""
        return list(self._variables)

    def variables_of(self, host: str) -> Json:
        """The variables of any host as a task of this play sees them, not worked out: its own, and those of the play."""
        return {**self.host_variables(host), **self._of_play}

    @functools.cached_property
    def _of_play(self) -> Json:
        """The variables that the play, its import and the task give to all hosts."""
        own = self.host_variables(self.host)
        return {
            name: value for name, value in self._variables.items() if name not in own or not _is_same(own[name], value)
        }

    def work_out(self, variables: Json, name: str) -> t.Any:
        """The value of one of the variables of a host. Raises AnsibleError for one that cannot be worked out."""
        templar = self._action._templar.copy_with_new_env(available_variables=variables)
        return plain(templar.template(variables[name]))

    def place_of(self, host: str, name: str) -> str:
        """The file and line from which a variable of a host comes; empty where Ansible does not tell."""
        return place_of(self.variables_of(host).get(name))

    def argument_specs(self, role_path: str = "") -> Json:
        """What a role's meta/argument_specs.yml says, by entry point. role_path: its directory, when it is not that of the task's role."""
        path = os.path.join(role_path or self._variables["role_path"], "meta", "argument_specs.yml")
        found: Json = plain(self._action._loader.load_from_file(path))["argument_specs"]
        return found

    def role_path(self) -> str:
        """The directory of the role."""
        path: str = self._variables["role_path"]
        return path

    def control_planes(self) -> list[str]:
        """The hosts that the inventory names as control planes, whether they take part or not."""
        groups = self._variables["groups"]
        named = str(self.variable(f"{control_plane_nodes.GROUP}_group", control_plane_nodes.GROUP))
        return list(dict.fromkeys([*groups.get(control_plane_nodes.GROUP, []), *groups.get(named, [])]))

    # ---- the API and modules -----------------------------------------------------------------------------------------

    @staticmethod
    def has_api_credentials() -> bool:
        """Whether the environment of the controller names credentials, so that it asks the API itself."""
        return any(os.environ.get(name) for name in api_host.CREDENTIAL_VARIABLES)

    def api_hosts(
        self,
        candidates: t.Sequence[str],
        named: str,
        *,
        reachable: t.Collection[str],
        changing: t.Collection[str] = (),
        impaired: t.Collection[str] = (),
    ) -> list[Json]:
        """Who may ask the API, best first, as C(host) and C(become). The arguments are those of C(_plan/transaction/api_host)."""
        found = api_host.ranked(
            candidates,
            named,
            variables=[os.environ.get(name, "") for name in api_host.CREDENTIAL_VARIABLES],
            hostvars=self._variables["hostvars"],
            reachable=reachable,
            changing=changing,
            impaired=impaired,
        )
        return [each._asdict() for each in found]

    def ask(self, module: str, arguments: Json, *, is_plan: bool = False) -> Json:
        """Run a module of this collection where the task runs, with its own action plugin. A lost connection is a result that says so.

        is_plan: in check mode, whatever the mode of the task is, and without a diff.
        """
        name = f"nodecraft.kubeadm.{module}"
        arguments = {**self._module_defaults(name), **arguments}
        action = self._action
        task = action._task.copy()
        task.action, task.args = name, arguments
        if is_plan:
            task.check_mode, task.diff = True, False
        plugin = action._shared_loader_obj.action_loader.get(
            name,
            task=task,
            connection=action._connection,
            play_context=action._play_context,
            loader=action._loader,
            templar=action._templar,
            shared_loader_obj=action._shared_loader_obj,
        )
        try:
            answer: Json = (
                _run_to_its_end(plugin, self._variables)
                if plugin
                else action._execute_module(name, module_args=arguments, task_vars=self._variables)
            )
        except AnsibleConnectionFailure as exc:
            return {"unreachable": True, "msg": str(exc)}
        self.warnings += answer.pop("warnings", None) or []
        told: Json = plain(answer)
        return told

    def _module_defaults(self, module: str) -> Json:
        """What C(module_defaults) of the play say for a module and for the action groups that have it, as Ansible reads it for a task."""
        task = self._action._task
        groups = [f"group/{group}" for group in task.get_play()._action_groups.get(module, ())]
        merged: Json = {}
        for defaults in task.module_defaults:
            merged.update(defaults)
        found: Json = {}
        for name in (*groups, module):
            found.update(plain(self._action._templar.template(merged.get(name) or {})))
        # On ansible-core 2.18 an omitted value is a text.
        return {option: value for option, value in found.items() if value != self._variables.get("omit")}

    def run_here(self, command: t.Sequence[str], text: str, directory: str) -> Json:
        """Run a program on the controller, whatever the host. text: its input. Returns C(rc) and C(stderr_lines), as the module command does."""
        loader, context = self._action._shared_loader_obj.connection_loader, self._action._play_context.copy()
        local = loader.get("ansible.builtin.local", context, os.devnull)
        local.cwd = directory
        status, _stdout, stderr = local.exec_command(shlex.join(command), in_data=text.encode(), sudoable=False)
        return {"rc": status, "stderr_lines": stderr.decode(errors="replace").splitlines()}


def _run_to_its_end(plugin: ActionBase, variables: Json) -> Json:
    """The answer of an action plugin. Without pipelining it puts the module, with its arguments, into a directory on the host."""
    try:
        answer: Json = plugin.run(task_vars=variables)
    finally:
        plugin.cleanup()  # Ansible calls that of the step's own plugin only
    return answer


def _is_same(first: t.Any, second: t.Any) -> bool:
    """Whether two values as they are written are the same. One that cannot be decrypted cannot be compared either: a host has it, not the play."""
    try:
        return first is second or bool(first == second)
    except AnsibleError:
        return True


def place_of(value: t.Any) -> str:
    """The file and line in which a value stands; empty where Ansible does not tell: before 2.19 it does so of texts and mappings of YAML files."""
    path, line = (getattr(value, "ansible_pos", None) or (None, None, None))[:2]
    if path is None and Origin is not None:
        origin = Origin.get_tag(value)
        path, line = (origin.path, origin.line_num) if origin else (None, None)
    if not path:
        return ""
    shown = os.path.relpath(path)
    return f"{path if shown.startswith(os.pardir) else shown}{f':{line}' if line else ''}"


def new_id() -> str:
    """A text that no other pass and no other run has."""
    return secrets.token_hex(_ID_CHARACTERS // 2)
