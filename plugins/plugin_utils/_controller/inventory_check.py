# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The variables of all hosts, checked for all roles at once, before any of them plans anything."""

from __future__ import annotations

import bisect
import itertools
import os
import typing as t

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils._plan.common import role_variables
from ...module_utils._plan.common.batch import join_first
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.node import rollout as resources
from .play_view import Json, PlayView, origin_of

_ROLES = os.path.join(os.path.dirname(__file__), "..", "..", "..", "roles")
# The output is cut there, however many nodes have mistakes of their own.
_MAX_CHARACTERS = 2000
# Of why a variable cannot be worked out: Ansible repeats itself for each variable that uses another.
_REASON_CHARACTERS = 300
_CAUSE = "original message: "  # ansible-core 2.18 puts it last


class InventoryCheck:
    """The check of one run. hosts: the nodes of its inventory that take part. roles: those that the run uses.

    required: the variables one of which a run must name; by default all settings of its roles.
    """

    def __init__(
        self, play: PlayView, hosts: t.Sequence[str], roles: t.Sequence[str], required: t.Sequence[str] = ()
    ) -> None:
        self._play = play
        self._roles = roles
        self._required = required or [name for role in roles for name in role_variables.SETTINGS[role]]
        self._specs = {role: play.argument_specs(os.path.join(_ROLES, role)) for role in role_variables.SETTINGS}
        self._hosts = {host: play.variables_of(host) for host in hosts}
        # What is wrong, with the hosts on which it is, and where it stands.
        self._found: dict[str, dict[str, str]] = {}

    def named_settings(self) -> list[str]:
        """The settings of all roles that a variable of any host names. Raises Refusal for a run of which none does."""
        found = role_variables.find_set_variables(
            self._hosts.values(), [name for settings in role_variables.SETTINGS.values() for name in settings]
        )
        refusal = role_variables.no_settings_error(found, self._required)
        if refusal:
            raise Refusal(refusal)
        return found

    def roles(self, named: t.Collection[str]) -> list[str]:
        """The roles of the run of which something is named that it must name."""
        required = {name for name in self._required if name in named}
        return [role for role in self._roles if required.intersection(role_variables.SETTINGS[role])]

    def find_mistakes(self) -> list[str]:
        """What cannot be used, a line each with its hosts, and the file and line where Ansible knows them."""
        self._found = {}
        for host, variables in self._hosts.items():
            for role, specs in self._specs.items():
                self._check_names(host, role, specs, variables)
                if role == "placement_guard" and role in self._roles:
                    self._add_mistake(host, role_variables.unused_options_error(role, variables, specs))
                for name, option in role_variables.options_of(specs).items():
                    if name in variables:
                        self._check_value(host, name, option)
        return _truncate_lines(
            [f"{join_first(hosts)}: {text}{_format_places(hosts.values())}" for text, hosts in self._found.items()]
        )

    def find_near_misses(self) -> list[str]:
        """Names that are nearly those of variables of a role, a line each."""
        known = {name for specs in self._specs.values() for name in role_variables.options_of(specs)}
        names = {name for variables in self._hosts.values() for name in variables}
        return [
            f"{join_first(host for host, variables in self._hosts.items() if name in variables)}: no role knows {name} (did you mean {likely}?)"
            for name, likely in role_variables.find_misspelled(names, known).items()
        ]

    def _check_names(self, host: str, role: str, specs: role_variables.Specs, variables: Json) -> None:
        name = f"{role}_ignored_variables"
        try:
            ignored = self._evaluate(host, name) if name in variables else ()
        except AnsibleError:
            return  # as of all variables, its value is checked
        for objection in role_variables.name_errors(role, specs, variables, ignored=ignored):
            self._add_mistake(host, objection)

    def _check_value(self, host: str, name: str, option: Json) -> None:
        try:
            value = self._evaluate(host, name)
        except AnsibleError as exc:
            reason = str(exc).strip().splitlines()[-1].rpartition(_CAUSE)[2][:_REASON_CHARACTERS]
            self._add_mistake(host, f"{name} cannot be worked out: {reason}", name)
            return
        for objection in value_objections(name, value, option):
            self._add_mistake(host, objection, name)

    def _evaluate(self, host: str, name: str) -> t.Any:
        return self._play.evaluate_variable(self._hosts[host], name)

    def _add_mistake(self, host: str, text: str, variable: str = "") -> None:
        if text:
            self._found.setdefault(text, {})[host] = origin_of(self._hosts[host].get(variable))


def _format_places(places: t.Iterable[str]) -> str:
    """The places of a mistake, as text behind it: each host may have it in a file of its own."""
    found = list(dict.fromkeys(filter(None, places)))
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f" ({found[0]}{more})" if found else ""


def _truncate_lines(lines: list[str]) -> list[str]:
    """The first of many lines, and how many more there are."""
    sizes = list(itertools.accumulate(map(len, lines)))
    visible = lines[: max(1, bisect.bisect_right(sizes, _MAX_CHARACTERS))]
    rest = len(lines) - len(visible)
    return [*visible, f"{rest} more mistakes"] if rest else visible


def value_objections(name: str, value: t.Any, option: Json) -> list[str]:
    """What is wrong with the value of a variable: in its kind, for its specification, or because no node could take it."""
    found = role_variables.value_errors(name, value, option)
    if found:
        return found
    errors, typed_value = validate_value(name, value, option)
    if errors:
        return [f"invalid {name}: {message}" for message in errors]
    objection = resources.value_error(name, typed_value)
    return [objection] if objection else []


def validate_value(name: str, value: t.Any, option: Json) -> tuple[list[str], t.Any]:
    """Validate a value against the specification of its variable. Returns Ansible's error messages, and the value in the types of the specification."""
    try:
        result = ArgumentSpecValidator({name: {**option, "required": False}}).validate({name: value})
    except TypeError as exc:  # of 2.18 to 2.22, for a list with choices in which something else than text stands
        return [str(exc)], value
    return list(result.error_messages), result.validated_parameters.get(name)
