# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that are data: one file each in C(tests/unit/data)."""

from __future__ import annotations

from pathlib import Path

_DIRECTORY = Path(__file__).parents[1] / "data"
HEADER = 2  # lines of copyright and licence


def data_text(name: str) -> str:
    """The text of a file below its header, byte for byte: a line may end in more than a line feed."""
    return (_DIRECTORY / name).read_bytes().decode("utf-8").split("\n", HEADER)[HEADER]
