# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the modules say of versions of Kubernetes."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that several modules share."""

    DOCUMENTATION = r"""
options: {}
requirements:
  - Python 3.9 or newer where the module runs
notes:
  - Tested with Kubernetes 1.32 to 1.37. With an older, a newer or an unknown version the module warns.
"""
