# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failure comes from is told from what programs said of it; and what is started is ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import start
from ansible_collections.nodecraft.kubeadm.tests.sessions.places import ROOT

# As pip, uv, apt-get, Go, debootstrap and the kernel say it.
NO_NETWORK = (
    "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    "  Caused by: dns error: failed to lookup address information: Name or service not known",
    "E: Failed to fetch http://mirror.example/p.deb  Temporary failure resolving 'mirror.example'",
    'go: k8s.io/kubernetes@v1.37.2: Get "https://proxy.example": dial tcp: lookup proxy.example: no such host',
    "dial tcp 192.0.2.1:443: connect: network is unreachable",
    "E: Couldn't download packages: libc6 systemd",
)
FULL_DISK = (
    "write /root/.cache/x: no space left on device",
    "OSError: [Errno 28] No space left on device: 'build/nox'",
)


@pytest.mark.parametrize("said", NO_NETWORK)
def test_a_failed_download_is_recognized(said: str) -> None:
    assert start.cause(f"much else\n{said}\nnox > Session demo failed.\n").startswith(
        "Something could not be downloaded."
    )


@pytest.mark.parametrize("said", FULL_DISK)
def test_a_full_disk_is_recognized_and_the_room_is_told(said: str) -> None:
    advice = start.cause(said)
    assert advice.startswith("The disk is full (")
    assert "GiB free in" in advice
    assert "it goes on where it stopped" in advice


def test_other_failures_are_not_explained_away() -> None:
    assert start.cause("FAILED tests/unit/test_x.py::test_y - assert 1 == 2\n") == ""


def test_an_installed_package_called_tests_does_not_win(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "import tests.sessions.start as start; print(start.__file__)"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == str(ROOT / "tests" / "sessions" / "start.py"), done.stderr
