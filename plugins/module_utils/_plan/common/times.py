# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Times as Kubernetes writes them."""

from __future__ import annotations

import datetime

_SECONDS_FORMAT, _MICROSECONDS_FORMAT = "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ"


def parse_time(text: str) -> float:
    """Seconds since 1970 of a time with a fraction of a second or none. Raises ValueError for any other text."""
    form = _MICROSECONDS_FORMAT if "." in text else _SECONDS_FORMAT
    return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.timezone.utc).timestamp()


def format_time(seconds: float) -> str:
    """A time for people, such as C(2026-01-01T00:05:00Z). seconds: since 1970."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(_SECONDS_FORMAT)


def format_micro_time(seconds: float) -> str:
    """A time with its microseconds, as a Lease has it. seconds: since 1970."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(_MICROSECONDS_FORMAT)
