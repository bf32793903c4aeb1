# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the module that loads images: a node's runtime is a folder, named by a variable of the environment."""

from __future__ import annotations

import os
import shutil
import typing as t
from pathlib import Path

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """C(STUB_RUNTIME): the folder. C(right): is there while archives hold what they should. C(loaded): is there when an image is."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Load nothing into a runtime."""
        super().run(tmp, task_vars)
        folder = Path(os.environ["STUB_RUNTIME"])
        arguments = self._templar.template(self._task.args)
        present = (folder / "loaded").exists()
        changed = "archive" in arguments and not present
        if changed and not self._task.check_mode:
            shutil.copy(arguments["archive"], folder / "archive")
            with open(folder / "imports", "a", encoding="utf-8") as imports:
                imports.write(f"{arguments['name']}\n")
            if not (folder / "right").exists():
                return {"failed": True, "msg": f"there is still no image {arguments['name']}"}
            (folder / "loaded").touch()
        return {"changed": changed, "present": present}
