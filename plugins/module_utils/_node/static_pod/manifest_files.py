# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files that a kubelet takes for static pods."""

from __future__ import annotations

import os

from ..._plan.common.errors import KubeadmError


def manifest_files(manifest_dir: str) -> list[str]:
    """Every file that the kubelet takes for a static pod: any name without a leading dot. Directories are passed over."""
    try:
        names = sorted(name for name in os.listdir(manifest_dir) if not name.startswith("."))
    except OSError as exc:
        raise KubeadmError(
            f"{os.uname().nodename} is not a kubeadm control plane: its directory for static pods cannot be read ({exc.strerror}: {manifest_dir})."
        ) from exc
    paths = (os.path.join(manifest_dir, name) for name in names)
    return [path for path in paths if not os.path.isdir(path)]
