# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates that end before an upgrade is through, or that it does not renew.

kubeadm renews the certificates of a control plane in each upgrade, unless it is told --certificate-renewal=false. It renews no authority, and
nothing that an authority outside of it has signed.
"""

from __future__ import annotations

import typing as t

from .findings import BREAKS, WARNS, Finding

FIELD = "certificates"
_NODE = "node"
_HOUR, _DAY = 3600, 86400  # seconds
_UPGRADE = _DAY  # what an upgrade of a cluster may take, node by node
_NOTICE = 30 * _DAY  # to have a certificate signed elsewhere
_LIFE = 365 * _DAY  # of a certificate that kubeadm renews
_OPTIONAL = "super-admin.conf"  # only where kubeadm init ran
_KUBECONFIG = ".conf"

Json = t.Mapping[str, t.Any]


def findings(told: Json) -> list[Finding]:
    """What is wrong. told: what C(kubeadm certs check-expiration --output=json) tells.

    Raises KeyError and TypeError for what is not of that form.
    """
    found = [(entry["name"], _of_certificate(entry)) for entry in told["certificates"]]
    found += [(entry["name"], _of_authority(entry)) for entry in told["certificateAuthorities"]]
    return [Finding(_NODE, fate, message, FIELD, name) for name, (fate, message) in found if fate]


def _of_certificate(entry: Json) -> tuple[str, str]:
    """The fate of one certificate and why; empty when nothing is wrong."""
    name, left = entry["name"], entry["residualTime"]
    if entry["missing"]:
        return ("", "") if name == _OPTIONAL else (BREAKS, _missing(name))
    is_external = entry["externallyManaged"]
    remedy = (
        "have it signed again by its authority" if is_external else f"renew it before, with kubeadm certs renew {name}"
    )
    until = entry["expirationDate"]
    if left <= 0:
        return BREAKS, f"it has expired ({until}), so connections with it fail, those of kubeadm among them: {remedy}."
    if is_external and left < _NOTICE:
        return (
            WARNS,
            f"it ends in {left // _DAY} days ({until}), and the upgrade does not renew what an authority outside of kubeadm signed: {remedy}.",
        )
    if left < _UPGRADE:
        return WARNS, (
            f"it ends in {left // _HOUR} hours ({until}). The upgrade renews it when it reaches this node, and not at all with"
            f" --certificate-renewal=false: {remedy}."
        )
    return "", ""


def _missing(name: str) -> str:
    phase = f"kubeconfig {name[: -len(_KUBECONFIG)]}" if name.endswith(_KUBECONFIG) else f"certs {name}"
    return f"it does not exist, and an upgrade that has to renew it fails. Create it with kubeadm init phase {phase}."


def _of_authority(entry: Json) -> tuple[str, str]:
    left, until = entry["residualTime"], entry["expirationDate"]
    if entry["missing"] or left >= _LIFE:
        return "", ""
    remedy = "no upgrade renews an authority. Replace it manually, as the documentation of Kubernetes describes (Manual Rotation of CA Certificates)."
    if left <= 0:
        return BREAKS, f"the authority has expired ({until}), and with it all that it signed; {remedy}"
    return (
        WARNS,
        f"the authority ends in {left // _DAY} days ({until}), before the certificates that the upgrade renews; {remedy}",
    )
