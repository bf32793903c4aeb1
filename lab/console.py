# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is printed of a lab for a person."""

from __future__ import annotations

import textwrap

from ansible_collections.nodecraft.kubeadm.tests.sessions.console import say


def tell(text: str = "", indent: int = 0) -> None:
    """Print within the width of a terminal."""
    for line in textwrap.wrap(text, 120 - indent, break_on_hyphens=False) or [""]:
        say(" " * indent + line)
