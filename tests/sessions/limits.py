# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of containers. On a machine without CAP_SYS_RESOURCE a container gets no higher ones than what starts it. Standard library only."""

from __future__ import annotations

import resource

PROCESSES = 30000  # as the nodes of the lab


def options() -> list[str]:
    """Options of podman."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return [f"--ulimit=nofile={files}:{files}", f"--ulimit=nproc={PROCESSES}:{PROCESSES}"]
