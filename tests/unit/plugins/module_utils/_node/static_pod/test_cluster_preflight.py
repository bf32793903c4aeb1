# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rest of a cluster must have before a component is changed."""

from __future__ import annotations

import os
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import probes
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import (
    static_pods,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import other_instances
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.preflight_site import Site


def api_server(site: Site, *arguments: str) -> static_pods.StaticPod:
    return site.pod("kube-apiserver", samples.with_command("--advertise-address=127.0.0.1", *arguments))


# ---- the other control planes ------------------------------------------------------------------------------------------


def show_pods(monkeypatch: pytest.MonkeyPatch, *others: tuple[str, int | None]) -> None:
    """Have the API show the API servers of other control planes. port: at the loopback; None for none."""
    items = []
    for node, port in others:
        get = {"host": "127.0.0.1", "port": port, "path": "/readyz", "scheme": "HTTP"}
        component = "etcd" if port is None else "kube-apiserver"
        items.append(
            {
                "metadata": {
                    "name": f"{component}-{node}",
                    "labels": {"component": component},
                    "annotations": {"kubernetes.io/config.mirror": "1"},
                },
                "spec": {"nodeName": node, "containers": [{"name": component, "readinessProbe": {"httpGet": get}}]},
                "status": {},
            }
        )
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: ({"items": items}, ""))
    monkeypatch.setattr(other_instances, "_LOCAL", ())


def test_the_last_api_server_is_not_stopped(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = api_server(site)
    site.start(pod)
    show_pods(monkeypatch, ("cp2", 1), ("cp3", None))
    with pytest.raises(
        Refusal,
        match=r"no other kube-apiserver of the cluster would serve .*cp2 \(.*refused\), cp3 \(it has none\)\. Repair",
    ):
        site.check(pod, v=4)
    site.force = True
    (warning,) = site.check(pod, v=4)
    assert warning.startswith("forced: no other kube-apiserver")


def test_another_api_server_that_serves_is_enough(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = api_server(site)
    site.start(pod)
    show_pods(monkeypatch, ("cp2", site.web.port), ("cp3", site.web.port))
    assert site.check(pod, v=4) == ()
    show_pods(monkeypatch, ("cp2", site.web.port), ("cp3", None))
    assert site.check(pod, v=4) == ("kube-apiserver does not serve on every other control plane: cp3 (it has none)",)


def test_a_repair_of_the_last_api_server_is_not_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = api_server(site)
    site.start(pod)
    site.web.health_status = 500
    show_pods(monkeypatch, ("cp2", 1))
    assert site.check(pod, v=4) == ()


def test_control_planes_that_the_api_does_not_show_are_not_verified(site: Site) -> None:
    pod = api_server(site)
    site.start(pod)
    begin = "whether another kube-apiserver serves while this one restarts: "
    assert any(text.startswith(begin) for text in site.unverified(pod, v=4))


def show_lease(monkeypatch: pytest.MonkeyPatch, seconds: int | None) -> None:
    """Have the API show the Lease of one node; None for an API that is away."""
    items = [{"metadata": {"name": "w1", "labels": {}}, "spec": {"leaseDurationSeconds": seconds}}]
    shown = (None, "it is away") if seconds is None else ({"items": items}, "")
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: shown)


def test_a_grace_period_too_short_for_a_kubelet_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = site.pod("kube-controller-manager", samples.SCHEDULER.replace("kube-scheduler", "kube-controller-manager"))
    show_lease(monkeypatch, 40)
    grace = {"node_monitor_grace_period": "19s"}
    with pytest.raises(
        Refusal, match=r"invalid node-monitor-grace-period 19s: must be at least 20s, .* of w1, .* force: true"
    ):
        site.check(pod, **grace)
    assert not any("grace" in warning for warning in site.check(pod, node_monitor_grace_period="20s"))
    show_lease(monkeypatch, None)
    assert (
        "whether two renewals of each node's Lease fit into --node-monitor-grace-period: it is away"
        in site.unverified(pod, **grace)
    )
    show_lease(monkeypatch, 40)
    site.force = True
    assert any(warning.startswith("forced: args: invalid node-monitor") for warning in site.check(pod, **grace))


def profiles(site: Site, *names: str) -> str:
    """The path of a scheduler's configuration with these profiles."""
    path = site.pki / f"{'-'.join(names) or 'none'}.yaml"
    lines = [f"- schedulerName: {name}" if name else "- {}" for name in names]
    head = [
        "apiVersion: kubescheduler.config.k8s.io/v1",
        "kind: KubeSchedulerConfiguration",
        *(["profiles:"] if lines else []),
    ]
    path.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        (None, ["custom"], ["default-scheduler"]),
        (None, ["", "custom"], []),
        (["default-scheduler", "batch"], None, ["batch"]),
        (["default-scheduler", "batch"], ["default-scheduler", "batch", "more"], []),
        ([], ["custom"], ["default-scheduler"]),
    ],
)
def test_a_profile_that_pods_name_stays(
    site: Site, monkeypatch: pytest.MonkeyPatch, before: list[str] | None, after: list[str] | None, gone: list[str]
) -> None:
    flag = [] if before is None else [f"    - --config={profiles(site, *before)}\n"]
    text = samples.API_SERVER.replace("kube-apiserver", "kube-scheduler")
    pod = site.pod(
        "kube-scheduler", text.replace("    - kube-scheduler\n", f"    - kube-scheduler\n{''.join(flag)}", 1)
    )
    change = {"config": None if after is None else profiles(site, *after)}
    requests: list[str] = []
    pods: t.Any = {"items": [{"metadata": {"namespace": "default", "name": "p"}}]}

    def respond(_kubeconfig: str, path: str) -> tuple[t.Any, str]:
        requests.extend([path] if "schedulerName" in path else [])
        return (pods, "") if "schedulerName" in path else ({"items": []}, "")

    monkeypatch.setattr(probes, "api_get", respond)
    if gone:
        with pytest.raises(Refusal, match=f"invalid profiles: must have {gone[0]}, which pods name, such as default/p"):
            site.check(pod, **change)
        site.force = True
        assert any(each.startswith("forced: invalid profiles") for each in site.check(pod, **change))
        site.force, pods = False, {"items": []}
    assert not any("profiles" in each for each in site.check(pod, **change))
    assert {path.rpartition("%3D")[2] for path in requests} == set(gone)
    pods = None
    unverified = [f"whether pods name the scheduler's profile {name}, which goes: " for name in gone]
    assert [each for each in site.unverified(pod, **change) if "profile" in each] == unverified


