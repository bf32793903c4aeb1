# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The source text of our own programs, to be started alone on a node."""

from __future__ import annotations

import pkgutil
import typing as t

from .._plan.common.errors import KubeadmError


def source_of(module: t.Any) -> str:
    """The text of one of our files, also out of the archive in which Ansible ships modules."""
    package, dummy, name = module.__name__.rpartition(".")
    data = pkgutil.get_data(package, f"{name}.py")
    if data is None:
        raise KubeadmError(f"the source of {module.__name__} is not in this module's archive")
    return data.decode("utf-8")
