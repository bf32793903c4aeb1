# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading a kubelet for the sake of static pods, whether it works or not: one that is down as its files would have it, with its last words."""

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
from .kubelet_reader import Kubelet, KubeletDown, kubelet_of, read_kubelet, settings_of
from .kubelet_unit_files import KUBELET_UNIT, read_unit_files


def read_any_kubelet(run: Run, host: Host, ready_timeout: float = TRANSIENT_TIMEOUT) -> Kubelet:
    """The kubelet of this node as it runs, or where it does not, as its files would have it; with what is wrong with it.

    ready_timeout: seconds for a moment's weakness, up to those of a hiccup. Raises KubeadmError when there is none of kubeadm's layout.
    """
    limit = time.monotonic() + min(ready_timeout, TRANSIENT_TIMEOUT)
    found, missing = _look(run, host)
    while missing and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)
        found, missing = _look(run, host)
    if not missing:
        return found or _of_files(run)
    found = found or _of_files(run)
    problem = messages.down("kubelet", found.node_name, missing, (), read_unit_log(run, KUBELET_UNIT))
    return dataclasses.replace(found, problem=problem)


def read_running_kubelet(run: Run, host: Host, ready_timeout: float = TRANSIENT_TIMEOUT) -> Kubelet:
    """The kubelet of this node as it runs. ready_timeout: as above. Raises KubeadmError when none does, with its last words and what repairs it."""
    try:
        return read_kubelet(run, proc=host.proc)
    except KubeletDown as exc:
        try:
            problem = read_any_kubelet(run, host, ready_timeout).problem
        except KubeadmError:  # there is none that systemd could start
            raise exc from None
        if not problem:  # it came back meanwhile
            return read_kubelet(run, proc=host.proc)
        raise KubeadmError(messages.needs_kubelet(problem)) from exc


def _look(run: Run, host: Host) -> tuple[Kubelet | None, str]:
    """The kubelet that runs, None without one, and what is wrong; empty when it works."""
    try:
        found = read_kubelet(run, proc=host.proc)
    except KubeletDown as exc:
        return None, exc.found
    is_fine, said = run_probe(found.healthz) if found.healthz else (True, "")
    return found, "" if is_fine else f"runs, not ready yet ({said})"


def _of_files(run: Run) -> Kubelet:
    """What the files of its unit make of the kubelet."""
    command = read_unit_files(run).command
    return kubelet_of(command, settings_of(command, "/"))
