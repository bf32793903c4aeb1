# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(node_image), for the runner."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ..._engine.node import NODE, Host
from ..._plan.common.batch import TaskPlan
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.common.ownership import Change
from ..._plan.common.verdict import NOT_NEEDED, Verdict
from ..._plan.kubernetes import versions
from ..._plan.transaction import messages
from ..kubelet.kubelet_reader import read_runtime
from ..transaction.state import Run
from .container_runtime import Runtime, runtime_at


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads. version: the kubelet's. present: whether the runtime has the image; None where that is unknown."""

    node: str
    version: str
    runtime: Runtime
    present: bool | None


class ImageSteps:
    """One run of the module: loads an archive where the runtime has no such image."""

    unrehearsed = "an archive cannot be tested before it is loaded"

    def __init__(self, params: t.Mapping[str, t.Any], *, run: Run, host: Host = NODE) -> None:
        self._image = str(params["name"])
        self._archive: str | None = params["archive"]
        self._run = run
        self._host = host
        # The result, whichever step fails.
        self._result: dict[str, t.Any] = {
            "name": self._image,
            "node": None,
            "runtime": None,
            "present": None,
            "unverified": [],
        }
        self._is_known = True

    def session(self, *, dry: bool) -> t.ContextManager[None]:
        """No lock: another run that loads the same image does no harm."""
        return contextlib.nullcontext()

    def read(self, *, dry: bool) -> Observed:
        """Read where the kubelet's runtime is, and whether it has the image."""
        kubelet = read_runtime(self._run, proc=self._host.proc)
        self._result["node"] = kubelet.node_name
        runtime = runtime_at(kubelet.endpoint, self._run)
        self._result["runtime"] = runtime.name
        self._result["present"] = present = runtime.has_image(self._image)
        self._is_known = present is not None
        return Observed(kubelet.node_name, kubelet.version, runtime, present)

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of a version that is not tested."""
        return versions.warnings(observed.node, {"kubelet": [observed.version]})

    def plan(self, observed: Observed) -> TaskPlan:
        """Load what is missing, if an archive is given."""
        if self._archive is None or observed.present:
            return TaskPlan((), ())
        return TaskPlan((Change("image", self._image, None, self._archive),), ())

    def preflight(self, observed: Observed, plan: TaskPlan) -> tuple[str, ...]:
        """Check that the node can load an archive. Only loading it verifies this one. Raises Refusal."""
        error = observed.runtime.missing_program() if plan.operations else ""
        if error:
            raise Refusal(f"{self._archive} cannot be loaded into {observed.runtime.name} of {observed.node}: {error}.")
        return ()

    def verify(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """There is nothing to verify of an image that is there."""
        return ()

    def rehearse(self, observed: Observed, plan: TaskPlan) -> Verdict:
        """Nothing is tried in check mode either."""
        return Verdict(NOT_NEEDED, self.unrehearsed)

    def apply(self, observed: Observed, plan: TaskPlan) -> None:
        """Load the archive, and check that the image was in it. Raises KubeadmError when it was not."""
        for change in plan.operations:
            self._load(observed, str(change.after))

    def _load(self, observed: Observed, archive: str) -> None:
        runtime = observed.runtime
        output = runtime.load_archive(archive)
        present = runtime.has_image(self._image)
        self._is_known = present is not None
        if present is False:
            raise KubeadmError(
                f"{archive} was loaded into {runtime.name} of {observed.node}, and there is still no image {self._image}. Use the"
                f" name that the archive has. The output was: {output or 'nothing'}"
            )

    def finish(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Warn where it is unknown whether the image is there."""
        if self._is_known:
            return ()
        self._result["unverified"] = [observed.runtime.unverified_image(self._image)]
        return [messages.unverified_warning(self._image, observed.node, what) for what in self._result["unverified"]]

    def report(self, observed: Observed | None, plan: TaskPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        return self._result
