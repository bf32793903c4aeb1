# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What is told of one setting, or of one condition, before an upgrade."""

from __future__ import annotations

import dataclasses

# Fates. A setting stays; vanishes and site brings it back; vanishes and nothing brings it back; or breaks the component. What changes nothing
# and has to be known all the same is worth a warning.
STAYS, RETURNS, VANISHES, BREAKS, WARNS = "stays", "returns", "vanishes", "breaks", "warns"
FATES = (BREAKS, VANISHES, RETURNS, WARNS, STAYS)  # the worst first

# Who set it.
COLLECTION, KUBEADM, CONFIG_MAP, PATCHES, INVENTORY, OTHER = (
    "collection",
    "kubeadm",
    "kubeadm-config",
    "patches",
    "inventory",
    "other",
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """What an upgrade does to one setting.

    component: a static pod, C(kubelet), or C(node) for what belongs to none. field, key: as in the modules; empty for what is no single setting.
    fate: one of FATES. message: the component's own words where it breaks. set_by: who set it; empty where that is no question. file, line:
    where it is set; empty and None when unknown. variable: the one to change; empty when there is none.
    """

    component: str
    fate: str
    message: str
    field: str = ""
    key: str = ""
    set_by: str = ""
    file: str = ""
    line: int | None = None
    variable: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        """What tells a setting from others on its node."""
        return self.component, self.field, self.key
