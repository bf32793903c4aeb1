# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all stand-ins share: the call with its host, the variables that set their results, and the log of calls.

The stage sets in their environment: C(STUB_LOG), the file of calls. C(STUB_VARIABLES), the variables of each host. C(STUB_RUNS), a line
for each process. C(STUB_MACHINE), by the interpreter of each host: the host that they run on. C(STUB_BECOMES), by its sudo.
"""

from __future__ import annotations

import json
import os
import sys
import typing as t

from ansible.module_utils import basic

Json = dict[str, t.Any]

# The status of ssh where it, and not what it ran, has failed. The stage's connection takes it the same way.
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

    def variable(self, name: str, default: t.Any, host: str | None = None) -> t.Any:
        """A variable of the host whose task it is, or of another one."""
        with open(os.environ["STUB_VARIABLES"], encoding="utf-8") as file:
            values = json.load(file)
        return values["hosts"].get(host or self.host, {}).get(name, values["all"].get(name, default))

    def reach_machine(self) -> None:
        """End as if the machine were gone where C(stub_machine) of its host is gone."""
        if self.variable("stub_machine", "", self.machine) == "gone":
            lose_connection()

    def calls(self, step: str, component: str, host: str | None = None) -> list[Json]:
        """The recorded calls of a step until now, of all hosts or of one."""
        begin = _line_prefix(step, component, host)
        with open(os.environ["STUB_LOG"], encoding="utf-8") as log:
            return [json.loads(line) for line in log if line.startswith(begin)]

    def pod_states(self, node: str) -> Json:
        """The states of the static pods of a node by its variable C(stub_pods): name -> what is wrong (nothing by default), C(open) for a
        change that is open, C(gone) for a node that cannot be reached, or a list of these, one for each observation, the last for all that follow. A
        plan is an observation, too."""
        return {"kube-apiserver": "", "etcd": "", **self.variable("stub_pods", {}, node)}

    def kubelet_problem(self, node: str) -> str | None:
        """C(stub_kubelet_problem): what is wrong with the kubelet of a node until it is changed."""
        changes = [record for record in self.calls("change", "kubelet", node) if record["ending"] == "committed"]
        return None if changes else self.variable("stub_kubelet_problem", None, node)

    def observations(self, node: str) -> int:
        """How often the static pods of a node were read until now."""
        seen = [*self.calls("read", "pods"), *self.calls("read", "planned pods")]
        return sum(call["machine"] == node for call in seen)

    def record(self, step: str | None = None, component: str | None = None, **more: t.Any) -> None:
        """Record this call. step: of what, plan or change by default. component: or the name of the module."""
        call = {
            "step": step or ("plan" if self.dry else "change"),
            "component": component or self.component,
            "host": self.host,
            "arguments": self.arguments,
            "becomes": "STUB_BECOMES" in os.environ,
            "machine": self.machine,
            **more,
        }
        _append(os.environ["STUB_LOG"], json.dumps(call))


def pod_of(name: str, states: t.Any, observations: int) -> Json:
    """The state of one static pod after so many observations. states: see C(pod_states)."""
    problem = states[min(observations, len(states) - 1)] if isinstance(states, list) else states
    is_open = problem == "open"
    return {
        "name": name,
        "ready": not problem or is_open,
        "problem": None if is_open else problem or None,
        "unverified": [],
        "open_transaction": {"id": "1", "phase": "waiting"} if is_open else None,
    }


def exit_json(result: Json) -> t.NoReturn:
    """End with a result."""
    sys.stdout.write(json.dumps(result))
    sys.exit(1 if result.get("failed") else 0)


def lose_connection() -> t.NoReturn:
    """End as if the node were gone."""
    sys.exit(_CONNECTION_LOST)


def _line_prefix(step: str, component: str, host: str | None) -> str:
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
