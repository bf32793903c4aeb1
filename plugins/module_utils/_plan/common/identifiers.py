# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names that are checked in more than one place."""

from __future__ import annotations

import re

_POD_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
# It begins with a time stamp; C(journal), which is the file of the open one, is none.
_TRANSACTION_ID = re.compile(r"[0-9][0-9A-Za-z.-]*")


def is_pod_name(name: str) -> bool:
    """Whether a text can be the name of a static pod. Directories and a service are named after it."""
    return _POD_NAME.fullmatch(name) is not None


def is_transaction_id(identifier: str) -> bool:
    """Whether a text can be the id of a transaction. Files are named after it."""
    return _TRANSACTION_ID.fullmatch(identifier) is not None
