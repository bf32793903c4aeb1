# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health with thresholds, devices that appear and vanish, and the owners of nodes."""

from __future__ import annotations

import pytest
from nodecraft_device_plugin import inventory
from nodecraft_device_plugin.config import ExecCheck, HealthRules
from nodecraft_device_plugin.devices import HEALTHY, Candidate, Node, Outcome, Skipped
from nodecraft_device_plugin.discovery import Discovery
from nodecraft_device_plugin.inventory import Health, Known, Listed, Probe

RULES = HealthRules(failures=3, successes=2)
BAD = Outcome(False, "broken")
UNKNOWN = Outcome(None, "who knows")
GONE_BAD = Outcome(False, "no device", final=True)


def after(*outcomes: Outcome, rules: HealthRules = RULES) -> list[bool]:
    """The health after each result."""
    state: Health | None = None
    seen = []
    for outcome in outcomes:
        state = inventory.next_health(state, outcome, rules)
        seen.append(state.healthy)
    return seen


def node(number: int, shared: bool = False) -> Node:
    return Node(f"/dev/n{number}", f"/dev/n{number}", ("char", 1, number), shared=shared)


def scan(*candidates: Candidate, failure: str = "") -> Discovery:
    return Discovery(candidates, failure=failure)


def update(
    known: dict[str, Known],
    found: Discovery,
    now: float = 0.0,
    probed: dict[str, Probe] | None = None,
    rules: HealthRules = RULES,
) -> dict[str, Known]:
    return inventory.update(known, found, probed or {}, rules, now, 300.0)[0]


@pytest.mark.parametrize(
    ("outcomes", "healthy"),
    [
        ([HEALTHY, BAD, BAD, BAD], [True, True, True, False]),
        ([HEALTHY, BAD, BAD, HEALTHY, BAD, BAD], [True] * 6),
        ([BAD, HEALTHY, HEALTHY], [False, False, True]),
        ([BAD, HEALTHY, BAD, HEALTHY, HEALTHY], [False, False, False, False, True]),
        ([HEALTHY, GONE_BAD], [True, False]),
        ([HEALTHY, BAD, BAD, UNKNOWN, BAD], [True, True, True, True, False]),
        ([BAD, UNKNOWN, UNKNOWN, UNKNOWN], [False] * 4),
        ([UNKNOWN], [True]),
    ],
)
def test_health_changes_after_a_number_of_results(outcomes: list[Outcome], healthy: list[bool]) -> None:
    assert after(*outcomes) == healthy


@pytest.mark.parametrize(("unknown", "healthy"), [("healthy", [False, False, True]), ("unhealthy", [False] * 3)])
def test_unknown_counts_as_configured(unknown: str, healthy: list[bool]) -> None:
    assert after(BAD, UNKNOWN, UNKNOWN, rules=HealthRules(unknown=unknown)) == healthy


def test_pending_while_the_next_results_decide() -> None:
    state = inventory.next_health(Health(True), BAD, RULES)
    assert state.pending
    assert not inventory.next_health(state, HEALTHY, RULES).pending


def test_a_vanished_device_is_unhealthy_at_once_and_forgotten_later() -> None:
    known = update({}, scan(Candidate("a"), Candidate("b")))
    known = update(known, scan(Candidate("a")), now=10.0)
    assert known["b"].health == Health(False, inventory.GONE)
    assert set(update(known, scan(Candidate("a")), now=309.0)) == {"a", "b"}
    assert set(update(known, scan(Candidate("a")), now=310.0)) == {"a"}


def test_a_returned_device_is_healthy_after_its_results() -> None:
    known = update({}, scan(Candidate("a")))
    known = update(known, scan(), now=1.0)
    known = update(known, scan(Candidate("a", (node(7),))), now=2.0)
    assert (known["a"].health.healthy, known["a"].missing_since) == (False, None)
    known = update(known, scan(Candidate("a", (node(7),))), now=3.0)
    assert known["a"].health.healthy
    assert known["a"].candidate.nodes == (node(7),)


