# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner of every state module, with steps that only record their calls."""

from __future__ import annotations

import contextlib
import os
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.batch import TaskPlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import (
    ACCEPTED,
    NOT_NEEDED,
    REFUSED,
    SKIPPED,
    Verdict,
)

OBSERVED = "what was read"
CHANGES = (Change("args", "v", "2", "4"),)
WARNINGS = ["old version", "beware", "etcd is alone"]


class Ended(Exception):
    """The module ended."""


class FakeModule:
    """The part of AnsibleModule that the runner uses."""

    def __init__(self, *, check_mode: bool = False) -> None:
        self.check_mode = check_mode
        self.warnings: list[str] = []
        self.result: dict[str, t.Any] = {}

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def exit_json(self, **result: t.Any) -> t.NoReturn:
        self.result = result
        raise Ended

    def fail_json(self, **result: t.Any) -> t.NoReturn:
        self.exit_json(failed=True, **result)


class FakeSteps:
    """Steps that record their calls and their arguments. fails_in: the step that has an error."""

    def __init__(
        self,
        *,
        changes: bool = True,
        verdict: str = ACCEPTED,
        fails_in: str = "",
        error: Exception | None = None,
        unrehearsed: str = "",
    ) -> None:
        self.unrehearsed = unrehearsed
        self.final_warnings: list[str] = []
        self.changes = changes
        self.verdict = Verdict(verdict, "its message", 0.1, ("kube-apiserver",), ("deprecated",))
        self.fails_in = fails_in
        self.error = error or KubeadmError("cannot")
        self.calls: list[str] = []
        self.passed: dict[str, tuple[t.Any, ...]] = {}

    def _record(self, name: str, *passed: t.Any) -> None:
        self.calls.append(name)
        self.passed[name] = passed
        if name == self.fails_in:
            raise self.error

    @contextlib.contextmanager
    def session(self, *, dry: bool) -> t.Iterator[None]:
        self._record("session", dry)
        yield
        self.calls.append("release")

    def read(self, *, dry: bool) -> str:
        self._record("read", dry)
        return OBSERVED

    def notes(self, observed: str, *, dry: bool) -> list[str]:
        self._record("notes", observed, dry)
        return ["old version"]

    def plan(self, observed: str) -> TaskPlan:
        self._record("plan", observed)
        return TaskPlan(CHANGES if self.changes else (), ("beware",))

    def preflight(self, observed: str, plan: TaskPlan) -> list[str]:
        self._record("preflight", observed, plan)
        return ["etcd is alone"]

    def verify(self, observed: str, plan: TaskPlan, *, dry: bool) -> list[str]:
        self._record("verify", observed, plan, dry)
        return ["unverified"]

    def rehearse(self, observed: str, plan: TaskPlan) -> Verdict:
        self._record("rehearse", observed, plan)
        return self.verdict

    def apply(self, observed: str, plan: TaskPlan) -> None:
        self._record("apply", observed, plan)

    def finish(self, observed: str, plan: TaskPlan, *, dry: bool) -> list[str]:
        self._record("finish", observed, plan, dry)
        return self.final_warnings

    def report(self, observed: str | None, plan: TaskPlan | None) -> dict[str, t.Any]:
        self._record("report", observed, plan)
        return {"name": "x"}


def run(steps: FakeSteps, *, rehearse: bool = True, check_mode: bool = False) -> FakeModule:
    module = FakeModule(check_mode=check_mode)
    with pytest.raises(Ended):
        runner.run_steps(t.cast("t.Any", module), steps, rehearse=rehearse)
    return module


def test_warnings_of_finish_are_warnings() -> None:
    steps = FakeSteps()
    steps.final_warnings = ["not verified: whether it is ready: no answer"]
    assert run(steps).warnings[-1] == steps.final_warnings[0]


def test_change_runs_all_steps_in_order() -> None:
    steps = FakeSteps()
    module = run(steps)
    assert steps.calls == [
        "session",
        "read",
        "notes",
        "plan",
        "preflight",
        "rehearse",
        "apply",
        "finish",
        "release",
        "report",
    ]
    assert module.result == {
        "changed": True,
        "name": "x",
        "rehearsal": {
            "verdict": ACCEPTED,
            "message": "its message",
            "seconds": 0.1,
            "command": ["kube-apiserver"],
            "warnings": ["deprecated"],
        },
    }
    assert module.warnings == [*WARNINGS, "deprecated"]


def test_check_mode_does_everything_but_the_change() -> None:
    steps = FakeSteps()
    module = run(steps, check_mode=True)
    assert "rehearse" in steps.calls
    assert "apply" not in steps.calls
    assert module.result["changed"] is True


@pytest.mark.parametrize("changes", [True, False])
@pytest.mark.parametrize("check_mode", [True, False])
def test_steps_with_dry_get_whether_it_is_check_mode(check_mode: bool, changes: bool) -> None:
    steps = FakeSteps(changes=changes)
    run(steps, check_mode=check_mode)
    dry = {name: passed[-1] for name, passed in steps.passed.items() if isinstance(passed[-1], bool)}
    assert dry == dict.fromkeys(["session", "read", "notes", *([] if changes else ["verify"]), "finish"], check_mode)


