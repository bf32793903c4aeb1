# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a step sees of the running play: its hosts, their variables as plain values, and who may use the API.

What tasks registered is read without templates, so that no other variable of a host matters: one that is undefined, or vaulted.
"""

from __future__ import annotations

import functools
import os
import typing as t

from ansible.errors import AnsibleError

from ...module_utils._plan.common.plain import to_plain
from ...module_utils._plan.kubernetes import control_plane_nodes
from ...module_utils._plan.transaction import api_host
from ...module_utils._plan.transaction.api_host import ApiHost
from . import run_key
from .vaulted import vaulted_keys

try:  # of 2.19 and newer, and not a part of what Ansible promises to keep
    from ansible._internal._datatag._tags import Origin
except ImportError:
    Origin = None  # type: ignore[assignment,misc]

if t.TYPE_CHECKING:
    from ansible.plugins.action import ActionBase

Json = dict[str, t.Any]

_ID_CHARACTERS = 8
_UNORDERED = ("free", "host_pinned")  # strategies in which each host goes on by itself


class PlayView:
    """The play as one host sees it in one task. action: the action plugin of the task. variables: those of the task."""

    def __init__(self, action: ActionBase, variables: Json) -> None:
        self._action = action
        self._variables = variables
        self.host: str = variables["inventory_hostname"]
        self.check_mode: bool = action._task.check_mode
        self.diff_mode: bool = action._task.diff
        # Where modules of this step run.
        self.delegate_host: str = action._task.delegate_to or self.host

    # ---- hosts -------------------------------------------------------------------------------------------------------

    @property
    def play_hosts(self) -> list[str]:
        """The hosts that the play still has."""
        return list(self._variables["ansible_play_hosts"])

    @property
    def batch_hosts(self) -> list[str]:
        """Those of them in the current batch of C(serial)."""
        return list(self._variables["ansible_play_batch"])

    @property
    def all_play_hosts(self) -> list[str]:
        """The hosts of the play, also those that it has lost, in the order in which it takes them."""
        hosts = list(self._variables["ansible_play_hosts_all"])
        if self._action._task.get_play().order in (None, "inventory"):
            return hosts
        # That variable is in the order of the inventory; the keyword C(order) counts in the batch.
        return list(dict.fromkeys([*self.batch_hosts, *hosts]))

    def group_hosts(self, name: str) -> list[str]:
        """The hosts of a group of the inventory; none where there is no such group."""
        return list(self._variables["groups"].get(name, []))

    def lost_hosts(self) -> list[str]:
        """The hosts that failed, could not be reached or were ended earlier in this play."""
        remaining = set(self.play_hosts)
        return [host for host in self.all_play_hosts if host not in remaining]

    def excluded_by_serial(self) -> list[str]:
        """The hosts of the play that are not in this batch of it."""
        batch = set(self.batch_hosts)
        return [host for host in self.play_hosts if host not in batch]

    def control_planes(self) -> list[str]:
        """The hosts that the inventory names as control planes, whether they take part or not."""
        named = str(self.variable(control_plane_nodes.GROUP_VARIABLE, control_plane_nodes.GROUP))
        return control_plane_nodes.of_inventory(self._variables["groups"], named)

    @staticmethod
    def has_api_credentials() -> bool:
        """Whether the environment of the controller names credentials, so that it uses the API itself."""
        return any(os.environ.get(name) for name in api_host.CREDENTIAL_VARIABLES)

    def api_hosts(
        self,
        candidates: t.Sequence[str],
        named: str,
        *,
        reachable: t.Collection[str],
        changing: t.Collection[str] = (),
        impaired: t.Collection[str] = (),
    ) -> list[ApiHost]:
        """Who may use the API, best first. The arguments are those of C(_plan/transaction/api_host)."""
        return api_host.rank_api_hosts(
            candidates,
            named,
            variables=[os.environ.get(name, "") for name in api_host.CREDENTIAL_VARIABLES],
            hostvars=self._variables["hostvars"],
            reachable=reachable,
            changing=changing,
            impaired=impaired,
        )

    # ---- variables ---------------------------------------------------------------------------------------------------

    def host_variables(self, host: str) -> t.Mapping[str, t.Any]:
        """The variables of a host without those of the play and its roles, not worked out: what was registered there, or set as a fact, is."""
        found: t.Mapping[str, t.Any] = self._variables["hostvars"].raw_get(host)
        return found

    def variable(self, name: str, default: t.Any = None) -> t.Any:
        """The value of a variable of this host, worked out."""
        if name not in self._variables:
            return default
        return to_plain(self._action._templar.template(self._variables[name]))

    def vaulted_keys(self, name: str) -> list[str]:
        """The keys in a variable of this host whose values come from a vault."""
        return vaulted_keys(self._variables, name)

    def variable_names(self) -> list[str]:
        """The names of all variables of this host."""
        return list(self._variables)

    def variables_of(self, host: str) -> Json:
        """The variables of any host as a task of this play sees them, not worked out: its own, and those of the play."""
        return {**self.host_variables(host), **self._play_variables}

    @functools.cached_property
    def _play_variables(self) -> Json:
        """The variables that the play, its import and the task give to all hosts."""
        own = self.host_variables(self.host)
        return {
            name: value for name, value in self._variables.items() if name not in own or not _is_same(own[name], value)
        }

    def evaluate_variable(self, variables: Json, name: str) -> t.Any:
        """The value of one of the variables of a host. Raises AnsibleError for one that cannot be worked out."""
        templar = self._action._templar.copy_with_new_env(available_variables=variables)
        return to_plain(templar.template(variables[name]))

    def origin_of(self, host: str, name: str) -> str:
        """The file and line from which a variable of a host comes; empty where Ansible does not know them."""
        return origin_of(self.variables_of(host).get(name))

    def argument_specs(self, role_path: str = "") -> Json:
        """The content of a role's meta/argument_specs.yml, by entry point. role_path: its directory, when it is not that of the task's role."""
        path = os.path.join(role_path or self._variables["role_path"], "meta", "argument_specs.yml")
        found: Json = to_plain(self._action._loader.load_from_file(path))["argument_specs"]
        return found

    def role_path(self) -> str:
        """The directory of the role."""
        path: str = self._variables["role_path"]
        return path

    # ---- the task ----------------------------------------------------------------------------------------------------

    @property
    def task_id(self) -> str:
        """A text that the task has on all hosts, and no other task of this run or another one. Ansible's own holds the controller's MAC address."""
        return run_key.digest(self._action._task._uuid)[:_ID_CHARACTERS]

    def unordered_strategy(self) -> str:
        """The strategy of the play, if it does not keep its hosts in sync; else an empty text."""
        name = str(self._action._task.get_play().strategy)
        return name if name.rpartition(".")[2] in _UNORDERED else ""

    def deselecting_tags(self) -> str:
        """The options of the command line that leave this task out but for its tag C(always), as they were given; empty when none does."""
        own = set(self._action._task.tags) - {"always"}
        run, skipped = (set(self._variables.get(f"ansible_{kind}_tags") or ()) for kind in ("run", "skip"))
        tags = own | {"all", "tagged" if own else "untagged"}
        if skipped & tags:
            return f"--skip-tags {','.join(sorted(skipped))}"
        return f"--tags {','.join(sorted(run))}" if run and not run & tags else ""

    @property
    def is_run_once(self) -> bool:
        """Whether one host runs the task, and its results are those of all. A strategy that does not keep its hosts in sync runs it on each of them."""
        return bool(self._action._task.run_once) and not self.unordered_strategy()


def _is_same(first: t.Any, second: t.Any) -> bool:
    """Whether two values as they are written are the same. One that cannot be decrypted cannot be compared either: a host has it, not the play."""
    try:
        return first is second or bool(first == second)
    except AnsibleError:
        return True


def origin_of(value: t.Any) -> str:
    """The file and line in which a value stands; empty where Ansible does not know them: before 2.19 it does for texts and mappings of YAML files."""
    path, line = (getattr(value, "ansible_pos", None) or (None, None, None))[:2]
    if path is None and Origin is not None:
        origin = Origin.get_tag(value)
        path, line = (origin.path, origin.line_num) if origin else (None, None)
    if not path:
        return ""
    relative = os.path.relpath(path)
    return f"{path if relative.startswith(os.pardir) else relative}{f':{line}' if line else ''}"
