# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Prometheus scrapes the plugin as documented, and shows which pod holds which device; so does the dashboard."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import typing as t
from pathlib import Path
from urllib.parse import quote

import grpc
import pytest
import yaml
from kubelet_stub import Kubelet, holder
from running_plugin import FAKE, SCAN, STARTED, RunningPlugin, cluster, free_port, get, run

DOCS = Path(__file__).parents[5] / "docs"
GUIDE = (DOCS / "pod_resources.md").read_text(encoding="utf-8").partition("\n## Prometheus and Grafana\n")[2]
DASHBOARD = json.loads((DOCS / "grafana/device_plugins.json").read_text(encoding="utf-8"))
NODE = "worker-1"
FAKES = ["fake-0", "fake-1", "fake-2"]
GPU = "example.org/gpu"
PAGES = ("/metrics", "/pod-resources/metrics")
CONFIG = f"""
{SCAN}
podResources: {{access: token, tokenFile: %s/token}}
resources:
  - name: {FAKE}
    discover: [{{fake: {{count: 3}}}}]
    health: {{file: {{path: "/state/{{id}}", healthy: up}}, failures: 1, successes: 1}}
"""
# The scrape interval and timeout of Prometheus.
INTERVAL = "300ms"
# The metadata of the plugin's pod that Kubernetes gives Prometheus.
POD = {
    "__meta_kubernetes_pod_label_app_kubernetes_io_name": "nodecraft-device-plugin",
    "__meta_kubernetes_pod_container_port_name": "http",
    "__meta_kubernetes_pod_node_name": NODE,
}
# The values of Grafana's variables.
VARIABLES = {"$node": NODE, "$resource": ".*", "$__rate_interval": "1m"}

VARIABLE_QUERIES = [variable["definition"] for variable in DASHBOARD["templating"]["list"][1:]]
METRIC = re.compile(r"\w+(?=\{)|\b(?:device_plugin|process)_\w+")
# Variables of the role, not of Prometheus.
OPTIONS = {"device_plugin_pod_resources_token"}

Sample = tuple[dict[str, str], float]


def program(name: str) -> str:
    """The path of a program of Prometheus."""
    found = shutil.which(name)
    assert found, (
        f"{name} is not on PATH: install Debian's package prometheus, or let nox bring it (session device_plugin)"
    )
    return found


def documented(what: str) -> t.Any:
    """The YAML of the guide that begins with a key, or has a kind."""
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    (found,) = [block for block in blocks if re.search(rf"(?m)^(?:{what}:|kind: {what})$", block)]
    return yaml.safe_load(found)


def scrape_configs(port: int, token: Path) -> list[dict[str, t.Any]]:
    """Those of the guide, with pods that need no Kubernetes: the plugin's and a foreign one."""
    pods = [
        {"targets": [f"127.0.0.1:{port}"], "labels": POD},
        {"targets": ["127.0.0.1:1"], "labels": {**POD, "__meta_kubernetes_pod_container_port_name": "other"}},
    ]
    jobs = [dict(job, static_configs=pods) for job in documented("scrape_configs")["scrape_configs"]]
    for job in jobs:
        del job["kubernetes_sd_configs"]
        if "authorization" in job:
            job["authorization"] = {"credentials_file": str(token)}
    stranger = {name: value for name, value in jobs[-1].items() if name != "authorization"}
    return [*jobs, {**stranger, "job_name": "stranger"}]


async def stop(process: asyncio.subprocess.Process) -> None:
    """End a process, unless it has ended."""
    if process.returncode is None:
        process.kill()
    await process.wait()


class Prometheus:
    """A Prometheus for one test, on loopback."""

    def __init__(self, home: Path, jobs: t.Sequence[t.Mapping[str, t.Any]]) -> None:
        self.home = home / "prometheus"
        self.port = free_port()
        self._jobs = jobs
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Prometheus:
        self.home.mkdir()
        times = dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), INTERVAL)
        config = self.home / "prometheus.yml"
        config.write_text(yaml.safe_dump({"global": times, "scrape_configs": self._jobs}), encoding="utf-8")
        async with contextlib.AsyncExitStack() as stack:
            log = stack.enter_context((self.home / "log").open("w", encoding="utf-8"))
            process = await asyncio.create_subprocess_exec(
                *(program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={self.home / 'data'}"),
                f"--web.listen-address=127.0.0.1:{self.port}",
                stdout=log,
                stderr=log,
            )
            stack.push_async_callback(stop, process)
            async with asyncio.timeout(STARTED):
                while not await self._ready():
                    assert process.returncode is None, (self.home / "log").read_text(encoding="utf-8")
                    await asyncio.sleep(0.05)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._stack.aclose()

    async def _ready(self) -> bool:
        try:
            return (await get(self.port, "/-/ready"))[0] == 200
        except OSError:
            return False

    async def query(self, expression: str) -> list[Sample]:
        """The result of an expression: labels and value of each series."""
        status, body = await get(self.port, f"/api/v1/query?query={quote(expression)}")
        assert status == 200, f"{expression}: {body}"
        data = json.loads(body)["data"]
        assert data["resultType"] == "vector", f"{expression}: {body}"
        return [(sample["metric"], float(sample["value"][1])) for sample in data["result"]]

    async def until(self, expression: str, met: t.Callable[[list[Sample]], bool] = bool) -> list[Sample]:
        """Query until the result is as expected, by default until there is one."""
        samples: list[Sample] = []
        try:
            async with asyncio.timeout(STARTED):
                while not met(samples := await self.query(expression)):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"{expression}: at last {samples}") from None
        return samples

    async def until_series(self, expression: str, label: str, expected: t.Mapping[str, float]) -> None:
        """Query until exactly these series exist. label: what distinguishes them; empty for a single one."""
        await self.until(
            expression, lambda samples: {labels.get(label, ""): value for labels, value in samples} == expected
        )


