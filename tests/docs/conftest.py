# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab that DOCS_LAB names, and how many blocks are executed."""

from __future__ import annotations

import collections
import os
import re

import pytest
from ansible_collections.nodecraft.kubeadm.tests.docs.blocks import Shape, read_blocks
from ansible_collections.nodecraft.kubeadm.tests.docs.reader import ROOT, Reader


@pytest.fixture(scope="session")
def reader() -> Reader:
    """The reader of all pages."""
    lab = os.environ["DOCS_LAB"]
    return Reader(lab, ROOT / "build" / "docs" / lab)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the blocks."""
    blocks = [block for block in read_blocks(ROOT) if block.shape is not Shape.DISPLAYED]
    reasons = collections.Counter(re.split(r"[.,]", block.reason)[0] for block in blocks if block.reason)
    left = reasons.total()
    terminalreporter.write_line(f"{len(blocks) - left} blocks of the guides are executed, {left} are not:")
    for reason, number in reasons.most_common():
        terminalreporter.write_line(f"  {number} {reason}")
