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
    """What a run finds. version: the kubelet's. present: whether the runtime has the image; None where it cannot tell."""

    node: str
    version: str
    runtime: Runtime
    present: bool | None


class ImageSteps:
    """One run of the module: sees whether the runtime has an image, and loads the archive that holds it."""

    unrehearsed = "an archive cannot be tested before it is loaded"

    def __init__(self, params: t.Mapping[str, t.Any], *, run: Run, host: Host = NODE) -> None:
        self._image = str(params["name"])
        self._archive: str | None = params["archive"]
        self._run = run
        self._host = host
        # What the result says, whichever step fails.
        self._told: dict[str, t.Any] = {
            "name": self._image,
            "node": None,
            "runtime": None,
            "present": None,
            "unverified": [],
        }
        self._is_known = True

    def session(self, *, dry: bool) -> t.ContextManager[None]:
        """Nothing is held: who loads the same image meanwhile does no harm."""
        return contextlib.nullcontext()

    def read(self, *, dry: bool) -> Observed:
        """Ask the kubelet where its runtime is, and the runtime whether it has the image."""
        found = read_runtime(self._run, proc=self._host.proc)
        self._told["node"] = found.node_name
        runtime = runtime_at(found.endpoint, self._run)
        self._told["runtime"] = runtime.name
        self._told["present"] = present = runtime.has(self._image)
        self._is_known = present is not None
        return Observed(found.node_name, found.version, runtime, present)

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of a version that is not tested."""
        return versions.warnings(observed.node, {"kubelet": [observed.version]})

    def plan(self, observed: Observed) -> TaskPlan:
        """Load what is missing, if an archive is given."""
        if self._archive is None or observed.present:
            return TaskPlan((), ())
        return TaskPlan((Change("image", self._image, None, self._archive),), ())

    def preflight(self, observed: Observed, plan: TaskPlan) -> tuple[str, ...]:
        """See that the node can load an archive. Only loading it shows whether it can load this one. Raises Refusal."""
        lack = observed.runtime.lack() if plan.operations else ""
        if lack:
            raise Refusal(f"{self._archive} cannot be loaded into {observed.runtime.name} of {observed.node}: {lack}.")
        return ()

    def verify(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """An image that is there is all right."""
        return ()

    def rehearse(self, observed: Observed, plan: TaskPlan) -> Verdict:
        """Nothing is tried in check mode either."""
        return Verdict(NOT_NEEDED, self.unrehearsed)

    def apply(self, observed: Observed, plan: TaskPlan) -> None:
        """Load the archive, and see that the image was in it. Raises KubeadmError when it was not."""
        for change in plan.operations:
            self._load(observed, str(change.after))

    def _load(self, observed: Observed, archive: str) -> None:
        runtime = observed.runtime
        said = runtime.load(archive)
        present = runtime.has(self._image)
        self._is_known = present is not None
        if present is False:
            raise KubeadmError(
                f"{archive} was loaded into {runtime.name} of {observed.node}, and there is still no image {self._image}. Use the"
                f" name that the archive has. The output was: {said or 'nothing'}"
            )

    def finish(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Nothing is waited for."""
        if self._is_known:
            return ()
        self._told["unverified"] = [observed.runtime.unverified(self._image)]
        return [messages.not_verified(self._image, observed.node, what) for what in self._told["unverified"]]

    def report(self, observed: Observed | None, plan: TaskPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        return self._told
