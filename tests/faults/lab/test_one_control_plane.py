# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a change of the only API server of a cluster."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import desired_states
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.background import Program
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.certificates import DAY, Authority
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.checks import (
    check_committed,
    check_restored,
    check_untouched,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import (
    API_SERVER,
    MANIFESTS,
    Cluster,
    Json,
    Node,
    Process,
    stays,
    until,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Recorder
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import DirectoryWatcher

pytestmark = pytest.mark.skipif("FAULTS_ONE" not in os.environ, reason="FAULTS_ONE names no lab of one control plane")

Desired = t.Mapping[str, t.Any]

REFUSED = (
    ("F01", desired_states.TITLES["F01"], desired_states.UNKNOWN_FLAG, "unknown flag"),
    ("F02", desired_states.TITLES["F02"], desired_states.UNKNOWN_GATE, "unrecognized feature gate"),
    ("F03", desired_states.TITLES["F03"], desired_states.BAD_VALUE, "invalid argument"),
    ("F04", "file that does not exist", desired_states.MISSING_FILE, "does not exist"),
    ("F04", "file that is not mounted", desired_states.UNMOUNTED_FILE, "no volume"),
    ("F05", desired_states.TITLES["F05"], desired_states.MALFORMED_FILE, "loading audit policy file"),
)


def test_a_good_change_is_committed(one: Cluster, record: Recorder) -> None:
    entry, running = record("good", desired_states.TITLES["good"]), one.first.processes()
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
        result = change.result()
    check_committed(entry, one.first, sampling.samples, result["transaction"])
    assert "--v=1" in one.first.processes()[0].arguments
    entry.fault_evidence = f"the API server was {running[0].pid} and is {one.first.processes()[0].pid}"
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
        assert not change.result()["changed"]
    assert sampling.samples.written() is None


def names(faults: t.Iterable[tuple[t.Any, ...]]) -> list[str]:
    return [f"{fault[0]}-{fault[1].replace(' ', '-')}" for fault in faults]


@pytest.mark.parametrize(("fault", "title", "desired", "message"), REFUSED, ids=names(REFUSED))
def test_is_refused_before_anything_is_written(
    one: Cluster, record: Recorder, fault: str, title: str, desired: Json, message: str
) -> None:
    entry = record(fault, title)
    running = one.first.processes()
    with one.sampled(one.first) as sampling, one.change(desired) as change:
        result = change.result()
    check_untouched(entry, one.first, sampling.samples, result, running)
    assert message in result["msg"]
    entry.fault_evidence = result["msg"]


FORCED = (REFUSED[0], REFUSED[1], REFUSED[2], REFUSED[5])


@pytest.mark.parametrize(("fault", "title", "desired", "message"), FORCED, ids=names(FORCED))
def test_without_rehearsal_it_is_restored(
    one: Cluster, record: Recorder, fault: str, title: str, desired: Json, message: str
) -> None:
    entry = record(fault, f"{title}, not rehearsed")
    with one.sampled(one.first) as sampling, one.change(desired, rehearse=False) as change:
        result = change.result()
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert message in "\n".join(result["transaction"]["log"])
    entry.fault_evidence = result["msg"]
    assert not one.first.path(desired_states.DIRECTORY).exists()


def test_what_never_gets_ready_is_restored_at_the_deadline(one: Cluster, record: Recorder) -> None:
    entry = record("F07", desired_states.TITLES["F07"])
    with one.sampled(one.first) as sampling, one.change(desired_states.UNREADY, wait_timeout=30) as change:
        result = change.result()
    assert result["rehearsal"]["verdict"] == "accepted"
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert "not healthy within 30 s: it runs, not ready yet" in result["msg"]
    entry.fault_evidence = result["msg"]


def test_what_is_ready_and_locks_its_administrator_out_is_restored(one: Cluster, record: Recorder) -> None:
    entry = record("-", "ready for every caller, but knows no client certificate any more")
    with one.sampled(one.first) as sampling, one.change(desired_states.LOCKED_OUT) as change:
        result = change.result()
    assert result["rehearsal"]["verdict"] == "accepted"
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert "answers 401 to the client of /etc/kubernetes/admin.conf" in result["msg"]
    entry.fault_evidence = result["msg"]


# ---- what the preflight looks for -------------------------------------------------------------------------------------

PKI = "/etc/kubernetes/pki"
# Names no host of the lab, nor any other.
ELSEWHERE = "192.0.2.7"


def expired(authority: Authority, address: str) -> tuple[bytes, bytes]:
    return authority.make([address, "10.96.0.1"], lasts=-DAY)


def for_another_address(authority: Authority, address: str) -> tuple[bytes, bytes]:
    del address
    return authority.make([ELSEWHERE])


def with_another_key(authority: Authority, address: str) -> tuple[bytes, bytes]:
    return authority.make([address])[0], authority.make([address])[1]


def unreadable(authority: Authority, address: str) -> tuple[bytes, bytes]:
    certificate, key = authority.make([address])
    return certificate[:300], key


CERTIFICATES = (
    ("expired", expired, "expired"),
    ("for another address", for_another_address, "is not valid for"),
    ("with another key", with_another_key, "key"),
    ("unreadable", unreadable, "PEM"),
)


@pytest.mark.parametrize(
    ("title", "make", "message"), CERTIFICATES, ids=[title.replace(" ", "-") for title, _make, _words in CERTIFICATES]
)
def test_a_bad_serving_certificate_is_refused(
    one: Cluster, record: Recorder, title: str, make: t.Callable[[Authority, str], tuple[bytes, bytes]], message: str
) -> None:
    entry, running, node = record("F13", f"serving certificate {title}"), one.first.processes(), one.first
    directory = node.path(f"{PKI}/faults")
    directory.mkdir()
    try:
        pair = make(Authority(node.path(PKI)), node.address)
        for name, content in zip(("api.crt", "api.key"), pair, strict=True):
            node.replace(directory / name, content)
        files = {"tls-cert-file": f"{PKI}/faults/api.crt", "tls-private-key-file": f"{PKI}/faults/api.key"}
        with one.sampled(node) as sampling, one.change({"args": files}) as change:
            result = change.result()
    finally:
        shutil.rmtree(directory)
    check_untouched(entry, node, sampling.samples, result, running)
    assert f"{PKI}/faults/api.crt" in result["msg"]
    assert message in result["msg"]
    entry.fault_evidence = result["msg"]


def test_a_client_certificate_that_etcd_does_not_take_is_refused(one: Cluster, record: Recorder) -> None:
    entry, running = record("F14", "client certificate of another authority than etcd's"), one.first.processes()
    pair = {
        "etcd-certfile": f"{PKI}/apiserver-kubelet-client.crt",
        "etcd-keyfile": f"{PKI}/apiserver-kubelet-client.key",
    }
    with one.sampled(one.first) as sampling, one.change({"args": pair}) as change:
        result = change.result()
    check_untouched(entry, one.first, sampling.samples, result, running)
    assert "etcd" in result["msg"]
    entry.fault_evidence = result["msg"]


def test_an_image_that_is_not_there_is_refused(one: Cluster, record: Recorder) -> None:
    entry, running = record("F11", "image of the component not on the node"), one.first.processes()
    image = yaml.safe_load(one.first.manifest().read_text(encoding="utf-8"))["spec"]["containers"][0]["image"]
    images = ("ctr", "--namespace=k8s.io", "images")
    one.first.run(*images, "tag", image, "faults.local/kept:1")
    one.first.run(*images, "remove", "--sync", image)
    try:
        with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
            result = change.result()
    finally:
        one.first.run(*images, "tag", "faults.local/kept:1", image)
        one.first.run(*images, "remove", "faults.local/kept:1")
    check_untouched(entry, one.first, sampling.samples, result, running)
    assert image in result["msg"]
    entry.fault_evidence = result["msg"]


# ---- faults of the machine while the change is waited for -------------------------------------------------------------


def wait_for_new(one: Cluster, former: t.Sequence[Process]) -> Process:
    """The first process of the new pod."""

    def new() -> Process | None:
        return next((process for process in one.first.processes() if process not in former), None)

    return t.cast(Process, until(new, "a new process of the API server", 90))


def test_what_dies_while_it_is_watched_is_restored(one: Cluster, record: Recorder) -> None:
    entry, deaths = record("F08", "ready, dies again and again while it is watched"), 0
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD, wait_timeout=45) as change:
        one.first.wait_for_phase("waiting")
        while one.first.phase() == "waiting":
            if one.first.progress().startswith("is healthy"):
                for process in one.first.processes():
                    process.send(signal.SIGKILL)
                deaths += 1
                until(lambda: not one.first.progress().startswith("is healthy"), "the death of the API server")
        result = change.result()
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert deaths > 1
    entry.fault_evidence = f"killed {deaths} times while healthy; {result['msg']}"


SLOW_SECONDS = 200


def test_a_slow_start_is_waited_for(one: Cluster, record: Recorder) -> None:
    entry, former = record("F09", f"start takes {SLOW_SECONDS} s longer"), one.first.processes()
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD, wait_timeout=300) as change:
        process = wait_for_new(one, former)
        process.send(signal.SIGSTOP)
        stays(lambda: one.first.phase() == "waiting", "the wait of the engine", SLOW_SECONDS)
        process.send(signal.SIGCONT)
        result = change.result()
    check_committed(entry, one.first, sampling.samples, result["transaction"])
    assert max(entry.outages) > SLOW_SECONDS
    entry.fault_evidence = f"the API server was stopped for {SLOW_SECONDS} s after its start"


