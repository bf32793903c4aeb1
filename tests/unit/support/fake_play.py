# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play without Ansible: hosts with variables, and the steps of roles taken on them one after the other, by the action plugin itself.

What Ansible does around the steps is done in a few lines here, as the strategy linear does it: who is still in the play, and when the result of
one host is known to the next. Templates are not evaluated, but for the settings of a role. Results of modules come from a table.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import types
import typing as t
from pathlib import Path

import yaml
from ansible.errors import AnsibleConnectionFailure
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.utils.vars import get_unique_id, merge_hash
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import role_variables
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_steps import RolloutSteps
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from jinja2 import ChainableUndefined
from jinja2.nativetypes import NativeEnvironment

Json = dict[str, t.Any]

GONE: Json = {"unreachable": True, "msg": "gone"}


@dataclasses.dataclass(frozen=True)
class Call:
    """One module that a step ran. host: whose step. on: where. dry: in check mode. diff: whether it is to show one."""

    module: str
    host: str
    on: str
    arguments: Json
    dry: bool
    diff: bool = False


# The result of a module: always the same, one for each call (the last for all that follow), or computed from the call.
ModuleResult = t.Union[Json, list[Json], t.Callable[[Call], Json]]


class Controller:
    """The connection to the controller itself. exec_result: of every program, as status, output and error. commands: the commands, each with its input."""

    def __init__(self) -> None:
        self.exec_result: tuple[int, bytes, bytes] = (0, b"", b"")
        self.commands: list[tuple[str, bytes]] = []
        self.cwd = ""

    def exec_command(self, command: str, *, in_data: bytes, sudoable: bool) -> tuple[int, bytes, bytes]:
        """Record the command, run nothing."""
        assert not sudoable
        self.commands.append((command, in_data))
        return self.exec_result


class PlayEnded(Exception):
    """A task failed that ends the play for all hosts."""


@dataclasses.dataclass
class Task:
    """What a step reads of its task."""

    args: Json
    play: t.Any
    check_mode: bool = False
    diff: bool = False
    become: bool = False
    delegate_to: str = ""
    run_once: bool = False
    no_log: bool = False
    action: str = ""
    module_defaults: t.Sequence[Json] = ()
    tags: t.Sequence[str] = ()
    _uuid: str = dataclasses.field(default_factory=get_unique_id)

    def get_play(self) -> t.Any:
        """The play that the task belongs to."""
        return self.play

    def copy(self) -> Task:
        """Another one that is the same."""
        return copy.copy(self)


class HostVariables(dict[str, Json]):
    """The variables of all hosts."""

    def raw_get(self, host: str) -> Json:
        """Those of one host, not evaluated."""
        return self.get(host, {})


class _WithoutPlay(ActionBase):
    """What Ansible does before an action."""

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Json:
        """Nothing."""
        return {}


class _Steps(RolloutSteps, _WithoutPlay):
    """The action plugin of the steps, without what Ansible does before."""


