# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role on a real play: what Ansible makes of its files, keywords and failures. What is decided, unit tests of the steps hold
(tests/unit/plugins/plugin_utils/_controller/test_control_plane_rollout_pass.py)."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Outcome, Stage

API_SERVER = "kube-apiserver"
ROLE = {"role": "nodecraft.kubeadm.control_plane"}


def planned(outcome: Outcome) -> list[str]:
    """The hosts whose API server was planned, in their order."""
    return outcome.hosts("plan", API_SERVER)


def changed(outcome: Outcome) -> list[str]:
    """The hosts whose API server was changed, in their order."""
    return outcome.hosts("change", API_SERVER)


Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role in a play on cp1, cp2 and cp3; C(stub) sets what each does for kube-apiserver. variables: of all hosts."""

    def play(
        *stub: t.Any,
        options: t.Sequence[str] = (),
        variables: t.Mapping[str, t.Any] | None = None,
        **keywords: t.Any,
    ) -> Outcome:
        own = variables or {}
        hosts = {f"cp{number}": {"stub": {API_SERVER: each}, **own} for number, each in enumerate(stub, start=1)}
        return stage.play({"kube_control_plane": hosts}, *options, roles=[ROLE], **keywords)

    return play


@pytest.mark.slice
def test_all_are_planned_and_then_changed_one_after_the_other(play: Play) -> None:
    """Other variables of a host do not matter, neither one that is not defined nor one that cannot be decrypted."""
    vaulted = {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3030\n"}
    others = {"unrelated": "{{ not_there }}", "secret": vaulted}
    outcome = play("changes", "nothing", "changes", variables=others)
    assert outcome.status == 0, outcome.output
    assert sorted(planned(outcome)) == ["cp1", "cp2", "cp3"]
    assert changed(outcome) == ["cp1", "cp3"]
    (report,) = outcome.reports
    headline, *lines = report.splitlines()
    assert headline == "Changed: 2 operations on 2 of 3 nodes; rehearsed: 2 x kube-apiserver"
    assert lines[:2] == [
        "cp1, cp3 kube-apiserver + --v=5 (committed; away up to 1.0 s)",
        "1 other node: nothing to change",
    ]
    assert "kubeadm upgrade" in report


@pytest.mark.slice
def test_a_refusal_keeps_every_node_from_a_change(play: Play) -> None:
    outcome = play("changes", "changes", "refused")
    assert outcome.status != 0
    assert "refused in the rehearsal" in outcome.output
    assert changed(outcome) == []
    # They were planned, and are reported.
    found = outcome.statistics["control_plane_report"]
    assert {host: found[host][API_SERVER]["msg"] for host in found} == dict.fromkeys(
        ("cp1", "cp2"), "Not changed, because cp3 failed."
    )
    assert "cp1, cp2: Not changed, because cp3 failed." in outcome.reports[0].splitlines()
    assert outcome.statistics["nodecraft_kubeadm_pending"] == 2


def test_a_failure_leaves_later_nodes_untouched_and_is_reported(play: Play) -> None:
    """Turns keep their order with one process as well."""
    outcome = play("changes", "lost", "changes", options=["--forks=1"])
    assert outcome.status != 0
    assert changed(outcome) == ["cp1", "cp2"]
    (report,) = outcome.reports
    headline, *lines = report.splitlines()
    assert headline == "Changed: 1 operation on 1 of 3 nodes; rehearsed: 3 x kube-apiserver"
    assert lines[:3] == [
        "cp1 kube-apiserver + --v=5 (committed; away 1.0 s)",
        "cp2 kube-apiserver + --v=5 (connection lost, end not seen)",
        "cp3: Not changed, because cp2 failed.",
    ]
    *_others, why, last = lines
    # ansible-core 2.18 displays less.
    assert why.replace("Task failed: ", "") == "cp2: gone"
    how = "-e control_plane_resume=true --limit cp2,cp3"
    assert last == f"Failed: cp2 failed; 1 node did not begin. To continue when that is repaired, run again with {how}"
    # Each of them has failed once.
    assert re.findall(r"^fatal: \[(\w+).*", outcome.output, re.MULTILINE) == ["cp2", "cp3"]
    assert 'fatal: [cp3]: FAILED! => {"changed": false, "msg": "Not changed, because cp2 failed."}' in outcome.output
    assert outcome.statistics["nodecraft_kubeadm_pending"] == 2
    found = outcome.statistics["control_plane_report"]
    assert [(found[host][API_SERVER]["failed"], found[host][API_SERVER].get("started")) for host in ("cp1", "cp3")] == [
        (False, None),
        (True, False),
    ]
    # The Lease is left with a mark.
    (halted,) = [call for call in outcome.calls if call["step"] == "halted"]
    assert (halted["host"], halted["arguments"]["node"]) == ("cp1", "cp2")


def test_nothing_is_changed_behind_a_failure_that_is_ignored(play: Play) -> None:
    outcome = play("rolled_back", "changes", "changes", ignore_errors=True)
    assert changed(outcome) == ["cp1"]
    assert '"msg": "Not changed, because cp1 failed or was lost."' in outcome.output
    (report,) = outcome.reports
    lines = report.splitlines()
    assert lines[:3] == [
        "Nothing was changed on 3 nodes",
        "cp1 kube-apiserver + --v=5 (rolled back; away 1.0 s)",
        "cp2, cp3: Not changed, because cp1 failed or was lost.",
    ]
    assert lines[-1].startswith("Failed: cp1 failed; rolled back: kube-apiserver on cp1; 2 nodes did not begin.")


def test_a_batch_is_not_changed_without_the_nodes_of_the_others(play: Play) -> None:
    outcome = play("changes", "changes", serial=1)
    assert outcome.status != 0
    assert changed(outcome) == []
    assert "Nothing was changed on cp1, because serial excludes cp2" in outcome.output


def test_a_node_that_the_play_has_lost_stops_it(play: Play) -> None:
    outcome = play(
        "changes", "changes", pre_tasks=[{"ansible.builtin.fail": {}, "when": "inventory_hostname == 'cp1'"}]
    )
    assert outcome.status != 0
    assert planned(outcome) == []
    assert "failed, could not be reached or were ended earlier in this play cannot be planned (cp1)" in outcome.output
