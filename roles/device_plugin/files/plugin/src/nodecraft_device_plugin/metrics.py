# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics for Prometheus. One registry per process."""

from __future__ import annotations

import contextlib
import typing as t

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

if t.TYPE_CHECKING:
    from nodecraft_device_plugin.inventory import Listed

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The metrics of the device plugin."""

    def __init__(self) -> None:
        # Series with the creation time of each counter would double the number of series.
        disable_created_metrics()
        self.registry = CollectorRegistry()
        # Start, memory, processor time and open files of the process.
        ProcessCollector(registry=self.registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"device_plugin_{name}", text, labels, registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"device_plugin_{name}", text, labels, registry=self.registry)

        def seconds(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"device_plugin_{name}_seconds", text, labels, buckets=_BUCKETS, registry=self.registry)

        self.devices = gauge("devices", "Advertised devices.", "resource", "health")
        self.skipped = gauge("candidates_skipped", "Candidates that are not advertised.", "resource")
        self.registered = gauge("registered", "1 while registered with an open stream.", "resource")
        self.registrations = counter("registrations", "Attempts to register.", "resource", "result")
        self.updates = counter("list_updates", "Changes of the advertised list of devices.", "resource")
        self.allocations = counter("allocations", "Allocations of devices to containers.", "resource", "result")
        self.allocation_seconds = seconds("allocation", "Duration of the allocation for a container.", "resource")
        self.scan_failures = counter("scan_failures", "Incomplete scans for devices.", "resource")
        self.scan_seconds = seconds("scan", "Duration of a scan for the devices of all resources.")
        self.config_accepted = gauge(
            "config_accepted", "1 while the configuration in use is that of the file, 0 while the file is invalid."
        )
        self.config_reloads = counter("config_reloads", "Changes of the configuration file.", "result")
        self.config_time = gauge("config_loaded_timestamp_seconds", "When the configuration in use was read.")
        for result in ("accepted", "refused"):
            self.config_reloads.labels(result)

    def begin(self, resource: str) -> None:
        """Export all series of a resource with 0: in a series that begins with 1, Prometheus sees no increase."""
        for metric, labels in self._series(resource):
            metric.labels(*labels)

    def list_changed(self, resource: str, listed: t.Sequence[Listed]) -> None:
        """Count the devices of a resource."""
        healthy = sum(device.healthy for device in listed)
        self.devices.labels(resource, "Healthy").set(healthy)
        self.devices.labels(resource, "Unhealthy").set(len(listed) - healthy)
        self.updates.labels(resource).inc()

    def forget(self, resource: str) -> None:
        """Remove the series of a removed resource."""
        for metric, labels in self._series(resource):
            # Older releases of the client raise for a missing series.
            with contextlib.suppress(KeyError):
                metric.remove(*labels)

    def _series(self, resource: str) -> t.Iterator[tuple[t.Any, tuple[str, ...]]]:
        """The series of a resource: each metric with its labels."""
        for metric, values in (
            (self.devices, ("Healthy", "Unhealthy")),
            (self.registrations, ("accepted", "failed")),
            (self.allocations, ("accepted", "rejected")),
        ):
            yield from ((metric, (resource, value)) for value in values)
        for metric in (self.skipped, self.registered, self.updates, self.allocation_seconds, self.scan_failures):
            yield metric, (resource,)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        body: bytes = generate_latest(self.registry)
        return body
