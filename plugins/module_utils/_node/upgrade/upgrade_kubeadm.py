# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starting a kubeadm of any version on the configuration of the cluster: in the sandbox, offline."""

from __future__ import annotations

import re
import tempfile
import typing as t

from ..._engine.files import Json
from ..._plan.kubeadm_config.cluster_configuration import ClusterConfiguration
from ..kubelet.kubelet_rehearsal import VISIBLE
from ..runtime.programs import PATH
from ..runtime.sandbox_runs import base64_of, run_in_sandbox
from ..transaction.state import Run

_DIRECTORY = "/upgrade-check"
CONFIG = f"{_DIRECTORY}/kubeadm.yaml"
_KLOG = re.compile(r"^[IWEF]\d{4} \S+ +\d+ \S+\] ")
_LINES = 3  # of what kubeadm says when it fails


class Kubeadm(t.NamedTuple):
    """One kubeadm.

    program: its path. config: the file that it finds at CONFIG. configuration: the cluster's, from which that is made. patches: the
    directory that it names; None for none.
    """

    program: str
    config: str
    configuration: ClusterConfiguration
    run: Run
    patches: str | None = None

    def __call__(
        self,
        arguments: t.Sequence[str],
        *,
        writable: t.Mapping[str, str] | None = None,
        environment: t.Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Run it: (status, all that it said). writable: directories by what it knows them as.

        Raises KubeadmError when it could not be started.
        """
        request = self._request(arguments, writable or {}, environment or {})
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
            return run_in_sandbox("kubeadm", {**request, "root": root}, self.run)

    def _request(
        self,
        arguments: t.Sequence[str],
        writable: t.Mapping[str, str],
        environment: t.Mapping[str, str],
    ) -> Json:
        visible = dict.fromkeys(
            (*VISIBLE, self.configuration.certificates_dir, *([self.patches] if self.patches else []))
        )
        shown = [
            path for path in visible if not any(path.startswith(f"{other}/") for other in visible if other != path)
        ]
        return {
            "binary": self.program,
            "arguments": ["kubeadm", *arguments],
            "environment": {"PATH": PATH, **environment},
            "mounts": [
                {"source": _DIRECTORY, "target": _DIRECTORY, "missing": "directory"},
                *(
                    {"source": source, "target": target, "missing": None, "writable": True}
                    for target, source in writable.items()
                ),
                *({"source": path, "target": path, "missing": "directory"} for path in shown),
            ],
            "staged": {CONFIG: base64_of(self.config.encode("utf-8"))},
        }


def words(output: str) -> str:
    """Why a kubeadm failed: the last lines of its errors, without what its log puts before them."""
    lines = [_KLOG.sub("", line).strip() for line in output.splitlines()]
    said = [line for line in lines if line and not line.startswith(("[", "To see the stack trace"))]
    return "; ".join(said[-_LINES:]) or "it printed nothing"
