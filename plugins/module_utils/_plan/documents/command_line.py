# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The arguments of a command line, each with the file and line that sets it."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Source:
    """Where something is set."""

    path: str
    line: int

    def __str__(self) -> str:
        """The notation of compilers."""
        return f"{self.path}:{self.line}"


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of the command line. variable: the one whose value has it; None when it stands in C(ExecStart) itself."""

    text: str
    source: Source
    variable: str | None


def find_program(words: t.Sequence[str], is_named: t.Callable[[str], bool]) -> int:
    """Where on a command line the component's program stands, behind a wrapper such as nice or kube-log-runner; 0 when none has its name.

    No words but flags follow the program, so C(--log-file /var/log/etcd etcd --name=a) names it with its third word.
    """
    for index, word in enumerate(words):
        following = words[index + 1 : index + 2]
        if (
            not word.startswith("-")
            and is_named(word)
            and (not index or all(each.startswith("-") for each in following))
        ):
            return index
    return 0
