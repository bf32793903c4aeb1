# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions of a systemd unit: restarted once, verified by its process and its Node, restored when it does not come up."""

from __future__ import annotations

import errno
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import EngineError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ALARM,
    COMMITTED,
    ROLLED_BACK,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.state_files import MOVED_SUFFIX, read_policy
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_systemd import (
    NEW,
    OLD,
    Behaviour,
    FakeUnit,
    state_of,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import UNUSED_PORT, Web

UNKNOWN = (
    'E1 "Using lenient decoding as strict decoding failed" err="strict decoding error: unknown field \\"maxPodz\\""'
)
PORT_IN_USE = f"another program listens at its health port {UNUSED_PORT}"


@pytest.fixture(name="unit")
def fixture_unit(tmp_path: Path, web: Web) -> FakeUnit:
    return FakeUnit(tmp_path, web)


def test_a_healthy_change_is_committed_with_one_restart(unit: FakeUnit) -> None:
    result = unit.change()
    assert (result["outcome"], unit.verbs()) == (COMMITTED, ["daemon-reload", "restart"])
    assert (result["proof"]["pid"], result["proof"]["uid"]) == (unit.pid, unit.invocation)
    assert result["proof"]["arguments"] == ["/usr/bin/kubelet", "--v=2"]
    assert result["proof"]["probes"][1] == "its Node is ready"
    assert result["proof"]["unverified"] == []
    # One look tells whose log is verified, and who listens at the health port; another one, that it still runs.
    assert [call.partition(" ")[0] for call in unit.calls[-3:]] == ["systemctl", "journalctl", "systemctl"]
    assert result["outage_seconds"] == pytest.approx(1.0, abs=0.5)
    assert result["restart_seconds"] == pytest.approx(2.0, abs=1.3)


# Whether conditions are written at a start: by Kubernetes 1.37, and not by 1.32.
WRITES = pytest.mark.parametrize("writes_conditions", [True, False])


@WRITES
@pytest.mark.parametrize(
    "behaviour", [Behaviour(beat=None, over=None), Behaviour(over=None)], ids=["silent", "starting"]
)
@pytest.mark.parametrize("is_ready", [True, False])
def test_a_node_is_ready_by_the_word_of_the_new_process_only(
    unit: FakeUnit, behaviour: Behaviour, *, is_ready: bool, writes_conditions: bool
) -> None:
    unit.behaviours["v=2"] = behaviour
    unit.is_ready, unit.writes_conditions = is_ready, writes_conditions
    result = unit.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "as reported by the former process only" in result["reason"]
    assert result["proof"]["arguments"] == ["/usr/bin/kubelet", "--v=1"]
    assert unit.verbs() == ["daemon-reload", "restart"] * 2


def test_a_node_that_is_not_ready_is_restored(unit: FakeUnit) -> None:
    unit.at(0.1, lambda: setattr(unit, "is_ready", False))
    unit.at(40, lambda: setattr(unit, "is_ready", True))
    result = unit.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "its Node is not ready (no network)" in result["reason"]


def test_a_kubelet_that_reaches_no_api_server_is_not_ready_by_its_socket(unit: FakeUnit) -> None:
    unit.writes_conditions = False
    unit.behaviours["v=2"] = Behaviour(beat=None)
    assert unit.change(wait_timeout=20)["outcome"] == ROLLED_BACK


def test_a_kubelet_without_a_socket_is_known_by_its_lease_and_is_reported(unit: FakeUnit) -> None:
    unit.writes_conditions, unit.socket = False, None
    result = unit.change()
    assert result["outcome"] == COMMITTED
    assert result["proof"]["unverified"] == ["whether its start is over: there is no /nonexistent"]


def test_a_socket_that_goes_is_waited_for(unit: FakeUnit) -> None:
    unit.writes_conditions = False
    assert unit.socket is not None
    unit.behaviours["v=2"] = Behaviour(over=None)
    unit.at(0.3, unit.socket.unlink)
    assert unit.change(wait_timeout=20)["outcome"] == ROLLED_BACK


@WRITES
def test_a_kubelet_that_ends_late_in_its_start_is_not_committed(unit: FakeUnit, *, writes_conditions: bool) -> None:
    """Seen with kubeReserved of 500Gi: healthz answers, the Lease is renewed, and after 25 s it ends, again and again."""
    unit.writes_conditions = writes_conditions
    unit.behaviours["v=2"] = Behaviour(over=None, alive=25.0)
    result = unit.change()
    assert result["outcome"] == ROLLED_BACK
    assert "crashed 2 times and was never ready" in result["reason"]


@WRITES
def test_min_ready_seconds_begin_with_the_word_of_the_new_process(unit: FakeUnit, *, writes_conditions: bool) -> None:
    unit.writes_conditions = writes_conditions
    unit.behaviours["v=2"] = Behaviour(over=40.0)
    result = unit.change(min_ready_seconds=10)
    assert result["outcome"] == COMMITTED
    assert result["seconds"] >= 40 + 10 - 1


@WRITES
def test_a_node_without_a_network_before_is_as_it_was(unit: FakeUnit, *, writes_conditions: bool) -> None:
    unit.is_ready, unit.writes_conditions = False, writes_conditions
    result = unit.change()
    assert result["outcome"] == COMMITTED
    assert result["proof"]["probes"][1] == "its Node is not ready (no network)"
    unverified = "whether it works: its Node is not ready (no network), as before the change"
    assert result["proof"]["unverified"] == [unverified]


@pytest.mark.parametrize("not_ready_message", ["no network, container runtime is down", "another reason"])
def test_a_node_that_is_not_ready_for_another_reason_is_restored(unit: FakeUnit, not_ready_message: str) -> None:
    unit.is_ready = False
    unit.at(11, lambda: setattr(unit, "not_ready_message", not_ready_message))
    result = unit.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert f"its Node is not ready ({not_ready_message})" in result["reason"]


def test_a_runtime_that_was_down_before_proves_nothing(unit: FakeUnit) -> None:
    unit.is_ready = False
    unit.not_ready_message = "[container runtime is down]"
    assert unit.change(wait_timeout=20)["outcome"] == ROLLED_BACK


def test_a_shortage_that_the_change_makes_is_restored_at_once(unit: FakeUnit) -> None:
    unit.at(3, lambda: unit.pressures.add("Disk"))
    began = unit.clock.now
    result = unit.change()
    assert result["outcome"] == ROLLED_BACK
    assert "evicts pods, because with this change its Node reports DiskPressure (too little)" in result["reason"]
    assert unit.clock.now - began < 30


def test_a_shortage_from_before_is_not_the_changes(unit: FakeUnit) -> None:
    unit.pressures.add("Memory")
    result = unit.change()
    assert (result["outcome"], result["notes"]) == (COMMITTED, [])


OLDER_SHORTAGE = (
    "whether it evicts pods because of the change: its Node reports DiskPressure, and what it reported before the change is"
    " not known"
)


def test_a_shortage_of_which_nothing_was_known_is_not_the_changes(unit: FakeUnit) -> None:
    unit.pressures.add("Disk")
    unit.unknown.add("Disk")
    unit.at(0.1, unit.unknown.clear)
    result = unit.change()
    assert result["outcome"] == COMMITTED
    assert result["proof"]["unverified"] == [OLDER_SHORTAGE]


def test_static_pods_that_restart_are_waited_for(unit: FakeUnit) -> None:
    unit.at(0.1, unit.ready_pods.clear)
    unit.at(15, lambda: unit.ready_pods.add("etcd"))
    began = unit.clock.now
    assert unit.change(watch={"has_static_pods": True})["outcome"] == COMMITTED
    assert unit.clock.now - began >= 15 + 3


def test_static_pods_that_do_not_come_back_are_a_failure(unit: FakeUnit) -> None:
    unit.at(0.1, unit.ready_pods.clear)
    unit.at(30, lambda: unit.ready_pods.add("etcd"))
    result = unit.change(watch={"has_static_pods": True}, wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "its static pods are not ready yet (etcd)" in result["reason"]


def test_static_pods_not_listed_at_first_are_listed_again(unit: FakeUnit) -> None:
    unit.lists_pods = False
    unit.at(5, lambda: setattr(unit, "lists_pods", True))
    unit.at(5.5, unit.ready_pods.clear)
    unit.at(25, lambda: unit.ready_pods.add("etcd"))
    began = unit.clock.now
    assert unit.change(watch={"has_static_pods": True})["outcome"] == COMMITTED
    assert unit.clock.now - began >= 25 + 3


def test_static_pods_unknown_before_have_all_to_be_ready(unit: FakeUnit) -> None:
    unit.lists_pods = False
    unit.at(11, lambda: setattr(unit, "lists_pods", True))
    result = unit.change(watch={"has_static_pods": True}, wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "its static pods are not ready yet (broken)" in result["reason"]


def test_static_pods_never_listed_are_not_verified(unit: FakeUnit) -> None:
    unit.lists_pods = False
    result = unit.change(watch={"has_static_pods": True})
    assert result["outcome"] == COMMITTED
    assert result["proof"]["unverified"] == ["whether its static pods are ready: the API server answers 503"]


def test_static_pods_that_were_never_shown_are_not_verified(unit: FakeUnit) -> None:
    pods = ["etcd", "kube-apiserver", "kube-scheduler"]
    result = unit.change(watch={"has_static_pods": True, "static_pods": pods})
    assert result["outcome"] == COMMITTED
    limit = "whether its static pods are ready: the API server shows no kube-apiserver and no kube-scheduler"
    assert result["proof"]["unverified"] == [limit]


def test_static_pods_that_were_not_ready_before_are_not_verified(unit: FakeUnit) -> None:
    result = unit.change(watch={"has_static_pods": True, "static_pods": ["etcd", "broken"]})
    assert result["outcome"] == COMMITTED
    limit = "whether its static pods are ready: the API server does not show as ready, as before the change: broken"
    assert result["proof"]["unverified"] == [limit]


def test_static_pods_unlisted_after_the_change_fail_it(unit: FakeUnit) -> None:
    unit.at(0.1, lambda: setattr(unit, "lists_pods", False))
    unit.at(30, lambda: setattr(unit, "lists_pods", True))
    result = unit.change(watch={"has_static_pods": True}, wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "its static pods are not ready yet (not known: the API server answers 503)" in result["reason"]


def test_a_crash_loop_is_restored_within_a_minute(unit: FakeUnit) -> None:
    unit.behaviours["v=2"] = Behaviour(healthy=None, beat=None, alive=0.5, log='E1 "command failed" err="bogus"')
    began = unit.clock.now
    result = unit.change()
    assert result["outcome"] == ROLLED_BACK
    assert "crashed 2 times and was never ready" in result["reason"]
    assert result["log"] == ['E1 "command failed" err="bogus"']
    assert unit.setting.read_text(encoding="ascii") == OLD
    assert unit.clock.now - began < 40


def test_a_process_with_other_arguments_is_no_proof(unit: FakeUnit) -> None:
    watch = {"after": {**unit.instance(NEW), "arguments": ["/usr/bin/kubelet"]}}
    result = unit.change(watch=watch, wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "other arguments than its unit has" in result["reason"]


def test_an_unhealthy_process_is_restored(unit: FakeUnit) -> None:
    unit.behaviours["v=2"] = Behaviour(healthy=None)
    result = unit.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "runs, not ready yet" in result["reason"]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [(Behaviour(log=UNKNOWN), 'unknown field \\"maxPodz\\"'), (Behaviour(listens=False, log=""), PORT_IN_USE)],
)
def test_what_the_kubelet_passes_over_is_a_failure(unit: FakeUnit, behaviour: Behaviour, reason: str) -> None:
    unit.behaviours["v=2"] = behaviour
    result = unit.change()
    assert result["outcome"] == ROLLED_BACK
    assert reason in result["reason"]


def test_health_port_that_was_taken_before_is_not_verified(unit: FakeUnit) -> None:
    unit.behaviours = dict.fromkeys(["v=1", "v=2"], Behaviour(listens=False))
    unit.stop()
    unit.start()
    result = unit.change()
    assert (result["outcome"], result["proof"]["unverified"]) == (COMMITTED, [f"whether it is healthy: {PORT_IN_USE}"])


def test_health_port_is_not_verified_where_its_holder_cannot_be_read(unit: FakeUnit) -> None:
    (unit.proc / "net/tcp").unlink()
    result = unit.change()
    assert result["outcome"] == COMMITTED
    (limit,) = result["proof"]["unverified"]
    assert limit.startswith(f"whether it is healthy: who listens at its health port {UNUSED_PORT} cannot be read (")


@pytest.mark.parametrize("known", [True, False])
def test_what_it_passed_over_before_is_no_failure(unit: FakeUnit, known: bool) -> None:
    complaint = UNKNOWN.partition('err="')[2]
    unit.behaviours["v=2"] = Behaviour(log=UNKNOWN)
    unit.logs[unit.invocation] = "" if known else UNKNOWN
    assert unit.change(watch={"complaints": [complaint] if known else []})["outcome"] == COMMITTED


@pytest.mark.parametrize("output", [(1, "", "No journal files were found."), (124, "", "no answer"), (0, "", "")])
def test_unreadable_log_of_the_kubelet_is_not_verified(unit: FakeUnit, output: tuple[int, str, str]) -> None:
    real = unit.run
    unit.run = lambda arguments: output if arguments[0] == "journalctl" else real(arguments)  # type: ignore[method-assign]
    result = unit.change()
    assert result["outcome"] == COMMITTED
    (limit,) = result["proof"]["unverified"]
    assert limit.startswith("whether it ignored errors in its configuration: journalctl shows nothing of it (")
    assert (output[2] or f"status {output[0]}") in limit


# ---- the API server --------------------------------------------------------------------------------------------------


def test_without_an_api_server_from_the_start_the_proof_is_the_nodes_own(unit: FakeUnit) -> None:
    unit.api_is_up = False
    result = unit.change()
    assert result["outcome"] == COMMITTED
    assert "its Node is not known (the API server cannot be queried: refused)" in result["proof"]["probes"][1]
    why = "the API server cannot be queried: refused"
    assert result["proof"]["unverified"] == [f"whether its Node is ready and evicts no pods: {why}"]


@pytest.mark.parametrize("short_of", [set(), {"Disk"}])
def test_shortage_is_not_verified_when_the_node_was_unknown_before(unit: FakeUnit, short_of: set[str]) -> None:
    unit.api_is_up = False
    unit.pressures = short_of
    unit.at(13, lambda: setattr(unit, "api_is_up", True))
    result = unit.change(min_ready_seconds=10)
    assert result["outcome"] == COMMITTED
    assert result["proof"]["unverified"] == [OLDER_SHORTAGE] * len(short_of)


def test_kubelet_without_its_health_port_is_not_known_to_be_healthy(unit: FakeUnit) -> None:
    sides = {side: {**unit.journal()["watch"][side], "probes": []} for side in ("before", "after")}
    result = unit.change(watch=sides)
    assert (result["outcome"], result["proof"]["unverified"]) == (
        COMMITTED,
        ["whether it is healthy: healthzPort is 0"],
    )


def test_api_server_missing_one_request_is_queried_again(unit: FakeUnit) -> None:
    unit.api_is_up = False
    unit.at(2, lambda: setattr(unit, "api_is_up", True))
    unit.at(4, lambda: setattr(unit, "api_is_up", False))
    result = unit.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "its Node is not known" in result["reason"]


def test_an_api_server_that_goes_with_the_change_is_waited_for(unit: FakeUnit) -> None:
    unit.at(0.1, lambda: setattr(unit, "api_is_up", False))
    unit.at(60, lambda: setattr(unit, "api_is_up", True))
    began = unit.clock.now
    assert unit.change()["outcome"] == COMMITTED
    assert unit.clock.now - began > 60


def test_an_api_server_that_stays_away_is_no_alarm(unit: FakeUnit) -> None:
    unit.at(0.1, lambda: setattr(unit, "api_is_up", False))
    result = unit.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "its Node is not known" in result["reason"]
    limit = "whether its Node is ready and evicts no pods: the API server cannot be queried: refused"
    assert result["proof"]["unverified"] == [limit]


# ---- an engine that dies ---------------------------------------------------------------------------------------------


class Died(BaseException):
    """The engine is killed."""


@pytest.mark.parametrize("dies_at", ["systemctl daemon-reload", "systemctl restart", "systemctl show"])
@pytest.mark.parametrize("after", [True, False])
def test_an_engine_that_dies_restarts_the_kubelet_once(unit: FakeUnit, dies_at: str, after: bool) -> None:
    save_journal(str(unit.state), unit.journal())
    real, armed = unit.run, [True]

    def run(arguments: t.Sequence[str]) -> tuple[int, str, str]:
        is_it = " ".join(arguments).startswith(dies_at) and armed[0]
        armed[0] = armed[0] and not is_it
        if is_it and not after:
            raise Died
        output = real(arguments)
        if is_it:
            raise Died
        return output

    unit.run = run  # type: ignore[method-assign]
    with pytest.raises(Died):
        unit.new_engine().run()
    assert unit.finish()["outcome"] == COMMITTED
    assert unit.starts == 2


def test_a_kubelet_that_systemd_started_as_it_had_loaded_it_is_restarted(unit: FakeUnit) -> None:
    """The engine dies before it has systemd load the restored unit, and what crashed is started once more."""
    unit.behaviours["v=2"] = Behaviour(healthy=None)
    save_journal(str(unit.state), unit.journal(wait_timeout=20))
    real, reloads = unit.run, [2]

    def run(arguments: t.Sequence[str]) -> tuple[int, str, str]:
        reloads[0] -= arguments[1] == "daemon-reload"
        if reloads == [0]:
            restored = unit.setting.read_text(encoding="ascii")
            unit.setting.write_text(NEW, encoding="ascii")
            unit.stop()
            unit.start()
            unit.setting.write_text(restored, encoding="ascii")
            raise Died
        return real(arguments)

    unit.run = run  # type: ignore[method-assign]
    with pytest.raises(Died):
        unit.new_engine().run()
    unit.run = real  # type: ignore[method-assign]
    assert unit.finish()["outcome"] == ROLLED_BACK


# ---- files that make way ---------------------------------------------------------------------------------------------


def aside(unit: FakeUnit, *, existed: bool = True) -> dict[str, t.Any]:
    """A kubelet that writes a state file, which makes way with the change."""
    path = unit.files / "cpu_manager_state"
    unit.state_file = path
    if existed:
        unit.remember()
        path.chmod(0o640)
    entry = {"path": str(path), "aside": f"{path}{MOVED_SUFFIX}2", "existed": existed, "policy": NEW.strip()}
    return {"set_aside": [entry]}


def former(unit: FakeUnit) -> Path:
    return unit.files / f"cpu_manager_state{MOVED_SUFFIX}2"


def test_a_state_file_makes_way_while_the_unit_is_stopped(unit: FakeUnit) -> None:
    older = unit.files / f"cpu_manager_state{MOVED_SUFFIX}1"
    older.touch()
    assert unit.change(watch=aside(unit))["outcome"] == COMMITTED
    assert unit.verbs() == ["daemon-reload", "stop", "start"]
    assert not older.exists(), "one copy is kept"
    assert (unit.files / "cpu_manager_state").read_text(encoding="ascii") == state_of(NEW.strip())
    assert former(unit).read_text(encoding="ascii") == state_of(OLD.strip())


@pytest.mark.parametrize("existed", [True, False])
def test_a_restore_brings_it_back(unit: FakeUnit, existed: bool) -> None:
    unit.behaviours["v=2"] = Behaviour(healthy=None)
    watch = aside(unit, existed=existed)
    path = unit.files / "cpu_manager_state"
    assert unit.change(watch=watch, wait_timeout=20)["outcome"] == ROLLED_BACK
    assert not former(unit).exists()
    assert path.read_text(encoding="ascii") == state_of(OLD.strip())
    assert not existed or path.stat().st_mode & 0o777 == 0o640


def test_a_state_file_that_stays_the_former_ones_is_no_success(unit: FakeUnit) -> None:
    watch = aside(unit)
    path = unit.state_file
    assert path is not None
    unit.state_file = None  # this kubelet passes over the setting
    result = unit.change(watch=watch, wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert f"{path} names no policy, not v=2" in result["reason"]
    path.write_text("no JSON", encoding="ascii")
    assert read_policy(str(path)) == ""
    path.write_text("[]", encoding="ascii")
    assert read_policy(str(path)) == ""


def test_what_cannot_be_brought_back_yet_is_tried_again(unit: FakeUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    unit.behaviours["v=2"] = Behaviour(healthy=None)
    real, until = os.replace, unit.clock.now + 60

    def replace(source: str, target: str) -> None:
        if target.endswith("cpu_manager_state") and unit.clock.now < until:
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    assert unit.change(watch=aside(unit), wait_timeout=20)["outcome"] == ROLLED_BACK
    assert unit.clock.now >= until


class Started(Died):
    """The engine dies, and the kubelet is started by another program: systemd after a crash, or with the node after a reboot."""


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("dies_at", ["systemctl daemon-reload", "systemctl stop", "systemctl start"])
def test_a_kubelet_that_another_program_started_gets_the_right_state_file(
    unit: FakeUnit, works: bool, dies_at: str
) -> None:
    """The engine dies in the middle of the change, or in that of the restore."""
    if not works:
        unit.behaviours["v=2"] = Behaviour(healthy=None)
    save_journal(str(unit.state), unit.journal(watch=aside(unit), wait_timeout=20))
    real, left = unit.run, [1 if works else 2]

    def run(arguments: t.Sequence[str]) -> tuple[int, str, str]:
        if " ".join(arguments).startswith(dies_at):
            left[0] -= 1
            if left[0] == 0:
                unit.stop()
                unit.start()
                raise Started
        return real(arguments)

    unit.run = run  # type: ignore[method-assign]
    with pytest.raises(Started):
        unit.new_engine().run()
    assert unit.finish()["outcome"] == (COMMITTED if works else ROLLED_BACK)
    assert (unit.files / "cpu_manager_state").read_text(encoding="ascii") == state_of((NEW if works else OLD).strip())
    assert former(unit).exists() is works


# ---- systemd says no -------------------------------------------------------------------------------------------------


def test_a_systemd_that_refuses_is_restored(unit: FakeUnit) -> None:
    unit.fails["systemctl daemon-reload"] = "no such interface"
    result = unit.change()
    assert result["outcome"] == ROLLED_BACK
    assert "systemctl daemon-reload failed: no such interface" in result["reason"]
    assert unit.setting.read_text(encoding="ascii") == OLD


# Where only a file of its configuration changes, the command line does not tell two instances apart.
ANY = {"arguments": ["/usr/bin/kubelet", None]}


def silent_systemd(unit: FakeUnit, times: int) -> None:
    """Have systemd show nothing so many times, from when the setting was written, such as while it executes itself again."""
    real, left = unit.run, [times]

    def run(arguments: t.Sequence[str]) -> tuple[int, str, str]:
        if arguments[1] == "show" and unit.setting.read_text(encoding="ascii") == NEW and left[0]:
            left[0] -= 1
            return 1, "", "Failed to get properties: Connection timed out"
        return real(arguments)

    unit.run = run  # type: ignore[method-assign]


def any_arguments(unit: FakeUnit) -> dict[str, t.Any]:
    return {side: {**unit.instance(OLD), **ANY} for side in ("before", "after")}


def test_systemd_silent_for_a_moment_still_restarts_the_kubelet(unit: FakeUnit) -> None:
    silent_systemd(unit, 1)
    assert unit.change(watch=any_arguments(unit))["outcome"] == COMMITTED
    assert (unit.starts, unit.argument) == (2, "v=2")


def test_systemd_that_stays_silent_leaves_the_former_files(unit: FakeUnit) -> None:
    silent_systemd(unit, -1)
    result = unit.change(watch=any_arguments(unit))
    assert result["outcome"] == ABORTED
    assert "systemd does not tell what runs as kubelet.service: Failed to get properties" in result["reason"]
    assert (unit.starts, unit.setting.read_text(encoding="ascii")) == (1, OLD)


def test_rollback_without_restart_of_the_kubelet_is_an_alarm(unit: FakeUnit) -> None:
    unit.behaviours["v=2"] = Behaviour(log=UNKNOWN)
    real = unit.run
    armed: list[bool] = []
    unit.at(0.1, lambda: armed.append(True))

    def run(arguments: t.Sequence[str]) -> tuple[int, str, str]:
        if armed and unit.setting.read_text(encoding="ascii") == OLD and arguments[1] == "show" and armed.pop():
            unit.clock.now += 11
            return 1, "", "Connection timed out"
        return real(arguments)

    unit.run = run  # type: ignore[method-assign]
    result = unit.change(watch=any_arguments(unit))
    assert result["outcome"] == ALARM
    assert "the former files could not be made to take effect: systemd does not tell" in result["notes"][0]


def test_an_empty_directory_of_ours_goes_with_the_commit(unit: FakeUnit) -> None:
    for name in ("empty", "used"):
        (unit.files / name).mkdir()
    (unit.files / "used" / "theirs").touch()
    unit.change(obsolete=[str(unit.files / "empty"), str(unit.files / "used"), str(unit.files / "gone")])
    assert not (unit.files / "empty").exists()
    assert (unit.files / "used").exists()


def test_an_unknown_kind_is_left_to_a_newer_engine(unit: FakeUnit) -> None:
    save_journal(str(unit.state), unit.journal(watch={"kind": "vehicle"}))
    with pytest.raises(EngineError, match="about a vehicle"):
        unit.new_engine().run()
