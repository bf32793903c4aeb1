# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a device plugin, at real kubelets. The other ones are done to a stub of the kubelet, by the plugin's own tests.

After each: no exit, the right list within 10 s of the fault's end, no false Healthy, no other id, other resources
unaffected, and never ready while it is not registered.
"""

from __future__ import annotations

import os
import signal
import time
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import quantities
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster, Json, stays, until
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.plugin import (
    CONFIG,
    DIRECTORY,
    FAKE,
    IDS,
    NAMESPACE,
    NOTICED,
    UNIT,
    WAIT_TIMEOUT,
    Observation,
    Plugin,
    Watch,
    check_observations,
    disconnect,
    is_unaffected,
    recovery_seconds,
    socket_prefix,
    start_time,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Recorder

pytestmark = pytest.mark.skipif("FAULTS_ONE" not in os.environ, reason="FAULTS_ONE names no lab of one control plane")

RESTARTS = 20
RESTARTS_SECONDS = 300.0
MIN_SEEN = 5
MANY = "example.com/many"
MANY_IDS = sorted(f"fake-{number}" for number in range(1000))


@pytest.fixture(scope="module")
def deployed(lab_of_one: Cluster) -> t.Iterator[Plugin]:
    """The plugin, deployed by the role and removed by it."""
    lab_of_one.reset()
    plugin = Plugin(lab_of_one)
    plugin.deploy()
    yield plugin
    plugin.remove()


@pytest.fixture
def plugin(deployed: Plugin) -> t.Iterator[Plugin]:
    """The plugin as it is when all is well, and one device unplugged."""
    deployed.reset()
    yield deployed
    deployed.reset()


def holder(node: str) -> Json:
    """A pod that holds a unit."""
    container = {"name": "holder", "image": "lab.local/pause:1", "resources": {"limits": {UNIT: "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "holder", "namespace": "default"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"kubernetes.io/hostname": node},
            "containers": [container],
        },
    }


@pytest.fixture
def holder_life(plugin: Plugin) -> t.Iterator[t.Callable[[], Json]]:
    """Yields what reads the identity of the container that holds a device."""
    lab = plugin.cluster.lab

    def life() -> Json:
        status = lab.get("pod", "holder")["status"]
        return {
            "phase": status["phase"],
            **{key: status["containerStatuses"][0][key] for key in ("containerID", "restartCount")},
        }

    lab.kubectl("apply", "--filename=-", stdin=yaml.safe_dump(holder(plugin.node.name)))
    try:
        lab.kubectl("wait", "--for=condition=Ready", "pod/holder", "--timeout=60s")
        yield life
    finally:
        lab.kubectl("delete", "pod", "holder", "--now", "--ignore-not-found")


def restart_kubelet(plugin: Plugin, watch: Watch, ids: t.Mapping[str, t.Sequence[str]] = IDS) -> float:
    """Stop it until the plugin has noticed, and start it. Returns the seconds from its socket until the right list."""
    before = watch.observations[-1].kubelet
    plugin.node.systemctl("stop", "kubelet")
    down = time.monotonic()
    noticed = watch.until(down, lambda obs: obs.ready == 503, "a plugin that is not ready")
    until(lambda: len(between(watch, noticed.began, time.monotonic())) >= MIN_SEEN, "observations while it is down")
    plugin.node.systemctl("start", "kubelet")
    there = watch.until(noticed.done, lambda obs: obs.kubelet not in (None, before), "another kubelet.sock")
    assert noticed.done - down <= NOTICED
    assert {obs.ready for obs in between(watch, noticed.began, there.began)} == {503}
    return recovery_seconds(watch, there.began, ids)


def between(watch: Watch, first: float, last: float) -> list[Observation]:
    """The observations from one moment to another."""
    return [obs for obs in watch.observations if obs.began >= first and obs.done <= last]


def test_d1_the_kubelet_is_restarted_again_and_again(
    plugin: Plugin, holder_life: t.Callable[[], Json], record: Recorder
) -> None:
    entry, life, pod_life, began = (
        record("D01", f"kubelet restarted {RESTARTS} times"),
        plugin.identity(),
        holder_life(),
        time.monotonic(),
    )
    kubelets = {plugin.node.kubelet().pid}
    with plugin.watched(plugin.pod()) as watch:
        seconds = []
        for dummy in range(RESTARTS):
            seconds.append(restart_kubelet(plugin, watch))
            kubelets.add(plugin.node.kubelet().pid)
    took = time.monotonic() - began
    entry.outcome, entry.list_seconds = "recovered", max(seconds)
    entry.fault_evidence = f"{len(kubelets)} kubelets, one after the other, in {took:.0f} s"
    check_observations(watch)
    assert len(kubelets) == RESTARTS + 1
    assert took <= RESTARTS_SECONDS
    assert plugin.identity() == life
    assert holder_life() == pod_life


def test_d3_its_own_socket_is_removed(plugin: Plugin, record: Recorder) -> None:
    entry = record("D03", "the plugin's own socket removed")
    life, others = plugin.identity(), plugin.registrations(FAKE)
    with plugin.watched(plugin.pod()) as watch:
        (removed,) = sockets(watch, UNIT)
        plugin.node.run("rm", f"{DIRECTORY}/{removed}")
        gone = time.monotonic()
        again = watch.until(gone, lambda obs: removed not in obs.sockets and bool(named(obs, UNIT)), "another socket")
        entry.list_seconds = recovery_seconds(watch, gone)
    check_observations(watch)
    entry.outcome, entry.fault_evidence = "recovered", f"{removed} was removed, {named(again, UNIT)[0]} took its place"
    assert is_unaffected(watch, FAKE)
    assert plugin.registrations(FAKE) == others
    assert plugin.identity() == life


def named(obs: Observation, resource: str) -> list[str]:
    """The sockets of a resource."""
    return [name for name in obs.sockets if name.startswith(socket_prefix(resource))]


def sockets(watch: Watch, resource: str) -> list[str]:
    """The sockets of a resource, at the last observation."""
    return named(watch.observations[-1], resource)


def test_d4_a_killed_plugin_leaves_its_sockets(plugin: Plugin, record: Recorder) -> None:
    entry, life, process = (record("D04", "plugin killed, its sockets stay"), plugin.identity(), plugin.process())
    with plugin.watched(plugin.pod()) as watch:
        # It is not started again before the sockets that it left have been seen.
        plugin.node.kubelet().send(signal.SIGSTOP)
        process.send(signal.SIGKILL)
        killed = time.monotonic()
        stale = watch.until(killed, lambda obs: obs.ready == 0, "no plugin that answers").sockets
        plugin.node.kubelet().send(signal.SIGCONT)
        until(lambda: plugin.processes() not in ([], [process]), "another process of the plugin", WAIT_TIMEOUT)
        entry.list_seconds = recovery_seconds(watch, start_time(plugin.process()))
        last = watch.observations[-1].sockets
    check_observations(watch)
    entry.outcome, entry.fault_evidence = "recovered", f"{', '.join(stale)} outlived process {process.pid}"
    assert len(stale) == len(IDS)
    assert not set(stale) & set(last), "stale sockets are still there"
    assert plugin.identity()["restartCount"] == life["restartCount"] + 1


def test_d8_a_broken_configuration_is_refused(plugin: Plugin, record: Recorder) -> None:
    entry, life = record("D08", "configuration replaced by a broken one"), plugin.identity()
    broken = yaml.safe_dump({"version": "v1", **CONFIG}).replace("count: 2", "count: many")
    with plugin.watched(plugin.pod()) as watch:
        plugin.configure(broken)
        refused = watch.until(0, lambda obs: "is refused" in obs.message, "a configuration that is refused")
        stays(lambda: watch.observations[-1].ready == 200, "a plugin that is ready", 3)
        assert "device_plugin_config_accepted 0.0" in plugin.page("/metrics")
        plugin.configure(yaml.safe_dump({"version": "v1", **CONFIG}))
        mended = watch.until(
            time.monotonic(), lambda obs: "is refused" not in obs.message, "a configuration that is taken"
        )
        entry.list_seconds = recovery_seconds(watch, mended.began)
    check_observations(watch)
    entry.outcome, entry.fault_evidence = "last good one kept", refused.message.splitlines()[-1]
    assert "many" in entry.fault_evidence
    assert {obs.ready for obs in watch.observations} == {200}
    assert is_unaffected(watch, UNIT)
    assert is_unaffected(watch, FAKE)
    assert plugin.identity() == life


def twin(plugin: Plugin) -> Json:
    """The same plugin as a pod of its own, on the same node."""
    made = plugin.cluster.lab.get("daemonset", f"--namespace={NAMESPACE}", NAMESPACE)["spec"]["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "twin", "namespace": NAMESPACE, "labels": {"example.com/twin": "true"}},
        "spec": {**made["spec"], "nodeName": plugin.node.name},
    }


def test_d10_two_plugins_on_one_resource(plugin: Plugin, record: Recorder) -> None:
    entry, life, lab = (
        record("D10", "a younger plugin on the same resources, and gone again"),
        plugin.identity(),
        plugin.cluster.lab,
    )
    with plugin.watched(plugin.pod()) as old:
        lab.kubectl("apply", "--filename=-", stdin=yaml.safe_dump(twin(plugin)))
        with plugin.watched(plugin.pod("example.com/twin")) as young:
            young.until(0, lambda obs: obs.is_right(IDS), "a younger one that is ready")
            waits = old.until(
                0, lambda obs: obs.ready == 503 and "newer process" in obs.message, "an older one that waits"
            )
            both = plugin.processes()
            stays(lambda: young.observations[-1].ready == 200, "a younger one that is ready", 3)
        lab.kubectl("delete", "pod", "twin", f"--namespace={NAMESPACE}", "--wait=false")
        until(lambda: len(plugin.processes()) == 1, "the end of the younger one", WAIT_TIMEOUT)
        entry.list_seconds = recovery_seconds(old, time.monotonic())
    check_observations(old)
    check_observations(young)
    entry.outcome, entry.fault_evidence = (
        "recovered",
        f"{len(both)} processes; the older one said: {waits.message.splitlines()[0]}",
    )
    assert len(both) == 2
    assert plugin.identity() == life


def test_d10_a_rolling_update(plugin: Plugin, record: Recorder) -> None:
    entry, former, process, lab = record("D10", "rolling update"), plugin.pod(), plugin.process(), plugin.cluster.lab
    lab.kubectl("rollout", "restart", f"--namespace={NAMESPACE}", f"daemonset/{NAMESPACE}")
    with plugin.watched(plugin.pod(other_than=former["metadata"]["name"])) as watch:
        until(lambda: plugin.processes() not in ([], [process]), "another process of the plugin", WAIT_TIMEOUT)
        entry.list_seconds = recovery_seconds(watch, start_time(plugin.process()))
    check_observations(watch)
    entry.outcome, entry.fault_evidence = "recovered", f"process {process.pid} was replaced by {plugin.process().pid}"
    assert plugin.identity()["restartCount"] == 0
    lab.kubectl("rollout", "status", f"--namespace={NAMESPACE}", f"daemonset/{NAMESPACE}", "--timeout=90s")


def test_d12_a_thousand_devices(plugin: Plugin, record: Recorder) -> None:
    entry, life, ids = (
        record("D12", "a thousand devices more, and a restart of the kubelet"),
        plugin.identity(),
        {**IDS, MANY: MANY_IDS},
    )
    more = {"name": MANY, "discover": [{"fake": {"count": len(MANY_IDS)}}]}
    with plugin.watched(plugin.pod()) as watch:
        plugin.configure(yaml.safe_dump({"version": "v1", **CONFIG, "resources": [*CONFIG["resources"], more]}))
        accepted = watch.until(0, lambda obs: MANY in obs.message, "a configuration that is taken")
        seconds = [recovery_seconds(watch, accepted.began, ids)]
        assert is_unaffected(watch, UNIT)
        assert is_unaffected(watch, FAKE)
        seconds.append(restart_kubelet(plugin, watch, ids))
    check_observations(watch)
    # The API server writes a thousand as 1k.
    until(lambda: quantities.is_equal(plugin.allocatable(MANY), str(len(MANY_IDS))), "all of them in allocatable", 30)
    entry.outcome, entry.list_seconds = "recovered", max(seconds)
    entry.fault_evidence = f"allocatable was {len(MANY_IDS)}"
    assert plugin.identity() == life


def test_d17_only_the_stream_is_dropped(plugin: Plugin, record: Recorder) -> None:
    entry, life = record("D17", "the stream to the kubelet cut, its socket stays"), plugin.identity()
    before, others = plugin.registrations(UNIT), plugin.registrations(FAKE)
    with plugin.watched(plugin.pod()) as watch:
        (path,) = sockets(watch, UNIT)
        connections = disconnect(plugin.process(), plugin.node.kubelet(), f"{DIRECTORY}/{path}")
        gone = time.monotonic()
        until(lambda: plugin.registrations(UNIT) > before, "another registration", WAIT_TIMEOUT)
        entry.list_seconds = recovery_seconds(watch, gone)
        (new_path,) = sockets(watch, UNIT)
        assert new_path != path  # a kubelet takes each socket once
    check_observations(watch)
    entry.outcome, entry.fault_evidence = "recovered", f"{connections} connection to {path} was shut down"
    assert connections == 1
    assert is_unaffected(watch, FAKE)
    assert plugin.registrations(FAKE) == others
    assert plugin.identity() == life
