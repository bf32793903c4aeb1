# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of files: what distinguishes them, and whose they are."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import (
    FileVersion,
    TextFile,
    digest_of,
    text_digest,
)

THEIRS = FileVersion(b"a", 0o640, 7, 8)


def test_a_file_keeps_its_owner_and_a_new_one_is_roots() -> None:
    desired = FileVersion(b"b", 0o600)
    assert desired.with_owner_of(THEIRS) == FileVersion(b"b", 0o600, 7, 8)
    assert desired.with_owner_of(None) == FileVersion(b"b", 0o600, 0, 0)


def test_content_and_mode_make_the_digest_and_the_owner_does_not() -> None:
    assert THEIRS.digest == FileVersion(b"a", 0o640).digest
    assert THEIRS.digest["mode"] == "0640"
    assert len({FileVersion(*given).digest["sha256"] for given in ((b"a", 0o600), (b"b", 0o600))}) == 2
    assert digest_of(None) is None
    assert digest_of(THEIRS) == THEIRS.digest
    assert text_digest("a") == THEIRS.digest["sha256"]


def test_text_is_utf_8() -> None:
    file = TextFile.of("/a", "\u00e4\n")
    assert (file.version, file.text) == (FileVersion(b"\xc3\xa4\n", 0o644), "\u00e4\n")
    with pytest.raises(UnicodeDecodeError):
        FileVersion(b"\xff", 0o600).text  # noqa: B018  # the reading is what fails
