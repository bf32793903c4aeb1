# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each command and each YAML block of the guides, in the order of its page, on a lab.

A page begins with an inventory of the lab's hosts and with what the reader has: a Deployment, and four dongles on each worker. Its last
test reverts it as a user does.
"""

from __future__ import annotations

import itertools
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.docs.blocks import Block, Shape, read_blocks
from ansible_collections.nodecraft.kubeadm.tests.docs.reader import ROOT, Reader

BLOCKS = [block for block in read_blocks(ROOT) if block.executed]


def applies_previous(block: Block, previous: Block) -> bool:
    """Whether a block is what takes the file that the one before it shows: of an inventory, any command that names it."""
    program = "-i inventory.yml" if previous.shape is Shape.INVENTORY else "ansible-playbook"
    return block.shape is Shape.PLAYBOOK or (block.shape is Shape.COMMANDS and program in block.text)


def steps() -> t.Iterator[t.Any]:
    """For each page its blocks, each with whether the next one applies it, and its end."""
    for page, found in itertools.groupby(BLOCKS, lambda block: block.page):
        blocks = list(found)
        for block, following in itertools.zip_longest(blocks, blocks[1:]):
            used = following is not None and applies_previous(following, block)
            yield pytest.param(page, block, used, id=block.name)
        yield pytest.param(page, None, False, id=f"{page}:end")


@pytest.mark.parametrize(("page", "block", "used_by_next"), list(steps()))
def test_page(reader: Reader, page: str, block: Block | None, used_by_next: bool) -> None:
    if reader.page != page:
        reader.open_page(page)
    if block is not None:
        reader.execute_block(block, used_by_next)
        return
    reader.revert()
    assert reader.read_state() == reader.original