# Takes the port as soon as it is free, and leaves when its input is closed.
PORT_OCCUPIER = """
import select, socket, sys
occupier = socket.socket(socket.AF_INET6)
occupier.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
occupier.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
while not select.select([sys.stdin], [], [], 0.005)[0]:
    try:
        occupier.bind(("::", 6443))
        occupier.listen()
        break
    except OSError:
        pass
print("taken", flush=True)
sys.stdin.read()
"""


def occupy_port(one: Cluster) -> Program:
    """Another program on the node that wants the API server's port."""
    return one.first.program("python3", "-c", PORT_OCCUPIER, output=one.records / "runs" / "port_occupier.txt")


def test_a_port_that_is_taken_for_a_while_is_waited_for(one: Cluster, record: Recorder) -> None:
    entry = record("F10", "port taken until the first start failed")
    with (
        one.sampled(one.first) as sampling,
        occupy_port(one) as occupier,
        one.change(desired_states.GOOD, wait_timeout=90) as change,
    ):
        until(lambda: "is down after" in one.first.progress(), "a start that failed", 90)
        entry.fault_evidence = f"the port was {occupier.output.read_text().strip()}: {one.first.progress()}"
        occupier.close_input()
        result = change.result()
    assert "taken" in entry.fault_evidence
    check_committed(entry, one.first, sampling.samples, result["transaction"])


