# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that holds the collection's code and forks a process for each run of a module or of an engine.

    python worker.py TREE DESCRIPTOR

Starting Python takes longer than a whole run. What a forked process needs of the node it requests of the test at the other
end of its socket: the time, to sleep, to run a program, the API server. All that it does with files it does itself, and
that is what is traced, killed and failed.
"""

from __future__ import annotations

import functools
import gc
import importlib
import io
import json
import os
import signal
import socket
import sys
import traceback
import types
import typing as t

import yaml

Json = dict[str, t.Any]
MESSAGE = 1 << 20
BROKEN = 99


class ModuleEnded(BaseException):
    """The module has printed its result."""


class NodeProxy:
    """Forwards what a process requests of its node to the test."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.now = 0.0

    def receive(self) -> Json:
        """The next message."""
        message: Json = json.loads(self._connection.recv(MESSAGE))
        self.now = message.get("now", self.now)
        return message

    def send(self, **message: t.Any) -> None:
        """Send a message to the test."""
        self._connection.sendall(json.dumps(message).encode())

    def call(self, **request: t.Any) -> t.Any:
        """Send a request; returns the test's response."""
        self.send(**request)
        return self.receive()["response"]

    # Under the names that the module ``time`` gives them.
    def monotonic(self) -> float:
        """The test's clock."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the test's time pass."""
        self.call(sleep=seconds)

    def run(self, arguments: t.Sequence[str], **options: t.Any) -> tuple[int, str, str]:
        """A program of the node."""
        status, output, error = self.call(run=list(arguments))
        if status and options.get("check_rc"):
            self.send(result={"failed": True, "msg": error})
            raise ModuleEnded
        return status, output, error

    def get_api(self, kubeconfig: str, path: str) -> tuple[Json | None, str]:
        """The API server."""
        document, error = self.call(get=[kubeconfig, path])
        return document, error


class Module:
    """As much of an AnsibleModule as the runner uses."""

    def __init__(self, proxy: NodeProxy, check_mode: bool) -> None:
        self._proxy = proxy
        self.check_mode = check_mode
        self._warnings: list[str] = []

    def warn(self, message: str) -> None:
        """Show a warning."""
        self._warnings.append(message)

    def exit_json(self, **result: t.Any) -> t.NoReturn:
        """End well."""
        self._end(failed=False, **result)

    def fail_json(self, **result: t.Any) -> t.NoReturn:
        """End badly."""
        self._end(failed=True, **result)

    def _end(self, **result: t.Any) -> t.NoReturn:
        self._proxy.send(result={**result, "warnings": self._warnings})
        raise ModuleEnded


def run_engine(code: types.SimpleNamespace, proxy: NodeProxy, order: Json) -> int:
    """The program that systemd starts, on the test's node."""
    os.umask(order["umask"])
    with open(order["program"], "rb") as stream:
        assert stream.read() == code.packed, f"{order['program']} is not the program that is loaded here"
    host = code.packed_node.Host(**order["host"])
    inject = {"host": host, "clock": proxy.monotonic, "sleep": proxy.sleep, "run": proxy.run, "http_get": proxy.get_api}
    program = code.packed_program
    program.Engine = functools.partial(program.Engine, **inject)
    # What goes to systemd's journal is no file's.
    sys.stderr = io.StringIO()
    status = program.main([order["program"], order["directory"]])
    proxy.send(result=sys.stderr.getvalue())
    return int(status)


def run_module(code: types.SimpleNamespace, proxy: NodeProxy, order: Json) -> t.NoReturn:
    """The module static_pod."""
    steps = code.static_pod_steps.StaticPodSteps(
        order["params"],
        diff=True,
        run=proxy.run,
        host=code.node.Host(**order["host"]),
        ready_timeout=5.0,
    )
    code.runner.run_steps(Module(proxy, order["check"]), steps, rehearse=order["params"]["rehearse"])
    raise ModuleEnded


