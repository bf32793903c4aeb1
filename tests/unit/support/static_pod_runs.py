# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of the module static_pod on the fake node, without a module, and their reports."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import copies_of, save_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_steps import (
    Observed,
    StaticPodSteps,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import transaction_progress
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.transaction_steps import LockWait
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import StaticPodPlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner

PodCourse = StepRunner[Observed, StaticPodPlan]


def steps(
    master: FakeNode,
    run: FakeRun,
    *,
    dry: bool = False,
    diff: bool = True,
    lock_wait: LockWait | None = None,
    **desired: t.Any,
) -> PodCourse:
    """The steps of one run."""
    given = samples.parameters(**{"wait_timeout": 20, "min_ready_seconds": 3, **desired})
    pod_steps = StaticPodSteps(given, diff=diff, run=run, host=master.host, ready_timeout=0, lock_wait=lock_wait)
    return StepRunner(pod_steps, dry=dry)


def carry_out(master: FakeNode, run: FakeRun, **desired: t.Any) -> Json:
    """A whole run of the module, and then of the engine."""
    all_steps = steps(master, run, **desired)
    with all_steps.session():
        all_steps.read()
        all_steps.notes()
        all_steps.plan()
        all_steps.apply()
    journal = master.opened()
    for entry in journal["files"]:  # this may not run as root
        if entry["after"]:
            entry["after"].update(uid=os.getuid(), gid=os.getgid())
    save_journal(str(master.state), journal)
    master.run()
    return all_steps.report()


def change_while(all_steps: PodCourse, meanwhile: t.Callable[[], object]) -> None:
    """A run of the module in which something happens between its plan and its change."""
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        meanwhile()
        all_steps.apply()


def report(run: FakeRun, *, dry: bool = False, **given: t.Any) -> Json:
    """The result of node_transaction."""
    return transaction_progress.report_progress(NAME, given.pop("id", None), wait=0, seen="", dry=dry, run=run, **given)


def damage(directory: Path, content: str = "{", identifier: str | None = None) -> None:
    """Both copies of a journal hold something else."""
    for path in copies_of(str(directory), identifier):
        Path(path).write_text(content, encoding="utf-8")


# A fake node serves no healthz, its API server names no etcd, and its manifests have no probes.
_OF_FAKE_NODES = (
    "whether its kubelet is healthy: healthzPort is 0",
    "whether its etcd answers: --etcd-servers has no address with http or https",
    "whether it works: its manifest has no probe, so only its process was watched",
)


# Of every change of an API server.
_RESTART_NOTICE = "kube-apiserver will be away for about "


def without_limits_of_fakes(texts: t.Iterable[str]) -> list[str]:
    """Warnings, or parts that were not verified, without those of every fake node, whose API has no pods of other control planes, and of every restart."""
    return [
        text
        for text in texts
        if not text.endswith(_OF_FAKE_NODES)
        and not text.startswith(_RESTART_NOTICE)
        and " serves while this one restarts: " not in text
    ]
