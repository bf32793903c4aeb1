# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the module that loads images: a node's runtime is a directory, named by a variable of the environment.

C(STUB_RUNTIME): the directory. C(right): is there while archives hold what they should. C(loaded): is there when an image is.
C(directory), of each archive that is loaded: who may do what in the directory in which it lies.
"""

from __future__ import annotations

import os
import shutil
import stat
import typing as t

from ..module_utils import stand_in


def main() -> t.NoReturn:
    """Load nothing into a runtime."""
    call = stand_in.StandIn()
    directory, arguments = os.environ["STUB_RUNTIME"], call.arguments
    present = os.path.exists(f"{directory}/loaded")
    changed = "archive" in arguments and not present
    if changed and not call.dry:
        call.record(directory=stat.filemode(os.stat(os.path.dirname(arguments["archive"])).st_mode))
        shutil.copy(arguments["archive"], f"{directory}/archive")
        with open(f"{directory}/imports", "a", encoding="utf-8") as imports:
            imports.write(f"{arguments['name']}\n")
        if not os.path.exists(f"{directory}/right"):
            stand_in.exit_json({"failed": True, "msg": f"there is still no image {arguments['name']}"})
        with open(f"{directory}/loaded", "w", encoding="utf-8"):
            pass
    stand_in.exit_json({"changed": changed, "present": present})


if __name__ == "__main__":
    main()