def start_transaction(code: types.SimpleNamespace, proxy: NodeProxy, order: Json) -> int:
    """The part of a module that hands a journal to the engine."""
    name = order["journal"]["name"]
    with code.engine_service.hold_lock(name, dry=False):
        code.engine_service.start_engine(order["journal"], run=proxy.run)
    return 0


def query_history(code: types.SimpleNamespace, proxy: NodeProxy, order: Json) -> int:
    """A function of the module's side that returns something that JSON can hold."""
    proxy.send(result=getattr(code.journal_history, order["function"])(*order["arguments"]))
    return 0


ORDERS: dict[str, t.Callable[[types.SimpleNamespace, NodeProxy, Json], int]] = {
    "engine": run_engine,
    "module": run_module,
    "start": start_transaction,
    "transactions": query_history,
}


def execute(code: types.SimpleNamespace, connection: socket.socket) -> int:
    """What a forked process does."""
    proxy = NodeProxy(connection)
    order = proxy.receive()
    code.state.STATE_DIR = order["state_dir"]
    code.engine_service.STATE_DIR = order["state_dir"]
    code.engine_service._UNIT_FILE = order["unit_file"]
    for module in (code.engine_service, code.static_pod_steps, code.transaction_steps):
        module.time = proxy
    try:
        return ORDERS[order["do"]](code, proxy, order)
    except ModuleEnded:
        return 0
    except KeyboardInterrupt:
        # As Python ends a program that does not catch it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        return BROKEN
    except BaseException:  # whatever it is, the test shows it
        proxy.send(error=traceback.format_exc())
        return BROKEN


def code_of(tree: str) -> types.SimpleNamespace:
    """The collection's code in a tree, warm: what Python or OpenSSL open once is opened."""
    sys.path.insert(0, tree)
    sys.dont_write_bytecode = True  # nor does a program that systemd starts
    base = "ansible_collections.nodecraft.kubeadm.plugins.module_utils"
    names = ("engine_source", "state", "engine_service", "journal_history", "transaction_steps")
    modules = {name: importlib.import_module(f"{base}._node.transaction.{name}") for name in names}
    modules["static_pod_steps"] = importlib.import_module(f"{base}._node.static_pod.static_pod_steps")
    modules["runner"] = importlib.import_module(f"{base}._module.runner")
    modules["node"] = importlib.import_module(f"{base}._engine.node")
    code = types.SimpleNamespace(**modules)
    load_packed(code, importlib.import_module(f"{base}._engine.program"), os.path.join(tree, "engine.pyz"))
    return code


def load_packed(code: types.SimpleNamespace, program: types.ModuleType, path: str) -> None:
    """The engine out of the one file that a module puts on a node, so that it is not compiled for each run."""
    code.packed = code.engine_source.zipapp_of(program, yaml)
    with open(path, "wb") as stream:
        stream.write(code.packed)
    sys.path.insert(0, path)
    code.packed_program = importlib.import_module("_engine.program")
    code.packed_node = importlib.import_module("_engine.node")
    probes = importlib.import_module("_engine.probes")
    probes.tls.client_context(verify=False)
    probes.run_probe({"kind": "http", "scheme": "http", "host": "127.0.0.1", "port": 1, "path": "/"})
    "x".encode("ascii").decode("ascii")


def main() -> None:
    """Fork on request: a message with a socket starts a process, one without requests how a process ended."""
    code = code_of(sys.argv[1])
    control = socket.socket(fileno=int(sys.argv[2]))
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, *dummy = socket.recv_fds(control, MESSAGE, 1)
        if not message:
            return
        if not descriptors:
            control.sendall(str(os.waitpid(int(message), 0)[1]).encode())
            continue
        pid = os.fork()
        if pid == 0:
            control.close()
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
                # The shell that started the tests in the background may have had them ignored; systemd does not.
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            os._exit(execute(code, socket.socket(fileno=descriptors[0])))
        os.close(descriptors[0])
        control.sendall(str(pid).encode())


if __name__ == "__main__":
    main()
