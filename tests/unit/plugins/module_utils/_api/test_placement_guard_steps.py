# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards that are validated, written and removed, against a real HTTP server that puts them into force while a caller waits."""

from __future__ import annotations

import copy
from urllib.parse import urlsplit

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import SLICES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard.policies import (
    BINDING,
    MUTATION,
    MUTATION_BINDING,
    POLICY,
    nodes_of,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import HttpError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_guards import FakeGuards
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guard_runs import (
    AFFINITY,
    ENFORCED,
    PINS,
    STRICT,
    TRIED,
    Serve,
    fixture_api,
    fixture_serve_guards,
    object_names,
    run,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.guards import NAME, TRIAL, D, daemon_set, tainted
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

__all__ = ["fixture_api", "fixture_serve_guards"]


def test_a_version_that_is_not_tested(api: FakeGuards) -> None:
    assert run(api, **ENFORCED).warnings == []
    api.version = "v1.38.0"
    (warning,) = run(api, **ENFORCED).warnings
    assert "API server v1.38.0 (newer than tested)" in warning


# ---- making it ---------------------------------------------------------------------------------------------------------


def test_it_is_tried_on_pods_that_are_never_made_then_written_then_verified(api: FakeGuards) -> None:
    done = run(api, **ENFORCED)
    assert done.error is None
    assert api.writes == [*TRIED, f"POST {POLICY} {NAME}", f"POST {BINDING} {NAME}"]
    assert api.created_pods == []
    node_names = [pod["spec"].get("nodeName", "") for pod in api.requested_pods]
    # A pod without a node, the trial until it is in force, the proof until it is, and a pod without a node again.
    assert list(dict.fromkeys(node_names)) == ["", TRIAL, "w1"]
    assert (node_names[0], node_names[-1]) == ("", "")
    assert done.report == {
        "enforced": True,
        "nodes": ["w1", "w2"],
        "added": ["w1", "w2"],
        "removed": [],
        "stale": [],
        "untainted": [],
        "unverified": [],
        "summary": [
            f"{NAME} refuses; protected: w1, w2",
            "w1: protected from now on",
            "w2: protected from now on",
            f"{POLICY} {NAME}: created",
            f"{BINDING} {NAME}: created",
        ],
        "diff": done.report["diff"],
    }
    assert [entry["after_header"] for entry in done.report["diff"]] == [f"{POLICY} {NAME}", f"{BINDING} {NAME}"]


def test_what_is_documented_is_returned(api: FakeGuards) -> None:
    assert schema_errors("placement_guard", run(api).report, added_later={"api", "rehearsal"}) == []


def test_a_guard_that_only_warns_is_tried_and_not_verified(api: FakeGuards) -> None:
    done = run(api)
    assert (done.error, done.report["enforced"]) == (None, False)
    assert api.writes == [*TRIED, f"POST {POLICY} {NAME}", f"POST {BINDING} {NAME}"]
    assert "w1" not in [pod["spec"].get("nodeName") for pod in api.requested_pods]
    assert api.guards[BINDING, NAME]["spec"]["validationActions"] == ["Warn", "Audit"]


def test_a_second_run_writes_nothing_and_proves_it_again(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    before = len(api.writes), len(api.requested_pods)
    done = run(api, **ENFORCED)
    assert (done.error, done.operations, done.report["diff"]) == (None, 0, [])
    assert len(api.writes) == before[0]
    node_names = [pod["spec"].get("nodeName") for pod in api.requested_pods[before[1] :]]
    assert list(dict.fromkeys(node_names)) == ["w1", None]
    assert done.report["summary"] == [f"{NAME} refuses; protected: w1, w2"]


def slices(*servers: FakeGuards) -> list[Json]:
    """How API servers note their own addresses."""
    ports = [urlsplit(server.url).port for server in servers]
    return [{"ports": [{"name": "https", "port": port}], "endpoints": [{"addresses": ["127.0.0.1"]}]} for port in ports]


@pytest.mark.parametrize("dry", [False, True])
def test_each_of_several_api_servers_is_verified(serve_guards: Serve, *, dry: bool) -> None:
    api, other = (serve_guards(tainted("w1", f"{D}:NoSchedule")) for _number in range(2))
    run(api, **ENFORCED)
    api.responses[SLICES] = slices(api, other)
    other.in_force, other.syncs = dict(api.in_force), False
    done = run(api, dry=dry, **ENFORCED)
    assert (done.error, done.report["unverified"]) == (None, [])
    assert other.requested_pods
    other.in_force = {}
    done = run(api, dry=dry, **ENFORCED)
    port = urlsplit(other.url).port
    assert f"does not work as desired on the API server https://127.0.0.1:{port}. It did not refuse" in done.message


def test_an_api_server_that_cannot_be_reached_is_not_verified(serve_guards: Serve) -> None:
    api, other = (serve_guards(tainted("w1", f"{D}:NoSchedule")) for _number in range(2))
    api.responses[SLICES] = slices(api, other)
    other.close()
    done = run(api, **ENFORCED)
    (limit,) = done.report["unverified"]
    assert done.error is None
    assert limit.startswith(f"whether the API server https://127.0.0.1:{urlsplit(other.url).port} uses the guard: ")
    api.responses[SLICES] = HttpError(403, "endpointslices is forbidden")
    (limit,) = run(api, **ENFORCED).report["unverified"]
    assert limit.startswith("whether each API server uses the guard: ")


@pytest.mark.parametrize(("listed", "planes"), [(0, 0), (0, 1), (1, 2), (2, 2)])
def test_an_api_server_that_is_not_listed_is_not_verified(serve_guards: Serve, listed: int, planes: int) -> None:
    label = {"node-role.kubernetes.io/control-plane": ""}
    nodes = [tainted("w1", f"{D}:NoSchedule"), *(node(f"cp{number}", labels=label) for number in range(planes))]
    api = serve_guards(*nodes)
    api.responses[SLICES] = slices(*[api] * listed)
    done = run(api, **ENFORCED)
    known = f"the Service kubernetes names {listed} of them, and {planes} nodes are control planes"
    expected = [] if listed == 2 else [f"whether each API server uses the guard: {known}"]
    assert (done.error, done.report["unverified"]) == (None, expected)


def test_it_follows_the_nodes_and_proves_what_is_new(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    del api.objects["w2"]
    api.objects["w4"] = tainted("w4", f"{D}:NoSchedule")
    del api.writes[:]
    done = run(api, **ENFORCED)
    assert done.error is None
    assert api.writes == [*TRIED, f"PUT {POLICY} {NAME}"]
    assert nodes_of(api.guards[POLICY, NAME]) == ["w1", "w4"]
    assert api.requested_pods[-2]["spec"]["nodeName"] == "w4"
    assert (done.report["added"], done.report["removed"]) == (["w4"], ["w2"])
    assert "w2: no longer protected, because it is no longer a node of the cluster" in done.report["summary"]


def test_a_node_that_is_tainted_during_the_run_is_a_failure(api: FakeGuards) -> None:
    def taints(verb: str, key: tuple[str, str], dry: bool) -> None:
        if verb == "POST" and not dry:
            api.objects["w4"] = tainted("w4", f"{D}:NoSchedule", owned=False)

    api.before_object = taints
    done = run(api, **ENFORCED)
    assert f"w4 ({D}:NoSchedule): tainted, and not protected any more or not yet" in done.message
    assert done.error is not None
    assert getattr(done.error, "changed", False)
    again = run(api, **ENFORCED)
    assert (again.error, again.report["added"]) == (None, ["w4"])


@pytest.mark.parametrize("params", [ENFORCED, STRICT, AFFINITY])
def test_a_guard_whose_last_node_goes_stays_and_protects_nothing(api: FakeGuards, params: Json) -> None:
    run(api, **params)
    api.objects.update({name: tainted(name) for name in ("w1", "w2")})
    for operations in (1 if params is not AFFINITY else 2, 0):
        done = run(api, **params)
        assert (done.error, done.operations, done.report["nodes"]) == (None, operations, [])
        assert "protects nothing as long as that is so" in done.warnings[0]
        assert done.report["summary"][0] == f"{NAME} refuses; protected: no node"
    assert nodes_of(api.guards[POLICY, NAME]) == []


def test_from_warning_to_refusing_the_binding_alone_changes(api: FakeGuards) -> None:
    run(api)
    del api.writes[:]
    done = run(api, **ENFORCED)
    assert done.error is None
    assert api.writes == [*TRIED, f"PUT {BINDING} {NAME}"]


def test_affinity_is_added_and_removed_as_desired(api: FakeGuards) -> None:
    done = run(api, **AFFINITY)
    assert done.error is None
    assert api.writes[-4:] == [f"POST {POLICY} {NAME}", f"POST {BINDING} {NAME}", *PINS]
    assert api.writes[:2] == TRIED[:2]
    assert api.writes[4:8] == [
        f"DELETE {MUTATION_BINDING} {TRIAL}",
        f"DELETE {MUTATION} {TRIAL}",
        *TRIED[2:],
    ]
    del api.writes[:]
    done = run(api, **ENFORCED)
    assert (done.error, api.writes) == (None, [f"DELETE {MUTATION_BINDING} {NAME}", f"DELETE {MUTATION} {NAME}"])


def test_daemon_sets_are_read_where_they_matter(serve_guards: Serve) -> None:
    api = serve_guards(workloads={"DaemonSet": [daemon_set("ns/agent", {"operator": "Exists"})]})
    assert run(api, **ENFORCED).error is None
    assert "DaemonSet ns/agent" in run(api, **STRICT).message
    assert run(api, **STRICT, exempt_daemon_sets=["ns/agent"]).error is None
    done = run(api, **STRICT, allow_refusals=True)
    assert done.error is None
    assert "pods of DaemonSet ns/agent are refused at their next start" in done.warnings[0]


def test_workloads_are_not_read_where_they_do_not_matter(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    assert [request for request in api.requests if "/apis/apps/" in request or "/apis/batch/" in request] == []
    run(api, **STRICT)
    for plural in ("daemonsets", "deployments", "statefulsets", "cronjobs"):
        assert [request for request in api.requests if plural in request], plural


def test_a_node_of_another_guard_that_refuses_is_left_to_it(api: FakeGuards) -> None:
    assert run(api, **ENFORCED, name="gpu", nodes=["w2"]).error is None
    before = len(api.writes)
    assert "w2 protected by gpu already." in run(api, **ENFORCED).message
    assert run(api).error is None
    assert run(api, **ENFORCED, name="gpu", nodes=["w2"]).error is None
    assert len(api.writes) > before


# ---- check mode --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", [{}, ENFORCED, AFFINITY, STRICT])
def test_check_mode_writes_nothing(api: FakeGuards, params: Json) -> None:
    done = run(api, dry=True, **params)
    assert (done.error, api.writes, api.guards, api.created_pods) == (None, [], {}, [])
    assert done.operations == len(done.report["diff"]) > 0
    assert f"{POLICY} {NAME}: would be created" in done.report["summary"]


def test_check_mode_of_a_removal_writes_nothing(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    before = copy.deepcopy(api.guards)
    del api.writes[:]
    done = run(api, dry=True, state="absent")
    assert (done.error, api.writes, api.guards) == (None, [], before)
    assert (done.report["enforced"], done.report["summary"]) == (False, [f"{NAME}: would be removed"])
    assert [
        path for path in api.paths("DELETE") if NAME in path and "dryRun=All" not in path and TRIAL not in path
    ] == []


def test_check_mode_fails_with_the_refusals_of_the_api_server(api: FakeGuards) -> None:
    def refuses(verb: str, key: tuple[str, str], _dry: bool) -> None:
        if verb != "GET" and key[0] == POLICY:
            raise HttpError(422, "compilation failed: Syntax error")

    api.before_object = refuses
    for dry in (True, False):
        done = run(api, dry=dry, exceptions=["object.spec.("])
        assert f"{POLICY} {NAME}: " in done.message
        assert "compilation failed: Syntax error" in done.message
        assert (api.writes, done.report["summary"]) == ([], [])


def test_check_mode_fails_for_a_forbidden_removal(api: FakeGuards) -> None:
    run(api, **ENFORCED)

    def refuses(verb: str, _place: tuple[str, str], _dry: bool) -> None:
        if verb == "DELETE":
            raise HttpError(403, "cannot delete resource in API group")

    api.before_object = refuses
    done = run(api, dry=True, state="absent")
    assert f"{BINDING} {NAME} could not be removed" in done.message
    assert "Grant the account this right" in done.message


def test_an_account_that_could_not_remove_the_copy_writes_none(api: FakeGuards) -> None:
    def refuses(verb: str, _place: tuple[str, str], _dry: bool) -> None:
        if verb == "DELETE":
            raise HttpError(403, "cannot delete resource in API group")

    api.before_object = refuses
    done = run(api, **ENFORCED)
    assert f"{BINDING} {TRIAL} could not be removed" in done.message
    assert api.writes == []


def test_nodes_that_are_not_managed_yet_are_none_in_check_mode(api: FakeGuards) -> None:
    node_names = {**ENFORCED, "resources": ["example.com/none"]}
    assert run(api, dry=True, **node_names).report["summary"][0] == f"{NAME} would refuse; protected: no node"
    assert "no node is kept for example.com/none" in run(api, **node_names).message
    assert api.writes == []


# ---- what is refused before anything is written ------------------------------------------------------------------------


def test_parameters_that_cannot_be_are_refused_before_a_request_is_sent(api: FakeGuards) -> None:
    done = run(api, resources=["dongle"])
    assert "no pod could request 'dongle'" in done.message
    assert (api.requests, done.report["nodes"]) == ([], [])


def test_old_cluster_gets_the_alternative_in_the_error(serve_guards: Serve) -> None:
    api = serve_guards(served=())
    api.responses["/version"] = {"gitVersion": "v1.29.3"}
    message = run(api, **ENFORCED).message
    assert "this cluster (v1.29.3) does not serve ValidatingAdmissionPolicy" in message
    assert "effect: NoExecute" in message
    assert run(api, state="absent").error is None
    assert api.writes == []


def test_a_cluster_without_the_whole_group_is_one_too(serve_guards: Serve) -> None:
    api = serve_guards(served=())
    api.responses["/apis/admissionregistration.k8s.io/v1"] = HttpError(404, "page not found")
    assert "does not serve ValidatingAdmissionPolicy" in run(api).message


def test_without_mutating_policies_the_affinity_alone_is_refused(serve_guards: Serve) -> None:
    api = serve_guards(served=(POLICY, BINDING))
    assert "which Kubernetes has from 1.36 on" in run(api, **AFFINITY).message
    assert run(api, **ENFORCED).error is None
    assert run(api, state="absent").error is None


@pytest.mark.parametrize("name", [NAME, TRIAL])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_what_another_client_made_is_left_alone(api: FakeGuards, state: str, name: str) -> None:
    run(api)
    api.guards[BINDING, name] = copy.deepcopy(api.guards[BINDING, NAME])
    api.guards[BINDING, name]["metadata"].update(name=name, labels={"team": "a"})
    del api.writes[:]
    done = run(api, state=state)
    assert f"{BINDING} {name}: not created by this collection" in done.message
    assert api.writes == []


def test_a_node_that_does_not_exist_is_refused(api: FakeGuards) -> None:
    assert "nodes: w9: there is no node of this name" in run(api, nodes=["w1", "w9"]).message
    assert api.writes == []


@pytest.mark.parametrize(
    "refusal", [HttpError(404, 'namespaces "default" not found'), HttpError(403, 'cannot create resource "pods"')]
)
def test_a_namespace_where_nothing_can_be_tried_is_refused(api: FakeGuards, refusal: HttpError) -> None:
    def refuses(_pod: Json) -> None:
        raise refusal

    api.before_pod = refuses
    for dry in (True, False):
        done = run(api, dry=dry)
        assert (
            "trial_namespace: no trial is possible in default, because a harmless pod is refused there" in done.message
        )
        assert str(refusal) in done.message
    assert api.writes == []


# ---- writes, and others who write --------------------------------------------------------------------------------------


def test_a_write_that_fails_takes_the_others_back(api: FakeGuards) -> None:
    def refuses(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("POST", (BINDING, NAME), False):
            raise HttpError(422, "not now")

    api.before_object = refuses
    done = run(api, **ENFORCED)
    assert done.message.endswith("not now. It was removed again.")
    assert not getattr(done.error, "changed", False)
    assert object_names(api) == []


def test_another_writer_is_not_overwritten(api: FakeGuards) -> None:
    run(api)
    api.objects["w4"] = tainted("w4", f"{D}:NoSchedule")

    def changes(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("PUT", (POLICY, NAME), False):
            api.guards[key] = copy.deepcopy(api.guards[key])
            api.guards[key]["spec"]["failurePolicy"] = "Ignore"
            api.touch(key)

    api.before_object = changes
    done = run(api)
    assert f"{POLICY} {NAME}: another client changed it in the meantime" in done.message
    assert not getattr(done.error, "changed", False)
    assert api.guards[POLICY, NAME]["spec"]["failurePolicy"] == "Ignore"


@pytest.mark.parametrize("when_dry", [True, False])
def test_a_status_that_was_written_meanwhile_is_no_other_writer(api: FakeGuards, when_dry: bool) -> None:
    run(api)
    api.objects["w4"] = tainted("w4", f"{D}:NoSchedule")
    left = [1, 2]

    def touches(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("PUT", (POLICY, NAME), when_dry) and left:
            left.pop()
            api.touch(key)

    api.before_object = touches
    assert run(api).error is None
    assert left == []
    assert nodes_of(api.guards[POLICY, NAME]) == ["w1", "w2", "w4"]


def test_others_that_never_stop_are_given_up(api: FakeGuards) -> None:
    run(api)
    api.objects["w4"] = tainted("w4", f"{D}:NoSchedule")

    def touches(verb: str, key: tuple[str, str], _dry: bool) -> None:
        if verb == "PUT":
            api.touch(key)

    api.before_object = touches
    assert "another client changed it in each of 20 attempts" in run(api).message


def test_a_policy_that_another_client_removed_meanwhile_is_not_made_again(api: FakeGuards) -> None:
    run(api)
    api.objects["w4"] = tainted("w4", f"{D}:NoSchedule")

    def removes(verb: str, key: tuple[str, str], dry: bool) -> None:
        if (verb, key, dry) == ("PUT", (POLICY, NAME), False):
            api.guards.pop(key, None)

    api.before_object = removes
    assert f"{POLICY} {NAME}: another client changed it in the meantime" in run(api).message


@pytest.mark.parametrize("first", [True, False])
def test_write_whose_response_was_lost_counts(api: FakeGuards, first: bool) -> None:
    if not first:
        run(api)
        api.objects["w4"] = tainted("w4", f"{D}:NoSchedule")
    del api.writes[:]
    api.unacknowledged.append((POLICY, NAME))
    assert run(api).error is None
    assert api.unacknowledged == []
    assert nodes_of(api.guards[POLICY, NAME]) == ["w1", "w2", *([] if first else ["w4"])]


# ---- removing it -------------------------------------------------------------------------------------------------------


def test_all_of_it_is_removed_the_bindings_first(api: FakeGuards) -> None:
    run(api, **AFFINITY)
    del api.writes[:]
    done = run(api, state="absent")
    assert (done.error, api.guards) == (None, {})
    assert api.writes == [f"DELETE {kind} {NAME}" for kind in (MUTATION_BINDING, MUTATION, BINDING, POLICY)]
    assert (done.report["enforced"], done.report["removed"]) == (False, ["w1", "w2"])
    assert done.report["summary"] == [f"{NAME}: does not exist"]
    done = run(api, state="absent")
    assert (done.error, done.operations) == (None, 0)


def test_removal_reads_neither_nodes_nor_pods(api: FakeGuards) -> None:
    run(api, **ENFORCED)
    before = len(api.requests)
    run(api, state="absent")
    assert [request for request in api.requests[before:] if "/api/v1/" in request] == []


def test_what_another_client_removed_meanwhile_is_gone(api: FakeGuards) -> None:
    run(api)

    def removed(verb: str, key: tuple[str, str], _dry: bool) -> None:
        if verb == "DELETE":
            api.guards.pop(key, None)

    api.before_object = removed
    assert run(api, state="absent").error is None
    assert api.guards == {}


def test_a_guard_is_made_and_removed_again_and_again(api: FakeGuards) -> None:
    for nodes in (["w1"], ["w2"], ["w1", "w3"]):
        done = run(api, **ENFORCED, nodes=nodes)
        assert (done.error, done.report["added"]) == (None, nodes)
        assert run(api, state="absent").error is None
    assert (api.guards, api.created_pods) == ({}, [])
