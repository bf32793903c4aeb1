# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What takes a resize back, and when that is not ours to do."""

from __future__ import annotations

import shlex
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import resize, resize_undo
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import RESTART, Json, container, sized

Amounts = dict[str, str]


def pod_with(requests: Amounts, limits: Amounts, **policies: str) -> Json:
    return sized("p", container(resources={"requests": requests, "limits": limits}, **policies))


BEFORE = pod_with({"cpu": "500m", "memory": "200Mi"}, {"cpu": "1", "memory": "400Mi"})
DESIRED = {"app": {"requests.cpu": "1", "limits.cpu": "2"}}


def after(before: Json, desired: resize.Desired | None = None) -> Json:
    """A pod as a resize leaves it."""
    return resize_undo.apply_changes(before, resize.plan(before, desired or DESIRED, allow_restart=True).operations)


def test_undo_restores_each_changed_amount() -> None:
    written = after(BEFORE)
    undo = resize_undo.plan(BEFORE, written, written)
    assert undo.operations == (
        Change("requests.cpu", "app", "1", "500m"),
        Change("limits.cpu", "app", "2", "1"),
    )
    assert undo.patch["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}
    assert undo.patch["metadata"]["resourceVersion"] == "7"
    assert (undo.restarts, undo.remaining) == ((), ())
    assert resize.amounts_after(resize_undo.apply_changes(written, undo.operations), ()) == resize.amounts_after(
        BEFORE, ()
    )


def test_pod_with_its_former_amounts_needs_no_undo() -> None:
    spelled_otherwise = pod_with({"cpu": "0.5", "memory": "200Mi"}, {"cpu": "1000m", "memory": "400Mi"})
    assert resize_undo.plan(BEFORE, after(BEFORE), spelled_otherwise).operations == ()


@pytest.mark.parametrize("field", ["limits.cpu", "requests.memory"])
def test_amount_of_another_client_is_not_undone(field: str) -> None:
    """Even where the task did not name it: what is there now was made for what the other client wants."""
    written = after(BEFORE)
    current = after(written, {"app": {field: "3"}})
    with pytest.raises(Refusal, match=f"another client changed it since: {field} of app is 3 and was left as"):
        resize_undo.plan(BEFORE, written, current)


def test_added_request_becomes_zero() -> None:
    before = pod_with({"memory": "200Mi"}, {})
    written = after(before, {"app": {"requests.cpu": "9"}})
    undo = resize_undo.plan(before, written, written)
    assert (undo.operations, undo.remaining) == ((Change("requests.cpu", "app", "9", "0"),), ())
    # A second undo has nothing to do, for a request of nothing is none.
    written = after(before, {"app": {"requests.cpu": "0"}})
    assert resize_undo.plan(before, written, written).operations == ()


def test_added_limit_remains_and_is_named() -> None:
    before = pod_with({"memory": "200Mi"}, {})
    operations = resize.plan(before, {"app": {"limits.cpu": "2"}}, allow_restart=False).operations
    # Where there is no request, the API server makes it what the limit is (seen with 1.37).
    assert operations == (Change("limits.cpu", "app", None, "2"), Change("requests.cpu", "app", None, "2"))
    assert resize_undo.added_limits(operations) == ["limits.cpu of app"]
    written = resize_undo.apply_changes(before, operations)
    undo = resize_undo.plan(before, written, written)
    assert undo.operations == (Change("requests.cpu", "app", "2", "0"),)
    assert undo.remaining == ("limits.cpu of app stays 2, for Kubernetes removes no limit from a running pod",)
    # Where the response to the undo was lost, what remains is not another client's.
    undone = resize_undo.apply_changes(written, undo.operations)
    assert resize_undo.plan(before, written, undone) == resize_undo.UndoPlan((), {}, (), undo.remaining)


def test_undo_names_containers_that_it_restarts() -> None:
    before = pod_with({"cpu": "500m"}, {"cpu": "1"}, cpu=RESTART)
    written = after(before)
    assert resize_undo.plan(before, written, written).restarts == ("app",)


def test_amounts_that_admission_altered_are_found() -> None:
    operations = resize.plan(BEFORE, DESIRED, allow_restart=False).operations
    stored = after(BEFORE, {"app": {"requests.cpu": "1", "limits.cpu": "1500m", "limits.memory": "1Gi"}})
    assert resize_undo.find_altered(BEFORE, operations, stored) == [
        "limits.cpu of app should be 2 and is 1500m",
        "limits.memory of app should be 400Mi and is 1Gi",
    ]
    assert resize_undo.find_altered(BEFORE, operations, after(BEFORE)) == []
    # Kubernetes rounds what is finer than it counts.
    finer = (Change("limits.cpu", "app", "1", "1.9995"),)
    assert resize_undo.find_altered(BEFORE, finer, after(BEFORE, {"app": {"limits.cpu": "2"}})) == []


@pytest.mark.parametrize(("subresource", "option"), [("/resize", ["--subresource=resize"]), ("", [])])
def test_command_gives_former_amounts(subresource: str, option: list[str]) -> None:
    written = after(BEFORE)
    undo = resize_undo.plan(BEFORE, written, written)
    *words, patch = shlex.split(resize_undo.undo_command(written, undo.operations, subresource))
    assert words == ["kubectl", "--namespace", "shop", "patch", "pod", "p", *option, "--patch"]
    assert patch == (
        '{"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}}]}}'
    )
    assert resize_undo.undo_command(written, (), subresource) == ""


def test_unfinished_changes_are_what_containers_run_with() -> None:
    pod: t.Any = after(BEFORE)
    pod["status"]["containerStatuses"][0]["resources"] = BEFORE["spec"]["containers"][0]["resources"]
    assert resize_undo.unfinished_changes(pod, ["app"]) == (
        Change("requests.cpu", "app", "1", "500m"),
        Change("limits.cpu", "app", "2", "1"),
    )
    assert resize_undo.unfinished_changes(pod, ["other"]) == ()
    del pod["status"]["containerStatuses"][0]["resources"]
    assert resize_undo.unfinished_changes(pod, ["app"]) == ()
