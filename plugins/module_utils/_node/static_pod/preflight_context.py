# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the checks of a preflight use of a node."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._engine.node import Host
from ..._engine.watcher import retry_until
from ..kubelet.kubelet_reader import Kubelet
from ..transaction.state import Run
from . import static_pods


@dataclasses.dataclass(frozen=True)
class PreflightContext:
    """What the checks use of a node.

    patience: seconds for a moment's weakness. kubeconfig: of the node's administrator. force: as in the module's option. unverified: what the
    checks could not verify, each with the reason.
    """

    kubelet: Kubelet
    run: Run
    host: Host
    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]
    patience: float
    kubeconfig: str
    force: bool
    unverified: list[str] = dataclasses.field(default_factory=list)


Answer = t.TypeVar("Answer")


def patiently(ask: t.Callable[[], Answer], is_fine: t.Callable[[Answer], bool], node: PreflightContext) -> Answer:
    """The first answer that is fine, or the last one when none was within the node's patience."""
    return retry_until(is_fine, ask, node.clock, node.sleep, seconds=node.patience)


def is_healthy(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component runs what its manifest says, and is ready."""
    observation = static_pods.watch_until_healthy(
        pod, node.host, seconds=node.patience, clock=node.clock, sleep=node.sleep
    )
    return observation.healthy


def runs(pod: static_pods.StaticPod, node: PreflightContext) -> bool:
    """Whether a component has a process."""
    return static_pods.running_process(pod, node.host) is not None
