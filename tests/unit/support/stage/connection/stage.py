# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way to the hosts of the stage, which are processes of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: stage
short_description: Runs commands on this machine, as if it were another one
description: Nothing of the credentials that the controller has is known there, and 255 is a lost connection, as with ssh.
author: nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment: connection_pipelining
options: {}
"""

_CONNECTION_LOST = 255


class Connection(ConnectionBase):
    """Of no host in particular: its interpreter knows which one it is. Once lost, it is lost until it is closed, as where one is kept open."""

    transport = "stage"
    has_pipelining = True
    _is_lost = False

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """Run a command. Raises AnsibleConnectionFailure when it ends with the status of a lost connection."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("K8S_AUTH_")}
        done = subprocess.run(
            ["/bin/sh", "-c", cmd], input=in_data or b"", env=environment, capture_output=True, check=False
        )
        self._is_lost = self._is_lost or done.returncode == _CONNECTION_LOST
        if self._is_lost:
            raise AnsibleConnectionFailure("gone\r\n")  # as the text of ssh ends
        return done.returncode, done.stdout, done.stderr

    def put_file(self, in_path: str, out_path: str) -> None:
        """Copy a file to the host."""
        shutil.copyfile(in_path, out_path)

    def fetch_file(self, in_path: str, out_path: str) -> None:
        """Copy a file from the host."""
        shutil.copyfile(in_path, out_path)

    def close(self) -> None:
        """Forget that there was a connection."""
        self._connected = self._is_lost = False