def test_a_failed_scan_changes_nothing() -> None:
    known = update({}, scan(Candidate("a")))
    assert update(known, scan(failure="no permission"), now=1000.0) == known


def test_a_failed_scan_can_be_configured_to_count() -> None:
    rules = HealthRules(failures=2, unknown="unhealthy")
    known = update({}, scan(Candidate("a")), rules=rules)
    known = update(known, scan(failure="no permission"), rules=rules)
    assert known["a"].health.healthy
    known = update(known, scan(failure="no permission"), rules=rules)
    assert known["a"].health == Health(False, "no permission")


def test_a_new_unusable_candidate_is_skipped_and_a_known_device_keeps_its_nodes() -> None:
    broken = Candidate("a", outcome=GONE_BAD, found_as="/dev/a")
    known, skipped = inventory.update({}, scan(broken), {}, RULES, 0.0, 300.0)
    assert (known, skipped) == ({}, (Skipped("/dev/a", "no device"),))
    known = update({}, scan(Candidate("a", (node(1),))))
    known = update(known, scan(broken))
    assert (known["a"].candidate.nodes, known["a"].health) == ((node(1),), Health(False, "no device"))


def test_slow_checks_decide_first_and_are_counted_once() -> None:
    rules = HealthRules(failures=2, exec=ExecCheck(("check",)))
    known = update({}, scan(Candidate("a")), rules=rules)
    assert known["a"].health == Health(False, inventory.UNCHECKED)
    known = update(known, scan(Candidate("a")), probed={"a": Probe(HEALTHY)}, rules=rules)
    assert known["a"].health.healthy
    bad = Probe(BAD)
    known = update(known, scan(Candidate("a")), probed={"a": bad}, rules=rules)
    for dummy in range(5):
        known = update(known, scan(Candidate("a")), probed={"a": bad._replace(fresh=False)}, rules=rules)
    assert known["a"].health.healthy
    known = update(known, scan(Candidate("a")), probed={"a": bad}, rules=rules)
    assert known["a"].health == Health(False, "broken")


def test_nothing_is_advertised_while_a_slow_check_is_unknown() -> None:
    rules = HealthRules(exec=ExecCheck(("typo",)))
    for seen in (HEALTHY, UNKNOWN):
        found = scan(Candidate("a", outcome=seen))
        known = update({}, found, probed={"a": Probe(UNKNOWN)}, rules=rules)
        assert known["a"].health == Health(False, "who knows")
        assert update(known, found, probed={"a": Probe(UNKNOWN)}, rules=rules)["a"].health == Health(False, "who knows")
    known = update({}, scan(Candidate("a")), probed={"a": Probe(HEALTHY)}, rules=rules)
    assert update(known, scan(Candidate("a")), probed={"a": Probe(UNKNOWN)}, rules=rules)["a"].health.healthy


def test_results_from_before_a_device_vanished_do_not_count_after_its_return() -> None:
    rules = HealthRules(exec=ExecCheck(("check",)))
    stale = {"a": Probe(HEALTHY, fresh=False)}
    known = update({}, scan(Candidate("a")), probed={"a": Probe(HEALTHY)}, rules=rules)
    known = update(known, scan(), probed=stale, rules=rules)
    known = update(known, scan(Candidate("a")), probed=stale, rules=rules)
    assert known["a"].health == Health(False, inventory.UNCHECKED)
    assert update(known, scan(Candidate("a")), probed={"a": Probe(HEALTHY)}, rules=rules)["a"].health.healthy


