# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all stand-ins share: who asks them for what, what they are to do, and the log in which they note it.

The stage sets in their environment: C(STUB_LOG), the file of calls. C(STUB_SAID), what each host's variables say. C(STUB_RUNS), a line
for each process. C(STUB_MACHINE), by the interpreter of each host: the host that they run on. C(STUB_BECOMES), by its sudo.
"""

from __future__ import annotations

import json
import os
import sys
import typing as t

from ansible.module_utils import basic

Json = dict[str, t.Any]

# With which ssh says that it, and not what it ran, has failed. The stage's connection takes it the same way.
_CONNECTION_LOST = 255


class StandIn:
    """One call of a module. component: the module's name. host: whose task it is. machine: where it runs. dry: check mode."""

    def __init__(self) -> None:
        given = basic._load_params()
        self.component: str = given["_ansible_module_name"].rpartition(".")[2]
        self.host: str = given["_ansible_target_log_info"] or "localhost"
        self.machine = os.environ.get("STUB_MACHINE", "localhost")
        self.dry: bool = given["_ansible_check_mode"]
        self.arguments: Json = {name: value for name, value in given.items() if not name.startswith("_ansible_")}
        _append(os.environ["STUB_RUNS"], f"stand-in {self.host}")

    def said(self, name: str, default: t.Any, host: str | None = None) -> t.Any:
        """A variable of the host whose task it is, or of another one."""
        with open(os.environ["STUB_SAID"], encoding="utf-8") as file:
            said = json.load(file)
        return said["hosts"].get(host or self.host, {}).get(name, said["all"].get(name, default))

    def reach_machine(self) -> None:
        """End as if the machine were gone where C(stub_machine) of its host says so."""
        if self.said("stub_machine", "", self.machine) == "gone":
            lose_connection()

    def calls(self, step: str, component: str, host: str | None = None) -> list[Json]:
        """What was noted of a step until now, of all hosts or of one."""
        begin = _beginning(step, component, host)
        with open(os.environ["STUB_LOG"], encoding="utf-8") as log:
            return [json.loads(line) for line in log if line.startswith(begin)]

    def pods_said(self, node: str) -> Json:
        """What is said of the static pods of a node by its variable C(stub_pods): name -> what is wrong (nothing by default), C(open) for a
        change that is open, C(gone) for a node that cannot be reached, or a list of these, one for each look, the last for all that follow. A
        plan is a look, too."""
        return {"kube-apiserver": "", "etcd": "", **self.said("stub_pods", {}, node)}

    def kubelet_problem(self, node: str) -> str | None:
        """C(stub_kubelet_problem): what is wrong with the kubelet of a node until it is changed."""
        changes = [noted for noted in self.calls("change", "kubelet", node) if noted["ending"] == "committed"]
        return None if changes else self.said("stub_kubelet_problem", None, node)

    def looks(self, node: str) -> int:
        """How often the static pods of a node were looked at until now."""
        seen = [*self.calls("look", "pods"), *self.calls("look", "planned pods")]
        return sum(call["asks"] == node for call in seen)

    def note(self, step: str | None = None, component: str | None = None, **more: t.Any) -> None:
        """Note this call. step: of what, plan or change by default. component: or the name of the module."""
        call = {
            "step": step or ("plan" if self.dry else "change"),
            "component": component or self.component,
            "host": self.host,
            "arguments": self.arguments,
            "becomes": "STUB_BECOMES" in os.environ,
            "asks": self.machine,
            **more,
        }
        _append(os.environ["STUB_LOG"], json.dumps(call))


def pod_of(name: str, said: t.Any, looks: int) -> Json:
    """What is told of one static pod after so many looks. said: see C(pods_said)."""
    problem = said[min(looks, len(said) - 1)] if isinstance(said, list) else said
    is_open = problem == "open"
    return {
        "name": name,
        "ready": not problem or is_open,
        "problem": None if is_open else problem or None,
        "unverified": [],
        "open_transaction": {"id": "1", "phase": "waiting"} if is_open else None,
    }


def answer(result: Json) -> t.NoReturn:
    """End with a result."""
    sys.stdout.write(json.dumps(result))
    sys.exit(1 if result.get("failed") else 0)


def lose_connection() -> t.NoReturn:
    """End as if the node were gone."""
    sys.exit(_CONNECTION_LOST)


def _beginning(step: str, component: str, host: str | None) -> str:
    """How the line of a call begins: a long log is not read as a whole by each of hundreds of hosts."""
    known = {"step": step, "component": component, **({} if host is None else {"host": host})}
    return json.dumps(known)[:-1]


def _append(path: str, line: str) -> None:
    # In one write: others write at the same time.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)
