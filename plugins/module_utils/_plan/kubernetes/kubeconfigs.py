# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What in the content of a kubeconfig nobody may see."""

from __future__ import annotations

import typing as t

_SECRET = {"token", "password", "client-key-data", "id-token", "access-token", "refresh-token", "client-secret"}


def secrets(source: t.Any) -> set[str]:
    """The texts of it. source: the content as a mapping; a path holds none."""
    if isinstance(source, dict):
        own = {value for key, value in source.items() if key in _SECRET and isinstance(value, str) and value}
        return own.union(*map(secrets, source.values()))
    return set().union(*map(secrets, source)) if isinstance(source, list) else set()
