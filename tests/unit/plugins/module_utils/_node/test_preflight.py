# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight: what stops a change, and what must not stop a repair."""

from __future__ import annotations

import dataclasses
import pkgutil
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import Probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import run_probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import preflight, rehearsals, static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import Kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.files import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import ACCEPTED
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import Clock
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

UID = "a" * 32
PATIENCE = 2.0
HERE = (0, "sha256:1\n", "")
NOT_HERE = (1, "", "no such image\n")


class Site:
    """A control plane node in a folder: certificates, data, one static pod whose probes a web server answers."""

    def __init__(self, root: Path, web: Web, run: FakeRun) -> None:
        self.root, self.web, self.run = root, web, run
        self.pki, self.data = root / "pki", root / "data"
        for folder in (self.pki, self.data / "member", root / "proc", root / "pods"):
            folder.mkdir(parents=True)
        (self.data / "member" / "db").write_text("live", encoding="ascii")
        self.clock = Clock()
        self.healthz: Probe | None = None
        self.force = False
        run.answers["crictl"] = HERE

    def write(self, name: str, pair: Pair) -> None:
        for ending, content in zip(("crt", "key"), pair):
            (self.pki / f"{name}.{ending}").write_bytes(content)

    def pod(self, name: str, text: str) -> static_pods.StaticPod:
        """A static pod of this node, whose health the web server tells."""
        for host, scheme, port in (("10.0.0.11", "HTTPS", "6443"), ("127.0.0.1", "HTTP", "2381")):
            text = text.replace(f"host: {host}", "host: 127.0.0.1").replace(f"scheme: {scheme}", "scheme: HTTP")
            text = text.replace(f"port: {port}", f"port: {self.web.port}")
        text = text.replace("/etc/kubernetes/pki", str(self.pki)).replace("/var/lib/etcd", str(self.data))
        manifest = samples.manifest(text, name)
        version = FileVersion(text.encode(), 0o600)
        return static_pods.StaticPod(name, samples.SOURCE, version, manifest, {}, f"kube-system_{name}-cp1_")

    def start(self, pod: static_pods.StaticPod) -> None:
        """Have the static pod run what its manifest says."""
        (self.root / "pods" / f"{pod.log_prefix}{UID}").mkdir()
        self.start_process(pod)

    def start_process(self, pod: static_pods.StaticPod) -> None:
        """The component's process, in the node's network as kubeadm's are."""
        for pid in (1, 100):
            (self.root / "proc" / str(pid) / "ns").mkdir(parents=True)
            (self.root / "proc" / str(pid) / "ns" / "net").symlink_to("net:[1]")
        process = self.root / "proc" / "100"
        (process / "cgroup").write_text(f"0::/kubepods/pod{UID}/{'b' * 64}\n", encoding="ascii")
        (process / "cmdline").write_text("".join(f"{item}\0" for item in pod.manifest.arguments), encoding="utf-8")

    @property
    def node(self) -> preflight.PreflightContext:
        return preflight.PreflightContext(
            kubelet=Kubelet(1, "kubelet", "/m", "cp1", self.healthz, "unix:///run/c.sock", ClusterIdentity()),
            run=self.run,
            host=Host(
                proc=str(self.root / "proc"),
                pod_logs=str(self.root / "pods"),
                container_logs=str(self.root / "links"),
                kubelet_root=str(self.root / "kubelet"),
            ),
            clock=self.clock,
            sleep=self.clock.sleep,
            patience=PATIENCE,
            kubeconfig=str(self.root / "admin.conf"),
            force=self.force,
        )

    def check(self, pod: static_pods.StaticPod, **args: t.Any) -> tuple[str, ...]:
        """The preflight of a change of some arguments: its warnings."""
        return preflight.check(pod, self.plan(pod, **args), self.node)

    @staticmethod
    def plan(pod: static_pods.StaticPod, **args: t.Any) -> static_pod.StaticPodPlan:
        wish = samples.wish(name=pod.name, args={flag.replace("_", "-"): value for flag, value in args.items()})
        return static_pod.plan(wish, static_pod.State(pod.manifest, {}, {}))


@pytest.fixture(name="site")
def fixture_site(tmp_path: Path, web: Web, run: FakeRun) -> Site:
    return Site(tmp_path, web, run)


@pytest.fixture(name="server", scope="module")
def fixture_server(authority: Authority) -> Pair:
    return authority.issue()


