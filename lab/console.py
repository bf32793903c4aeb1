# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Output of the lab for people."""

from __future__ import annotations

import textwrap

from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo


def show(text: str = "", indent: int = 0) -> None:
    """Print within the width of a terminal."""
    for line in textwrap.wrap(text, 120 - indent, break_on_hyphens=False) or [""]:
        echo(" " * indent + line)
