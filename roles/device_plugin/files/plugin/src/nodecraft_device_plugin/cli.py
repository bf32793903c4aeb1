# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line. Exit status: 0 success, 1 an error, 2 an invalid command line or configuration."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import time
import typing as t
from pathlib import Path

from nodecraft_device_plugin import cdi, explain, logs, pod_resources, validate
from nodecraft_device_plugin.config_parser import ConfigError
from nodecraft_device_plugin.host import Host
from nodecraft_device_plugin.metrics import Metrics
from nodecraft_device_plugin.resource_server import Context
from nodecraft_device_plugin.runtime import Runtime, Settings

CONFIG = "/etc/nodecraft-device-plugin/config.yaml"
DIRECTORY = "/var/lib/kubelet/device-plugins"
LEVELS = ("debug", "info", "warning", "error")


def parser() -> argparse.ArgumentParser:
    """The options, each with its default."""
    described = "Advertises the devices of this node to its kubelet."
    form = argparse.ArgumentDefaultsHelpFormatter
    made = argparse.ArgumentParser("nodecraft-device-plugin", description=described, formatter_class=form)
    made.add_argument("--config", type=Path, default=CONFIG, metavar="FILE", help="the configuration file")
    what = made.add_mutually_exclusive_group()
    what.add_argument("--validate", action="store_true", help="check the configuration and exit")
    what.add_argument(
        "--explain",
        action="store_true",
        help="show which devices would be advertised, why other candidates would be skipped, and exit",
    )
    made.add_argument("--output", choices=("text", "json"), default="text", help="the format of --explain")
    made.add_argument(
        "--root", default="/", metavar="DIRECTORY", help="the directory that contains the host's /dev and /sys"
    )
    made.add_argument(
        "--device-plugins",
        type=Path,
        default=DIRECTORY,
        metavar="DIRECTORY",
        help="the kubelet's directory for the sockets of device plugins",
    )
    made.add_argument(
        "--pod-resources-socket",
        type=Path,
        default=pod_resources.SOCKET,
        metavar="SOCKET",
        help="the kubelet's pod resources socket",
    )
    made.add_argument(
        "--cdi",
        type=Path,
        default="/var/run/cdi",
        metavar="DIRECTORY",
        help="the directory to which CDI specifications are written",
    )
    made.add_argument(
        "--address", default="", help="the address on which probes and metrics are served; empty: all addresses"
    )
    made.add_argument("--port", type=int, default=9808, help="the port on which probes and metrics are served; 0: none")
    made.add_argument(
        "--node-name",
        default=os.environ.get("NODE_NAME", ""),
        metavar="NAME",
        help="the value of the label node in the metrics",
    )
    made.add_argument("--drain", action="store_true", help="advertise no device before the process exits")
    made.add_argument("--log-level", choices=LEVELS, default="info", help="the lowest level that is logged")
    return made


def main(arguments: t.Sequence[str] | None = None) -> int:
    """Run the program. Returns its exit status."""
    options = parser().parse_args(arguments)
    logs.set_up(options.log_level)
    if options.validate:
        return validate.validate(options.config)
    try:
        config = validate.load(options.config)
        if options.explain:
            report = explain.explain(config, Host(options.root))
            _print(json.dumps(report, indent=2) if options.output == "json" else explain.as_text(report))
        else:
            asyncio.run(serve(options))
    except ConfigError as error:
        return validate.refuse(options.config, error)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


async def serve(options: argparse.Namespace) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reloads the configuration at once."""
    settings = Settings(
        config_file=options.config,
        port=options.port,
        address=options.address,
        pod_resources_socket=options.pod_resources_socket,
        node_name=options.node_name,
        drain=options.drain,
    )
    context = Context(
        directory=options.device_plugins,
        host=Host(options.root),
        metrics=Metrics(),
        cdi=cdi.Files(options.cdi),
        started=time.time_ns() // 1_000_000,
        random=random.random,
    )
    runtime = Runtime(settings, context)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, runtime.stopped.set)
    loop.add_signal_handler(signal.SIGHUP, runtime.reload)
    await runtime.run()
    if runtime.hangs:
        # Python waits for threads, and the thread of a hanging scan never ends.
        os._exit(0)


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
