# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs as one JSON object per line."""

from __future__ import annotations

import json
import logging
import sys
import typing as t
from datetime import UTC, datetime

LOGGER = logging.getLogger("nodecraft_device_plugin")


class JsonFormatter(logging.Formatter):
    """A record as JSON: time, level, message, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        entry: dict[str, t.Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def set_up(level: str) -> None:
    """Send all logs to standard error. level: a name of the logging package, in any case."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def log(level: int, message: str, **fields: t.Any) -> None:
    """Log a message with fields."""
    LOGGER.log(level, message, extra={"fields": fields})


def info(message: str, **fields: t.Any) -> None:
    """Log an event of normal operation."""
    log(logging.INFO, message, **fields)


def warn(message: str, **fields: t.Any) -> None:
    """Log an event that may need attention."""
    log(logging.WARNING, message, **fields)