def test_warnings_of_a_verification_are_warnings() -> None:
    assert run(FakeSteps(changes=False)).warnings[-1] == "unverified"


def test_reading_that_is_not_whole_fails_with_what_was_read() -> None:
    module = FakeModule()
    with pytest.raises(Ended):
        runner.run_info(t.cast("t.Any", module), lambda: {"failed": True, "msg": "w1: no", "nodes": {}})
    assert module.result == {"failed": True, "changed": False, "msg": "w1: no", "nodes": {}}


def test_without_a_change_nothing_is_rehearsed_or_applied() -> None:
    steps = FakeSteps(changes=False)
    module = run(steps)
    assert steps.calls == ["session", "read", "notes", "plan", "preflight", "verify", "finish", "release", "report"]
    assert module.result["changed"] is False
    assert module.result["rehearsal"]["verdict"] == "not_needed"


def test_a_refused_rehearsal_ends_the_task_before_the_change() -> None:
    steps = FakeSteps(verdict=REFUSED)
    module = run(steps)
    assert "apply" not in steps.calls
    assert module.result["failed"]
    assert module.result["changed"] is False
    assert module.result["msg"] == "refused in the rehearsal, nothing was changed: its message"
    assert module.result["rehearsal"]["verdict"] == REFUSED


def test_each_step_gets_the_results_of_those_before() -> None:
    steps, plan = FakeSteps(), TaskPlan(CHANGES, ("beware",))
    run(steps)
    assert {name: steps.passed.pop(name) for name in ("session", "read", "notes", "plan", "finish")} == {
        "session": (False,),
        "read": (False,),
        "notes": (OBSERVED, False),
        "plan": (OBSERVED,),
        "finish": (OBSERVED, plan, False),
    }
    assert list(steps.passed) == ["preflight", "rehearse", "apply", "report"]
    assert set(steps.passed.values()) == {(OBSERVED, plan)}


@pytest.mark.parametrize(
    ("step", "passed"), [("session", (None, None)), ("read", (None, None)), ("plan", (OBSERVED, None))]
)
def test_the_result_is_made_of_what_was_found_by_then(step: str, passed: tuple[str | None, None]) -> None:
    steps = FakeSteps(fails_in=step)
    run(steps)
    assert steps.passed["report"] == passed


def test_a_change_that_needs_no_rehearsal_is_rehearsed_in_check_mode_only() -> None:
    steps, dry = FakeSteps(unrehearsed="it is validated when it is made"), FakeSteps(unrehearsed="it is validated")
    made, rehearsed = run(steps), run(dry, check_mode=True)
    assert ("rehearse" in steps.calls, "rehearse" in dry.calls) == (False, True)
    assert made.result["rehearsal"]["verdict"] == NOT_NEEDED
    assert made.result["rehearsal"]["message"] == "it is validated when it is made"
    assert rehearsed.result["rehearsal"]["verdict"] == ACCEPTED


def test_a_rehearsal_that_was_switched_off_is_skipped_in_silence() -> None:
    steps = FakeSteps()
    module = run(steps, rehearse=False)
    assert "rehearse" not in steps.calls
    assert "apply" in steps.calls
    assert module.result["rehearsal"]["verdict"] == SKIPPED
    assert module.warnings == WARNINGS


def test_a_rehearsal_that_is_not_possible_is_a_warning() -> None:
    assert any("not rehearsed: its message" in warning for warning in run(FakeSteps(verdict=SKIPPED)).warnings)


def test_warnings_of_an_accepted_rehearsal_are_warnings() -> None:
    assert "deprecated" in run(FakeSteps()).warnings
    assert "deprecated" not in run(FakeSteps(verdict=REFUSED)).warnings


def error_message(error: Exception, outcome: str = "") -> str:
    """The message of an error: one of the system has the node and the file, and of a module that changes something the outcome."""
    if isinstance(error, OSError):
        return f"{os.uname().nodename}: {error.filename}: {error.strerror}.{outcome}"
    return str(error)


@pytest.mark.parametrize("step", ["session", "read", "notes", "plan", "preflight", "rehearse", "apply", "finish"])
@pytest.mark.parametrize("error", [KubeadmError("cannot"), OSError(28, "No space left on device", "/var/x")])
def test_every_path_has_the_same_keys(step: str, error: Exception) -> None:
    module = run(FakeSteps(fails_in=step, error=error))
    assert set(module.result) == {"failed", "msg", "changed", "rehearsal", "name"}
    assert module.result["msg"] == error_message(error, " Nothing was changed.")


def test_failed_result_has_changed_of_its_error() -> None:
    error = KubeadmError("half done")
    error.changed = True
    assert run(FakeSteps(fails_in="apply", error=error)).result["changed"] is True


def test_an_error_of_ours_in_the_code_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        runner.run_steps(
            t.cast("t.Any", FakeModule()),
            FakeSteps(fails_in="plan", error=ZeroDivisionError()),
            rehearse=True,
        )