def test_a_port_that_stays_taken_is_restored(one: Cluster, record: Recorder) -> None:
    entry = record("F10", "port taken until the former files are back")
    with (
        one.sampled(one.first) as sampling,
        occupy_port(one) as occupier,
        one.change(desired_states.GOOD, wait_timeout=90) as change,
    ):
        one.first.wait_for_phase("verifying", seconds=180)
        entry.fault_evidence = f"the port was {occupier.output.read_text().strip()}"
        occupier.close_input()
        result = change.result()
    assert "taken" in entry.fault_evidence
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert "address already in use" in "\n".join(result["transaction"]["log"])


# Less than half of what an API server needs.
LITTLE_MEMORY = 64 * 1024 * 1024


def test_what_is_killed_for_its_memory_is_restored(one: Cluster, record: Recorder) -> None:
    entry, former, limited = record("F12", "killed for its memory, again and again"), one.first.processes(), ""
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
        group = wait_for_new(one, former).memory_group()
        limited = until(lambda: group.limit(LITTLE_MEMORY), "the limit")
        one.first.wait_for_phase("verifying", seconds=180)
        result = change.result()
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert "was never ready" in result["msg"]
    entry.fault_evidence = f"{limited}; {result['msg']}"


# ---- the controller and the node go away -----------------------------------------------------------------------------


def test_the_node_restores_itself_when_everything_else_is_killed(one: Cluster, record: Recorder) -> None:
    entry = record("F16", desired_states.TITLES["F16"])
    with one.sampled(one.first) as sampling:
        with one.change(desired_states.UNREADY, wait_timeout=30) as change:
            one.first.wait_for_phase("waiting")
            change.kill()
            modules = one.first.modules()
            for process in modules:
                process.send(signal.SIGKILL)
            at_the_kill = one.first.phase()
        ended = one.first.wait_for_end()
    assert at_the_kill == "waiting"
    entry.fault_evidence = f"killed in the phase {at_the_kill}; {ended['reason']}"
    check_restored(entry, one.first, sampling.samples, ended)
    assert ended["seconds"] < 30 + 300
    with one.change({}) as following:
        result = following.result()
    assert not result["changed"]
    assert result["previous_transaction"]["outcome"] == "rolled_back"
    assert any("rolled_back" in line or "rolled back" in line for line in result["warnings"])


RESTARTS = (
    ("restarted", Node.restart, desired_states.UNREADY, "rolled_back"),
    ("restarted", Node.restart, desired_states.GOOD, "committed"),
    ("cut off from power", Node.crash, desired_states.UNREADY, "rolled_back"),
    ("cut off from power", Node.crash, desired_states.GOOD, "committed"),
)


