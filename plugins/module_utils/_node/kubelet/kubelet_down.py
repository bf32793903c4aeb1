# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading a kubelet with its static pods, whether it works or not: one that is down from its files, with its last log lines."""

from __future__ import annotations

import dataclasses
import time

from ..._engine.files import POLL_SECONDS
from ..._engine.node import Host, read_unit_log
from ..._engine.probes import run_probe
from ..._engine.watcher import TRANSIENT_TIMEOUT
from ..._plan.common.errors import KubeadmError
from ..._plan.transaction import messages
from ..transaction.state import Run
from .kubelet_reader import Kubelet, KubeletDown, make_kubelet, read_kubelet, read_settings
from .kubelet_unit_files import KUBELET_UNIT, read_unit_files


def read_any_kubelet(run: Run, host: Host, ready_timeout: float = TRANSIENT_TIMEOUT) -> Kubelet:
    """The kubelet of this node as it runs, or where it does not, from its files; with what is wrong with it.

    ready_timeout: seconds that it may take to recover. Raises KubeadmError when there is none of kubeadm's layout.
    """
    limit = time.monotonic() + min(ready_timeout, TRANSIENT_TIMEOUT)
    kubelet, problem = _observe(run, host)
    while problem and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)
        kubelet, problem = _observe(run, host)
    kubelet = kubelet or _read_from_files(run)
    if not problem:
        return kubelet
    # No results of probes: what its only one said is in the problem.
    problem = messages.down_message("kubelet", kubelet.node_name, problem, (), read_unit_log(run, KUBELET_UNIT))
    return dataclasses.replace(kubelet, problem=problem)


def read_running_kubelet(run: Run, host: Host, ready_timeout: float = TRANSIENT_TIMEOUT) -> Kubelet:
    """The kubelet of this node as it runs. ready_timeout: as above. Raises KubeadmError when none does, with its last log lines and what repairs it."""
    try:
        return read_kubelet(run, proc=host.proc)
    except KubeletDown as exc:
        try:
            problem = read_any_kubelet(run, host, ready_timeout).problem
        except KubeadmError:  # there is none that systemd could start
            raise exc from None
        if not problem:  # it came back meanwhile
            return read_kubelet(run, proc=host.proc)
        raise KubeadmError(messages.kubelet_needed_message(problem)) from exc


def _observe(run: Run, host: Host) -> tuple[Kubelet | None, str]:
    """The kubelet that runs, None without one, and what is wrong; empty when it works."""
    try:
        kubelet = read_kubelet(run, proc=host.proc)
    except KubeletDown as exc:
        return None, exc.state
    is_ok, message = run_probe(kubelet.healthz) if kubelet.healthz else (True, "")
    return kubelet, "" if is_ok else f"runs, not ready yet ({message})"


def _read_from_files(run: Run) -> Kubelet:
    """The kubelet that the files of its unit describe."""
    command = read_unit_files(run).command
    return make_kubelet(command, read_settings(command, root="/"))