@contextlib.asynccontextmanager
async def scraped(home: Path) -> t.AsyncIterator[tuple[Kubelet, RunningPlugin, Prometheus]]:
    """A plugin with three devices beside a kubelet, and a Prometheus that scrapes its pages."""
    (home / "token").write_text("secret\n", encoding="utf-8")
    for name in FAKES:
        set_state(home, name, "up")
    port = free_port()
    settings = {"port": port, "address": "127.0.0.1", "node_name": NODE}
    async with cluster(home, CONFIG % home, **settings) as (kubelet, plugin):
        await kubelet.until_healthy(FAKE, FAKES)
        async with Prometheus(home, scrape_configs(port, home / "token")) as prometheus:
            yield kubelet, plugin, prometheus


def set_state(home: Path, device: str, state: str) -> None:
    """Set the health of a device."""
    path = home / "root/state" / device
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(state, encoding="utf-8")


async def promtool(*arguments: str, text: str = "") -> tuple[int, str]:
    """Status and output of promtool."""
    process = await asyncio.create_subprocess_exec(
        program("promtool"),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _stderr = await process.communicate(text.encode())
    return process.returncode or 0, output.decode()


def test_who_holds_what_and_what_becomes_unhealthy(tmp_path: Path) -> None:
    async def test() -> None:
        async with scraped(tmp_path) as (kubelet, _plugin, prometheus):
            kubelet.pods = [holder("a", "fake-0", FAKE), holder("c", "gpu-1::3", GPU)]
            await prometheus.until_series(
                "up", "job", {"device-plugin": 1, "device-plugin-pod-resources": 1, "stranger": 0}
            )

            ((labels, value),) = await prometheus.until(
                f'device_plugin_allocated_device{{resource="{FAKE}", device_id="fake-0"}}'
            )
            assert value == 1
            del labels["instance"]
            assert labels == {
                "__name__": "device_plugin_allocated_device",
                "job": "device-plugin-pod-resources",
                "node": NODE,
                "namespace": "team",
                "pod": "a",
                "container": "main",
                "resource": FAKE,
                "device_id": "fake-0",
                "physical": "fake-0",
                "numa": "1",
                "health": "Healthy",
            }
            await prometheus.until_series("device_plugin_free_devices", "resource", {FAKE: 2})
            await prometheus.until_series(
                "sum by (node, health) (device_plugin_devices)", "health", {"Healthy": 3, "Unhealthy": 0}
            )

            set_state(tmp_path, "fake-0", "on fire")
            await prometheus.until_series(
                "sum by (node, health) (device_plugin_devices)", "health", {"Healthy": 2, "Unhealthy": 1}
            )
            wrong = 'device_plugin_allocated_device{health!="Healthy"}'
            await prometheus.until_series(wrong, "device_id", {"fake-0": 1, "gpu-1::3": 1})
            await prometheus.until_series(f"count by (health) ({wrong})", "health", {"Unhealthy": 1, "Unknown": 1})
            await prometheus.until_series("device_plugin_allocatable_devices", "resource", {FAKE: 2})
            await prometheus.until('device_plugin_allocated_device{health="Healthy"}', lambda samples: not samples)

            await kubelet.stop()
            await prometheus.until_series("device_plugin_registered", "node", {NODE: 0})
            await prometheus.until_series(
                'up{job=~"device-plugin.*"}', "job", {"device-plugin": 1, "device-plugin-pod-resources": 0}
            )
            await prometheus.until("device_plugin_allocated_device", lambda samples: not samples)
            await kubelet.start()

    run(test())


def filled(expression: str) -> str:
    """An expression of the dashboard as Grafana sends it."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


async def something_of_everything(home: Path, kubelet: Kubelet, plugin: RunningPlugin) -> None:
    """Cause what the dashboard shows: allocated and unhealthy devices, results of each kind, an invalid configuration."""
    kubelet.pods = [holder("a", "fake-0", FAKE), holder("b", "gone-7", FAKE), holder("c", "gpu-1::3", GPU)]
    await kubelet.allocate(FAKE, ["fake-0"])
    with pytest.raises(grpc.aio.AioRpcError, match="gone-7"):
        await kubelet.allocate(FAKE, ["gone-7"])
    set_state(home, "fake-0", "on fire")
    plugin.write_config("resources: nonsense")
    await plugin.until(lambda: bool(plugin.runtime.refused))


def test_the_dashboard_shows_what_happened(tmp_path: Path) -> None:
    async def test() -> None:
        async with scraped(tmp_path) as (kubelet, plugin, prometheus):
            await something_of_everything(tmp_path, kubelet, plugin)
            for panel in DASHBOARD["panels"]:
                for target in panel["targets"]:
                    samples = await prometheus.until(filled(target["expr"]))
                    legend = set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
                    assert all(legend <= labels.keys() for labels, _value in samples), panel["title"]
            for query in VARIABLE_QUERIES:
                selector, label = t.cast("re.Match[str]", re.fullmatch(r"label_values\((.*), (\w+)\)", query)).groups()
                samples = await prometheus.until(selector)
                assert all(label in labels for labels, _value in samples), query
            numbers = {
                panel["title"]: filled(panel["targets"][0]["expr"])
                for panel in DASHBOARD["panels"]
                if panel["type"] == "stat"
            }
            await prometheus.until_series(numbers["Targets that do not answer"], "", {"": 0})
            await prometheus.until_series(numbers["Resources that are not registered"], "", {"": 0})
            await prometheus.until_series(numbers["Unhealthy devices"], "", {"": 1})
            await prometheus.until_series(numbers["Allocations on unhealthy or vanished devices"], "", {"": 3})
            await prometheus.until_series(numbers["Configurations that are refused"], "", {"": 1})
            await kubelet.stop()
            await prometheus.until_series(numbers["Targets that do not answer"], "", {"": 1})
            await prometheus.until_series(numbers["Resources that are not registered"], "", {"": 1})
            await kubelet.start()

    run(test())


def test_the_dashboard_and_the_guide_name_the_metrics_of_the_pages(tmp_path: Path) -> None:
    """And promtool reports nothing for the pages."""
    port = free_port()
    (tmp_path / "token").write_text("secret", encoding="utf-8")

    async def test() -> tuple[str, ...]:
        settings = {"port": port, "address": "127.0.0.1", "node_name": NODE}
        async with cluster(tmp_path, CONFIG % tmp_path, **settings) as (kubelet, plugin):
            await kubelet.until(lambda: FAKE in kubelet.plugins)
            await plugin.until(lambda: plugin.ready[FAKE])
            await something_of_everything(tmp_path, kubelet, plugin)
            pages = [await get(port, path, Authorization="Bearer secret") for path in PAGES]
        for status, text in pages:
            assert status == 200
            assert await promtool("check", "metrics", text=text) == (0, "")
        return tuple(text for _status, text in pages)

    text = "\n".join(run(test()))
    families = set(re.findall(r"(?m)^# TYPE (\w+)", text))
    series = {"up", *re.findall(r"(?m)^(\w+)[ {]", text)}
    queries = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]] + VARIABLE_QUERIES
    for query in queries:
        assert set(METRIC.findall(query)) <= series, query
    named = set(METRIC.findall(GUIDE.replace("`process_*`", "")))
    assert {name for name in families if name.startswith("device_plugin_")} <= named
    assert {name for name in named if name.startswith("device_plugin_")} - OPTIONS <= families


def test_the_pod_monitor_of_the_guide_matches() -> None:
    jobs = documented("scrape_configs")["scrape_configs"]
    endpoints = documented("PodMonitor")["spec"]["podMetricsEndpoints"]
    assert (
        [endpoint["path"] for endpoint in endpoints]
        == [job.get("metrics_path", "/metrics") for job in jobs]
        == [*PAGES]
    )
    assert [endpoint.get("honorLabels") for endpoint in endpoints] == [job.get("honor_labels") for job in jobs]
    assert ["authorization" in endpoint for endpoint in endpoints] == ["authorization" in job for job in jobs]
    for endpoint, job in zip(endpoints, jobs, strict=True):
        labels = {rule["targetLabel"]: rule for rule in endpoint["relabelings"]}
        assert labels["job"]["replacement"] == job["job_name"]
        assert labels["node"]["sourceLabels"] == job["relabel_configs"][-1]["source_labels"]


def test_the_dashboard_can_be_imported() -> None:
    """Grafana accepts overlapping panels and unknown data sources silently, so they are checked here."""
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _y in cells) < 24
    entries = [
        *panels,
        *(target for panel in panels for target in panel["targets"]),
        *DASHBOARD["templating"]["list"][1:],
    ]
    assert all(entry["datasource"] == {"type": "prometheus", "uid": "${datasource}"} for entry in entries)
