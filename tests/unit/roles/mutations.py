# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The safeguards of a rollout, each with what takes it out and the test that must fail then."""

from __future__ import annotations

import dataclasses

from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Stage

# In the environment: which safeguard the stage of every test goes without.
CHOSEN = "ROLES_MUTATION"


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One safeguard taken out.

    safeguard: what it is, for people. file: of the collection. text: what stands there once. instead: what stands there then.
    tests: the file of the test that must fail. name: selects it, as pytest's -k takes it.
    """

    safeguard: str
    file: str
    text: str
    instead: str
    tests: str
    name: str

    def take_out(self, stage: Stage) -> None:
        """Play without it. Raises AssertionError when the safeguard is not found any more, or more than once."""
        stage.replace(self.file, self.text, self.instead)


MUTATIONS = {
    "control-plane-goes-on": Mutation(
        safeguard="control_plane stops after a failure, also where errors are ignored",
        file="plugins/plugin_utils/_controller/control_plane_rollout.py",
        text="control_planes.turn_refusal(hosts, host, self._play.play_hosts, decision.turns)",
        instead='""',
        tests="test_control_plane.py",
        name="test_nothing_is_changed_behind_a_failure_that_is_ignored",
    ),
    "kubelet-goes-on": Mutation(
        safeguard="node_kubelet stops after a failure, also where errors are ignored",
        file="plugins/module_utils/_plan/transaction/rollout.py",
        text="        elif host.state in (FAILED, LOST):",
        instead="        elif host.state in ():",
        tests="test_node_kubelet.py",
        name="test_nothing_is_changed_behind_a_failure_that_is_ignored",
    ),
}
