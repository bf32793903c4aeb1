# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.
"""How long the certificates of a control plane are valid, as the new kubeadm reads them."""

from __future__ import annotations

import json

from .._plan.upgrade import certificates
from .upgrade_findings import UpgradeFindings
from .upgrade_kubeadm import CONFIG, Kubeadm, words

_WHAT = "certificates"


def check(kubeadm: Kubeadm, found: UpgradeFindings) -> None:
    """Add what is found. Raises KubeadmError when kubeadm could not be started."""
    status, output = kubeadm(["certs", "check-expiration", f"--config={CONFIG}", "--output=json"])
    try:
        if status == 0:
            told, dummy = json.JSONDecoder().raw_decode(output)
            found.findings += certificates.findings(told)
            return
    except (ValueError, LookupError, TypeError):
        pass
    found.skip(_WHAT, f"{kubeadm.program} certs check-expiration: {words(output)}")
