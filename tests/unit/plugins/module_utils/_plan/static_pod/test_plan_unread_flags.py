# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments that a component passes over beside its configuration file are told."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods

CONFIG = "/etc/kubernetes/scheduler.yaml"


def warnings(name: str, text: str, **args: t.Any) -> tuple[str, ...]:
    given = {flag.replace("_", "-"): None if value is None else [value] for flag, value in args.items()}
    return static_pods.planned(static_pods.state(text), name=name, args=given).warnings


def test_a_scheduler_with_a_file_does_not_read_its_limits() -> None:
    text = static_pods.with_command(f"--config={CONFIG}", base=static_pods.SCHEDULER)
    (warning,) = warnings("kube-scheduler", text, kube_api_qps="500", leader_elect_lease_duration="20s", v="4")
    assert warning == (
        f"args kube-api-qps: kube-scheduler does not read it beside its configuration file {CONFIG}, so it has no effect."
        " Set clientConnection.qps in that file."
    )
    (warning,) = warnings("kube-scheduler", static_pods.SCHEDULER, profiling="false", config=CONFIG)
    assert warning.endswith("Set enableProfiling in that file.")


@pytest.mark.parametrize("args", [{"kube_api_qps": "500"}, {"config": CONFIG}])
def test_what_a_scheduler_reads_is_no_warning(args: dict[str, str]) -> None:
    text = static_pods.with_command("--kubeconfig=/etc/kubernetes/scheduler.conf", base=static_pods.SCHEDULER)
    assert warnings("kube-scheduler", text, **args) == ()


def test_etcd_with_a_file_reads_no_flag() -> None:
    text = static_pods.etcd("--config-file=/etc/etcd.yaml")
    (warning,) = warnings("etcd", text, quota_backend_bytes="8589934592", snapshot_count=None)
    assert warning == (
        "args quota-backend-bytes: etcd does not read it beside its configuration file /etc/etcd.yaml, so it has no effect."
        " Set quota-backend-bytes in that file."
    )
    assert warnings("etcd", static_pods.etcd(), quota_backend_bytes="8589934592") == ()


def test_other_components_have_no_such_file() -> None:
    assert warnings("kube-apiserver", static_pods.API_SERVER, profiling="false") == ()
