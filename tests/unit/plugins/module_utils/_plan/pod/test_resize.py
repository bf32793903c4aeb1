# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be desired of running pods, and what changes in one of them."""

from __future__ import annotations

import typing as t
from fractions import Fraction

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import quantities
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import resize as pod_resize
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import RESTART, Json, container, sized
from hypothesis import given
from hypothesis import strategies as st


def containers(name: str = "app", **resources: Json) -> list[Json]:
    return [{"name": name, "resources": resources}]


def plan(pod: Json, *, allow_restart: bool = False, **resources: Json) -> pod_resize.PodPlan:
    return pod_resize.plan(
        pod, pod_resize.parse_desired([{"name": "app", "resources": resources}]), allow_restart=allow_restart
    )


# ---- the desired state -----------------------------------------------------------------------------------------------


def test_a_desired_state_keeps_amounts_as_they_are_written() -> None:
    desired = pod_resize.parse_desired(
        [
            *containers(requests={"cpu": 0.5, "memory": " 600Mi "}, limits={"cpu": 2}),
            *containers("log", limits={"memory": "1e3"}),
        ]
    )
    assert desired == {
        "app": {"requests.cpu": "0.5", "requests.memory": "600Mi", "limits.cpu": "2"},
        "log": {"limits.memory": "1e3"},
    }


@pytest.mark.parametrize(
    ("containers", "words"),
    [
        (containers(requests={"example.com/gpu": 1}), "only cpu and memory resources are mutable"),
        (containers(limits={"ephemeral-storage": "1Gi"}), "app names limits.ephemeral-storage"),
        (containers(requests={"cpu": None}), "resource requests cannot be removed"),
        (containers(requests={"cpu": "fast"}), "invalid value 'fast' of requests.cpu of app: must be a quantity"),
        (containers(requests={"cpu": True}), "invalid value True of requests.cpu of app"),
        (containers(requests={"cpu": ["1"]}), "must be a quantity"),
        (containers(requests={"cpu": ""}), "must be a quantity"),
        (containers(limits={"memory": "-1Mi"}), "invalid value '-1Mi' of limits.memory of app"),
        (containers(limits={"memory": "600MB"}), "must be a quantity from 0 on"),
        (containers(requests={"cpu": 2}, limits={"cpu": "1500m"}), "must be less than or equal to cpu limit of 1500m"),
        (
            containers(limits={"cpu": 0.1 + 0.2}),
            "is 0.30000000000000004; Kubernetes counts nothing finer than 1m. Write 300m.",
        ),
        (containers(limits={"cpu": "1500u"}), "limits.cpu of app is 1500u; .* Write 2m."),
        (containers(limits={"cpu": "1n"}), "Write 1m."),
        (containers(limits={"memory": "600m"}), "finer than 1 byte, of which m is a thousandth. Write 600Mi."),
        (
            containers(limits={"memory": "0.1Gi"}),
            "is 0.1Gi; Kubernetes counts nothing finer than 1 byte. Write 107374182.",
        ),
        (containers(), "app gets nothing"),
        ([{"name": "app", "resources": None}], "app gets nothing"),
        (containers(requests={}, limits=None), "app gets nothing"),  # type: ignore[arg-type]
        ([*containers(limits={"cpu": 1}), *containers(limits={"cpu": 2})], "app is named twice"),
    ],
)
def test_what_no_running_pod_can_be_given(containers: list[Json], words: str) -> None:
    with pytest.raises(Refusal, match=words) as caught:
        pod_resize.parse_desired(containers)
    assert str(caught.value).startswith("containers: ")


@given(st.integers(0, 10**6))
def test_requests_may_be_up_to_the_limits(milli: int) -> None:
    desired = pod_resize.parse_desired(
        containers(requests={"cpu": f"{milli}m", "memory": f"{milli}000m"}, limits={"cpu": milli / 1000})
    )
    assert quantities.parse(desired["app"]["limits.cpu"]) == Fraction(milli, 1000)


@pytest.mark.parametrize(
    ("value", "total", "number"),
    [("1", 5, 1), (" 3", 5, 3), ("25%", 8, 2), ("25%", 3, 1), ("0%", 3, 1), ("200%", 3, 3)],
)
def test_how_many_may_be_out_of_service(value: str, total: int, number: int) -> None:
    assert pod_resize.parse_max_unavailable(value, total) == number


@pytest.mark.parametrize("value", ["0", "-1", "", "half", "1.5", "25 %"])
def test_what_is_no_number_of_pods(value: str) -> None:
    with pytest.raises(Refusal, match="must be a whole number from 1 on, or a percentage"):
        pod_resize.parse_max_unavailable(value, 5)


