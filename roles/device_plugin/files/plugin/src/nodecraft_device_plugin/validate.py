# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m nodecraft_device_plugin.validate FILE``: whether a configuration is valid. Needs only PyYAML.

A deployment runs it before anything is written. Exit status: 0 valid, 2 invalid.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nodecraft_device_plugin import config_parser
from nodecraft_device_plugin.config import Config
from nodecraft_device_plugin.config_parser import ConfigError


def load(path: Path) -> Config:
    """Read a configuration file. Raises ConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"cannot read the file: {error}"]) from error
    return config_parser.parse(text)


def validate(path: Path) -> int:
    """Print whether a configuration file is valid. Returns the exit status."""
    try:
        config = load(path)
    except ConfigError as error:
        return refuse(path, error)
    sys.stdout.write(f"{path} is valid: {len(config.resources)} resources\n")
    return 0


def refuse(path: Path, error: ConfigError) -> int:
    """Print the problems of a configuration file, one line each. Returns the exit status."""
    for problem in error.problems:
        sys.stderr.write(f"{path}: {problem}\n")
    return 2


if __name__ == "__main__":
    sys.exit(validate(Path(sys.argv[1])))
