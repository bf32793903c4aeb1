# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line. Exit status: 0 well, 1 something went wrong, 2 the command line or the configuration is wrong."""

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
from nodecraft_device_plugin.resource_server import Surroundings
from nodecraft_device_plugin.runtime import Runtime, Settings

CONFIG = "/etc/nodecraft-device-plugin/config.yaml"
FOLDER = "/var/lib/kubelet/device-plugins"
LEVELS = ("debug", "info", "warning", "error")


def parser() -> argparse.ArgumentParser:
    """The options, each with its default."""
    made = argparse.ArgumentParser(
        "nodecraft-device-plugin",
        description="Advertises devices of this node to its kubelet.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    made.add_argument("--config", type=Path, default=CONFIG, metavar="FILE", help="what to advertise")
    what = made.add_mutually_exclusive_group()
    what.add_argument("--validate", action="store_true", help="only check the configuration")
    what.add_argument(
        "--explain", action="store_true", help="only show what would be advertised, and what would not and why"
    )
    made.add_argument("--output", choices=("text", "json"), default="text", help="how --explain shows it")
    made.add_argument("--root", default="/", metavar="FOLDER", help="where the host's /dev and /sys are")
    made.add_argument(
        "--device-plugins", type=Path, default=FOLDER, metavar="FOLDER", help="the kubelet's folder of sockets"
    )
    made.add_argument(
        "--pod-resources-socket", type=Path, default=pod_resources.SOCKET, metavar="SOCKET", help="the kubelet's socket"
    )
    made.add_argument(
        "--cdi", type=Path, default="/var/run/cdi", metavar="FOLDER", help="where CDI specifications are written"
    )
    made.add_argument("--address", default="", help="where probes and metrics are served; empty for all addresses")
    made.add_argument("--port", type=int, default=9808, help="the same; 0 for none")
    made.add_argument("--node-name", default=os.environ.get("NODE_NAME", ""), metavar="NAME", help="for labels")
    made.add_argument("--drain", action="store_true", help="tell the kubelet that nothing is left before ending")
    made.add_argument("--log-level", choices=LEVELS, default="info", help="the least that is logged")
    return made


def main(arguments: t.Sequence[str] | None = None) -> int:
    """Run the program. Returns its exit status."""
    options = parser().parse_args(arguments)
    logs.set_up(options.log_level)
    if options.validate:
        return validate.validate(options.config)
    try:
        wanted = validate.load(options.config)
        if options.explain:
            report = explain.explain(wanted, Host(options.root))
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
    """Serve until SIGTERM or SIGINT; SIGHUP reads the configuration at once."""
    settings = Settings(
        config_file=options.config,
        port=options.port,
        address=options.address,
        pod_resources_socket=options.pod_resources_socket,
        node_name=options.node_name,
        drain=options.drain,
    )
    around = Surroundings(
        folder=options.device_plugins,
        host=Host(options.root),
        metrics=Metrics(),
        cdi=cdi.Files(options.cdi),
        started=time.time_ns() // 1_000_000,
        random=random.random,
    )
    runtime = Runtime(settings, around)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, runtime.stopped.set)
    loop.add_signal_handler(signal.SIGHUP, runtime.reload)
    await runtime.run()
    if runtime.hangs:
        # Its thread cannot be ended, and Python would wait for it.
        os._exit(0)


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
