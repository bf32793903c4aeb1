# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Digests that show whether hosts have the same value."""

from __future__ import annotations

import hashlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller import run_key


def test_all_processes_of_a_run_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(run_key.read_or_create_key, [str(tmp_path)] * 50))
    assert [len(each) for each in keys] == [32]
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_each_run_has_another_key(tmp_path: Path) -> None:
    runs = [tmp_path / name for name in "ab"]
    for run in runs:
        run.mkdir()
    assert run_key.read_or_create_key(str(runs[0])) != run_key.read_or_create_key(str(runs[1]))


def test_equal_values_have_equal_digests() -> None:
    assert run_key.digest({"a": 1, "b": [2]}) == run_key.digest({"b": [2], "a": 1})
    assert run_key.digest("a") != run_key.digest("b")
    assert run_key.digest("a") != hashlib.sha256(b'"a"').hexdigest()
