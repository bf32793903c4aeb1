# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The safeguards, each with what takes it out and the test that must fail then."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.faults.processes import INSIDE


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One safeguard taken out.

    safeguard: what it is, for people. file: below module_utils. text, instead: what is replaced, all places. test: selects
    the tests of which one must fail, as pytest's -k takes it.
    """

    safeguard: str
    file: str
    text: str
    instead: str
    test: str

    def take_out(self, tree: Path) -> None:
        """Write the code without it. Raises AssertionError when the safeguard is not found."""
        path = tree / INSIDE / self.file
        code = path.read_text(encoding="utf-8")
        assert self.text in code, f"{self.safeguard}: {self.file} does not contain {self.text!r} any more"
        path.write_text(code.replace(self.text, self.instead), encoding="utf-8")


MUTATIONS: dict[str, Mutation] = {}
