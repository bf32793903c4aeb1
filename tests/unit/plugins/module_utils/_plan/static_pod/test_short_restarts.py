# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flags for short restarts of the API server, and what a plan says of the next one."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import short_restarts
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples

API_SERVER, MANAGER, SCHEDULER = NAMES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
STOP = {"shutdown-send-retry-after": "true"}
ELECTION = {"leader-elect-lease-duration": "40s", "leader-elect-renew-deadline": "30s"}
SHORT = samples.with_command("kube-apiserver", "--shutdown-send-retry-after=true")


def args_of(
    own: dict[str, dict[str, t.Any]] | None = None, *, is_on: bool = True, control_planes: int = 1
) -> dict[str, t.Any]:
    """The arguments of each component."""
    components = {name: {"args": args} for name, args in (own or {}).items()}
    found = short_restarts.with_short_restarts(components, NAMES, is_on=is_on, control_planes=control_planes)
    return {name: entry["args"] for name, entry in found.items()}


def test_one_control_plane_gets_a_leader_election_that_outlives_a_restart() -> None:
    assert args_of() == {API_SERVER: STOP, MANAGER: ELECTION, SCHEDULER: ELECTION}


@pytest.mark.parametrize("control_planes", [0, 2, 3])
def test_other_clusters_get_the_flag_of_the_api_server_only(control_planes: int) -> None:
    assert args_of(control_planes=control_planes) == {API_SERVER: STOP, MANAGER: {}, SCHEDULER: {}}


def test_switched_off_names_no_argument_so_that_ours_are_reverted() -> None:
    assert args_of({MANAGER: {"v": 4}}, is_on=False) == {API_SERVER: {}, MANAGER: {"v": 4}, SCHEDULER: {}}


@pytest.mark.parametrize("name", ["shutdown-send-retry-after", "shutdown_send_retry_after"])
@pytest.mark.parametrize("value", [False, None])
def test_arguments_of_the_user_win(name: str, value: object) -> None:
    assert args_of({API_SERVER: {name: value, "v": 4}})[API_SERVER] == {name: value, "v": 4}


@pytest.mark.parametrize("name", ["leader-elect", "leader-elect-renew-deadline", "leader_elect_retry_period"])
def test_one_argument_of_an_election_stands_for_all(name: str) -> None:
    found = args_of({MANAGER: {name: "5s"}, SCHEDULER: {"v": 2}})
    assert (found[MANAGER], found[SCHEDULER]) == ({name: "5s"}, {**ELECTION, "v": 2})


def test_other_settings_and_components_stay() -> None:
    components: dict[str, dict[str, t.Any]] = {"etcd": {"args": {"snapshot-count": 5}}, SCHEDULER: {"env": {"A": "b"}}}
    found = short_restarts.with_short_restarts(components, ["etcd", SCHEDULER], is_on=True, control_planes=3)
    assert found == {"etcd": {"args": {"snapshot-count": 5}}, SCHEDULER: {"env": {"A": "b"}, "args": {}}}


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        (
            samples.API_SERVER,
            "kube-apiserver will be away for about 42 s: it waits for its watches until the kubelet kills it after 30 s. With"
            " --shutdown-send-retry-after=true (control_plane_short_restarts) the next restart takes about 10 s",
        ),
        (SHORT, "kube-apiserver will be away for about 10 s: it ends by itself (--shutdown-send-retry-after=true)"),
        (
            SHORT.replace("retry-after=true", "retry-after\n    - --shutdown-delay-duration=20s"),
            "kube-apiserver will be away for about 30 s: it ends by itself (--shutdown-send-retry-after=true)",
        ),
    ],
)
def test_restart_notice_has_seconds_and_flag(text: str, notice: str) -> None:
    before = samples.manifest(text)
    after = samples.manifest(text.replace("metadata:", "metadata:\n  generateName: x", 1))
    assert short_restarts.restart_notice(API_SERVER, before, after) == notice


def test_the_grace_period_of_the_pod_counts() -> None:
    before = samples.manifest(samples.API_SERVER.replace("spec:\n", "spec:\n  terminationGracePeriodSeconds: 3\n", 1))
    assert "about 16 s: it waits for its watches" in short_restarts.restart_notice(
        API_SERVER, before, samples.manifest()
    )


def test_restart_notice_is_empty_where_no_api_server_restarts() -> None:
    manifest = samples.manifest()
    assert short_restarts.restart_notice(API_SERVER, manifest, manifest) == ""
    assert short_restarts.restart_notice(SCHEDULER, manifest, samples.manifest(SHORT)) == ""


def interim_of(before: str, after: str) -> str | None:
    found = short_restarts.interim_manifest(API_SERVER, samples.manifest(before), samples.manifest(after))
    return None if found is None else found.text


def test_what_is_written_first_is_the_same_pod_with_another_uid() -> None:
    after = SHORT.replace("retry-after=true", "retry-after=true\n    - --v=4")
    interim = interim_of(SHORT, after)
    assert interim is not None
    line = '    nodecraft.kubeadm/interim: "true"\n'
    assert line in interim
    assert interim.replace(line, "") == after
    # One that was left behind is none that differs.
    assert interim_of(SHORT, interim) == after


def test_nothing_is_written_first_where_the_stop_takes_long_or_nothing_restarts() -> None:
    assert interim_of(samples.API_SERVER, SHORT) is interim_of(SHORT, SHORT) is None
    scheduler = samples.manifest(samples.SCHEDULER, "kube-scheduler")
    changed = samples.manifest(
        samples.SCHEDULER.replace("kube-scheduler\n", "kube-scheduler\n    - --v=4\n", 1), "kube-scheduler"
    )
    assert short_restarts.interim_manifest("kube-scheduler", scheduler, changed) is None
