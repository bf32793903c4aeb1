# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The descriptors are those of the definitions beside them."""

from __future__ import annotations

from pathlib import Path

import generate_protocol
import pytest


@pytest.mark.parametrize("definition", sorted(generate_protocol.DIRECTORY.glob("*.proto")), ids=lambda path: path.stem)
def test_descriptors_are_those_of_the_definitions(definition: Path) -> None:
    assert definition.with_suffix(".json").read_text(encoding="utf-8") == generate_protocol.descriptor_of(
        definition.stem
    )
