# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The steps of the module C(node_image), for the runner."""

from __future__ import annotations

import contextlib
import typing as t

from .._engine.node import NODE, Host
from .._plan.common.batch import TaskPlan
from .._plan.common.errors import KubeadmError
from .._plan.common.ownership import Change
from .._plan.common.verdict import SKIPPED, Verdict
from .._plan.kubernetes import versions
from .kubelet import read_runtime
from .runtime import Runtime, runtime_at
from .state import Run


class ImageSteps:
    """One run of the module: sees whether the runtime has an image, and loads the archive that holds it."""

    def __init__(self, params: t.Mapping[str, t.Any], *, run: Run, host: Host = NODE) -> None:
        self._image = str(params["name"])
        self._archive: str | None = params["archive"]
        self._run = run
        self._host = host
        self._node: str | None = None
        self._version = ""
        self._runtime: Runtime | None = None
        self._present: bool | None = None

    def session(self) -> t.ContextManager[None]:
        """Nothing is held: who loads the same image meanwhile does no harm."""
        return contextlib.nullcontext()

    def read(self) -> None:
        """Ask the kubelet where its runtime is, and the runtime whether it has the image."""
        found = read_runtime(self._run, proc=self._host.proc)
        self._node, self._version = found.node_name, found.version
        self._runtime = runtime_at(found.endpoint, self._run)
        self._present = self._runtime.has(self._image)

    def notes(self) -> list[str]:
        """Warn of a version that is not tested."""
        return versions.warnings(str(self._node), {"kubelet": [self._version]})

    def plan(self) -> TaskPlan:
        """Load what is missing, if an archive is given."""
        if self._archive is None or self._present:
            return TaskPlan((), ())
        return TaskPlan((Change("image", self._image, None, self._archive),), ())

    def settle(self) -> None:
        """An image that is there is all right."""

    def rehearse(self) -> Verdict:
        """An archive cannot be tried."""
        return Verdict(SKIPPED, "an archive cannot be tested before it is loaded")

    def apply(self) -> None:
        """Load the archive, and see that the image was in it. Raises KubeadmError when it was not."""
        runtime = t.cast(Runtime, self._runtime)
        said = runtime.load(t.cast(str, self._archive))
        if runtime.has(self._image) is False:
            raise KubeadmError(
                f"{self._archive} was loaded into {runtime.name} of {self._node}, and there is still no image {self._image}. Use the"
                f" name that the archive has. The output was: {said or 'nothing'}"
            )

    def report(self) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        return {
            "name": self._image,
            "node": self._node,
            "runtime": self._runtime.name if self._runtime else None,
            "present": self._present,
        }
