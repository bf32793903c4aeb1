# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rehearsal of a kubelet: its own binary with its new command line, in a sandbox without any network."""

from __future__ import annotations

import os
import tempfile
import typing as t

from ..._plan.common.verdict import ACCEPTED, REFUSED, Verdict
from ..._plan.kubelet import layout as kubelet_layout
from ..._plan.kubelet import plan as kubelet
from ..._plan.kubernetes import flags
from ..._plan.transaction import rehearsal
from ..runtime.sandbox_runs import run_in_sandbox, stage_files
from ..transaction.state import Run
from .kubelet_units import KUBELET_NAME, KubeletUnit

# What a dynamically linked binary needs, the node's configuration, and the kernel's own directories. Everything else, the
# container runtime's socket and the device plugins above all, is missing in the sandbox.
VISIBLE = ("/bin", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr")
_CLIENT_CA = ("authentication", "x509", "clientCAFile")


def rehearse(
    unit: KubeletUnit, plan: kubelet.KubeletPlan, *, run: Run, clock: t.Callable[[], float], binary: str | None = None
) -> tuple[Verdict, list[str]]:
    """Start the kubelet with its new command line in a sandbox, and our fragment once more alone.

    binary: another kubelet than that of the unit. Returns the verdict, and what the kubelet ignores in configuration
    that is not ours. Alone, as C(--config), the fragment is decoded strictly; in its directory the kubelet ignores fields
    that it does not know. Only the decoding is checked then: a fragment need not be valid without the rest.
    """
    began = clock()
    started = binary or unit.binary
    command = rehearsal.build_kubelet_command(plan.after.command)
    status, output = _start_in_sandbox(started, plan, command, run)
    first = rehearsal.parse_verdict(KUBELET_NAME, status, output)
    verdict, message = first.verdict, first.message
    others = rehearsal.strict_errors(output)
    if verdict == ACCEPTED and plan.fragment is not None:
        alone = rehearsal.build_kubelet_command([unit.binary, f"--config={plan.fragment.path}"])
        status, output = _start_in_sandbox(started, plan, alone, run)
        errors = rehearsal.strict_errors(output)
        if errors:
            verdict, message = REFUSED, "; ".join(rehearsal.unquote(error) for error in errors)
        elif not rehearsal.has_loaded_configuration(output):
            problem = rehearsal.parse_verdict(KUBELET_NAME, status, output).message
            verdict, message = REFUSED, f"{plan.fragment.path} was not decoded on its own: {problem}"
    return Verdict(verdict, message, round(clock() - began, 2), tuple(command), first.warnings), others


def _start_in_sandbox(binary: str, plan: kubelet.KubeletPlan, command: t.Sequence[str], run: Run) -> tuple[int, str]:
    visible = [*VISIBLE, *_files_outside(plan)]
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        request = {
            "binary": binary,
            "arguments": list(command),
            "environment": {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
            "root": root,
            "mounts": [
                {"source": rehearsal.SCRATCH, "target": rehearsal.SCRATCH, "missing": "directory"},
                *({"source": path, "target": path, "missing": "directory"} for path in visible),
            ],
            "staged": stage_files(plan.files),
        }
        return run_in_sandbox(KUBELET_NAME, request, run)


def _files_outside(plan: kubelet.KubeletPlan) -> list[str]:
    """Files outside of VISIBLE that the kubelet reads before the rehearsal ends: its configuration, its certificates."""
    settings, command = plan.after.settings, plan.after.command
    named = [
        flags.last_value(command, "config"),
        kubelet_layout.config_dir(command),
        *(settings.field(path) for path in (("tlsCertFile",), ("tlsPrivateKeyFile",), _CLIENT_CA)),
    ]
    inside = tuple(f"{path}/" for path in VISIBLE)
    return sorted({path for path in named if path and os.path.lexists(path) and not path.startswith(inside)})
