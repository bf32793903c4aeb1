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
    Look,
    Plugin,
    Watch,
    back,
    cut,
    judge,
    started,
    stem,
    unaffected,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Recorder

pytestmark = pytest.mark.skipif("FAULTS_ONE" not in os.environ, reason="FAULTS_ONE names no lab of one control plane")

RESTARTS = 20
RESTARTS_SECONDS = 300.0
LOOKS_DOWN = 5
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
def held(plugin: Plugin) -> t.Iterator[t.Callable[[], Json]]:
    """What tells one life of the container that holds a device from another."""
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
    before = watch.looks[-1].kubelet
    plugin.node.systemctl("stop", "kubelet")
    down = time.monotonic()
    noticed = watch.until(down, lambda look: look.ready == 503, "a plugin that is not ready")
    until(lambda: len(between(watch, noticed.begun, time.monotonic())) >= LOOKS_DOWN, "some looks while it is down")
    plugin.node.systemctl("start", "kubelet")
    there = watch.until(noticed.done, lambda look: look.kubelet not in (None, before), "another kubelet.sock")
    assert noticed.done - down <= NOTICED
    assert {look.ready for look in between(watch, noticed.begun, there.begun)} == {503}
    return back(watch, there.begun, ids)


def between(watch: Watch, first: float, last: float) -> list[Look]:
    """The looks from one moment to another."""
    return [look for look in watch.looks if look.begun >= first and look.done <= last]


def test_d1_the_kubelet_is_restarted_again_and_again(
    plugin: Plugin, held: t.Callable[[], Json], record: Recorder
) -> None:
    entry, life, pod_life, began = (
        record("D01", f"kubelet restarted {RESTARTS} times"),
        plugin.lives(),
        held(),
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
    entry.reached = f"{len(kubelets)} kubelets, one after the other, in {took:.0f} s"
    judge(watch)
    assert len(kubelets) == RESTARTS + 1
    assert took <= RESTARTS_SECONDS
    assert plugin.lives() == life
    assert held() == pod_life


def test_d3_its_own_socket_is_removed(plugin: Plugin, record: Recorder) -> None:
    entry, life, others = record("D03", "the plugin's own socket removed"), plugin.lives(), plugin.registrations(FAKE)
    with plugin.watched(plugin.pod()) as watch:
        (removed,) = sockets(watch, UNIT)
        plugin.node.run("rm", f"{DIRECTORY}/{removed}")
        gone = time.monotonic()
        again = watch.until(
            gone, lambda look: removed not in look.sockets and bool(named(look, UNIT)), "another socket"
        )
        entry.list_seconds = back(watch, gone)
    judge(watch)
    entry.outcome, entry.reached = "recovered", f"{removed} was removed, {named(again, UNIT)[0]} took its place"
    assert unaffected(watch, FAKE)
    assert plugin.registrations(FAKE) == others
    assert plugin.lives() == life


def named(look: Look, resource: str) -> list[str]:
    """The sockets of a resource."""
    return [name for name in look.sockets if name.startswith(stem(resource))]


def sockets(watch: Watch, resource: str) -> list[str]:
    """The sockets of a resource, at the last look."""
    return named(watch.looks[-1], resource)


def test_d4_a_killed_plugin_leaves_its_sockets(plugin: Plugin, record: Recorder) -> None:
    entry, life, process = record("D04", "plugin killed, its sockets stay"), plugin.lives(), plugin.process()
    with plugin.watched(plugin.pod()) as watch:
        # It is not started again before the sockets that it left have been seen.
        plugin.node.kubelet().send(signal.SIGSTOP)
        process.send(signal.SIGKILL)
        killed = time.monotonic()
        stale = watch.until(killed, lambda look: look.ready == 0, "no plugin that answers").sockets
        plugin.node.kubelet().send(signal.SIGCONT)
        until(lambda: plugin.processes() not in ([], [process]), "another process of the plugin", WAIT_TIMEOUT)
        entry.list_seconds = back(watch, started(plugin.process()))
        last = watch.looks[-1].sockets
    judge(watch)
    entry.outcome, entry.reached = "recovered", f"{', '.join(stale)} outlived process {process.pid}"
    assert len(stale) == len(IDS)
    assert not set(stale) & set(last), "stale sockets are still there"
    assert plugin.lives()["restartCount"] == life["restartCount"] + 1


def test_d8_a_broken_configuration_is_refused(plugin: Plugin, record: Recorder) -> None:
    entry, life = record("D08", "configuration replaced by a broken one"), plugin.lives()
    broken = yaml.safe_dump({"version": "v1", **CONFIG}).replace("count: 2", "count: many")
    with plugin.watched(plugin.pod()) as watch:
        plugin.configure(broken)
        refused = watch.until(0, lambda look: "is refused" in look.says, "a configuration that is refused")
        stays(lambda: watch.looks[-1].ready == 200, "a plugin that is ready", 3)
        assert "device_plugin_config_accepted 0.0" in plugin.page("/metrics")
        plugin.configure(yaml.safe_dump({"version": "v1", **CONFIG}))
        mended = watch.until(
            time.monotonic(), lambda look: "is refused" not in look.says, "a configuration that is taken"
        )
        entry.list_seconds = back(watch, mended.begun)
    judge(watch)
    entry.outcome, entry.reached = "last good one kept", refused.says.splitlines()[-1]
    assert "many" in entry.reached
    assert {look.ready for look in watch.looks} == {200}
    assert unaffected(watch, UNIT)
    assert unaffected(watch, FAKE)
    assert plugin.lives() == life


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
        plugin.lives(),
        plugin.cluster.lab,
    )
    with plugin.watched(plugin.pod()) as old:
        lab.kubectl("apply", "--filename=-", stdin=yaml.safe_dump(twin(plugin)))
        with plugin.watched(plugin.pod("example.com/twin")) as young:
            young.until(0, lambda look: look.is_right(IDS), "a younger one that is ready")
            waits = old.until(
                0, lambda look: look.ready == 503 and "newer process" in look.says, "an older one that waits"
            )
            both = plugin.processes()
            stays(lambda: young.looks[-1].ready == 200, "a younger one that is ready", 3)
        lab.kubectl("delete", "pod", "twin", f"--namespace={NAMESPACE}", "--wait=false")
        until(lambda: len(plugin.processes()) == 1, "the end of the younger one", WAIT_TIMEOUT)
        entry.list_seconds = back(old, time.monotonic())
    judge(old)
    judge(young)
    entry.outcome, entry.reached = (
        "recovered",
        f"{len(both)} processes; the older one said: {waits.says.splitlines()[0]}",
    )
    assert len(both) == 2
    assert plugin.lives() == life


