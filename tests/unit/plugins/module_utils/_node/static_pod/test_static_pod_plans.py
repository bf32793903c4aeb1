# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of several static pods of a node in one call."""

from __future__ import annotations

import os
import shutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import WAITING
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pod_plans
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_plans import (
    NodeState,
    StaticPodPlans,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    engine_service,
    journal_history,
    owned_record,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.state import state_directory
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.transaction_steps import LockWait
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import kubeadm_config
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.kubeadm_config import KubeadmConfig
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Busy, KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import Entry, Persisted
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import ANSIBLE_KEYS, documented, schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, OLD, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import PodCourse, carry_out, steps
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner

OTHER = "kube-vip"
SHARED = (
    "state",
    "purge",
    "force",
    "restore_removed",
    "canary",
    "canary_namespace",
    "canary_image",
    "manifest_dir",
    "rehearse",
    "rollback",
    "wait_timeout",
    "min_ready_seconds",
)
CONFIRM = ("confirm", "confirm_timeout", "confirm_url", "confirm_ca_cert", "lock_timeout")


class Plans:
    """One run of the module, which is handed what it read as the runner does. dry: as in check mode."""

    def __init__(self, plans: StaticPodPlans, *, dry: bool) -> None:
        self.plans = plans
        self.dry = dry
        self.found: NodeState | None = None

    def read(self) -> None:
        self.found = self.plans.read()

    def members(self) -> dict[str, PodCourse]:
        assert self.found is not None
        return {name: StepRunner(member, dry=self.dry) for name, member in self.plans.members(self.found).items()}

    def report(self, results: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
        return self.plans.report(self.found, results)


def plans(master: FakeNode, run: FakeRun, static_pods: dict[str, dict[str, t.Any]], **shared: t.Any) -> Plans:
    """One run of the module."""
    alone = samples.parameters(**{key: value for key, value in shared.items() if key not in ("lock_wait", "dry")})
    settings = {key: value for key, value in alone.items() if key not in (*SHARED, *CONFIRM, "name")}
    entries = {name: {**settings, "only_if_changed": False, **entry} for name, entry in static_pods.items()}
    params = {"static_pods": entries, "persist_env": [], **{key: alone[key] for key in (*SHARED, *CONFIRM)}}
    lock_wait, dry = shared.get("lock_wait"), shared.get("dry", False)
    found = StaticPodPlans(params, run=run, host=master.host, ready_timeout=0, lock_wait=lock_wait)
    return Plans(found, dry=dry)


def made(node_plans: Plans) -> dict[str, dict[str, t.Any]]:
    """Each plan as the runner makes it: its result, or why it failed."""
    results: dict[str, dict[str, t.Any]] = {}
    node_plans.read()
    for name, member in node_plans.members().items():
        failure = None
        try:
            with member.session():
                member.read()
                member.notes()
                if member.plan().operations:
                    member.rehearse()
                else:
                    member.verify()
        except KubeadmError as exc:
            failure = str(exc)
        results[name] = {**member.report(), "failed": failure is not None, "msg": failure}
    return results


@pytest.fixture(name="beside")
def fixture_beside(master: FakeNode) -> t.Iterator[None]:
    """The manifest of a second static pod, which does not run and is not rehearsed."""
    path = master.manifests / f"{OTHER}.yaml"
    path.write_text(samples.KUBE_VIP, encoding="utf-8")
    yield
    path.unlink()
    master.watcher.events()  # these are the test's own


def test_a_plan_is_what_the_module_of_one_reports_in_check_mode(master: FakeNode, run: FakeRun) -> None:
    node_plans = plans(master, run, {NAME: {"args": {"v": 4}}})
    results = made(node_plans)
    alone = steps(master, run, dry=True, diff=False, args={"v": 4})
    with alone.session():
        alone.read()
        alone.plan()
    assert results[NAME].pop("is_unhealthy") is False
    own = {"failed", "msg", "persistable", "leads", "ready", "problem"}
    assert {key: value for key, value in results[NAME].items() if key not in own} == alone.report()
    of_one = {key: value for key, value in results[NAME].items() if key not in own - ANSIBLE_KEYS}
    assert schema_errors("static_pod", of_one, added_later={"rehearsal"}) == []
    keys = documented("static_pod_plan", "static_pods")
    of_plan = {"changed": True, **{key: value for key, value in results[NAME].items() if key in keys}}
    assert schema_errors("static_pod_plan", node_plans.report({NAME: of_plan})) == []
    assert (results[NAME]["ready"], results[NAME]["problem"]) == (True, None)
    assert node_plans.report(results) == {
        "static_pods": results,
        "others": {},
        "unreadable_files": [],
        "node": "cp1",
        "cluster": results[NAME]["cluster"],
        "kubeadm_config": node_plans.report({})["kubeadm_config"],
        "kubelet_problem": None,
        "busy": False,
    }


def test_where_the_kubelet_is_down_everything_is_planned_from_its_files(
    master: FakeNode, run: FakeRun, tmp_path: Path
) -> None:
    """What is down with it comes up with it only, so nothing is waited for."""
    unit, config = tmp_path / "kubelet.service", master.proc / "50/root/var/lib/kubelet/config.yaml"
    command = f"/usr/bin/kubelet --config={config} --hostname-override=cp1"
    unit.write_text(f"[Service]\nExecStart={command}\n", encoding="utf-8")
    properties = {"LoadState": "loaded", "FragmentPath": str(unit), "ActiveState": "failed", "SubState": "failed"}
    run.results["systemctl show"] = (0, "".join(f"{key}={value}\n" for key, value in properties.items()), "")
    run.results["journalctl"] = (0, "panic: unrecognized feature gate: OldGate\n", "")
    node_plans = plans(master, run, {NAME: {"args": {"v": 4}}})
    results = made(node_plans)
    assert (results[NAME]["failed"], len(results[NAME]["operations"])) == (False, 1)
    report = node_plans.report(results)
    assert (report["node"], report["others"]) == ("cp1", {})
    assert "panic: unrecognized feature gate: OldGate" in report["kubelet_problem"]
    master.kubelet.kill(master.kubelet.instances[0])
    assert [result["failed"] for result in made(plans(master, run, {NAME: {}})).values()] == [False]
    alone = steps(master, run, args={"v": 4})
    with alone.session(), pytest.raises(KubeadmError, match="the role node_kubelet repairs it"):
        alone.read()


@pytest.mark.parametrize("dry", [True, False])
def test_what_is_not_ours_any_more_goes_out_of_the_record_without_a_change(
    master: FakeNode, run: FakeRun, dry: bool
) -> None:
    """A rollout changes nothing here, so no transaction would ever do it."""
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    master.foreign_edit(OLD.replace("v1.37.2", "v1.36.3"))
    result = made(plans(master, run, {NAME: {}}, purge=True, dry=dry))[NAME]
    assert (result["operations"], result["lost"]) == ([], {"args": ["v"]})
    assert Path(owned_record.record_path(NAME)).exists() is dry


def test_a_record_is_left_alone_in_the_middle_of_a_change(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    master.foreign_edit(OLD.replace("v1.37.2", "v1.36.3"))
    master.prepare(phase=WAITING)
    assert made(plans(master, run, {NAME: {}}, purge=True))[NAME]["open_transaction"]
    assert Path(owned_record.record_path(NAME)).exists()


@pytest.mark.usefixtures("beside")
def test_the_kubelet_is_read_once_and_nothing_is_written(master: FakeNode, run: FakeRun) -> None:
    master.state.rmdir()
    results = made(plans(master, run, {NAME: {"args": {"v": 4}}, OTHER: {"env": {"A": "1"}}}))
    assert [len(result["operations"]) for result in results.values()] == [1, 1]
    assert [result["failed"] for result in results.values()] == [False, False]
    assert len(run.requests) == 1, "the one that has a rehearsal"
    assert len([call for call in run.calls if call[:2] == ["systemctl", "show"]]) == 1
    assert not master.state.exists()
    assert master.manifest.read_text(encoding="utf-8") == OLD


def test_a_refusal_of_one_leaves_the_others(master: FakeNode, run: FakeRun) -> None:
    results = made(plans(master, run, {"../x": {}, OTHER: {"args": {"v": 4}}, NAME: {"args": {"v": 4}}}))
    assert [result["failed"] for result in results.values()] == [True, True, False]
    assert "there is no manifest of kube-vip" in results[OTHER]["msg"]
    assert results[OTHER]["problem"] == results[OTHER]["msg"]
    assert (results[OTHER]["ready"], results[OTHER]["open_transaction"]) == (False, None)
    assert results[NAME]["operations"]


@pytest.mark.usefixtures("beside")
def test_what_is_down_without_a_change_does_not_refuse_that_of_what_it_uses(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    master.kubelet.kill(master.kubelet.instances[0])
    planned = plans(master, run, {NAME: {}, OTHER: {"env": {"A": "1"}}})
    found = made(planned)
    assert planned.report(found)["static_pods"][NAME]["failed"] is True
    monkeypatch.setattr(static_pod_plans, "_SERVERS", (OTHER,))
    results = planned.report(found)["static_pods"]
    assert (results[NAME]["failed"], results[NAME]["msg"]) == (False, "")
    assert results[NAME]["unverified"][-1] == (
        "whether it works: it does not now, which the change of kube-vip may repair; run again to verify it"
    )


def test_a_static_pod_that_is_not_ready_is_planned_and_reported(master: FakeNode, run: FakeRun) -> None:
    master.kubelet.kill(master.kubelet.instances[0])
    results = made(plans(master, run, {NAME: {}}))
    assert (results[NAME]["ready"], results[NAME]["problem"]) == (False, "is down after 1 start(s)")
    assert "there is nothing to change, but it is down" in results[NAME]["msg"]


@pytest.mark.usefixtures("beside")
def test_what_is_not_planned_is_reported_as_far_as_a_rollout_goes_by_it(master: FakeNode, run: FakeRun) -> None:
    node_plans = plans(master, run, {OTHER: {}})
    assert node_plans.report({})["others"] == {}, "the kubelet is not read yet"
    node_plans.read()
    limit = "whether it works: its manifest has no probe, so only its process was watched"
    ready = {"ready": True, "problem": None, "unverified": [limit], "open_transaction": None}
    assert node_plans.report({OTHER: {"failed": False}})["others"] == {NAME: ready}
    found = node_plans.report({NAME: {"failed": False}})["others"][OTHER]
    assert (found["ready"], found["open_transaction"]) == (False, None)
    assert found["problem"]


def test_a_directory_that_cannot_be_read_leaves_nothing_to_report(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_plans = plans(master, run, {NAME: {}})
    node_plans.read()
    monkeypatch.setattr(os, "listdir", lambda path: Path(f"{path}/gone").read_bytes())
    assert node_plans.report({})["others"] == {}


def test_a_check_that_fails_is_a_problem_too(master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    node_plans = plans(master, run, {NAME: {}})
    node_plans.read()
    (member,) = node_plans.members().values()
    monkeypatch.setattr(os, "listdir", lambda path: Path("/").read_bytes())
    assert (member.report()["ready"], "Is a directory" in member.report()["problem"]) == (False, True)


@pytest.mark.parametrize(
    ("task_state", "trace", "planned"),
    [
        ("present", None, []),
        ("present", "lock", []),
        ("present", "owned.json", [OTHER]),
        ("absent", None, []),
        ("absent", "lock", [OTHER]),
        ("previous", "lock", [OTHER]),
    ],
)
def test_what_was_never_changed_is_skipped_on_demand(
    master: FakeNode, run: FakeRun, task_state: str, trace: str | None, planned: list[str]
) -> None:
    if trace:
        directory = Path(state_directory(OTHER))
        directory.mkdir()
        (directory / trace).write_text('{"format": 1, "owned": {}}', encoding="utf-8")
    entries = {OTHER: {"only_if_changed": True}, NAME: {}}
    node_plans = plans(master, run, entries, state=task_state)
    node_plans.read()
    assert list(node_plans.members()) == [*planned, NAME]


def test_what_an_earlier_run_left_is_reported_and_stays_unreported(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    results = made(plans(master, run, {NAME: {"args": {"v": 4}}}))
    assert results[NAME]["previous_transaction"]["id"] == master.closed()["id"]
    assert journal_history.unreported_outcome(NAME) is not None


def test_without_a_static_pod_the_node_is_reported(master: FakeNode, run: FakeRun) -> None:
    node_plans = plans(master, run, {})
    assert made(node_plans) == {}
    assert node_plans.report({})["node"] == "cp1"


# ---- others at work on the node --------------------------------------------------------------------------------------

AT_WORK = (0, "active\n", "")


@pytest.mark.parametrize("name", [NAME, "kubelet"])
def test_a_transaction_at_work_keeps_all_out_before_the_kubelet_is_queried(
    master: FakeNode, run: FakeRun, name: str
) -> None:
    master.prepare(phase=WAITING)
    master.state.rename(master.state.parent / name)
    run.results["systemctl is-active"] = AT_WORK
    node_plans = plans(master, run, {NAME: {}, OTHER: {}})
    with pytest.raises(Busy, match=f"a change of {name} on"):
        node_plans.read()
    assert node_plans.report({})["busy"] is True
    assert node_plans.report({})["node"] is None
    assert not run.ran("systemctl show")
    (master.state.parent / name).rename(master.state)


def test_a_transaction_that_ends_in_time_is_waited_for(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    run.results["systemctl is-active"] = AT_WORK
    wait = LockWait(10, clock=master.clock, sleep=master.clock.sleep)

    def end() -> None:
        run.results["systemctl is-active"] = (3, "inactive\n", "")

    master.clock.watchers.append(end)
    results = made(plans(master, run, {NAME: {}}, lock_wait=wait))
    assert results[NAME]["failed"] is False
    # Its engine was stopped, so a run without check mode has to end it.
    assert results[NAME]["open_transaction"]["phase"] == WAITING
    assert set(results[NAME]["open_transaction"]) == {"id", "phase", "message", "requested"}


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize(("other", "busy"), [({"env": {"A": "1"}}, True), ({"args": {"v": 4}}, False)])
def test_another_run_at_one_static_pod_keeps_that_one_out(
    master: FakeNode, run: FakeRun, other: dict[str, t.Any], busy: bool
) -> None:
    node_plans = plans(master, run, {NAME: {}, OTHER: other})
    with engine_service.hold_lock(NAME, dry=False):
        results = made(node_plans)
    assert (results[NAME]["busy"], results[NAME]["failed"], results[NAME]["ready"]) == (True, True, True)
    assert results[OTHER]["failed"] is not busy
    assert node_plans.report(results)["busy"] is busy


@pytest.mark.parametrize("dry", [True, False])
def test_what_joined_with_kubeadm_config_is_noted_as_ours_and_reverted_from_then_on(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch, dry: bool
) -> None:
    entry = Entry(["1"], None, None)
    known = KubeadmConfig({"problem": None}, Persisted({SettingKey(NAME, "args", "v"): entry}, "", ""), b"")
    monkeypatch.setattr(kubeadm_config, "read", lambda _kubeconfig: known)
    shutil.rmtree(state_directory(NAME), ignore_errors=True)
    plan = made(plans(master, run, {NAME: {"args": {"v": 1}, "only_if_changed": True}}, purge=True, dry=dry))[NAME]
    assert (plan["operations"], plan["persistable"]["settings"]["args"]["v"]["ours"]) == ([], True)
    assert (owned_record.read_record(NAME) == {"args": {"v": Owned(["1"], None)}}) is not dry
    (gone,) = made(plans(master, run, {NAME: {}}, purge=True, dry=dry))[NAME]["operations"]
    assert (gone["key"], gone["after"]) == ("v", None)
