# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Prometheus is told. One registry a process, made by whoever starts it."""

from __future__ import annotations

import contextlib
import typing as t

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if t.TYPE_CHECKING:
    from nodecraft_device_plugin.inventory import Listed

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SCAN_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The metrics of the device plugin."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"device_plugin_{name}", text, labels, registry=self.registry)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"device_plugin_{name}", text, labels, registry=self.registry)

        self.devices = gauge("devices", "Devices that are advertised.", "resource", "health")
        self.left_out = gauge("candidates_left_out", "Candidates that are not advertised.", "resource")
        self.registered = gauge("registered", "1 while registered with an open stream.", "resource")
        self.registrations = counter("registrations", "Attempts to register.", "resource", "result")
        self.updates = counter("list_updates", "Changes of the list of devices.", "resource")
        self.allocations = counter("allocations", "Containers that asked for devices.", "resource", "result")
        self.scan_failures = counter("scan_failures", "Looks for devices that failed.", "resource")
        self.scan_seconds = Histogram(
            "device_plugin_scan_seconds",
            "How long a look for the devices of all resources takes.",
            buckets=_SCAN_BUCKETS,
            registry=self.registry,
        )
        self.config_accepted = gauge("config_accepted", "1 when the configuration file is the one that is used.")
        self.config_reloads = counter("config_reloads", "Changes of the configuration file.", "result")
        self.config_time = gauge("config_loaded_timestamp_seconds", "When the configuration in use was read.")

    def list_changed(self, resource: str, listed: t.Sequence[Listed]) -> None:
        """Count the devices of a resource."""
        healthy = sum(device.healthy for device in listed)
        self.devices.labels(resource, "Healthy").set(healthy)
        self.devices.labels(resource, "Unhealthy").set(len(listed) - healthy)
        self.updates.labels(resource).inc()

    def forget(self, resource: str) -> None:
        """Drop what is said of a resource that is no more."""
        labels = [(self.devices, (resource, health)) for health in ("Healthy", "Unhealthy")]
        for gauge, values in (*labels, (self.left_out, (resource,)), (self.registered, (resource,))):
            # It may be gone before anything was said of it.
            with contextlib.suppress(KeyError):
                gauge.remove(*values)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        body: bytes = generate_latest(self.registry)
        return body
