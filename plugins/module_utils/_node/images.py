# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Images in the node's container runtime."""

from __future__ import annotations

import re

from .state import Run

# With a registry's name and a tag or a digest: containerd keeps it under exactly these letters.
_WHOLE_NAME = re.compile(r"[^/]+[.:][^/]*/[^@:]+(?::[^/@]+|@sha256:[0-9a-f]{64})|localhost/[^@:]+:[^/@]+")
_SECONDS = "10s"


def is_present(image: str, runtime: str, run: Run) -> bool | None:
    """Whether the kubelet finds an image without a pull; None when nobody here can tell. runtime: the kubelet's endpoint."""
    for ask in (_by_crictl, _by_ctr):
        found = ask(image, runtime, run)
        if found is not None:
            return found
    return None


def _by_crictl(image: str, runtime: str, run: Run) -> bool | None:
    endpoints = [f"--runtime-endpoint={runtime}", f"--image-endpoint={runtime}"]
    # Where the program is missing, env says so; the module would end.
    status, dummy, error = run(["env", "crictl", *endpoints, f"--timeout={_SECONDS}", "inspecti", "--quiet", image])
    if status == 0:
        return True
    return False if "no such image" in error.lower() else None


def _by_ctr(image: str, runtime: str, run: Run) -> bool | None:
    if not _WHOLE_NAME.fullmatch(image):
        return None
    address = f"--address={runtime[len('unix://') :]}" if runtime.startswith("unix://") else ""
    options = [*([address] if address else []), f"--timeout={_SECONDS}", "--namespace=k8s.io"]
    status, output, dummy = run(["env", "ctr", *options, "images", "list", "--quiet", f"name=={image}"])
    return image in output.split() if status == 0 else None
