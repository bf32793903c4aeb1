# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module imports from here before anything else of ours: on a Python that is too old for the rest it ends with a sentence."""

from __future__ import annotations

import json
import os
import sys

from .._plan.common import python

complaint = python.version_error(sys.version_info, sys.executable, os.uname().nodename)
if complaint is not None:
    sys.stdout.write(json.dumps({"failed": True, "msg": complaint}))
    raise SystemExit(1)
