# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modules import this before other packages of ours: on a Python that is too old for those it ends them with an error."""

from __future__ import annotations

import json
import os
import sys

from .._plan.common import python

error = python.version_error(sys.version_info, sys.executable, os.uname().nodename)
if error is not None:
    sys.stdout.write(json.dumps({"failed": True, "msg": error}))
    raise SystemExit(1)
