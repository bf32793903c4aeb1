# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The content of a kubeconfig: what its entries are called, and what of it is secret."""

from __future__ import annotations

import typing as t

from ..common.errors import KubeadmError

Json = dict[str, t.Any]

_SECRET = {"token", "password", "client-key-data", "id-token", "access-token", "refresh-token", "client-secret"}


def secrets(source: t.Any) -> set[str]:
    """The texts of it. source: the content as a mapping; a path holds none."""
    if isinstance(source, dict):
        own = {value for key, value in source.items() if key in _SECRET and isinstance(value, str) and value}
        return own.union(*map(secrets, source.values()))
    return set().union(*map(secrets, source)) if isinstance(source, list) else set()


def context_of(config: Json, shown: str, name: str | None = None) -> Json:
    """A context, the current one by default: with the names of its C(cluster) and C(user). shown: what messages call the kubeconfig.

    Raises KubeadmError, and what a mapping or list of another shape raises.
    """
    wanted = name or config.get("current-context")
    if not wanted:
        raise KubeadmError(f"{shown} has no current-context; name one with context.")
    return entry_of(config, "contexts", wanted, shown)


def entry_of(config: Json, kind: str, name: str, shown: str) -> Json:
    """One of the C(clusters), C(users) or C(contexts). Raises as context_of."""
    for entry in config.get(kind) or []:
        if entry["name"] == name:
            found: Json = entry.get(kind[:-1]) or {}
            return found
    known = ", ".join(str(entry["name"]) for entry in config.get(kind) or [])
    raise KubeadmError(f"{shown} has no {kind[:-1]} {name}; it has {known or 'none'}.")


def cluster_of(config: Json) -> Json:
    """The cluster of the current context, or the only one of a kubeconfig that has none. Raises as context_of."""
    if not config.get("current-context"):
        (only,) = config["clusters"]
        cluster: Json = only["cluster"]
        return cluster
    return entry_of(config, "clusters", context_of(config, "it")["cluster"], "it")
