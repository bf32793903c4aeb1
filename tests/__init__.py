# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A package, so that an installed one of the same name does not take the place of ``python -m tests.sessions.start``."""
