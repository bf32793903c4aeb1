# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a transaction ends, in the words of its journal.

The engine has the same words in its own C(journal.py), because nothing else is packed with it; a contract holds them against each other.
"""

from __future__ import annotations

COMMITTED, ROLLED_BACK, ABORTED, UNHEALTHY, ALARM = "committed", "rolled_back", "aborted", "unhealthy", "alarm"
# The phase in which the engine waits for the confirmation of its controller.
CONFIRMING = "confirming"
# The outcomes that leave the change in place.
STANDING = (COMMITTED, UNHEALTHY)