@pytest.mark.parametrize(
    ("health", "probe", "missing", "expected"),
    [
        (Health(True), Probe(HEALTHY), None, False),
        (Health(True), Probe(BAD), None, True),
        (Health(True, bad=2), Probe(BAD), None, False),
        (Health(True, bad=1), Probe(HEALTHY), None, False),
        (Health(True, bad=1), Probe(UNKNOWN), None, True),
        (Health(True, bad=1), Probe(BAD, fresh=False), None, True),
        (Health(False, "broken"), Probe(BAD), None, False),
        (Health(False, "broken"), Probe(HEALTHY), None, True),
        (Health(False, inventory.UNCHECKED), None, None, True),
        (Health(False, inventory.UNCHECKED), Probe(UNKNOWN), None, False),
        (Health(False, inventory.GONE), None, None, True),
        (Health(False, inventory.GONE), None, 1.0, False),
    ],
)
def test_what_the_next_results_may_change(
    health: Health, probe: Probe | None, missing: float | None, expected: bool
) -> None:
    rules = HealthRules(failures=3, successes=2, exec=ExecCheck(("check",)))
    known = {"a": Known(Candidate("a"), health, missing)}
    assert inventory.undecided(known, {"a": probe} if probe else {}, rules) is expected


def test_a_node_belongs_to_the_first_that_has_it() -> None:
    first = Candidate("a", (node(1), node(9, shared=True)), found_as="A")
    second = Candidate("b", (node(1),), found_as="B")
    third = Candidate("c", (node(2), node(9, shared=True)), found_as="C")
    claimed = inventory.claim({"example.com/x": scan(first), "example.com/y": scan(second, third)})
    assert claimed["example.com/x"].candidates == (first,)
    assert claimed["example.com/y"].candidates == (third,)
    assert claimed["example.com/y"].skipped == (Skipped("B", "device node /dev/n1 belongs to example.com/x a"),)


@pytest.mark.parametrize(
    "blind",
    [
        scan(failure="hangs"),
        scan(Candidate("other"), failure="one of two directories cannot be read"),
        scan(Candidate("a", outcome=Outcome(None, "no permission", final=True))),
    ],
)
def test_a_node_stays_with_its_owner_when_that_cannot_be_scanned(blind: Discovery) -> None:
    """Otherwise two resources would advertise it, or another device would get it while a pod uses it."""
    known = {"A": update({}, scan(Candidate("a", (node(1),)))), "B": {}}
    claimed = inventory.claim({"B": scan(Candidate("b", (node(1),), found_as="B")), "A": blind}, known)
    assert claimed["B"].skipped == (Skipped("B", "device node /dev/n1 belongs to A a"),)
    assert claimed["A"].candidates == blind.candidates


def test_a_node_of_a_vanished_device_is_free_although_a_scan_fails() -> None:
    gone = update(update({}, scan(Candidate("a", (node(1),)))), scan())
    other = scan(Candidate("b", (node(1),)))
    assert inventory.claim({"A": scan(failure="hangs"), "B": other}, {"A": gone, "B": {}})["B"] == other
    rules = HealthRules(unknown="healthy", successes=1)
    assert update(gone, scan(failure="hangs"), rules=rules) == gone


def test_a_partly_scanned_owner_keeps_its_nodes() -> None:
    known = {"A": update({}, scan(Candidate("a", (node(1), node(2)))))}
    part = scan(Candidate("a", (node(1),), outcome=Outcome(None, "no permission", final=True)))
    assert inventory.claim({"A": part}, known)["A"] == part


def test_two_devices_never_have_one_id() -> None:
    claimed = inventory.claim({"r": scan(Candidate("a", (node(1),)), Candidate("a", (node(2),), found_as="other"))})
    assert claimed["r"].skipped == (Skipped("other", "duplicate device id a"),)


def test_the_list_has_every_replica_in_order() -> None:
    known = {"b": Known(Candidate("b", numa=1), Health(False)), "a": Known(Candidate("a"), Health(True))}
    assert inventory.listed(known, 2) == (
        Listed("a::0", True),
        Listed("a::1", True),
        Listed("b::0", False, 1),
        Listed("b::1", False, 1),
    )
