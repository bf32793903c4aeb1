# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive that Ansible would send to a node for one module.

Started as a program of its own, because Ansible's plugin loader can be set up only once in a process:
``payload.py COLLECTIONS_PATH MODULE`` prints the module's archive in base64.
"""

from __future__ import annotations

import ast
import base64
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path


def payload_of(collections: Path, module: str) -> list[str]:
    """The files that AnsiballZ packs for a module, as paths from ``ansible/`` or ``ansible_collections/``."""
    with zipfile.ZipFile(io.BytesIO(archive_of(collections, module))) as opened:
        return sorted(opened.namelist())


def archive_of(collections: Path, module: str) -> bytes:
    """The archive that AnsiballZ packs for a module."""
    result = subprocess.run(
        [sys.executable, __file__, str(collections), module],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections)},
        check=False,
        capture_output=True,
        text=True,
    )
    if result.returncode != 0:
        raise RuntimeError(f"no payload for {module}: {result.stderr}")
    return base64.b64decode(result.stdout)


def build(collections: str, module: str) -> bytes:
    """Build the payload with Ansible's own machinery."""
    # Imported here, and not by those who only start this program: importing Ansible reads its configuration.
    from ansible.executor.module_common import modify_module
    from ansible.parsing.dataloader import DataLoader
    from ansible.plugins.loader import init_plugin_loader, module_loader
    from ansible.template import Templar

    init_plugin_loader([collections])
    found = module_loader.find_plugin_with_context(module)
    built = modify_module(
        module_name=module,
        module_path=found.plugin_resolved_path,
        module_args={},
        templar=Templar(loader=DataLoader()),
        task_vars={"ansible_python_interpreter": sys.executable},
    )
    return archive_in(built.b_module_data)


def archive_in(wrapper: bytes) -> bytes:
    """The archive that a built module carries as its one long base64 text."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(wrapper))
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    ]
    return base64.b64decode(max(texts, key=len))


if __name__ == "__main__":
    print(base64.b64encode(build(sys.argv[1], sys.argv[2])).decode("ascii"))