def test_d10_a_rolling_update(plugin: Plugin, record: Recorder) -> None:
    entry, former, process, lab = record("D10", "rolling update"), plugin.pod(), plugin.process(), plugin.cluster.lab
    lab.kubectl("rollout", "restart", f"--namespace={NAMESPACE}", f"daemonset/{NAMESPACE}")
    with plugin.watched(plugin.pod(other_than=former["metadata"]["name"])) as watch:
        until(lambda: plugin.processes() not in ([], [process]), "another process of the plugin", WAIT_TIMEOUT)
        entry.list_seconds = back(watch, started(plugin.process()))
    judge(watch)
    entry.outcome, entry.reached = "recovered", f"process {process.pid} was replaced by {plugin.process().pid}"
    assert plugin.lives()["restartCount"] == 0
    lab.kubectl("rollout", "status", f"--namespace={NAMESPACE}", f"daemonset/{NAMESPACE}", "--timeout=90s")


def test_d12_a_thousand_devices(plugin: Plugin, record: Recorder) -> None:
    entry, life, ids = (
        record("D12", "a thousand devices more, and a restart of the kubelet"),
        plugin.lives(),
        {**IDS, MANY: MANY_IDS},
    )
    more = {"name": MANY, "discover": [{"fake": {"count": len(MANY_IDS)}}]}
    with plugin.watched(plugin.pod()) as watch:
        plugin.configure(yaml.safe_dump({"version": "v1", **CONFIG, "resources": [*CONFIG["resources"], more]}))
        taken = watch.until(0, lambda look: MANY in look.says, "a configuration that is taken")
        seconds = [back(watch, taken.begun, ids)]
        assert unaffected(watch, UNIT)
        assert unaffected(watch, FAKE)
        seconds.append(restart_kubelet(plugin, watch, ids))
    judge(watch)
    # The API server writes a thousand as 1k.
    until(lambda: quantities.same(plugin.allocatable(MANY), str(len(MANY_IDS))), "all of them in allocatable", 30)
    entry.outcome, entry.list_seconds = "recovered", max(seconds)
    entry.reached = f"allocatable was {len(MANY_IDS)}"
    assert plugin.lives() == life


def test_d17_only_the_stream_is_dropped(plugin: Plugin, record: Recorder) -> None:
    entry, life = record("D17", "the stream to the kubelet cut, its socket stays"), plugin.lives()
    before, others = plugin.registrations(UNIT), plugin.registrations(FAKE)
    with plugin.watched(plugin.pod()) as watch:
        (path,) = sockets(watch, UNIT)
        connections = cut(plugin.process(), plugin.node.kubelet(), f"{DIRECTORY}/{path}")
        gone = time.monotonic()
        until(lambda: plugin.registrations(UNIT) > before, "another registration", WAIT_TIMEOUT)
        entry.list_seconds = back(watch, gone)
        (taken,) = sockets(watch, UNIT)
        assert taken != path  # a kubelet takes each socket once
    judge(watch)
    entry.outcome, entry.reached = "recovered", f"{connections} connection to {path} was shut down"
    assert connections == 1
    assert unaffected(watch, FAKE)
    assert plugin.registrations(FAKE) == others
    assert plugin.lives() == life
