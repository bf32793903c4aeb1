# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""API versions of kubeadm's configuration that the kubeadm of the target does not read."""

from __future__ import annotations

from ..kubeadm_config.cluster_configuration import CURRENT, GROUP, IN_CONFIG_MAP, ClusterConfiguration
from .findings import BREAKS, CONFIG_MAP, Finding

# The last minor version whose kubeadm reads an API version.
_LAST_READER = {f"{GROUP}v1beta2": (1, 26), f"{GROUP}v1beta3": (1, 36)}


def api_version_findings(configuration: ClusterConfiguration, target: tuple[int, ...]) -> list[Finding]:
    """An API version that the kubeadm of the target does not read. target: its minor version."""
    last = _LAST_READER.get(configuration.api_version)
    if last is None or tuple(target[:2]) <= last:
        return []
    message = (
        f"kubeadm {target[0]}.{target[1]} does not read {configuration.api_version}, which ends with {last[0]}.{last[1]}. Rewrite it with the present"
        f" kubeadm, kubeadm config migrate, and put the result into the ConfigMap; {CURRENT} is read."
    )
    return [
        Finding(
            "kubeadm",
            BREAKS,
            message,
            "config",
            "apiVersion",
            CONFIG_MAP,
            IN_CONFIG_MAP,
            _line_of(configuration.text, "apiVersion"),
        )
    ]


def _line_of(text: str, key: str) -> int | None:
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.startswith(f"{key}:"))
    return next(lines, None)
