# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Where the API server of a control plane listens, by the manifest of its static pod."""

from __future__ import annotations

import typing as t

Json = dict[str, t.Any]

_ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
_PORT = "6443"


def own_address(manifest: t.Any) -> str | None:
    """The URL by which a node reaches its own API server; None where its manifest does not tell."""
    try:
        arguments = manifest["spec"]["containers"][0].get("command") or []
        flags = dict(str(argument).partition("=")[::2] for argument in arguments)
        endpoint = (manifest["metadata"].get("annotations") or {}).get(_ENDPOINT)
    except (LookupError, TypeError, AttributeError):
        return None
    address = flags.get("--advertise-address")
    if address:
        return f"https://{_host(address)}:{flags.get('--secure-port') or _PORT}"
    return f"https://{endpoint}" if endpoint else None


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
