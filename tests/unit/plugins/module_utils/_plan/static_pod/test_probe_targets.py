# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change after which the manifest's own probes cannot pass is refused."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import probe_targets
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods

NODE_IP = "192.0.2.11"
METRICS = "listen-metrics-urls"
PROBED_URL = "http://127.0.0.1:2381"


def _etcd(*arguments: str) -> t.Any:
    """With kubeadm's flags for its clients and its health, unless others are given."""
    text = static_pods.etcd(
        "--client-cert-auth=true", f"--listen-client-urls=https://127.0.0.1:2379,https://{NODE_IP}:2379", *arguments
    )
    return static_pods.state(text)


@pytest.mark.parametrize(
    "args",
    [
        {METRICS: [f"{PROBED_URL},http://{NODE_IP}:2381"]},
        {METRICS: [f"http://{NODE_IP}:2381,{PROBED_URL}"]},
        {METRICS: ["http://0.0.0.0:2381"]},
        {METRICS: ["http://[::]:2381"]},
        {METRICS: ["http://localhost:2381"]},
        {METRICS: ["http://$(UNKNOWN):2381", PROBED_URL]},
        {"listen-client-urls": ["https://127.0.0.1:2379"]},
    ],
)
def test_etcd_that_passes_its_probes_is_accepted(args: dict[str, t.Any]) -> None:
    assert static_pods.planned(_etcd(f"--{METRICS}={PROBED_URL}"), name="etcd", args=args).operations


@pytest.mark.parametrize(
    "value",
    [None, [f"http://{NODE_IP}:2381"], ["http://0.0.0.0:2382"], ["https://127.0.0.1:2381"], ["http://[::1]:2381"]],
)
def test_etcd_that_does_not_pass_its_probes_is_refused(value: t.Any) -> None:
    with pytest.raises(
        Refusal,
        match=rf"change of {METRICS} etcd does not listen at {PROBED_URL}, .* Keep it, .*: {PROBED_URL},http://ADDRESS",
    ):
        static_pods.planned(_etcd(f"--{METRICS}={PROBED_URL}"), name="etcd", args={METRICS: value})


def test_address_in_the_environment_counts() -> None:
    text = static_pods.etcd().replace(
        "    name: etcd\n    volume",
        f"    env:\n    - name: ETCD_LISTEN_METRICS_URLS\n      value: {PROBED_URL}\n    name: etcd\n    volume",
    )
    before = static_pods.state(text)
    with pytest.raises(Refusal, match=f"does not listen at {PROBED_URL}"):
        static_pods.planned(before, name="etcd", env={"ETCD_LISTEN_METRICS_URLS": f"http://{NODE_IP}:2381"})
    with pytest.raises(Refusal, match=f"does not listen at {PROBED_URL}"):
        static_pods.planned(before, name="etcd", args={METRICS: [f"http://{NODE_IP}:2381"]})


def test_probes_of_the_client_port_need_a_listener_without_certificate() -> None:
    text = static_pods.etcd("--listen-client-urls=http://127.0.0.1:2381")
    before = static_pods.state(text)
    assert static_pods.planned(before, name="etcd", args={"snapshot-count": ["5000"]}).operations
    with pytest.raises(Refusal, match="change of listen-client-urls"):
        static_pods.planned(before, name="etcd", args={"listen-client-urls": ["http://127.0.0.1:2379"]})
    with pytest.raises(Refusal, match="change of listen-client-http-urls"):
        static_pods.planned(before, name="etcd", args={"listen-client-http-urls": ["http://127.0.0.1:2382"]})