class FakePlay:
    """A play. hosts: its hosts with their variables, in its order. groups: of the inventory. results: of the modules that steps run.

    all_calls: the modules that were run, in their order. failures: why tasks failed, by host and step. forks: on so many hosts a task runs before their results
    are known to others. play_hosts: those that the play still has. batch: of those, the current one of C(serial). settings: attributes of every task, such
    as C(check_mode).
    """

    def __init__(
        self,
        hosts: t.Mapping[str, Json],
        groups: t.Mapping[str, t.Sequence[str]] | None = None,
        *,
        forks: int = 1,
        ignores_errors: bool = False,
        ignores_unreachable: bool = False,
        strategy: str = "linear",
        order: str | None = None,
        results: t.Mapping[str, ModuleResult] | None = None,
        **settings: t.Any,
    ) -> None:
        self.hostvars = HostVariables({name: dict(variables) for name, variables in hosts.items()})
        self.groups = dict(groups or {})
        self.results: dict[str, ModuleResult] = {
            "access_info": {"user": "admin", "missing": []},
            "node_canary": {"steps": {"the start of the pod": "", "the pod's log": ""}, "unverified": ""},
            **(results or {}),
        }
        self.all_calls: list[Call] = []
        # The modules that plan a host in the first step of a role, which are not among these.
        self.planners: set[str] = set()
        self.failures: dict[str, str] = {}
        self.controller = Controller()
        # To the host of a task. A step only switches become off.
        self.connection = types.SimpleNamespace(become="sudo", close=lambda: self.closed.append("connection"))
        self.closed: list[str] = []
        # How many action plugins cleaned up behind their modules.
        self.cleaned = 0
        self.all_hosts = list(hosts)
        self.play_hosts = list(hosts)
        self.batch: list[str] | None = None
        # Those that no task reaches any more.
        self.lost: list[str] = []
        self.settings = settings
        self._forks, self._ignores_errors, self._ignores_unreachable = forks, ignores_errors, ignores_unreachable
        self.play = types.SimpleNamespace(strategy=strategy, order=order, _action_groups={})
        self._environment = NativeEnvironment(autoescape=False, undefined=ChainableUndefined)
        # The real one takes its time on purpose.
        digest = {
            "nodecraft.kubeadm.desired_state_digest": lambda value: f"digest of {json.dumps(value, sort_keys=True)}"
        }
        merge = {"combine": lambda first, second, recursive=False: merge_hash(first, second, recursive)}
        self._environment.filters.update(to_json=json.dumps, bool=boolean, **merge, **digest)

    # ---- one step ----------------------------------------------------------------------------------------------------

    def run_step(
        self, role: str, step: str, host: str, *, on: str = "", settings: Json | None = None, task: str = ""
    ) -> Json:
        """The result of a step on a host, which is not registered. on: where it is delegated to. task: the id that it has on all hosts."""
        args = {"role": role, "step": step, "settings": settings if settings is not None else {}}
        own = Task(args=args, play=self.play, delegate_to=on, _uuid=task or get_unique_id(), **self.settings)
        own.run_once = own.run_once or step == "summary"
        found: Json = self._action(own).run(task_vars=self.variables(role, host))
        # The next task of the host fails with it.
        return {**found, "failed": True, "msg": found["why"]} if found.get("why") else found

    def variables(self, role: str, host: str) -> Json:
        """The variables of a task of a role on a host."""
        directory = ROOT / "roles" / role
        return {
            **_load_yaml(str(directory / "defaults/main.yml")),
            **self.hostvars[host],
            "ansible_play_batch": self.play_hosts if self.batch is None else self.batch,
            "ansible_play_hosts": self.play_hosts,
            "ansible_play_hosts_all": self.all_hosts,
            "groups": self.groups,
            "hostvars": self.hostvars,
            "inventory_hostname": host,
            "role_path": str(directory),
        }

    def role_settings(self, role: str, host: str) -> Json:
        """What the role gives its step begin, by its C(vars/main.yml)."""
        variables, own = self.variables(role, host), _load_yaml(str(ROOT / "roles" / role / "vars/main.yml"))
        variables["lookup"] = lambda _name, of: {
            name.removeprefix(f"{of}_"): variables[name] for name in role_variables.SETTINGS[of] if name in variables
        }
        for name in ("preserved", "is_named", "gates", "desired"):
            variables[f"__{role}_{name}"] = self._render(own.get(f"__{role}_{name}", ""), variables)
        variables[f"__{role}_options"] = {
            "state": self._render(own.get(f"__{role}_options", {}).get("state", ""), variables)
        }
        settings = own.get(f"__{role}_settings", {})
        return {name: self._render(template, variables) for name, template in settings.items()}

    def _render(self, template: str, variables: Json) -> t.Any:
        return self._environment.from_string(template).render(variables)

    # ---- a task of several hosts -------------------------------------------------------------------------------------

    def run_on_hosts(
        self,
        role: str,
        step: str,
        hosts: t.Iterable[str] | None = None,
        *,
        loop: t.Callable[[str], t.Sequence[str]] | None = None,
        on: t.Callable[[str], str] | None = None,
        settings: Json | t.Callable[[str], Json] | None = None,
        is_fatal: bool = True,
        is_ignored: bool = False,
        register: str = "",
    ) -> None:
        """A task with a step, on hosts or all that no one has lost. loop: the machines that a host tries one after the other. is_fatal: a failure ends
        the play, and is raised as PlayEnded. is_ignored: whether the task ignores it. register: under which name its result stands; by default that of
        the step."""
        task = get_unique_id()

        def result(host: str) -> Json:
            own = settings(host) if callable(settings) else settings
            if loop is None:
                return self.run_step(role, step, host, on=on(host) if on else "", settings=own, task=task)
            results: list[Json] = []
            for machine in loop(host):
                results.append(self.run_step(role, step, host, on=machine, settings=own, task=task))
                if results[-1].get("api_reachable", True):
                    break
            failed = [each for each in results if each.get("failed")]
            return {"results": results, **({"failed": True, "msg": failed[-1]["msg"]} if failed else {})}

        self.register(
            f"__{role}_{register or step}", result, hosts, step=step, is_fatal=is_fatal, is_ignored=is_ignored
        )

    def register(
        self,
        name: str,
        result: t.Callable[[str], Json],
        hosts: t.Iterable[str] | None = None,
        *,
        step: str = "",
        is_fatal: bool = True,
        is_ignored: bool = False,
    ) -> None:
        """A task on hosts, or all that no one has lost. step: under which its failures are recorded. is_ignored: whether the task ignores them. Raises
        PlayEnded when one fails and that ends the play."""
        names = [host for host in (self.all_hosts if hosts is None else hosts) if host not in self.lost]
        failed: list[str] = []
        for start in range(0, len(names), self._forks):
            found = {host: result(host) for host in names[start : start + self._forks]}
            for host, each in found.items():
                self.hostvars[host][name] = {"failed": False, **each}
                if each.get("failed"):
                    self.failures[f"{host} {step or name}"] = str(each.get("msg"))
            if is_ignored:
                continue
            failed += [host for host, each in found.items() if each.get("failed") or each.get("unreachable")]
            if not self._ignores_unreachable:
                self.lost += [host for host, each in found.items() if each.get("unreachable")]
            if not self._ignores_errors:  # those that have not begun the task see it
                self.play_hosts = [host for host in self.play_hosts if host not in failed]
        if failed and is_fatal and not self._ignores_errors:
            self.play_hosts = []
            raise PlayEnded(f"{name} of {', '.join(failed)}")

    def last_result(self, name: str, host: str) -> Json:
        """What a host registered, the last item of a loop."""
        found: Json = self.hostvars[host].get(name, {})
        return found["results"][-1] if found.get("results") else found

    # ---- modules -----------------------------------------------------------------------------------------------------

    def calls(self, module: str) -> list[Call]:
        """The calls of a module."""
        return [call for call in self.all_calls if call.module == module]

    def _action(self, task: Task) -> t.Any:
        action: t.Any = object.__new__(_Steps)
        action._task = task
        action._templar = types.SimpleNamespace(template=_template)
        action._templar.copy_with_new_env = lambda **_variables: action._templar
        action._loader = types.SimpleNamespace(load_from_file=_load_yaml)
        action._connection, action._play_context = self.connection, types.SimpleNamespace(copy=lambda: None)
        action._shared_loader_obj = types.SimpleNamespace(
            action_loader=types.SimpleNamespace(get=self._plugin),
            connection_loader=types.SimpleNamespace(get=lambda *_of_ansible: self.controller),
        )
        return action

    def _plugin(self, name: str, *, task: Task, **_of_ansible: t.Any) -> t.Any:
        """The action plugin of a module."""

        def run(task_vars: Json) -> Json:
            host = str(task_vars["inventory_hostname"])
            call = Call(name.rpartition(".")[2], host, task.delegate_to or host, task.args, task.check_mode, task.diff)
            if call.module not in self.planners:
                self.all_calls.append(call)
            result = self.results.get(call.module, {})
            if isinstance(result, list):
                result = result[min(len(self.calls(call.module)), len(result)) - 1]
            found: Json = result if isinstance(result, dict) else result(call)
            if found.get("unreachable"):
                raise AnsibleConnectionFailure(str(found["msg"]))
            return dict(found)

        def cleanup() -> None:
            self.cleaned += 1

        return types.SimpleNamespace(run=run, cleanup=cleanup)


def _template(value: t.Any) -> t.Any:
    """Templates are not evaluated; one that cannot be is an error instead of a value."""
    if isinstance(value, Exception):
        raise value
    return value


_FILES: dict[str, Json] = {}


def _load_yaml(path: str) -> Json:
    """A file of YAML, empty where there is none: not every role has variables, and a playbook is no role."""
    if path not in _FILES:
        _FILES[path] = yaml.safe_load(Path(path).read_text(encoding="utf-8")) if Path(path).is_file() else {}
    return _FILES[path]
