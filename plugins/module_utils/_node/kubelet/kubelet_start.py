# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a kubelet finds what it needs when it is restarted: its container runtime, its credential, which a running one has in
memory, and our fragment."""

from __future__ import annotations

import os
import typing as t

from ..._engine.engine_errors import CredentialError
from ..._engine.files import open_to_read
from ..._engine.kubeconfig import load_config, naming_kubeconfig, read_credentials, select_context
from ..._engine.node import Host
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.kubelet.config import Settings
from ..._plan.kubelet.plan import KubeletPlan
from ..._plan.kubernetes import flags
from ..._plan.transaction import messages
from ..runtime.container_runtime import runtime_at
from ..static_pod.certificate_pairs import pair_problem, time_problem
from ..transaction.state import Run
from .kubelet_files import require_files
from .kubelet_reader import runtime_endpoint
from .kubelet_units import KubeletUnit

# The files of its kubeconfig that a kubelet reads when it starts, and what has to be in them.
_KUBECONFIG_FILES = {
    "certificate-authority": b"-----BEGIN CERTIFICATE",
    "client-certificate": b"-----BEGIN CERTIFICATE",
    "client-key": b"PRIVATE KEY-----",
    "tokenFile": b"",
}


def check_start(
    unit: KubeletUnit, plan: KubeletPlan, problem: str, *, run: Run, host: Host, ready_timeout: float, force: bool
) -> list[str]:
    """Warnings about what the kubelet needs when it starts again. problem: of one that does not work, which is repaired. Raises Refusal where one that
    works would not find it."""
    disabled = _warn_about_disabled(unit)
    if problem:
        return [messages.repair_message(problem), *disabled]
    files = require_files(unit, plan.after, host, force=force)
    require_runtime(unit, plan.after.settings, run, ready_timeout)
    return [*require_credential(unit), *files, *disabled]


def _warn_about_disabled(unit: KubeletUnit) -> list[str]:
    if not unit.is_disabled:
        return []
    return [
        f"kubelet on {unit.node_name}: its unit is disabled, so the next boot of the node starts no kubelet unless another unit does. Run systemctl"
        " enable kubelet."
    ]


def require_runtime(unit: KubeletUnit, settings: Settings, run: Run, ready_timeout: float) -> None:
    """Refuse to restart a kubelet that works where its container runtime does not: neither the new kubelet nor the former one would start.

    settings: those of the new one. ready_timeout: seconds to wait for the runtime, at most TRANSIENT_TIMEOUT. Raises Refusal."""
    runtime = runtime_at(runtime_endpoint(settings), run)
    problem = runtime.await_ready(ready_timeout).not_ready
    if problem:
        raise Refusal(
            f"kubelet on {unit.node_name}: {problem}. The running kubelet would not start again, so nothing was changed. {runtime.repair_advice}"
        )


def find_sandbox_image(unit: KubeletUnit, run: Run) -> str:
    """The image with which the kubelet's runtime begins every pod; empty where it is not known to be there."""
    runtime = runtime_at(unit.runtime_endpoint, run)
    image, present = runtime.find_sandbox_image(runtime.read_status().sandbox_image)
    return image if present else ""


def refuse_idle_without_runtime(unit: KubeletUnit, run: Run, ready_timeout: float) -> None:
    """With nothing to change, a kubelet that is healthy and starts no pod is no success: its Node shows that after 45 s only. Raises KubeadmError."""
    runtime = runtime_at(unit.runtime_endpoint, run)
    problem = runtime.await_ready(ready_timeout).not_ready
    if problem:
        raise KubeadmError(
            f"kubelet on {unit.node_name}: there is nothing to change, but it starts no pod: {problem}. {runtime.repair_advice}"
        )


def require_credential(unit: KubeletUnit) -> list[str]:
    """Refuse to restart a kubelet with its client certificate only in memory. Where it can request another one with a bootstrap
    kubeconfig, warn. A relative path is not checked: its base is unknown."""
    command = unit.layout.command
    kubeconfig, bootstrap = (flags.last_value(command, name) or "" for name in ("kubeconfig", "bootstrap-kubeconfig"))
    missing = (_missing_file(kubeconfig) or _invalid_certificate(kubeconfig)) if os.path.isabs(kubeconfig) else ""
    if not missing:
        return []
    if not bootstrap or (os.path.isabs(bootstrap) and _missing_file(bootstrap)):
        reason = (
            f"its bootstrap kubeconfig {bootstrap} cannot be read either"
            if bootstrap
            else "it has no bootstrap kubeconfig"
        )
        raise Refusal(
            f"kubelet on {unit.node_name}: {missing}, and {reason}. It works with the certificate in its memory, and would not start again, so nothing was"
            " changed. Restore the file; kubelet-client-current.pem is a link to the newest kubelet-client-*.pem beside it. Without any, write"
            f" {kubeconfig} again: kubeadm kubeconfig user --org system:nodes --client-name system:node:{unit.node_name} on a control plane. Run again."
        )
    return [
        f"kubelet on {unit.node_name}: {missing}. When it is restarted, it requests another certificate with {bootstrap}; whether it gets one is not"
        " known before."
    ]


def _missing_file(path: str) -> str:
    """Which file of a kubeconfig is missing or cannot be read; empty when a kubelet that starts finds all of them."""
    try:
        cluster, _name, user = select_context(load_config(path))
        with naming_kubeconfig(path):
            for key, marker in _KUBECONFIG_FILES.items():
                _require_content({**cluster, **(user or {})}.get(key), marker)
    except CredentialError as exc:
        return str(exc) if isinstance(exc.__cause__, (OSError, _WrongContent)) else ""
    except ValueError:  # whether it is valid is for the kubelet to check
        return ""
    return ""


def _invalid_certificate(path: str) -> str:
    """Why a kubelet cannot use the client certificate of a kubeconfig; empty when it can, without one, and where OpenSSL cannot tell."""
    try:
        user = read_credentials(path).user
        if not (user.certificate and user.key):
            return ""
        problem = pair_problem(user.certificate, user.key) or time_problem(user.certificate, user.key, as_client=True)
    except (CredentialError, KubeadmError):
        return ""
    return f"{path}: of its client certificate, {problem}".rstrip(".") if problem else ""


class _WrongContent(ValueError):
    """A file without the expected certificate or key."""


def _require_content(path: str | None, marker: bytes) -> None:
    if path:
        with open_to_read(path) as stream:
            if marker not in stream.read():
                raise _WrongContent(f"{path} holds no {'key' if b'KEY' in marker else 'certificate'}")


def refuse_unread_directory(arguments: t.Sequence[str]) -> None:
    """Refuse a fragment where a kubelet with this command line would not find it."""
    directory = flags.last_value(arguments, "config-dir") or ""
    if os.path.islink(directory):
        raise Refusal(
            f"{directory} on {os.uname().nodename} is a link, and a kubelet reads no file of a --config-dir that is one. Make it a directory: what is in"
            f" {os.path.realpath(directory)} and is to take effect belongs into it. Run systemctl restart kubelet, and run again."
        )