# ---- the plan --------------------------------------------------------------------------------------------------------


def test_only_what_differs_is_sent() -> None:
    found = plan(sized(), requests={"cpu": "0.5", "memory": "300Mi"}, limits={"cpu": "1000m", "memory": "600Mi"})
    assert found.operations == (
        Change("requests.memory", "app", "200Mi", "300Mi"),
        Change("limits.memory", "app", "400Mi", "600Mi"),
    )
    assert found.patch == {
        "metadata": {"resourceVersion": "7"},
        "spec": {
            "containers": [
                {"name": "app", "resources": {"requests": {"memory": "300Mi"}, "limits": {"memory": "600Mi"}}}
            ]
        },
    }
    assert found.restarts == ()


@pytest.mark.parametrize("cpu", ["500m", "0.5", ".5", "500000u", "5e-1"])
def test_amounts_are_the_same_by_value(cpu: str) -> None:
    assert plan(sized(), requests={"cpu": cpu}).operations == ()


def test_an_amount_that_was_not_there() -> None:
    pod = sized("p", container(resources={"requests": {"cpu": "1"}}))
    assert plan(pod, limits={"cpu": 2}).operations == (Change("limits.cpu", "app", None, "2"),)


def test_containers_and_sidecars_stand_in_lists_of_their_own() -> None:
    pod = sized("p", container(), container("log"), sidecars=[container("proxy")])
    desired = pod_resize.parse_desired([*containers("proxy", limits={"cpu": 2}), *containers("log", limits={"cpu": 3})])
    spec = pod_resize.plan(pod, desired, allow_restart=False).patch["spec"]
    assert {place: [entry["name"] for entry in entries] for place, entries in spec.items()} == {
        "initContainers": ["proxy"],
        "containers": ["log"],
    }


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (
            sized("p", container("main"), sidecars=[container("proxy")]),
            "no container app; its containers are main, proxy",
        ),
        (sized("p", static=True), "static pods cannot be resized"),
        (sized("p", phase="Succeeded"), r"it has ended \(Succeeded\)"),
        (sized("p", deleted=True), "it is being deleted"),
    ],
)
def test_pods_that_cannot_be_resized(pod: Json, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        plan(pod, limits={"cpu": 2})


def test_a_restart_is_refused_before_it_happens() -> None:
    pod = sized("p", container(memory=RESTART))
    with pytest.raises(
        Refusal, match=r"would restart its container app \(for memory\), because resizePolicy"
    ) as caught:
        plan(pod, requests={"memory": "300Mi"}, limits={"memory": "600Mi", "cpu": 2})
    assert "Set allow_restart" in str(caught.value)
    assert plan(pod, limits={"cpu": 2}).restarts == ()
    assert plan(pod, limits={"memory": "400Mi"}).restarts == ()
    assert plan(pod, allow_restart=True, limits={"memory": "600Mi"}).restarts == ("app",)


def test_amounts_with_changes() -> None:
    found = plan(sized(), limits={"cpu": 2})
    after = pod_resize.amounts_after(sized(), found.operations)
    assert pod_resize.format_amounts(after) == {
        "app": {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "2", "memory": "400Mi"}}
    }


# ---- one after the other ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ready", "waiting", "limit", "batch"),
    [
        ("abc", "abc", 1, "a"),
        ("abc", "abc", 2, "ab"),
        ("abc", "abc", 9, "abc"),
        # One that is not Ready anyway costs nothing, but counts.
        ("ac", "abc", 1, "b"),
        ("ac", "abc", 2, "ba"),
        # One that is not waiting and not Ready leaves no room.
        ("ab", "ab", 1, ""),
        ("ab", "ab", 2, "a"),
    ],
)
def test_who_may_be_restarted_now(ready: str, waiting: str, limit: int, batch: str) -> None:
    unavailable = 3 - len(ready)
    found = pod_resize.next_batch(list(waiting), ready=lambda name: name in ready, unavailable=unavailable, limit=limit)
    assert "".join(found) == batch


@given(st.sets(st.sampled_from("abcdefgh")), st.integers(1, 8))
def test_never_more_than_allowed_are_out_of_service(down: set[str], limit: int) -> None:
    everyone = "abcdefgh"

    def is_ready(name: t.Any) -> bool:
        return name not in down

    batch = pod_resize.next_batch(list(everyone), ready=is_ready, unavailable=len(down), limit=limit)
    assert len(down | set(batch)) <= max(limit, len(down))