def test_etcd_that_was_out_of_reach_before_is_changed() -> None:
    assert static_pods.planned(_etcd(), name="etcd", args={METRICS: [f"http://{NODE_IP}:2381"]}).operations


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({"secure-port": ["10260"]}, "secure-port 10260 .* port 10259"),
        ({"secure-port": ["0"]}, "secure-port 0 .* port 10259"),
        ({"bind-address": [NODE_IP]}, "bind-address 192.0.2.11 .* ask 127.0.0.1"),
        ({"authorization-always-allow-paths": ["/healthz,/metrics"]}, "allow-paths /healthz,/metrics .* ask /livez"),
    ],
)
def test_scheduler_that_does_not_pass_its_probes_is_refused(args: dict[str, t.Any], complaint: str) -> None:
    before = static_pods.state(static_pods.SCHEDULER.replace("httpGet:\n", "httpGet:\n        host: 127.0.0.1\n"))
    with pytest.raises(Refusal, match=complaint):
        static_pods.planned(before, name="kube-scheduler", args=args)


def test_local_address_is_refused_where_probes_query_that_of_the_node() -> None:
    before = static_pods.state(static_pods.SCHEDULER.replace("spec:\n", "spec:\n  hostNetwork: true\n", 1))
    assert static_pods.planned(before, name="kube-scheduler", args={"bind-address": [NODE_IP]}).operations
    with pytest.raises(Refusal, match=r"bind-address 127\.0\.0\.1 .* ask ADDRESS-OF-THE-NODE"):
        static_pods.planned(before, name="kube-scheduler", args={"bind-address": ["127.0.0.1"]})


@pytest.mark.parametrize("value", ["/healthz,/livez,/readyz,/metrics", "/*", "*", "livez"])
def test_scheduler_that_lets_its_probes_in_is_accepted(value: str) -> None:
    before = static_pods.state(static_pods.SCHEDULER)
    args = {"authorization-always-allow-paths": [value]}
    assert static_pods.planned(before, name="kube-scheduler", args=args).operations


def test_port_that_goes_back_to_its_default_is_refused() -> None:
    text = static_pods.API_SERVER.replace("--secure-port=6443", "--secure-port=7443").replace(
        "port: 6443", "port: 7443"
    )
    before = static_pods.state(text)
    assert static_pods.planned(before, args={"v": ["3"]}).operations
    with pytest.raises(Refusal, match=r"secure-port 6443 .* ask port 7443"):
        static_pods.planned(before, args={"secure-port": None})


@pytest.mark.parametrize("name", ["kube-apiserver", "kube-scheduler"])
def test_address_is_changed_where_probes_query_another_port(name: str) -> None:
    base = static_pods.API_SERVER if name == "kube-apiserver" else static_pods.SCHEDULER
    before = static_pods.state(base.replace("port: 6443", "port: 3990").replace("Port: 10259", "Port: 10251"))
    assert static_pods.planned(before, name=name, args={"bind-address": [NODE_IP]}).operations
    assert static_pods.planned(before, name=name, args={"authorization-always-allow-paths": ["/metrics"]}).operations


def test_anonymous_requests_are_switched_off_again_where_probes_query_a_sidecar() -> None:
    text = static_pods.with_command("kube-apiserver", "--anonymous-auth=false").replace("port: 6443", "port: 3990")
    before = static_pods.state(text)
    done = static_pods.planned(before, args={"anonymous-auth": ["true"]})
    assert static_pods.planned(static_pods.following(done, before), purge=True).after.text == text


CONDITIONS = '{"anonymous": {"enabled": true, "conditions": [%s]}}'


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("{}", []),
        ("anonymous: {enabled: true}", []),
        ("anonymous: {enabled: false}", ["/livez", "/readyz"]),
        ("anonymous: {}", ["/livez", "/readyz"]),
        (CONDITIONS % '{"path": "/livez"}, {"path": "/readyz"}', []),
        (CONDITIONS % '{"path": "/healthz"}, {"path": "/readyz"}', ["/livez"]),
    ],
)
def test_file_that_decides_about_anonymous_requests_is_read(text: str, closed: list[str]) -> None:
    found = probe_targets.closed_paths(text.encode(), static_pods.manifest().probes())
    assert sorted(found) == closed
