# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A warning of the importer counts like an error, and its silence is no success."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.tests.sessions.importer import SUCCESS, import_errors


def test_an_import_without_complaints_passes() -> None:
    assert import_errors(f"Importing with galaxy-importer 0.4\nLoading role ERROR\n{SUCCESS}\n") == []


def test_each_warning_is_a_complaint() -> None:
    output = f"Loading\nWARNING: No changelog found.\nERROR: no tag\n{SUCCESS}\n"
    assert import_errors(output) == ["WARNING: No changelog found.", "ERROR: no tag"]


def test_an_import_that_did_not_end_is_a_complaint() -> None:
    (found,) = import_errors("Importing\n")
    assert "did not end" in found