@pytest.fixture(name="member")
def fixture_member(tmp_path: Path, authority: Authority, server: Pair) -> t.Iterator[FakeEtcd]:
    member = FakeEtcd(tmp_path, authority, server)
    yield member
    member.close()


def api_server(site: Site, *arguments: str) -> static_pods.StaticPod:
    return site.pod("kube-apiserver", samples.with_command("--advertise-address=127.0.0.1", *arguments))


# ---- the kubelet -----------------------------------------------------------------------------------------------------


def test_a_kubelet_that_does_not_answer_would_start_nothing(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    site.healthz = site.web.probe("/healthz")
    assert site.check(pod, v=4) == ()
    site.web.status = 500
    with pytest.raises(Refusal, match=r"the kubelet on .* \(http.*/healthz answers 500\).*systemctl restart kubelet"):
        site.check(pod, v=4)
    site.healthz = None  # it is switched off
    site.web.requests.clear()
    assert site.check(pod, v=4) == ()
    assert site.web.requests == []


def test_a_kubelet_that_has_just_been_started_gets_a_moment(site: Site) -> None:
    site.healthz = site.web.probe("/healthz")
    site.web.status = 500
    site.clock.watchers.append(lambda: setattr(site.web, "status", 200))
    assert site.check(api_server(site), v=4) == ()


# ---- certificates and image ------------------------------------------------------------------------------------------


def serving(site: Site, name: str) -> dict[str, str]:
    return {"tls_cert_file": f"{site.pki}/{name}.crt", "tls_private_key_file": f"{site.pki}/{name}.key"}


def with_expired(site: Site, authority: Authority) -> static_pods.StaticPod:
    """An API server that serves with an expired certificate."""
    site.write("late", authority.issue(first=-9, last=-3))
    return api_server(site, *(f"--{flag.replace('_', '-')}={path}" for flag, path in serving(site, "late").items()))


@pytest.mark.parametrize("runs", [True, False])
def test_a_bad_certificate_that_the_change_brings_is_refused(site: Site, authority: Authority, runs: bool) -> None:
    site.write("late", authority.issue(first=-9, last=-3))
    pod = api_server(site)
    if runs:
        site.start(pod)
    with pytest.raises(Refusal, match=r"refused before anything was written: --tls-cert-file=.* has expired"):
        site.check(pod, **serving(site, "late"))


def test_an_expired_certificate_in_use_stops_a_restart_and_no_repair(site: Site, authority: Authority) -> None:
    pod = with_expired(site, authority)
    site.start(pod)
    with pytest.raises(Refusal, match="has expired"):
        site.check(pod, v=4)
    site.web.status = 500  # there is nothing to lose any more
    (warning,) = site.check(pod, v=4)
    assert "has expired" in warning
    assert "is tried all the same" in warning


def test_an_expired_certificate_can_be_replaced(site: Site, authority: Authority, server: Pair) -> None:
    pod = with_expired(site, authority)
    site.start(pod)
    site.write("new", server)
    assert site.check(pod, **serving(site, "new")) == ()


def test_an_image_that_is_not_there_stops_a_change_and_no_repair(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    site.run.answers["crictl"] = NOT_HERE
    with pytest.raises(Refusal, match=r"image registry\.k8s\.io/kube-apiserver:v1\.34\.4 is not on .*Pull it first"):
        site.check(pod, v=4)
    site.web.up = False
    (warning,) = site.check(pod, v=4)
    assert "is tried all the same" in warning


def test_an_image_of_which_nobody_can_tell_stops_nothing(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    site.run.answers["ctr"] = site.run.answers["crictl"] = (127, "", "No such file or directory")
    assert site.check(pod, v=4) == ()


# ---- the API server's etcd -------------------------------------------------------------------------------------------


@pytest.fixture(name="client")
def fixture_client(site: Site, authority: Authority, server: Pair) -> t.Callable[..., static_pods.StaticPod]:
    """An API server whose etcd is at these addresses."""
    site.write("client", server)
    (site.pki / "ca.crt").write_bytes(authority.certificate)

    def make(*urls: str) -> static_pods.StaticPod:
        files = {"cafile": "ca.crt", "certfile": "client.crt", "keyfile": "client.key"}
        given = [f"--etcd-{flag}={site.pki}/{name}" for flag, name in files.items()]
        return api_server(site, f"--etcd-servers={','.join(urls)}", *given)

    return make


Client = t.Callable[..., static_pods.StaticPod]


def test_an_etcd_that_is_not_healthy_stops_a_running_api_server(site: Site, client: Client, member: FakeEtcd) -> None:
    pod = client(member.url)
    site.start(pod)
    assert site.check(pod, v=4) == ()
    member.healthy = False
    with pytest.raises(Refusal, match=r"no etcd that --etcd-servers names answers well .*NO LEADER.*Repair etcd"):
        site.check(pod, v=4)


def test_an_etcd_gets_a_moment(site: Site, client: Client, member: FakeEtcd) -> None:
    pod = client(member.url)
    site.start(pod)
    member.healthy = False
    site.clock.watchers.append(lambda: setattr(member, "healthy", True))
    assert site.check(pod, v=4) == ()


def test_the_etcd_that_the_change_names_counts(site: Site, client: Client, member: FakeEtcd) -> None:
    broken, pod = client("https://127.0.0.1:1"), client(member.url)
    site.start(broken)
    assert site.check(broken, etcd_servers=member.url) == ()  # the repair
    with pytest.raises(Refusal, match=r"https://127\.0\.0\.1:1: .*Connection refused"):
        site.check(pod, etcd_servers="https://127.0.0.1:1")


def test_a_certificate_that_etcd_turns_down_is_refused(
    site: Site, client: Client, member: FakeEtcd, tmp_path: Path
) -> None:
    pod = client(member.url)
    site.start(pod)
    site.write("foreign", Authority(tmp_path / "foreign").issue())
    with pytest.raises(Refusal, match=r"turns the certificate down .*etcd-certfile"):
        site.check(pod, etcd_certfile=f"{site.pki}/foreign.crt", etcd_keyfile=f"{site.pki}/foreign.key")


def test_a_member_less_is_a_warning(site: Site, client: Client, member: FakeEtcd) -> None:
    (warning,) = site.check(client("https://127.0.0.1:1", member.url), v=4)
    assert "https://127.0.0.1:1: [Errno 111] Connection refused" in warning


def test_an_api_server_that_is_down_can_be_repaired_without_etcd(site: Site, client: Client) -> None:
    (warning,) = site.check(client("https://127.0.0.1:1"), v=4)
    assert "does not run, so the change is tried all the same" in warning


# ---- etcd itself -----------------------------------------------------------------------------------------------------


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


def test_a_single_member_is_stopped_with_a_warning(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    site.start(etcd_pod)
    (warning,) = site.check(etcd_pod, snapshot_count=5000)
    assert "etcd has one member" in warning


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


def test_a_member_that_is_down_already_is_not_asked_for(
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
    with pytest.raises(Refusal, match=r"could not be asked for .*answers 404.* whether a majority is left"):
        site.check(etcd_pod, snapshot_count=5000)
    site.web.status = 503
    (warning,) = site.check(etcd_pod, snapshot_count=5000)
    assert "is tried all the same" in warning


@pytest.mark.parametrize("flag", ["data_dir", "wal_dir"])
def test_a_running_member_is_not_started_over_other_data(
    site: Site, etcd_pod: static_pods.StaticPod, flag: str
) -> None:
    moved = {flag: f"{site.data}/other"}
    (warning,) = site.check(etcd_pod, **moved)
    assert "other data" in warning
    site.start(etcd_pod)
    with pytest.raises(Refusal, match=rf"other data \({flag.replace('_', '-')}: .* -> {site.data}/other\)"):
        site.check(etcd_pod, **moved)


def test_a_member_whose_logs_are_elsewhere_runs_all_the_same(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    """Its kubelet has another podLogsDir."""
    (site.root / "kubelet" / "pods" / UID / "containers" / "etcd").mkdir(parents=True)
    site.start_process(etcd_pod)
    (warning,) = site.check(etcd_pod, snapshot_count=5000)
    assert "etcd has one member" in warning
    with pytest.raises(Refusal, match=r"the member on .* runs, and would start over other data"):
        site.check(etcd_pod, data_dir=f"{site.data}/other")


@pytest.mark.parametrize("change", [{"data_dir": "other"}, {"snapshot_count": 5000}])
def test_a_member_that_cannot_be_matched_is_not_taken_for_a_stopped_one(
    site: Site, etcd_pod: static_pods.StaticPod, change: dict[str, t.Any]
) -> None:
    site.start_process(etcd_pod)
    with pytest.raises(
        Refusal, match=r"etcd on .* runs in the node's network \(PID 100\), and could not be matched"
    ) as raised:
        site.check(etcd_pod, **change)
    assert "is down" not in str(raised.value)
    (site.root / "proc" / "100" / "ns" / "net").unlink()
    (site.root / "proc" / "100" / "ns" / "net").symlink_to("net:[2]")
    assert all("does not run" in warning for warning in site.check(etcd_pod, **change)), "a hosted control plane's"


def test_a_volume_that_moves_the_data_is_found_as_well(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    site.start(etcd_pod)
    (site.root / "elsewhere").mkdir()
    volume = samples.volume("etcd-data", str(site.root / "elsewhere"), mount_path=str(site.data), read_only=False)
    wish = samples.wish(name="etcd", volumes=[volume])
    plan = static_pod.plan(wish, static_pod.State(etcd_pod.manifest, {}, {}))
    with pytest.raises(Refusal, match="other data"):
        preflight.check(etcd_pod, plan, site.node)


@pytest.mark.parametrize("value", [True, "1", "true"])
def test_a_new_cluster_is_not_made_by_a_manifest(site: Site, etcd_pod: static_pods.StaticPod, value: t.Any) -> None:
    with pytest.raises(Refusal, match="force-new-cluster"):
        site.check(etcd_pod, force_new_cluster=value)
    assert site.check(etcd_pod, force_new_cluster="false") == ()


def test_the_proof_asks_the_member_where_its_clients_do(
    site: Site, etcd_pod: static_pods.StaticPod, member: FakeEtcd
) -> None:
    journal: t.Any = {"watch": {"before": {"probes": []}, "after": {"probes": []}}}
    site.write("renewed", Pair(*((site.pki / f"server.{ending}").read_bytes() for ending in ("crt", "key"))))
    change = {"cert_file": f"{site.pki}/renewed.crt", "key_file": f"{site.pki}/renewed.key"}
    preflight.add_member_probes(journal, site.plan(etcd_pod, listen_client_urls="https://127.0.0.1:1", **change))
    (before,), (after,) = (journal["watch"][side]["probes"] for side in ("before", "after"))
    assert run_probe(before)[0]
    # Where its clients look for it now, whatever it listens at then; with the certificates that it has then.
    assert after == {**before, "certificate": f"{site.pki}/renewed.crt", "key": f"{site.pki}/renewed.key"}


def test_no_file_is_put_among_the_data(site: Site, etcd_pod: static_pods.StaticPod) -> None:
    preflight.refuse_files_among_data(etcd_pod, [f"{site.data}-other/policy.yaml", "/etc/x"])
    for path in (f"{site.data}/x", f"{site.data}/member/snap/db"):
        with pytest.raises(Refusal, match="among the data of etcd"):
            preflight.refuse_files_among_data(etcd_pod, [path])
    preflight.refuse_files_among_data(api_server(site), [f"{site.data}/x"])


_watched: list[list[str]] = []


def _remember(event: str, arguments: tuple[t.Any, ...]) -> None:
    if _watched and event in ("open", "os.listdir", "os.scandir", "os.chmod", "os.rename", "os.remove", "os.truncate"):
        _watched[-1].append(str(arguments[0]))


sys.addaudithook(_remember)


def test_nothing_below_etcds_data_is_opened(
    site: Site, etcd_pod: static_pods.StaticPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here the collection's folders are no packages.
    code = Path(rehearsals.__file__).parent
    monkeypatch.setattr(pkgutil, "get_data", lambda package, name: (code / name).read_bytes())
    site.start(etcd_pod)
    process = site.root / "proc" / "100" / "exe"
    process.write_text("a binary", encoding="ascii")
    site.run.answers["timeout"] = (0, "etcd Version: 3.6.5\n", "")
    _watched.append([])
    try:
        plan = site.plan(etcd_pod, snapshot_count=5000)
        preflight.check(etcd_pod, plan, site.node)
        runtime = runtime_at(site.node.kubelet.runtime, site.run)
        verdict = rehearsals.rehearse(
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


def test_a_pod_of_another_name_has_no_etcd_to_ask(site: Site) -> None:
    pod = dataclasses.replace(site.pod("kube-scheduler", samples.SCHEDULER), log_prefix="kube-system_x-cp1_")
    assert site.check(pod, v=4) == ()
