# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A kubelet as a node has it, and as the node has it after some of its files changed."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from ..common.file_values import FileVersion, TextFile
from ..common.ownership import Record
from ..documents.systemd_service import replace_file
from . import config as kubelet_config
from . import generator as kubelet_generator
from . import layout as kubelet_layout
from .layout import FRAGMENT, Layout
from .manager_policies import StateFilePolicies

Versions = t.Mapping[str, t.Optional[FileVersion]]


@dataclasses.dataclass(frozen=True)
class State:
    """What the node has.

    unit: the unit's file and its drop-ins, in systemd's order. environment: each environment file, None for one that is not there.
    main: the file of C(--config). fragments: the files of the C(--config-dir) that is used, or that would be.
    record: what we own. version: the kubelet's. running: the command line of its process, None when it is down. host: its name.
    newer: files of others, its binary among them, that changed after that process was started. state_policies: its state files.
    generator: ours, None when it is not there. joined: when the node was joined again after our last change, UTC; empty when it was not.
    """

    unit: tuple[TextFile, ...]
    environment: Versions
    main: TextFile | None
    fragments: tuple[TextFile, ...]
    record: Record
    version: tuple[int, int]
    running: tuple[str, ...] | None
    host: str
    newer: tuple[str, ...] = ()
    state_policies: StateFilePolicies = dataclasses.field(default_factory=dict)
    generator: FileVersion | None = None
    joined: str = ""

    @property
    def variables(self) -> dict[str, str | None]:
        """The texts of the environment files."""
        return {path: version.text if version else None for path, version in self.environment.items()}

    @property
    def texts(self) -> dict[str, str | None]:
        """The texts of all files that set variables."""
        return {**{file.path: file.text for file in self.unit}, **self.variables}

    @property
    def files(self) -> dict[str, FileVersion | None]:
        """All files that may change, by path."""
        files = {file.path: file.version for file in (*self.unit, *self.fragments)}
        return {**files, **self.environment, kubelet_generator.GENERATOR: self.generator}

    @property
    def foreign_fragments(self) -> tuple[TextFile, ...]:
        """The fragments of others."""
        return tuple(file for file in self.fragments if posixpath.basename(file.path) != FRAGMENT)

    def used_files(self, command: t.Sequence[str]) -> list[TextFile]:
        """The configuration files that a command line makes the kubelet read."""
        main = [self.main] if self.main else []
        return [*main, *(self.fragments if kubelet_layout.config_dir(command) else ())]

    def layout(self, *, reads_fragments: bool = False) -> Layout:
        """What its files make of the kubelet. reads_fragments: although its command line does not say so."""
        service = kubelet_generator.read_derived(self.unit, self.variables, self.host)
        return kubelet_layout.make_layout(service, self.main, self.fragments, reads_fragments=reads_fragments)

    def with_files(self, versions: Versions) -> State:
        """The same when these files are so, None for one that does not exist, and systemd loaded them.

        A file that the kubelet does not read changes nothing. Raises Refusal when our generator could write nothing.
        """
        unit, environment = list(self.unit), dict(self.environment)
        fragments = {file.path: file.version for file in self.fragments}
        for path, version in versions.items():
            if path in environment:
                environment[path] = version
            elif posixpath.basename(path) == FRAGMENT:
                fragments.pop(path, None)
                fragments.update({path: version} if version else {})
            elif path == kubelet_layout.DROP_IN or any(file.path == path for file in unit):
                unit = replace_file(unit, path, version)
        generator = versions.get(kubelet_generator.GENERATOR, self.generator)
        paths = sorted(fragments, key=kubelet_config.merge_order)
        return dataclasses.replace(
            self,
            unit=tuple(kubelet_generator.as_loaded(unit, installed=generator is not None)),
            environment=environment,
            fragments=tuple(TextFile(path, fragments[path]) for path in paths),
            generator=generator,
        )

    def without_ours(self) -> State:
        """The same without our files: what others made of the kubelet."""
        ours = [file.path for file in self.fragments if file not in self.foreign_fragments]
        return self.with_files(dict.fromkeys((kubelet_layout.DROP_IN, kubelet_generator.GENERATOR, *ours)))
