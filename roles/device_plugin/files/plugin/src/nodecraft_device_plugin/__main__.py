# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m nodecraft_device_plugin``."""

from __future__ import annotations

import sys

from nodecraft_device_plugin.cli import main

sys.exit(main())
