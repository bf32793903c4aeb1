# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a transaction's end means for the task."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import messages

REASON = "kube-apiserver was not healthy within 300 s"


def transaction(ended: str, log: t.Sequence[str] = ()) -> dict[str, t.Any]:
    return {
        "id": "20260101T000000.000000Z-abc",
        "outcome": ended,
        "reason": None if ended == "committed" else REASON,
        "ended": "2026-01-01T00:05:00Z",
        "log": list(log),
        "healthy": True,
    }


def test_a_commit_is_no_failure() -> None:
    assert messages.failure_message("kube-apiserver", "cp1", transaction("committed")) is None
    assert messages.has_changed_node("committed")


@pytest.mark.parametrize(
    ("ended", "words", "changed"),
    [
        ("rolled_back", "the change was rolled back and the former state is verified", False),
        ("aborted", "nothing was changed", False),
        ("unhealthy", "left in place, because rollback is off", True),
        ("alarm", "needs manual repair, static_pod_info shows what runs and what the files say", True),
    ],
)
def test_every_other_end_is_a_failure_with_cause_and_ending(ended: str, words: str, changed: bool) -> None:
    message = str(messages.failure_message("kube-apiserver", "cp1", transaction(ended)))
    assert message.startswith(f"kube-apiserver on cp1: {REASON}; ")
    assert words in message
    assert "20260101T000000.000000Z-abc" in message
    assert messages.has_changed_node(ended) is changed


def test_earlier_commit_reports_what_was_not_verified_and_noticed() -> None:
    limits = {"proof": {"unverified": ["whether feature gates A are as desired: 403"]}, "notes": ["a copy was damaged"]}
    message = messages.report_message("kube-apiserver", "cp1", {**transaction("committed"), **limits})
    assert "which was not followed to its end, was committed at" in message
    assert message.endswith(" Not verified: whether feature gates A are as desired: 403. Note: a copy was damaged.")


@pytest.mark.parametrize("proof", [{}, {"proof": None}, {"proof": {}}, {"proof": {"unverified": []}}])
def test_transaction_with_whole_proof_has_nothing_unverified(proof: dict[str, t.Any]) -> None:
    ended = typed.parse(messages.Transaction, {**transaction("committed"), **proof})
    assert list(ended.unverified) == []


def test_what_was_broken_before_is_not_called_verified() -> None:
    message = str(messages.failure_message("kube-apiserver", "cp1", {**transaction("rolled_back"), "healthy": False}))
    assert "as unhealthy as it was before" in message
    assert "verified" not in message


def test_former_state_is_called_verified_only_where_it_is() -> None:
    ended = {**transaction("rolled_back"), "healthy": True}
    assert "the former state is verified" in str(messages.failure_message("kubelet", "w1", ended))
    message = str(
        messages.failure_message(
            "kubelet", "w1", {**ended, "proof": {"unverified": ["whether its Node is ready: refused"]}}
        )
    )
    assert (
        "the change was rolled back, but of the former state it is not verified whether its Node is ready: refused"
        in message
    )


def test_check_mode_names_the_transaction_that_waits() -> None:
    assert "transaction 1 is open in phase waiting" in messages.open_message("kube-apiserver", "cp1", "1", "waiting")


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (["I1 fine", 'E1 "command failed" err="x"', "I1 bye"], 'E1 "command failed" err="x"'),
        (["panic: index out of range", "", "goroutine 1 [running]:", "main.main()"], "panic: index out of range"),
        (["Error: unknown flag: --x", "Usage:", "  kube-apiserver [flags]"], "Error: unknown flag: --x"),
        (["E1 first", "F1 fatal", "I1 info"], "F1 fatal"),
        (["one", "two "], "two"),
    ],
)
def test_the_relevant_line_of_the_log_is_shown(log: list[str], expected: str) -> None:
    message = str(messages.failure_message("kube-apiserver", "cp1", transaction("rolled_back", log)))
    assert message.endswith(f" kube-apiserver logged last: {expected}")


def test_what_was_lost_shows_in_no_log() -> None:
    lost = {
        **transaction("rolled_back"),
        "reason": "what worked before does not: the pod's log (405)",
        "log": ["E1 no such path"],
    }
    assert "logged last" not in str(messages.failure_message("kubelet", "w1", lost))


def test_without_a_log_nothing_is_reported_of_it() -> None:
    assert "logged last" not in str(messages.failure_message("kube-apiserver", "cp1", transaction("rolled_back")))


def test_the_report_of_an_earlier_run_reports_how_it_ended() -> None:
    committed = messages.report_message("kube-apiserver", "cp1", transaction("committed"))
    assert "20260101T000000.000000Z-abc" in committed
    assert "committed at 2026-01-01T00:05:00Z" in committed
    restored = messages.report_message("kube-apiserver", "cp1", transaction("rolled_back"))
    assert REASON in restored
