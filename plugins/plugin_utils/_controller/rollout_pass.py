# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one place where the registers of Ansible are read: what the tasks of a role left on the hosts of its play, as types of its rollout."""

from __future__ import annotations

import typing as t

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.plain import to_plain
from ...module_utils._plan.transaction import rollout
from ...module_utils._plan.transaction.rollout import HostResults
from .play_view import Json, PlayView

H = t.TypeVar("H", bound=HostResults[t.Any, t.Any])
C = t.TypeVar("C")

# Of those steps that try one host after the other, the last result counts.
_LOOP_STEPS = ("identify", "decide", "admit", "apply", "compare")


class RolloutPass(t.Generic[H]):
    """One pass of a role, as one of its hosts sees it. kind: the class of what the tasks of the role left on a host."""

    def __init__(self, play: PlayView, role: str, kind: type[H]) -> None:
        self._play = play
        self._role = role
        self._kind = kind
        self._hosts: dict[str, H] = {}
        # What is read of no host: as of one that has registered nothing.
        self.no_host = kind(lambda _register: {})

    def host(self, name: str) -> H:
        """What the tasks of the role left on a host."""
        if name not in self._hosts:
            self._hosts[name] = self._kind(lambda register: self._registered(name, register))
        return self._hosts[name]

    @property
    def own(self) -> H:
        """The same of the host of this step."""
        return self.host(self._play.host)

    def _registered(self, host: str, register: str) -> Json:
        found = read_register(self._play, f"__{self._role}_{register}", host)
        if register in _LOOP_STEPS and "results" in found:
            last: Json = (found["results"] or [{}])[-1]
            return last
        return found

    def all_hosts(self) -> t.Iterator[tuple[str, H]]:
        """The hosts of the play one after the other, also those that it has lost."""
        return ((name, self.host(name)) for name in self._play.all_play_hosts)

    def hosts(self, names: t.Iterable[str] | None = None) -> dict[str, H]:
        """The hosts that use the role in this pass, or those of these names."""
        if names is not None:
            return {name: self.host(name) for name in names}
        return {name: host for name, host in self.all_hosts() if host.is_at_work}

    @property
    def coordinator(self) -> str:
        """The host that decides and sends requests for all."""
        return rollout.choose_coordinator(self.all_hosts())


def read_register(play: PlayView, name: str, host: str = "") -> Json:
    """What a host registered under a name, or set as a fact; empty when nothing. host: by default the own one."""
    found: Json = to_plain(play.host_variables(host or play.host).get(name) or {})
    return found


def parse_register(play: PlayView, name: str, kind: type[C], host: str = "") -> C:
    """The same, parsed."""
    return typed.parse(kind, read_register(play, name, host))
