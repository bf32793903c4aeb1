# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight: what stops a change, and what must not stop a repair."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import probes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import (
    cluster_preflight,
    preflight,
    static_pods,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.component_files import ComponentFiles
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import StaticPodPlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.preflight_site import Site
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import hold_port, open_socket

SANDBOX = "registry.k8s.io/pause:3.10"  # as the runtime of the tests reports it


def api_server(site: Site, *arguments: str) -> static_pods.StaticPod:
    return site.pod("kube-apiserver", samples.with_command("--advertise-address=127.0.0.1", *arguments))


# ---- the kubelet -----------------------------------------------------------------------------------------------------


def test_a_kubelet_that_does_not_respond_would_start_nothing(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    site.healthz = site.web.probe("/healthz")
    assert site.check(pod, v=4) == ()
    site.web.health_status = 500
    with pytest.raises(Refusal, match=r"the kubelet on .* \(http.*/healthz answers 500\).*systemctl restart kubelet"):
        site.check(pod, v=4)


def test_flags_behind_a_shell_are_not_verified(site: Site) -> None:
    """Other settings than flags are changed."""
    text = samples.API_SERVER.replace(
        "    - kube-apiserver\n", "    - /bin/sh\n    - -c\n    - exec kube-apiserver\n", 1
    )
    pod, node = site.pod("kube-apiserver", text), site.node
    desired = samples.desired(name=pod.name, env={"GODEBUG": "http2client=0"})
    preflight.check(pod, static_pod.plan(desired, static_pod.State(pod.manifest, {}, {})), node)
    assert "whether its flags allow this change: /bin/sh starts it, so they are not known" in node.unverified


def test_kubelet_without_healthz_is_not_verified(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    assert site.unverified(pod, v=4)[0] == "whether its kubelet is healthy: healthzPort is 0"


def test_kubelet_whose_health_port_another_program_holds_is_not_verified(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    site.healthz = site.web.probe("/healthz")
    hold_port(site.root / "proc", site.web.port)
    open_socket(site.root / "proc", 7)
    assert not any("its kubelet" in text for text in site.unverified(pod, v=4))
    hold_port(site.root / "proc", site.web.port, inode=1)
    doubt = f"another program listens at its health port {site.web.port}"
    assert site.unverified(pod, v=4)[0] == f"whether its kubelet is healthy: {doubt}"


def test_a_kubelet_that_has_just_been_started_gets_a_moment(site: Site) -> None:
    site.healthz = site.web.probe("/healthz")
    site.web.health_status = 500
    site.clock.watchers.append(lambda: setattr(site.web, "health_status", 200))
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
    site.web.health_status = 500  # there is nothing to lose any more
    (warning,) = site.check(pod, v=4)
    assert "has expired" in warning
    assert "is tried anyway" in warning


def test_an_expired_certificate_can_be_replaced(site: Site, authority: Authority, server: Pair) -> None:
    pod = with_expired(site, authority)
    site.start(pod)
    site.write("new", server)
    assert site.check(pod, **serving(site, "new")) == ()


def test_an_image_that_is_not_there_stops_a_change_and_no_repair(site: Site, runtime: FakeCri) -> None:
    pod = api_server(site)
    site.start(pod)
    runtime.images = {SANDBOX}
    with pytest.raises(Refusal, match=r"image registry\.k8s\.io/kube-apiserver:v1\.34\.4 is not on .*Pull it first"):
        site.check(pod, v=4)
    site.web.up = False
    (warning,) = site.check(pod, v=4)
    assert "is tried anyway" in warning


def test_a_node_without_the_program_of_its_runtime_is_named_with_what_to_install(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    site.run.results["ctr --version"] = (127, "", "there is no program ctr in /usr/bin")
    (warning,) = site.check(pod, v=4)
    assert (
        "there is no program ctr in /usr/bin. Install ctr on the node: it shows and loads the images of containerd; "
        in warning
    )


def test_sandbox_image_that_is_not_there_stops_a_change(site: Site, runtime: FakeCri) -> None:
    pod = api_server(site)
    site.start(pod)
    runtime.images = {"registry.k8s.io/kube-apiserver:v1.34.4"}
    with pytest.raises(Refusal, match=rf"the image {SANDBOX}, with which containerd begins every pod, is not on"):
        site.check(pod, v=4)


def test_sandbox_image_that_is_not_reported_is_not_verified(site: Site, runtime: FakeCri) -> None:
    pod = api_server(site)
    site.start(pod)
    runtime.sandbox_image, runtime.pinned = None, False
    limit = "whether the image of the pod's sandbox is in containerd, which does not report which one it is"
    assert limit in site.unverified(pod, v=4)
    runtime.pinned = True
    assert limit not in site.unverified(pod, v=4)


def test_image_that_is_always_pulled_is_not_verified(site: Site) -> None:
    text = samples.with_command("--advertise-address=127.0.0.1").replace(
        "imagePullPolicy: IfNotPresent", "imagePullPolicy: Always"
    )
    pod = site.pod("kube-apiserver", text)
    site.start(pod)
    assert any("imagePullPolicy Always" in limit for limit in site.unverified(pod, v=4))


# ---- the container runtime and room on the node ----------------------------------------------------------------------


def test_runtime_that_does_not_respond_stops_a_change_and_a_repair(site: Site, runtime: FakeCri) -> None:
    pod = api_server(site)
    runtime.stop()
    with pytest.raises(Refusal, match=r"does not answer: No such file .* would start neither the changed component"):
        site.check(pod, v=4)


def test_runtime_that_is_not_ready_stops_a_change(site: Site, runtime: FakeCri) -> None:
    pod = api_server(site)
    site.start(pod)
    runtime.problem = "shim is gone"
    with pytest.raises(Refusal, match="NotReady: shim is gone"):
        site.check(pod, v=4)


def test_network_that_is_not_ready_stops_only_a_pod_with_its_own(site: Site, runtime: FakeCri) -> None:
    runtime.network_problem = "cni plugin not initialized"
    pod = api_server(site)
    site.start(pod)
    assert site.check(pod, v=4) == ()
    pod = site.pod("kube-apiserver", samples.with_command().replace("hostNetwork: true", "hostNetwork: false"))
    with pytest.raises(Refusal, match="NotReady: cni plugin not initialized"):
        site.check(pod, v=4)


NODE: Json = {"status": {"allocatable": {"cpu": "2", "memory": "4Gi"}}}
CRITICAL: Json = {
    "metadata": {"name": "kube-proxy"},
    "spec": {"priority": 2_000_001_000, "containers": [{"name": "a", "resources": {"requests": {"memory": "1Gi"}}}]},
    "status": {"phase": "Running"},
}


def with_memory(site: Site, amount: str) -> tuple[static_pods.StaticPod, StaticPodPlan]:
    """An API server that runs, and the change of its request of memory."""
    pod = api_server(site)
    site.start(pod)
    desired = samples.desired(name=pod.name, resources={"requests": {"memory": amount}})
    return pod, static_pod.plan(desired, static_pod.State(pod.manifest, {}, {}))


def serve_node(monkeypatch: pytest.MonkeyPatch, *pods: Json) -> None:
    """The Node and its pods as the API shows them to the kubelet's credential."""
    monkeypatch.setattr(probes, "api_get", lambda path, url: ({"items": list(pods)} if "/pods?" in url else NODE, ""))


def test_request_beyond_the_node_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_node(monkeypatch, CRITICAL)
    pod, plan = with_memory(site, "3500Mi")
    with pytest.raises(Refusal, match=r"would not be admitted by its kubelet: it requests 3670016000 of memory, and"):
        preflight.check(pod, plan, site.node)


def test_request_that_ends_other_pods_is_a_warning(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**CRITICAL, "metadata": {"name": "web"}, "spec": {**CRITICAL["spec"], "priority": 0}}
    serve_node(monkeypatch, other)
    pod, plan = with_memory(site, "3500Mi")
    (warning,) = site.check_plan(pod, plan)
    assert "requests more memory than is free, so its kubelet ends other pods" in warning
    pod, plan = (
        site.pod(pod.name, samples.with_command()),
        static_pod.plan(
            samples.desired(name=pod.name, resources={"requests": {"memory": "1Gi"}}),
            static_pod.State(pod.manifest, {}, {}),
        ),
    )
    assert site.check_plan(pod, plan) == ()


def test_request_is_not_verified_where_the_node_cannot_be_read(site: Site) -> None:
    pod, plan = with_memory(site, "1Gi")
    node = site.node
    preflight.check(pod, plan, node)
    assert any(limit.startswith("whether its node has room for what it requests: ") for limit in node.unverified)


# ---- files that were removed since the start -------------------------------------------------------------------------

WEBHOOK = "authentication-token-webhook-config-file"


def with_webhook(site: Site, monkeypatch: pytest.MonkeyPatch, *, age: float = 60) -> static_pods.StaticPod:
    """An API server that runs and names a file that does not exist. age: seconds since its start, before the last change of the directory."""
    pod = api_server(site, f"--{WEBHOOK}={site.pki}/webhook.yaml")
    site.start(pod)
    monkeypatch.setattr(Host, "read_start_time", lambda host, pid: site.pki.stat().st_mtime - age)
    return pod


def test_removed_file_of_another_argument_stops_a_change(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pod, place = with_webhook(site, monkeypatch), site.pki / "webhook.yaml"
    with pytest.raises(Refusal) as refusal:
        site.check(pod, v=4)
    assert str(refusal.value) == (
        f"refused before anything was written: args: --{WEBHOOK}={place} on {os.uname().nodename}: {place} was removed after kube-apiserver was"
        " started, which would not come up again without it, nor with a rollback. Bring the file back, or take away what names it."
        " force: true changes it anyway."
    )
    site.force = True
    (warning,) = site.check(pod, v=4)
    assert warning.startswith(f"forced: args: --{WEBHOOK}={place} on ")


def test_removed_file_does_not_stop_what_mends_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pod, place = with_webhook(site, monkeypatch), site.pki / "webhook.yaml"
    assert site.check(pod, **{WEBHOOK: None}) == ()
    given = samples.desired(name=pod.name, args={"v": 4}, files=[samples.file(str(place), "x")])
    plan = static_pod.plan(given, static_pod.State(pod.manifest, {}, {str(place): None}))
    assert site.check_plan(pod, plan) == ()
    place.write_text("x", encoding="ascii")
    assert site.check(pod, v=4) == ()


def test_file_that_was_missing_at_the_start_does_not_stop_a_change(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.check(with_webhook(site, monkeypatch, age=-60), v=4) == ()


def test_removed_file_does_not_stop_the_repair_of_what_is_down(site: Site) -> None:
    assert site.check(api_server(site, f"--{WEBHOOK}={site.pki}/webhook.yaml"), v=4) == ()


@pytest.mark.parametrize(
    ("issuers", "is_refused"),
    [
        (["https://new"], True),
        (["https://new", "https://kubernetes.default.svc.cluster.local"], False),
        (["https://kubernetes.default.svc.cluster.local"], False),
        (None, True),
    ],
)
def test_an_issuer_is_known_until_its_tokens_have_expired(
    site: Site, issuers: list[str] | None, is_refused: bool
) -> None:
    pod = api_server(site, "--service-account-issuer=https://kubernetes.default.svc.cluster.local")
    change = {"service_account_issuer": issuers}
    assert site.check(pod, **change) == ()  # it does not run
    site.start(pod)
    if not is_refused:
        assert site.check(pod, **change) == ()
        return
    with pytest.raises(Refusal, match=r"every token that https://kubernetes\.default\.svc\.cluster\.local has issued"):
        site.check(pod, **change)
    site.force = True
    assert any(each.startswith("forced: invalid service-account-issuer") for each in site.check(pod, **change))


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
    with pytest.raises(Refusal, match=r"no etcd that --etcd-servers names is healthy .*NO LEADER.*Repair etcd"):
        site.check(pod, v=4)


def test_full_etcd_stops_a_change_of_what_writes_to_it(
    site: Site, client: Client, member: FakeEtcd, tmp_path: Path
) -> None:
    pod = dataclasses.replace(client(member.url), path=str(tmp_path / "kube-apiserver.yaml"))
    Path(pod.path).write_text(pod.manifest.text, encoding="utf-8")
    site.start(pod)
    assert site.check(pod, v=4) == ()
    member.alarms = {"10": "NOSPACE"}
    with pytest.raises(
        Refusal, match=r"etcd takes no writes \(.* is not healthy \(ALARM NOSPACE\)\), so a new kube-api"
    ):
        site.check(pod, v=4)
    scheduler = site.pod("kube-scheduler", samples.SCHEDULER)
    (warning,) = site.check(dataclasses.replace(scheduler, path=str(tmp_path / "kube-scheduler.yaml")), v=4)
    assert warning.startswith("etcd takes no writes")


def test_an_etcd_gets_a_moment(site: Site, client: Client, member: FakeEtcd) -> None:
    pod = client(member.url)
    site.start(pod)
    member.healthy = False
    site.clock.watchers.append(lambda: setattr(member, "healthy", True))
    assert site.check(pod, v=4) == ()


def test_the_etcd_that_the_change_names_counts(site: Site, client: Client, member: FakeEtcd) -> None:
    broken, pod = client("https://127.0.0.1:1"), client(member.url)
    site.start(broken)
    member.values = {"/registry/namespaces/kube-system": b""}
    assert site.check(broken, etcd_servers=member.url) == ()  # the repair
    with pytest.raises(Refusal, match=r"https://127\.0\.0\.1:1: .*Connection refused"):
        site.check(pod, etcd_servers="https://127.0.0.1:1")


@pytest.mark.parametrize(
    ("change", "is_there"),
    [({"etcd_prefix": "/other"}, False), ({"etcd_prefix": "/other"}, True), ({"etcd_prefix": "registry"}, True)],
)
def test_a_store_without_the_cluster_is_refused(
    site: Site, client: Client, member: FakeEtcd, change: dict[str, str], is_there: bool
) -> None:
    pod = client(member.url)
    member.values = {f"/{change['etcd_prefix'].strip('/')}/namespaces/{'kube-system' if is_there else 'default'}": b""}
    assert site.check(pod, **change) == ()  # it does not run
    site.start(pod)
    if is_there:
        assert site.check(pod, **change) == ()
        return
    site.force = True
    with pytest.raises(
        Refusal, match="with another etcd-prefix kube-apiserver finds no cluster in etcd, so every kubelet"
    ):
        site.check(pod, **change)
    member.values = None
    (limit,) = (each for each in site.unverified(pod, **change) if "holds the cluster" in each)
    assert limit.startswith("whether its etcd holds the cluster with another etcd-prefix: ")


def test_resources_are_not_moved_to_another_store(site: Site, client: Client, member: FakeEtcd) -> None:
    pod = client(member.url)
    member.values = {"/registry/namespaces/kube-system": b""}
    site.start(pod)
    assert site.check(pod, etcd_servers_overrides="/events#https://10.0.0.9:2379") == ()
    pods = {"etcd_servers_overrides": "/pods#https://10.0.0.9:2379"}
    with pytest.raises(
        Refusal, match=r"/pods#https://10\.0\.0\.9:2379 begins without the objects that there are of it"
    ):
        site.check(pod, **pods)
    site.force = True
    (warning,) = site.check(pod, **pods)
    assert warning.startswith("forced: etcd-servers-overrides /pods#")


def test_a_certificate_that_etcd_turns_down_is_refused(
    site: Site, client: Client, member: FakeEtcd, tmp_path: Path
) -> None:
    pod = client(member.url)
    site.start(pod)
    site.write("foreign", Authority(tmp_path / "foreign").issue())
    with pytest.raises(Refusal, match=r"rejects the client certificate.*etcd-certfile"):
        site.check(pod, etcd_certfile=f"{site.pki}/foreign.crt", etcd_keyfile=f"{site.pki}/foreign.key")


def test_a_member_less_is_a_warning(site: Site, client: Client, member: FakeEtcd) -> None:
    (warning,) = site.check(client("https://127.0.0.1:1", member.url), v=4)
    assert "https://127.0.0.1:1: [Errno 111] Connection refused" in warning


def test_etcd_without_http_address_is_not_verified(site: Site, client: Client) -> None:
    pod = client("unix:///run/etcd.sock")
    site.start(pod)
    limit = "whether its etcd answers: --etcd-servers has no address with http or https"
    assert site.unverified(pod, v=4)[-1] == limit


def test_etcd_that_responds_otherwise_is_not_verified(site: Site, client: Client) -> None:
    pod = client(f"http://127.0.0.1:{site.web.port}")
    site.start(pod)
    (limit,) = (each for each in site.unverified(pod, v=4) if each.startswith("whether its etcd answers: "))
    assert "/health?" in limit
    assert limit.endswith(" answers 200")
    assert site.check(pod, v=4) == ()


def test_an_api_server_that_is_down_can_be_repaired_without_etcd(site: Site, client: Client) -> None:
    (warning,) = site.check(client("https://127.0.0.1:1"), v=4)
    assert "does not run, so the change is tried anyway" in warning


def test_a_pod_of_another_name_has_no_etcd_to_query(site: Site) -> None:
    pod = dataclasses.replace(site.pod("kube-scheduler", samples.SCHEDULER), log_prefix="kube-system_x-cp1_")
    assert site.check(pod, v=4) == ()


# ---- its own probes --------------------------------------------------------------------------------------------------


def sides(plan: StaticPodPlan) -> tuple[ComponentFiles, StaticPodPlan]:
    """The files that the running component has read, and what changes them."""
    return ComponentFiles(plan.before), plan


def authentication(*paths: str) -> StaticPodPlan:
    """The plan of a file that lets anonymous requests to these paths through."""
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": bool(paths), "conditions": [{"path": path} for path in paths]},
    }
    return samples.planned(
        args={"authentication-config": "/srv/auth/config.yaml"},
        volumes=[samples.volume("auth", "/srv/auth")],
        files=[samples.file("/srv/auth/config.yaml", content)],
    )


@pytest.mark.parametrize("paths", [(), ("/healthz",), ("/readyz", "/healthz")])
def test_file_that_shuts_probes_out_is_refused(paths: tuple[str, ...]) -> None:
    with pytest.raises(Refusal, match=r"does not let anonymous requests to /livez.* through"):
        preflight.refuse_closed_probes("kube-apiserver", *sides(authentication(*paths)))


def test_file_that_lets_probes_through_is_accepted() -> None:
    preflight.refuse_closed_probes("kube-apiserver", *sides(authentication("/livez", "/readyz", "/healthz")))


@pytest.mark.parametrize("is_read", [True, False])
def test_unread_file_shutting_probes_out_is_refused(site: Site, is_read: bool) -> None:
    path = site.pki / "auth.json"
    path.write_text('{"kind": "AuthenticationConfiguration", "anonymous": {"enabled": false}}', encoding="ascii")
    text = samples.with_command(f"--authentication-config={path}").replace("/etc/kubernetes/pki", str(site.pki))
    plan = static_pod.plan(samples.desired(args={"v": 4}), static_pod.State(samples.manifest(text), {}, {}))
    running = ComponentFiles(plan.before, None, lambda place: not is_read)
    with contextlib.nullcontext() if is_read else pytest.raises(Refusal, match="does not let anonymous requests"):
        preflight.refuse_closed_probes("kube-apiserver", running, plan)


# ---- its own lease ---------------------------------------------------------------------------------------------------


def scheduler(qps: float) -> StaticPodPlan:
    """The plan of a configuration with this limit on the scheduler's requests."""
    content = {"kind": "KubeSchedulerConfiguration", "clientConnection": {"qps": qps}}
    return samples.planned(
        args={"config": "/srv/scheduler/config.yaml"},
        volumes=[samples.volume("scheduler", "/srv/scheduler")],
        files=[samples.file("/srv/scheduler/config.yaml", content)],
    )


def test_a_configuration_with_which_the_lease_is_lost_is_refused() -> None:
    with pytest.raises(Refusal, match=r"clientConnection\.qps 0\.01: must be at least 0\.2"):
        cluster_preflight.refuse_slow_renewal("kube-scheduler", *sides(scheduler(0.01)))
    cluster_preflight.refuse_slow_renewal("kube-scheduler", *sides(scheduler(50)))
    cluster_preflight.refuse_slow_renewal("kube-apiserver", *sides(scheduler(0.01)))


@pytest.mark.parametrize("is_read", [True, False])
def test_limit_of_unread_file_is_refused(site: Site, is_read: bool) -> None:
    path = site.pki / "scheduler.json"
    path.write_text('{"kind": "KubeSchedulerConfiguration", "clientConnection": {"qps": 0.01}}', encoding="ascii")
    text = samples.with_command(f"--config={path}").replace("/etc/kubernetes/pki", str(site.pki))
    plan = static_pod.plan(samples.desired(args={"v": 4}), static_pod.State(samples.manifest(text), {}, {}))
    running = ComponentFiles(plan.before, None, lambda place: not is_read)
    with contextlib.nullcontext() if is_read else pytest.raises(Refusal, match="must be at least"):
        cluster_preflight.refuse_slow_renewal("kube-scheduler", running, plan)
