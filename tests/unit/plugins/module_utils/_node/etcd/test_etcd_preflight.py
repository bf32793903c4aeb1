# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight of a change of etcd: its identity, its data, its cluster, and the snapshot before a forced change."""

from __future__ import annotations

import dataclasses
import re
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import run_probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd import etcd_preflight
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import programs
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import preflight, static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import state
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import ACCEPTED
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.preflight_site import UID, Site


@pytest.fixture(name="etcd_pod")
def fixture_etcd_pod(site: Site, member: FakeEtcd, authority: Authority, server: Pair) -> static_pods.StaticPod:
    """The static pod of the member."""
    site.write("server", server)
    (site.pki / "ca.crt").write_bytes(authority.certificate)
    text = samples.etcd(f"--listen-client-urls={member.url}", "--name=cp10").replace(
        "/etc/kubernetes/pki/etcd", str(site.pki)
    )
    return site.pod("etcd", text)


def others(member: FakeEtcd, *healthy: bool) -> None:
    """Further members of the cluster."""
    assert member.members is not None
    urls = (member.url if each else "https://127.0.0.1:1" for each in healthy)
    member.members += [member.member(str(number), [url]) for number, url in enumerate(urls, 20)]


def test_a_cluster_of_which_nothing_is_to_change_is_observed_all_the_same(
    etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    others(member, True, True)
    assert etcd_preflight.unverified_cluster(etcd_pod) == []
    member.alarms = {"20": "NOSPACE"}
    (limit,) = etcd_preflight.unverified_cluster(etcd_pod)
    assert limit.startswith("whether it takes writes and has its members: etcd has the alarm NOSPACE of member 20.")
    member.members = None
    (limit,) = etcd_preflight.unverified_cluster(etcd_pod)
    assert "answers 404" in limit


def test_a_single_member_is_stopped_with_a_warning(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    site.start(etcd_pod)
    (warning,) = site.check(etcd_pod, snapshot_count=5000)
    assert "etcd has one member" in warning


def test_a_member_with_its_settings_in_variables_is_queried_as_well(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    """As etcd's own guides and manifests of installers have it."""
    pattern = r"    - --(cert-file|key-file|trusted-ca-file|listen-client-urls)=(.*)\n"
    given = re.findall(pattern, etcd_pod.manifest.text)
    assert len(given) == 4
    entries = "".join(f"    - name: ETCD_{_variable(name)}\n      value: {value}\n" for name, value in given)
    text = re.sub(pattern, "", etcd_pod.manifest.text).replace(
        "    name: etcd\n", f"    env:\n{entries}    name: etcd\n", 1
    )
    pod = site.pod("etcd", text)
    site.start(pod)
    (warning,) = site.check(pod, snapshot_count=5000)
    assert "etcd has one member" in warning
    others(member, True, False)
    with pytest.raises(Refusal, match=r"would lose its majority"):
        site.check(pod, snapshot_count=5000)


def _variable(flag: str) -> str:
    return flag.upper().replace("-", "_")


def test_a_member_that_the_majority_needs_is_not_stopped(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    site.start(etcd_pod)
    others(member, True, True)
    assert site.check(etcd_pod, snapshot_count=5000) == ()
    assert member.members is not None
    member.members[2]["clientURLs"] = ["https://127.0.0.1:1"]
    with pytest.raises(Refusal, match=r"would lose its majority .*cp10 healthy, cp20 healthy, cp21 not healthy"):
        site.check(etcd_pod, snapshot_count=5000)


def test_a_member_that_is_down_already_is_not_requested(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    others(member, True, False)
    assert site.check(etcd_pod, snapshot_count=5000) == ()
    assert member.requests == []


def test_a_majority_that_cannot_be_known_is_not_risked(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    site.start(etcd_pod)
    member.members = None
    with pytest.raises(Refusal, match=r"could not be listed .*answers 404.* whether a majority is left"):
        site.check(etcd_pod, snapshot_count=5000)
    site.web.health_status = 503
    (warning,) = site.check(etcd_pod, snapshot_count=5000)
    assert "is tried anyway" in warning


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("data_dir", "/other"),
        ("wal_dir", "/other"),
        ("name", "other"),
        ("initial_cluster_state", "new"),
        ("listen_peer_urls", "https://10.0.0.12:2380"),
    ],
)
def test_what_the_cluster_knows_a_member_by_is_not_changed(
    site: Site, etcd_pod: static_pods.StaticPod, flag: str, value: str
) -> None:
    with pytest.raises(Refusal, match=rf"{flag.replace('_', '-')}: .* -> {value}"):
        site.check(etcd_pod, **{flag: value})
    site.start(etcd_pod)
    with pytest.raises(Refusal, match=rf"{flag.replace('_', '-')}: .* -> {value}"):
        site.check(etcd_pod, **{flag: value})


def test_a_running_member_is_not_started_over_other_data(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    (warning,) = site.check_volume(etcd_pod)
    assert "other data" in warning
    site.start(etcd_pod)
    with pytest.raises(Refusal, match=r"other data \(data-dir: .*elsewhere\)"):
        site.check_volume(etcd_pod)


def test_a_member_whose_logs_are_elsewhere_runs_all_the_same(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    """Its kubelet has another podLogsDir."""
    (site.root / "kubelet" / "pods" / UID / "containers" / "etcd").mkdir(parents=True)
    site.start_process(etcd_pod)
    (warning,) = site.check(etcd_pod, snapshot_count=5000)
    assert "etcd has one member" in warning
    with pytest.raises(Refusal, match=r"the member on .* runs, and would start over other data"):
        site.check_volume(etcd_pod)


def test_member_whose_data_were_unmounted_is_not_restarted(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    """Its container still has the disk, and a new one would begin with an empty directory."""
    site.start(etcd_pod)
    opened = site.root / "proc" / "100" / "root"
    opened.joinpath(*site.data.parent.parts[1:]).mkdir(parents=True)
    opened.joinpath(*site.data.parts[1:]).symlink_to(site.data)
    assert "such as behind" not in " ".join(site.check(etcd_pod, snapshot_count=5000))
    site.data.rename(site.root / "unmounted")
    opened.joinpath(*site.data.parts[1:]).unlink()
    opened.joinpath(*site.data.parts[1:]).symlink_to(site.root / "unmounted")
    for make in (lambda: None, site.data.mkdir):
        make()
        with pytest.raises(Refusal, match=r"is not what the running etcd has open as .*Bring the directory back"):
            site.check(etcd_pod, snapshot_count=5000)
    (site.root / "unmounted" / "member").rename(site.data / "member")
    site.force = True
    assert any(
        warning.startswith("forced: ") and "not what the running" in warning
        for warning in site.check(etcd_pod, snapshot_count=5000)
    )


def test_a_member_that_cannot_be_matched_is_not_taken_for_a_stopped_one(
    site: Site, etcd_pod: static_pods.StaticPod
) -> None:
    site.start_process(etcd_pod)
    matched = r"etcd on .* runs in the node's network \(PID 100\), and could not be matched"
    for check in (site.check_volume, lambda pod: site.check(pod, snapshot_count=5000)):
        with pytest.raises(Refusal, match=matched) as raised:
            check(etcd_pod)
        assert "is down" not in str(raised.value)
    (site.root / "proc" / "100" / "ns" / "net").unlink()
    (site.root / "proc" / "100" / "ns" / "net").symlink_to("net:[2]")
    (warning,) = site.check_volume(etcd_pod)
    assert "does not run" in warning, "a hosted control plane's"
    assert site.check(etcd_pod, snapshot_count=5000) == ()


@pytest.mark.parametrize("value", [True, "1", "true"])
def test_a_new_cluster_is_not_made_by_a_manifest(site: Site, etcd_pod: static_pods.StaticPod, value: t.Any) -> None:
    with pytest.raises(Refusal, match="force-new-cluster"):
        site.check(etcd_pod, force_new_cluster=value)
    assert site.check(etcd_pod, force_new_cluster="false") == ()


def test_the_proof_queries_the_member_where_its_clients_do(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    journal: t.Any = {"watch": {"before": {"probes": []}, "after": {"probes": []}}}
    site.write("renewed", Pair(*((site.pki / f"server.{ending}").read_bytes() for ending in ("crt", "key"))))
    change = {"cert_file": f"{site.pki}/renewed.crt", "key_file": f"{site.pki}/renewed.key"}
    plan = site.plan(etcd_pod, listen_client_urls="https://127.0.0.1:1", **change)
    etcd_preflight.add_member_probes(journal, plan, str(site.root), site.node)
    assert "unverified" not in journal["watch"]
    (before,), (after,) = (journal["watch"][side]["probes"] for side in ("before", "after"))
    assert run_probe(before)[0]
    # At the address of its clients now, whatever it listens at then; with the certificates that it has then.
    renewed = {"certificate": f"{site.pki}/renewed.crt", "key": f"{site.pki}/renewed.key"}
    assert after == {**before, **renewed}
    clients = [journal["watch"][side]["etcd"] for side in ("before", "after")]
    assert clients[0]["url"] == member.url
    assert clients[1] == {**clients[0], **renewed}


@pytest.mark.parametrize("is_trusted", [True, False])
def test_the_proof_queries_as_the_api_server_does_where_that_is_answered(
    site: Site, etcd_pod: static_pods.StaticPod, server: Pair, authority: Authority, is_trusted: bool
) -> None:
    """In the last step of a rotation the member may trust its own clients and none of the API server's."""
    site.write("apiserver-etcd-client", server if is_trusted else Authority(site.root / "other").issue())
    flags = [
        f"--etcd-{part}={site.pki}/apiserver-etcd-client.{end}"
        for part, end in (("certfile", "crt"), ("keyfile", "key"))
    ]
    (site.root / "kube-apiserver.yaml").write_text(
        samples.with_command(*flags).replace("/etc/kubernetes/pki", str(site.pki)), encoding="utf-8"
    )
    journal: t.Any = {"watch": {"before": {"probes": []}, "after": {"probes": []}}}
    etcd_preflight.add_member_probes(journal, site.plan(etcd_pod, snapshot_count=5000), str(site.root), site.node)
    for side in ("before", "after"):
        used = [probe["certificate"] for probe in journal["watch"][side]["probes"]]
        assert (f"{site.pki}/apiserver-etcd-client.crt" in used) is is_trusted
    limits = [each.partition(":")[0] for each in journal["watch"].get("unverified", [])]
    assert limits == ([] if is_trusted else [API_SERVER_SERVED])


API_SERVER_SERVED = "whether it answers this node's API server"


@pytest.mark.parametrize(
    "text", ["kind: [", samples.with_command("--etcd-certfile=/nowhere/a", "--etcd-keyfile=/nowhere/b")]
)
def test_unreadable_side_of_the_api_server_is_not_verified(
    site: Site, etcd_pod: static_pods.StaticPod, text: str
) -> None:
    (site.root / "kube-apiserver.yaml").write_text(text, encoding="utf-8")
    journal: t.Any = {"watch": {"before": {"probes": []}, "after": {"probes": []}}}
    etcd_preflight.add_member_probes(journal, site.plan(etcd_pod, snapshot_count=5000), str(site.root), site.node)
    (limit,) = journal["watch"]["unverified"]
    assert limit.startswith(API_SERVER_SERVED)


def test_api_server_failing_one_probe_is_probed_again(
    site: Site, etcd_pod: static_pods.StaticPod, server: Pair, member: FakeEtcd
) -> None:
    site.write("apiserver-etcd-client", server)
    flags = [
        f"--etcd-{part}={site.pki}/apiserver-etcd-client.{end}"
        for part, end in (("certfile", "crt"), ("keyfile", "key"))
    ]
    text = samples.with_command(*flags).replace("/etc/kubernetes/pki", str(site.pki))
    (site.root / "kube-apiserver.yaml").write_text(text, encoding="utf-8")
    member.healthy = False
    site.clock.watchers.append(lambda: setattr(member, "healthy", True))
    journal: t.Any = {"watch": {"before": {"probes": []}, "after": {"probes": []}}}
    etcd_preflight.add_member_probes(journal, site.plan(etcd_pod, snapshot_count=5000), str(site.root), site.node)
    assert len(journal["watch"]["after"]["probes"]) == 2


def test_a_member_without_an_address_for_its_clients_is_refused(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    site.start(etcd_pod)
    with pytest.raises(Refusal, match="without listen-client-urls"):
        site.check(etcd_pod, listen_client_urls=None)


def test_what_starts_a_new_cluster_is_refused_as_an_environment_variable_too(
    site: Site, etcd_pod: static_pods.StaticPod
) -> None:
    site.start(etcd_pod)
    desired = samples.desired(name="etcd", env={"ETCD_FORCE_NEW_CLUSTER": "true"})
    with pytest.raises(Refusal, match="force-new-cluster"):
        preflight.check(etcd_pod, static_pod.plan(desired, static_pod.State(etcd_pod.manifest, {}, {})), site.node)


def test_another_member_that_responds_does_not_stand_for_one_that_is_down(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    """Both advertise an address at which this member responds, such as 127.0.0.1."""
    site.start(etcd_pod)
    assert member.members is not None
    member.members += [{"ID": each, "name": f"cp{each}", "clientURLs": [member.url]} for each in ("20", "21")]
    with pytest.raises(Refusal, match=r"would lose its majority .*cp20 not healthy, cp21 not healthy"):
        site.check(etcd_pod, snapshot_count=5000)


def test_with_a_corrupt_member_nothing_is_tried(site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd) -> None:
    """No member reports that it is healthy then."""
    site.start(etcd_pod)
    others(member, True, True)
    member.alarms, member.healthy, site.web.health_status = {"20": "CORRUPT"}, False, 503
    with pytest.raises(Refusal, match="has the alarm CORRUPT of member 20"):
        site.check(etcd_pod, snapshot_count=5000)


def test_no_file_is_put_among_the_data(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    etcd_preflight.refuse_files_among_data(etcd_pod, [f"{site.data}-other/policy.yaml", "/etc/x"])
    for path in (f"{site.data}/x", f"{site.data}/member/snap/db"):
        with pytest.raises(Refusal, match="inside the data of etcd"):
            etcd_preflight.refuse_files_among_data(etcd_pod, [path])
    etcd_preflight.refuse_files_among_data(site.pod("kube-apiserver", samples.API_SERVER), [f"{site.data}/x"])


_watched: list[list[str]] = []


def _remember(event: str, arguments: tuple[t.Any, ...]) -> None:
    if _watched and event in ("open", "os.listdir", "os.scandir", "os.chmod", "os.rename", "os.remove", "os.truncate"):
        _watched[-1].append(str(arguments[0]))


sys.addaudithook(_remember)


def test_nothing_below_etcds_data_is_opened(site: Site, etcd_pod: static_pods.StaticPod, sources: None) -> None:
    site.start(etcd_pod)
    process = site.root / "proc" / "100" / "exe"
    process.write_text("a binary", encoding="ascii")
    site.run.results["timeout"] = (0, "etcd Version: 3.6.5\n", "")
    _watched.append([])
    try:
        plan = site.plan(etcd_pod, snapshot_count=5000)
        preflight.check(etcd_pod, plan, site.node)
        runtime = runtime_at(site.node.kubelet.runtime, site.run)
        verdict = programs.rehearse(
            etcd_pod, plan, run=site.run, runtime=runtime, clock=site.clock, host=site.node.host
        )
    finally:
        opened = _watched.pop()
    assert verdict.verdict == ACCEPTED
    assert str(process) in opened, "what is opened is seen"
    assert [path for path in opened if path.startswith(str(site.data))] == []
    (request,) = site.run.requests
    assert (request["mounts"], request["staged"]) == ([], {})
    assert request["arguments"][-1] == "--version"


# ---- its cluster -----------------------------------------------------------------------------------------------------


@pytest.fixture(name="other")
def fixture_other(tmp_path: Path, authority: Authority, server: Pair, member: FakeEtcd) -> t.Iterator[FakeEtcd]:
    """Another member of the cluster; a third one is healthy."""
    (tmp_path / "other").mkdir()
    other = FakeEtcd(tmp_path / "other", authority, server)
    assert member.members is not None
    member.members += [member.member("11", [other.url]), member.member("12", [member.url])]
    yield other
    other.close()


@pytest.mark.parametrize("force", [False, True])
def test_an_alarm_is_a_risk(site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd, force: bool) -> None:
    site.start(etcd_pod)
    others(member, True, True)
    member.alarms = {"20": "NOSPACE"}
    site.force = force
    if force:
        (warning,) = site.check(etcd_pod, snapshot_count=5000)
        assert warning.startswith("forced: etcd has the alarm NOSPACE of member 20")
    else:
        with pytest.raises(Refusal, match=r"etcd has the alarm NOSPACE of member 20.*force: true"):
            site.check(etcd_pod, snapshot_count=5000)


def test_a_learner_is_a_risk(site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd) -> None:
    site.start(etcd_pod)
    others(member, True, True)
    assert member.members is not None
    member.members.append(member.member("30", [member.url], learner=True))
    with pytest.raises(Refusal, match="cp30 is a learner"):
        site.check(etcd_pod, snapshot_count=5000)


def test_a_member_that_is_behind_is_a_risk_until_it_has_caught_up(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd, other: FakeEtcd
) -> None:
    site.start(etcd_pod)
    other.revision = member.revision - 1
    with pytest.raises(Refusal, match="cp11 of etcd has not caught up"):
        site.check(etcd_pod, snapshot_count=5000)
    site.clock.watchers.append(lambda: setattr(other, "revision", member.revision))
    assert site.check(etcd_pod, snapshot_count=5000) == ()


def test_a_silent_member_is_a_risk_also_where_a_majority_is_left(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    site.start(etcd_pod)
    others(member, True, True, True, False)
    with pytest.raises(Refusal, match="cp23 of etcd is not healthy"):
        site.check(etcd_pod, snapshot_count=5000)


def test_a_risk_does_not_keep_from_a_repair(site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd) -> None:
    site.start(etcd_pod)
    others(member, True, True)
    member.alarms = {"20": "NOSPACE"}
    site.web.health_status = 503
    (warning,) = site.check(etcd_pod, snapshot_count=5000)
    assert "not healthy, so the change is tried anyway" in warning


def test_a_quota_that_the_database_fills_is_refused_also_when_forced(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    site.start(etcd_pod)
    site.force = True
    member.size = 100 * 1024**2
    with pytest.raises(Refusal, match=r"is 119\.0 MiB, and the database on .* has 100\.0 MiB"):
        site.check(etcd_pod, quota_backend_bytes=119 * 1024**2)
    (warning,) = site.check(etcd_pod, quota_backend_bytes=120 * 1024**2)
    assert "one member" in warning


# ---- a forced change -------------------------------------------------------------------------------------------------


def test_a_snapshot_is_saved_before_what_is_forced_alone(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "STATE_DIR", str(site.root / "state"))
    plan = site.plan(etcd_pod, snapshot_count=5000)
    site.start(etcd_pod)
    others(member, True, False)
    assert etcd_preflight.save_snapshot(etcd_pod, plan, site.node) is None
    site.force = True
    path = etcd_preflight.save_snapshot(etcd_pod, plan, site.node)
    assert path is not None
    assert Path(path).read_bytes()[:-32] == member.snapshot
    assert Path(path).stat().st_mode & 0o7777 == 0o600
    assert member.members is not None
    member.members[-1] = member.member("21", [member.url])
    assert etcd_preflight.save_snapshot(etcd_pod, plan, site.node) is None, "there is no risk"


def test_unreadable_api_server_is_not_verified(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    pod = dataclasses.replace(etcd_pod, path=str(site.root / "etcd.yaml"))
    limit = "whether the API server of this node uses this etcd: its manifest cannot be read"
    assert limit not in site.unverified(pod, snapshot_count=5000)
    (site.root / "kube-apiserver.yaml").write_text("kind: [", encoding="utf-8")
    assert limit in site.unverified(pod, snapshot_count=5000)


# ---- where it is -----------------------------------------------------------------------------------------------------


def api_server(servers: str) -> str:
    return samples.with_command(f"--etcd-servers={servers}")


@pytest.mark.parametrize(
    "servers",
    ["https://127.0.0.1:2379", "https://localhost:2379", "https://10.9.9.9:2379,https://10.0.0.11:2379"],
)
def test_an_etcd_of_the_node_is_its_own(tmp_path: Path, servers: str) -> None:
    listening = "--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.11:2379"
    (tmp_path / "etcd.yaml").write_text(samples.etcd(listening), encoding="utf-8")
    etcd_preflight.refuse_external(str(tmp_path), "cp1")  # without an API server it is unknown
    (tmp_path / "kube-apiserver.yaml").write_text(api_server(servers), encoding="utf-8")
    etcd_preflight.refuse_external(str(tmp_path), "cp1")


@pytest.mark.parametrize("text", ["kind: [", "---\nkind: Pod\n---\nkind: Pod\n"])
def test_a_manifest_that_cannot_be_read_is_no_external_etcd(tmp_path: Path, text: str) -> None:
    (tmp_path / "kube-apiserver.yaml").write_text(api_server("https://127.0.0.1:2379"), encoding="utf-8")
    (tmp_path / "etcd.yaml").write_text(text, encoding="utf-8")
    etcd_preflight.refuse_external(str(tmp_path), "cp1")


@pytest.mark.parametrize("has_member", [True, False])
def test_an_external_etcd_is_refused_by_name(tmp_path: Path, has_member: bool) -> None:
    (tmp_path / "kube-apiserver.yaml").write_text(api_server("https://10.9.9.9:2379"), encoding="utf-8")
    if has_member:
        listening = "--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.11:2379"
        (tmp_path / "etcd.yaml").write_text(samples.etcd(listening), encoding="utf-8")
    with pytest.raises(Refusal, match=r"etcd is external: kube-apiserver on cp1 uses https://10\.9\.9\.9:2379"):
        etcd_preflight.refuse_external(str(tmp_path), "cp1")