@pytest.mark.parametrize(
    ("how", "restart", "desired", "expected"),
    RESTARTS,
    ids=[f"{how}-{outcome}".replace(" ", "-") for how, _1, _2, outcome in RESTARTS],
)
def test_a_node_that_is_restarted_in_the_middle_ends_the_change_by_itself(
    one: Cluster, record: Recorder, how: str, restart: t.Callable[[Node], None], desired: Json, expected: str
) -> None:
    entry, boot = record("F17", f"node {how} in the middle of a change that is {expected}"), one.first.boot()
    with one.sampled(one.first) as sampling:
        with one.change(desired, wait_timeout=45 if expected == "rolled_back" else 240) as change:
            one.first.wait_for_phase("waiting")
            change.kill()
            restart(one.first)
        journal = one.first.journal()
        ended = one.first.wait_for_end()
    assert journal is not None, "it had ended before the restart"
    assert one.first.boot() != boot
    entry.fault_evidence = f"systemd was restarted in the phase {journal['phase']}"
    (check_restored if expected == "rolled_back" else check_committed)(entry, one.first, sampling.samples, ended)


# ---- several at once -------------------------------------------------------------------------------------------------


def test_a_second_run_is_refused_with_the_name_of_who_is_at_work(one: Cluster, record: Recorder) -> None:
    entry = record("F24", "two runs on one node")
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD, min_ready_seconds=20) as change:
        one.first.wait_for_phase("waiting")
        identifier = (one.first.journal() or {})["id"]
        with one.change({"args": {"v": 2}}) as second:
            refused = second.result()
        result = change.result()
    assert refused["failed"]
    assert (
        f"a change of kube-apiserver on {one.first.name} is open: transaction {identifier}, started from"
        in refused["msg"]
    )
    entry.fault_evidence = refused["msg"]
    check_committed(entry, one.first, sampling.samples, result["transaction"])


# ---- the directory ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def without_kubelet(node: Node) -> t.Iterator[None]:
    """Stop the kubelet for the block, so that it sees what changed when it starts."""
    node.systemctl("stop", "kubelet")
    try:
        yield
    finally:
        node.systemctl("start", "kubelet")
        until(node.has_healthy_kubelet, "a healthy kubelet")


def test_a_stray_file_is_refused_and_named(one: Cluster, record: Recorder) -> None:
    entry, running = record("F31", "a copy of the manifest under a name that comes first"), one.first.processes()
    # It comes first in the alphabet, and of two with one name the last one wins: a kubelet that finds both at its start goes on
    # with the manifest. If it saw the copy while it runs, it would start that one for some seconds.
    stray = one.first.path(f"{MANIFESTS}/a-copy.yaml")
    with without_kubelet(one.first):
        one.first.replace(stray, one.first.manifest().read_bytes())
    try:
        with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
            result = change.result()
    finally:
        with without_kubelet(one.first):
            stray.unlink()
    check_untouched(entry, one.first, sampling.samples, result, running)
    assert f"{MANIFESTS}/{stray.name}" in result["msg"]
    entry.fault_evidence = result["msg"]


def test_a_backup_that_appears_in_the_middle_is_named(one: Cluster, record: Recorder) -> None:
    entry = record("F31", "an editor's backup that appears in the middle")
    backup = one.first.path(f"{MANIFESTS}/kube-apiserver.yaml~")
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD, wait_timeout=40) as change:
        one.first.wait_for_phase("waiting")
        one.first.replace(backup, (one.original(one.first) / "kube-apiserver.yaml").read_bytes())
        # As soon as the journal says that it did not come up; the test that put it there takes it away again.
        until(lambda: one.first.phase() in (None, "verifying"), "the end of the wait", 120)
        backup.unlink()
        result = change.result()
    ended = result["transaction"]
    entry.outcome, entry.runs_then = ended["outcome"], "old"
    entry.observe(sampling.samples)
    assert ended["outcome"] == "rolled_back"
    assert f"{MANIFESTS}/{backup.name}" in result["msg"]
    entry.fault_evidence = result["msg"]


# ---- the kubelet and the container runtime -----------------------------------------------------------------------------


def test_a_stopped_kubelet_is_refused(one: Cluster, record: Recorder) -> None:
    entry, running = record("F35", "kubelet stopped before the change"), one.first.processes()
    one.first.systemctl("stop", "kubelet")
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
        result = change.result()
    check_untouched(entry, one.first, sampling.samples, result, running)
    assert "kubelet" in result["msg"]
    entry.fault_evidence = result["msg"]


