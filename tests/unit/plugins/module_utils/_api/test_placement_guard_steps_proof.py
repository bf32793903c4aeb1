# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trials and proofs of guards on pods of dry runs, and the rollback when they fail."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import BINDING, MUTATION, POLICY
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_guards import FakeGuards
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guard_runs import (
    AFFINITY,
    ENFORCED,
    STRICT,
    TRIED,
    GuardRun,
    fixture_api,
    fixture_serve_guards,
    object_names,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import NAME, TRIAL
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

__all__ = ["fixture_api", "fixture_serve_guards"]


# ---- trials ------------------------------------------------------------------------------------------------------------


def assert_only_tried(api: FakeGuards, done: GuardRun, message: str) -> None:
    assert "The guard was not changed, because its trial failed." in done.message
    assert message in done.message
    assert not getattr(done.error, "changed", False)
    # The copy was written and removed, and nothing else.
    assert {write.partition(" ")[2].partition(" ")[2] for write in api.writes} == {TRIAL}
    assert object_names(api) == []


def test_a_guard_that_no_server_takes_up_is_not_written(api: FakeGuards) -> None:
    api.syncs = False
    done = run(api, **ENFORCED)
    assert_only_tried(api, done, "It did not refuse a pod that names a protected node within 30 s.")
    assert 30 <= done.clock.now < 40


def test_failing_expression_is_reported_without_waiting(api: FakeGuards) -> None:
    def fails(pod: Json) -> None:
        if pod["spec"].get("nodeName") == TRIAL:
            raise HttpError(403, "expression 'x' resulted in error: no such key: team")

    api.before_pod = fails
    done = run(api, **ENFORCED)
    assert_only_tried(api, done, "An expression fails for a pod that names a protected node: ")
    assert "no such key: team" in done.message
    assert done.clock.now < 10


def test_a_guard_that_refuses_plain_pods_is_not_written(api: FakeGuards) -> None:
    def refuses(_pod: Json) -> None:
        if (BINDING, TRIAL) in api.in_force:
            raise HttpError(403, "names the node, whatever it names")

    api.before_pod = refuses
    assert_only_tried(api, run(api, **ENFORCED), "It must accept a pod that names no node in the namespace default")


def test_a_guard_that_lets_tolerations_through_is_not_written(api: FakeGuards) -> None:
    def untolerated(pod: Json) -> None:
        pod["spec"].pop("tolerations", None)

    api.before_pod = untolerated
    assert_only_tried(
        api, run(api, **STRICT), "It did not refuse a pod that tolerates a taint of protected nodes within 30 s."
    )


def test_names_that_do_not_become_affinities_fail_the_trial(api: FakeGuards) -> None:
    def overlooked(pod: Json) -> None:
        if pod["metadata"].get("labels") == {"nodecraft.kubeadm/trial": "affinity"}:
            pod["metadata"]["labels"] = {"nodecraft.kubeadm/trial": "none"}

    api.before_pod = overlooked
    message = "The node of a pod whose node has to become an affinity was not turned into an affinity by"
    assert_only_tried(api, run(api, **AFFINITY), message)


def test_type_warnings_of_expressions_fail_the_trial(api: FakeGuards) -> None:
    warning = {"fieldRef": "spec.variables[6].expression", "warning": "undefined field 'specs'"}
    api.checked = {"observedGeneration": 1, "typeChecking": {"expressionWarnings": [warning]}}
    message = "The API server says of the expression spec.variables[6].expression: undefined field 'specs'"
    assert_only_tried(api, run(api, **ENFORCED), message)


def test_controller_manager_that_checks_nothing_is_given_up_soon(api: FakeGuards) -> None:
    api.checked = None
    done = run(api, **ENFORCED)
    assert done.error is None
    assert done.clock.now < 10
    (warning,) = [warning for warning in done.warnings if warning.startswith("not verified: ")]
    assert (
        warning
        == "not verified: whether the types in the guard's expressions are right: the controller manager did not look at them within 5 s"
    )
    assert warning in done.report["summary"]


@pytest.mark.parametrize("kind", [POLICY, BINDING])
def test_a_copy_that_cannot_be_written_to_its_end_is_removed(api: FakeGuards, kind: str) -> None:
    def refuses(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("POST", (kind, TRIAL), False):
            raise HttpError(422, "no room")

    api.before_object = refuses
    done = run(api, **ENFORCED)
    assert "its trial failed" in done.message
    assert "no room" in done.message
    assert object_names(api) == []


def test_remaining_copy_is_an_error_until_the_next_run(api: FakeGuards) -> None:
    def refuses(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("DELETE", (BINDING, TRIAL), False):
            raise HttpError(422, "not now")

    api.before_object = refuses
    done = run(api, **ENFORCED)
    assert f"{BINDING} {TRIAL} could not be removed" in done.message
    assert getattr(done.error, "changed", False)
    assert object_names(api) == [f"{BINDING} {TRIAL}"]
    api.before_object = lambda verb, key, dry: None
    del api.writes[:]
    done = run(api, **ENFORCED)
    assert done.error is None
    assert api.writes == [
        f"DELETE {BINDING} {TRIAL}",
        *TRIED,
        f"POST {POLICY} {NAME}",
        f"POST {BINDING} {NAME}",
    ]


# ---- proofs and rollbacks ----------------------------------------------------------------------------------------------


def test_a_guard_that_is_not_in_force_is_removed_again(api: FakeGuards) -> None:
    # The copy stays in force, and is not mistaken for the guard.
    def stop(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("POST", (BINDING, NAME), False):
            api.syncs = False

    api.before_object = stop
    done = run(api, **ENFORCED)
    assert f"The guard {NAME} does not work as desired." in done.message
    assert "It did not refuse a pod that names w1 within 30 s." in done.message
    assert done.message.endswith("It was removed again.")
    assert not getattr(done.error, "changed", False)
    assert (object_names(api), done.report["summary"]) == ([], [])


def spec_of(api: FakeGuards) -> dict[tuple[str, str], Json]:
    return {key: found["spec"] for key, found in api.guards.items()}


def stops_at(api: FakeGuards, kind: str) -> None:
    """Let the API server sync no more once the guard's object of that kind is replaced or created."""

    def stop(verb: str, key: tuple[str, str], dry: bool) -> None:
        if verb in ("PUT", "POST") and (key, dry) == ((kind, NAME), False):
            api.syncs = False

    api.before_object = stop


@pytest.mark.parametrize(
    "change", [{"exceptions": ["false"]}, {"schedulers": ["mine"]}, {"exempt_namespaces": ["ops"]}]
)
def test_the_refusal_of_the_former_guard_proves_nothing(api: FakeGuards, change: Json) -> None:
    run(api, **ENFORCED)
    before = spec_of(api)
    stops_at(api, POLICY)
    done = run(api, **{**ENFORCED, **change})
    assert "It did not refuse a pod that names w1 within 30 s" in done.message
    assert done.message.endswith("It was rolled back.")
    assert not getattr(done.error, "changed", False)
    assert spec_of(api) == before


def test_the_affinity_of_the_former_guard_proves_nothing(api: FakeGuards) -> None:
    run(api, **AFFINITY)
    before = spec_of(api)
    stops_at(api, MUTATION)
    done = run(api, **AFFINITY, exceptions=["false"])
    assert "was not turned into an affinity by" in done.message
    assert done.message.endswith("It was rolled back.")
    assert spec_of(api) == before


def test_what_the_guard_lost_on_the_way_comes_back(api: FakeGuards) -> None:
    run(api, **AFFINITY)
    before = spec_of(api)

    def holds_on(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("DELETE", (MUTATION, NAME), False):
            api.syncs = False

    api.before_object = holds_on
    done = run(api, **ENFORCED)
    assert done.message.endswith("It was rolled back.")
    assert spec_of(api) == before
    api.before_object, api.syncs = lambda verb, key, dry: None, True
    assert run(api, **AFFINITY).error is None


def test_the_policy_behind_an_affinity_is_verified_too(api: FakeGuards) -> None:
    run(api, **AFFINITY)
    del api.guards[BINDING, NAME]
    stops_at(api, BINDING)
    api.in_force = {key: found for key, found in api.in_force.items() if key != (BINDING, NAME)}
    assert "It did not refuse a pod that names w1 within 30 s" in run(api, **AFFINITY).message


def test_what_others_wrote_on_it_stays(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    metadata = api.guards[POLICY, NAME]["metadata"]
    metadata.update(annotations={"note": "ours"}, finalizers=["a/b"], labels={**metadata["labels"], "team": "a"})
    for schedulers, stops in ((["mine"], False), (["others"], True)):
        if stops:
            stops_at(api, POLICY)
        assert bool(run(api, **ENFORCED, schedulers=schedulers).error) is stops
        metadata = api.guards[POLICY, NAME]["metadata"]
        assert (metadata["annotations"], metadata["finalizers"]) == ({"note": "ours"}, ["a/b"])
        assert metadata["labels"] == {"app.kubernetes.io/managed-by": "nodecraft.kubeadm", "team": "a"}


def test_guard_broken_by_another_client_gets_the_remedy(api: FakeGuards) -> None:
    run(api, **ENFORCED)

    def refuses(_pod: Json) -> None:
        raise HttpError(403, f"ValidatingAdmissionPolicy '{NAME}' with binding '{NAME}' denied request: manually")

    api.before_pod = refuses
    api.guards[POLICY, NAME]["spec"]["failurePolicy"] = "Ignore"
    message = run(api, **ENFORCED).message
    assert "the guard that is in force refuses a harmless pod" in message
    assert f"kubectl delete validatingadmissionpolicybinding {NAME}. Then run the task again." in message
    assert "another namespace" not in message


def test_failed_rollback_is_an_error_with_the_remedy(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    left = [1]

    def refuses(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("PUT", (POLICY, NAME), False):
            api.syncs = False
            if not left:
                raise HttpError(422, "not now")
            left.pop()

    api.before_object = refuses
    done = run(api, **ENFORCED, schedulers=["mine"])
    assert f"Not all of it could be rolled back: {POLICY} {NAME}:" in done.message
    assert f"kubectl delete validatingadmissionpolicybinding {NAME}" in done.message
    assert getattr(done.error, "changed", False)


def test_an_expression_of_the_former_guard_that_fails_is_waited_for(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    left = [1, 2, 3]

    def fails(pod: Json) -> None:
        if pod["spec"].get("nodeName") == "w1" and left:
            left.pop()
            raise HttpError(403, "expression 'x' resulted in error: no such key: team")

    api.before_pod = fails
    assert run(api, **ENFORCED, schedulers=["mine"]).error is None
    assert left == []


def test_two_runs_do_not_take_away_each_others_copies(api: FakeGuards) -> None:
    def is_quicker(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("POST", (BINDING, TRIAL), False) and key not in api.guards:
            api.guards[key] = {"kind": BINDING, "metadata": {"name": TRIAL, "resourceVersion": "9"}, "spec": {}}

    api.before_object = is_quicker
    done = run(api, **ENFORCED)
    assert f"{BINDING} {TRIAL}: another run is trying this guard at the moment. Run the task again." in done.message
    assert object_names(api) == [f"{BINDING} {TRIAL}"]


def test_tolerations_are_verified_too(api: FakeGuards) -> None:
    def untolerated(pod: Json) -> None:
        if "labels" not in pod["metadata"]:
            pod["spec"].pop("tolerations", None)

    api.before_pod = untolerated
    message = run(api, **STRICT).message
    assert "does not work as desired. It did not refuse a pod that tolerates the taints of the nodes" in message


def test_the_refusal_of_another_guard_proves_nothing(api: FakeGuards) -> None:
    def refuses(pod: Json) -> None:
        if pod["spec"].get("nodeName") == "w1":
            raise HttpError(
                403, "ValidatingAdmissionPolicy 'other' with binding 'other' denied: the pod names the node w1"
            )

    api.before_pod = refuses
    assert "It did not refuse a pod that names w1 within 30 s" in run(api, **ENFORCED).message


def test_an_exception_of_ones_own_is_named_where_it_may_be_the_cause(api: FakeGuards) -> None:
    def excepted(pod: Json) -> None:
        if pod["spec"].get("nodeName") == "w1":
            del pod["spec"]["nodeName"]

    api.before_pod = excepted
    message = "Or one of its exceptions applies to the account of this task"
    assert message in run(api, **ENFORCED, exceptions=["true"]).message
    assert message not in run(api, **ENFORCED).message


@pytest.mark.parametrize("dry", [True, False])
def test_guard_that_stopped_working_fails_the_next_run(api: FakeGuards, *, dry: bool) -> None:
    run(api, **ENFORCED)
    api.in_force, api.syncs = {}, False
    done = run(api, dry=dry, **ENFORCED)
    assert done.operations == 0
    assert "does not work as desired" in done.message
    assert not getattr(done.error, "changed", False)


def test_guard_that_refuses_plain_pods_is_an_error(api: FakeGuards) -> None:
    run(api, **ENFORCED)

    def refuses(pod: Json) -> None:
        if "nodeName" not in pod["spec"]:
            raise HttpError(403, "no access")

    api.before_pod = refuses
    assert "It must accept a pod that names no node" in run(api, **ENFORCED).message


def test_affinity_that_does_not_work_is_an_error(api: FakeGuards) -> None:
    run(api, **AFFINITY)
    del api.guards[MUTATION, NAME]
    done = run(api, **AFFINITY)
    assert done.error is None
    assert api.writes[-1] == f"POST {MUTATION} {NAME}"
    api.in_force = {key: found for key, found in api.in_force.items() if key[0] in (POLICY, BINDING)}
    api.syncs = False
    done = run(api, **AFFINITY)
    assert "It must accept a pod whose node w1 has to become an affinity" in done.message
    assert "mutatingadmissionpolicybinding" in done.message
