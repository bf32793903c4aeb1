# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The oldest Python that understands this collection. This file itself has to be understood by older ones."""

from __future__ import annotations

import typing as t

OLDEST = (3, 9)  # that of RHEL 9


def version_error(version: t.Sequence[t.Any], interpreter: str, host: str) -> str | None:
    """Why an interpreter is too old; None when it is not. version: as C(sys.version_info)."""
    found, oldest = (f"{pair[0]}.{pair[1]}" for pair in (version, OLDEST))
    if tuple(version[:2]) >= OLDEST:
        return None
    return (
        f"{host}: nodecraft.kubeadm needs Python {oldest} or newer, and {interpreter} is Python {found}. Install a newer one beside it,"
        f" with its PyYAML, and set ansible_python_interpreter of this host to it, such as /usr/bin/python{oldest}."
    )