def test_a_hung_kubelet_is_refused(one: Cluster, record: Recorder) -> None:
    entry, running, kubelet = (
        record("F35", "kubelet hung before the change"),
        one.first.processes(),
        one.first.kubelet(),
    )
    kubelet.send(signal.SIGSTOP)
    try:
        with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
            result = change.result()
    finally:
        kubelet.send(signal.SIGCONT)
    check_untouched(entry, one.first, sampling.samples, result, running)
    assert "kubelet" in result["msg"]
    entry.fault_evidence = result["msg"]


def test_a_kubelet_that_stops_in_the_middle_is_named(one: Cluster, record: Recorder) -> None:
    entry = record("F35", "kubelet stopped in the middle")
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD, wait_timeout=30) as change:
        one.first.wait_for_phase("waiting")
        until(lambda: not one.first.processes(), "the end of the former API server")
        one.first.systemctl("stop", "kubelet")
        entry.fault_evidence = (
            f"the kubelet was {one.first.systemctl('is-active', 'kubelet')} in the phase {one.first.phase()}"
        )
        one.first.wait_for_phase("verifying")
        one.first.systemctl("start", "kubelet")
        result = change.result()
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert "kubelet" in result["transaction"]["reason"].replace("kubelet also reads", "")


def test_a_manifest_whose_change_the_kubelet_is_not_informed_of_is_waited_for(one: Cluster, record: Recorder) -> None:
    """The kubelet watches its directory. Behind a link a change is only found when it reads all files again, every 20 seconds."""
    entry, manifest = record("F36", "the kubelet is not told of the change"), one.first.manifest()
    behind, link = one.first.path("/etc/kubernetes/behind"), manifest.with_name(".link")
    behind.mkdir()
    one.first.replace(behind / manifest.name, manifest.read_bytes())
    link.symlink_to(f"../behind/{manifest.name}")
    watcher = DirectoryWatcher(manifest.parent)
    link.rename(manifest)
    assert watcher.events(), "this would not see a change either"
    try:
        with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
            until(sampling.written, "the write", 60)
            events = watcher.events()
            result = change.result()
        check_committed(entry, one.first, sampling.samples, result["transaction"])
        assert manifest.is_symlink()
    finally:
        watcher.close()
        one.reset()
        shutil.rmtree(behind)
    assert events == []
    entry.fault_evidence = "the manifest had changed, and the kernel had told no watcher of its directory"


def test_a_restarted_container_runtime_makes_no_restore(one: Cluster, record: Recorder) -> None:
    entry, former = record("F37", "containerd restarted in the wait, twice"), one.first.processes()
    with one.sampled(one.first) as sampling, one.change(desired_states.GOOD) as change:
        one.first.wait_for_phase("waiting")
        until(lambda: not one.first.processes(), "the end of the former API server")
        pids = [one.first.systemctl("show", "--property=MainPID", "containerd")]
        one.first.systemctl("restart", "containerd")
        wait_for_new(one, former)
        pids.append(one.first.systemctl("show", "--property=MainPID", "containerd"))
        one.first.systemctl("restart", "containerd")
        pids.append(one.first.systemctl("show", "--property=MainPID", "containerd"))
        result = change.result()
    assert len(set(pids)) == 3
    entry.fault_evidence = f"containerd was {', then '.join(pids)}"
    check_committed(entry, one.first, sampling.samples, result["transaction"])


# ---- the rollback ----------------------------------------------------------------------------------------------------


def test_the_rollback_leads_to_the_newest_verified_state(one: Cluster, record: Recorder) -> None:
    """Two good changes, then one that was restored: what is rolled back is the second, not the third nor both."""
    entry, first = record("F45", "the last change did not hold, the one before it is rolled back"), one.first
    for desired in (desired_states.GOOD, {"args": {"event-ttl": "2h"}}):
        with one.change(desired) as change:
            assert change.result()["transaction"]["outcome"] == "committed"
    with one.change(desired_states.BAD_VALUE, rehearse=False) as change:
        assert change.result()["transaction"]["outcome"] == "rolled_back"
    good = first.history()[1]["id"]
    with one.task(first, "static_pod_info", {"name": API_SERVER}) as info_task:
        static_pod = info_task.result()["static_pods"][0]
    with one.sampled(first) as sampling, one.change({}, state="previous") as change:
        result = change.result()
    assert static_pod["last_known_good"] == good
    assert static_pod["undo"]["transaction"] == good
    assert [(each["key"], each["after"]) for each in result["operations"]] == [("event-ttl", None)]
    check_committed(entry, first, sampling.samples, result["transaction"])
    arguments = first.processes()[0].arguments
    assert "--v=1" in arguments
    assert "--event-ttl=2h" not in arguments
    with one.change({}, state="previous") as change:
        assert not change.result()["changed"]
    entry.fault_evidence = f"of three changes the second, {good}, was rolled back"