@pytest.mark.parametrize(("holder", "leads"), [("cp1_1", True), (f"{os.uname().nodename}_1", True), ("cp2_1", False)])
def test_leader_is_known_by_its_lease(site: Site, monkeypatch: pytest.MonkeyPatch, holder: str, leads: bool) -> None:
    lease = ({"spec": {"holderIdentity": holder}}, "")
    monkeypatch.setattr(probes, "api_get", lambda kubeconfig, path: lease if "/leases/" in path else (None, "away"))
    found = site.context_after(site.pod("kube-scheduler", samples.SCHEDULER), v=4)
    assert found.facts["leads"] is leads


def test_file_in_memory_is_refused(site: Site) -> None:
    pod = api_server(site)
    path = site.pki / "memory" / "tokens.csv"
    path.parent.mkdir()
    path.write_text("", encoding="utf-8")
    (site.root / "proc" / "1").mkdir(exist_ok=True)
    mountinfo = site.root / "proc" / "1" / "mountinfo"
    mountinfo.write_text(f"23 22 0:21 / {path.parent} rw - tmpfs tmpfs rw\n", encoding="ascii")
    with pytest.raises(Refusal, match=r"--token-auth-file=.* on .* is in memory \(.*/memory\).*force: true"):
        site.check(pod, token_auth_file=str(path))
    site.force = True
    assert any(
        warning.startswith("forced: args: --token-auth") for warning in site.check(pod, token_auth_file=str(path))
    )
    mountinfo.write_text("", encoding="ascii")
    site.force = False
    assert site.check(pod, token_auth_file=str(path)) == ()