@pytest.mark.parametrize("check_mode", [True, False])
def test_follower_gets_whether_it_is_check_mode(check_mode: bool) -> None:
    module = FakeModule(check_mode=check_mode)
    with pytest.raises(Ended):
        runner.run_follower(t.cast("t.Any", module), lambda dry: {"dry": dry}, busy=False)
    assert module.result == {"changed": False, "busy": False, "dry": check_mode}


def test_a_module_that_only_reads() -> None:
    module = FakeModule()
    with pytest.raises(Ended):
        runner.run_info(t.cast("t.Any", module), lambda: {"a": 1})
    assert module.result == {"changed": False, "a": 1}


@pytest.mark.parametrize("error", [KubeadmError("cannot"), OSError(5, "Input/output error", "/etc/x")])
def test_a_module_that_cannot_read(error: Exception) -> None:
    def read() -> dict[str, t.Any]:
        raise error

    module = FakeModule()
    with pytest.raises(Ended):
        runner.run_info(t.cast("t.Any", module), read)
    assert module.result == {"failed": True, "msg": error_message(error)}


# ---- several plans ---------------------------------------------------------------------------------------------------


class FakePlans:
    """Plans with these steps. fails: the error of reading what they have in common."""

    def __init__(self, fails: Exception | None = None, **members: FakeSteps) -> None:
        self.fails = fails
        self.steps = members

    def read(self) -> str:
        if self.fails is not None:
            raise self.fails
        return OBSERVED

    def members(self, common: str) -> dict[str, FakeSteps]:
        return self.steps

    def report(self, common: str | None, plans: t.Mapping[str, dict[str, t.Any]]) -> dict[str, t.Any]:
        return {"common": common, "plans": dict(plans)}


def run_plans(plans: FakePlans, *, rehearse: bool = True, check_mode: bool = False) -> FakeModule:
    module = FakeModule(check_mode=check_mode)
    with pytest.raises(Ended):
        runner.run_plans(t.cast("t.Any", module), plans, rehearse=rehearse)
    return module


@pytest.mark.parametrize("check_mode", [True, False])
def test_plans_are_made_one_after_the_other_and_never_applied(check_mode: bool) -> None:
    one, idle = FakeSteps(), FakeSteps(changes=False)
    plans = FakePlans(one=one, idle=idle)
    module = run_plans(plans, check_mode=check_mode)
    assert module.result["common"] == OBSERVED
    assert [steps.passed["read"] for steps in (one, idle)] == [(check_mode,)] * 2
    assert one.calls == ["session", "read", "notes", "plan", "preflight", "rehearse", "finish", "release", "report"]
    assert idle.calls == ["session", "read", "notes", "plan", "preflight", "verify", "finish", "release", "report"]
    accepted = {
        "verdict": ACCEPTED,
        "message": "its message",
        "seconds": 0.1,
        "command": ["kube-apiserver"],
        "warnings": ["deprecated"],
    }
    assert module.result["plans"]["one"] == {
        "changed": True,
        "failed": False,
        "msg": None,
        "rehearsal": accepted,
        "name": "x",
    }
    assert module.result["plans"]["idle"]["changed"] is False
    assert module.result["changed"] is False


@pytest.mark.parametrize("error", [KubeadmError("cannot."), OSError(28, "No space left on device", "/var/x")])
def test_a_plan_that_fails_leaves_the_others(error: Exception) -> None:
    module = run_plans(FakePlans(bad=FakeSteps(fails_in="read", error=error), good=FakeSteps()))
    assert (module.result["failed"], module.result["changed"]) == (True, False)
    assert module.result["msg"] == f"bad: {error_message(error, ' Nothing was changed.').rstrip('.')}."
    bad, good = module.result["plans"].values()
    assert set(bad) == set(good)
    assert (bad["failed"], bad["msg"], bad["changed"]) == (True, error_message(error, " Nothing was changed."), False)
    assert (good["failed"], good["changed"]) == (False, True)


def test_every_plan_that_fails_is_named() -> None:
    module = run_plans(FakePlans(a=FakeSteps(fails_in="plan"), b=FakeSteps(verdict=REFUSED)))
    assert module.result["msg"] == "a: cannot; b: refused in the rehearsal, nothing was changed: its message."


@pytest.mark.parametrize("error", [KubeadmError("no kubelet"), OSError(5, "Input/output error", "/etc/x")])
def test_without_what_plans_have_in_common_none_is_made(error: Exception) -> None:
    steps = FakeSteps()
    module = run_plans(FakePlans(fails=error, one=steps))
    assert module.result == {"failed": True, "changed": False, "msg": error_message(error), "common": None, "plans": {}}
    assert steps.calls == []


def test_a_plan_is_rehearsed_where_only_a_change_needs_no_rehearsal() -> None:
    module = run_plans(FakePlans(one=FakeSteps(unrehearsed="it is validated when it is made")))
    assert module.result["plans"]["one"]["rehearsal"]["verdict"] == ACCEPTED


def test_plans_are_not_rehearsed_when_that_is_off() -> None:
    module = run_plans(FakePlans(one=FakeSteps()), rehearse=False)
    assert module.result["plans"]["one"]["rehearsal"]["verdict"] == SKIPPED
