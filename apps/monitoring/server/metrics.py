#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Figures for Prometheus."""

from collections import Counter

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

from ...system import linux

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "aperture_"


class Metrics:
    """text() is what Prometheus reads, of what the server knows."""

    def __init__(self, server):
        self._server = server
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self):
        """Bytes of Prometheus' format of text."""
        return generate_latest(self._registry)

    def describe(self):
        """Nothing is known before there are values: of prometheus_client's interface."""
        return []

    def collect(self):
        """Families of values: of prometheus_client's interface."""
        server = self._server
        observed = server.observed
        about = observed.about
        yield InfoMetricFamily(
            PREFIX + "instrument",
            "What runs",
            value={"name": str(about.get("name", "")), "version": str(about.get("version", ""))},
        )
        figures = observed.figures
        yield _gauge(
            "up",
            "1 while the instrument runs",
            float(figures.get("state") == "running" and server.connected),
        )
        yield _counter("restarts", "Flowgraphs that were made anew", about.get("restarts", 0))
        yield _gauge(
            "times_real_time", "Seconds of the stream in a second", figures.get("times_real_time")
        )
        yield _gauge(
            "latency_seconds",
            "Age of the end of the newest integration that was seen",
            figures.get("latency"),
        )
        yield _counter("integrations", "Integrations since the start", figures.get("integrations"))
        yield _gauge("monitoring_queue", "Messages that wait for the server", figures.get("queue"))
        yield _counter(
            "monitoring_dropped",
            "Messages that the server did not take in time",
            figures.get("dropped"),
        )
        yield _counter(
            "monitoring_restarts", "Servers that were started again", figures.get("server_restarts")
        )
        yield _counter(
            "monitoring_refused_connections",
            "Connections over the limits",
            server.connections.refused if server.connections else 0,
        )
        yield from self._outputs(figures)
        yield from self._blocks(figures)
        yield from self._inputs(server.drawings.bandpasses.get("inputs", []), observed)
        yield self._beams(server.beams.now.get("beams", []))
        yield from self._machine(server)

    @staticmethod
    def _outputs(figures):
        recording = figures.get("recording")
        yield _gauge(
            "recording",
            "1 while what comes is written, 0 while it is left out, or nothing comes",
            None
            if recording is None
            else float(bool(recording) and figures.get("state") == "running"),
        )
        free = GaugeMetricFamily(
            PREFIX + "filesystem_free_bytes",
            "Bytes that are left on a file system that files are written to",
            labels=["mount"],
        )
        for mount, count in figures.get("free", {}).items():
            free.add_metric([mount], count)
        yield free
        for key, about in (
            ("files", "Files that were begun"),
            ("bytes", "Bytes of the files"),
            (
                "left_out",
                "Integrations (of voltages frames) that were not written, for want of room",
            ),
        ):
            family = CounterMetricFamily(f"{PREFIX}output_{key}", about, labels=["output"])
            for name, counts in figures.get("outputs", {}).items():
                family.add_metric([name], counts[key])
            yield family
        dumps = CounterMetricFamily(
            PREFIX + "dumps",
            "Dumps of voltages, by what became of them",
            labels=["block", "result"],
        )
        for name, counts in figures.get("dumps", {}).items():
            for result, count in counts.items():
                dumps.add_metric([name, result], count)
        yield dumps

    @staticmethod
    def _blocks(figures):
        items = CounterMetricFamily(
            PREFIX + "block_items", "Items of the first port", labels=["block", "direction"]
        )
        rates = GaugeMetricFamily(
            PREFIX + "block_items_per_second",
            "Items of the first port",
            labels=["block", "direction"],
        )
        for name, counts in figures.get("blocks", {}).items():
            for direction in ("in", "out"):
                if "items_" + direction in counts:
                    items.add_metric([name, direction], counts["items_" + direction])
                if "rate_" + direction in counts:
                    rates.add_metric([name, direction], counts["rate_" + direction])
        waiting = GaugeMetricFamily(
            PREFIX + "edge_items", "Items that wait between two blocks", labels=["writer", "reader"]
        )
        # there may be several between two blocks, one for each port
        edges = Counter()
        for writer, reader, count in figures.get("edges", []):
            edges[writer, reader] += count
        for ends, count in edges.items():
            waiting.add_metric(ends, count)
        return items, rates, waiting

    @staticmethod
    def _inputs(inputs, observed):
        families = {
            key: GaugeMetricFamily(f"{PREFIX}input_{key}", about, labels=["input"])
            for key, about in (
                ("rms", "Of the real and imaginary parts, in steps of sc8 and sc4"),
                ("clamped", "Part of the values that did not fit"),
                ("missing", "Part of the spectra that is missing"),
            )
        }
        health = GaugeMetricFamily(
            PREFIX + "input_health", "0: bad, 0.5: to be looked at, 1: good", labels=["input"]
        )
        for state, name in zip(inputs, distinct(state["name"] for state in inputs)):
            for key, family in families.items():
                if state[key] is not None:
                    family.add_metric([name], state[key])
            if state["grade"] != "unknown":
                health.add_metric([name], {"good": 1.0, "warn": 0.5, "bad": 0.0}[state["grade"]])
        yield from families.values()
        yield health
        totals = {
            key: CounterMetricFamily(f"{PREFIX}{key}", about, labels=["block", "input"])
            for key, about in (
                ("clamped_values", "Values that did not fit into their type"),
                ("missing_spectra", "Spectra that are zeros"),
            )
        }
        names = [
            str(entry.get("name"))
            for entry in (observed.about.get("array") or {}).get("inputs", [])
        ]
        for block, value in observed.counts():
            for key, source in (("clamped_values", "clamped"), ("missing_spectra", "missing")):
                counts = value.get(source)
                counts = counts if isinstance(counts, list) else []
                more = map(str, range(len(names), len(counts)))
                for name, count in zip(distinct([*names, *more]), counts):
                    totals[key].add_metric([block, name], float(count))
        yield from totals.values()

    @staticmethod
    def _beams(beams):
        powers = GaugeMetricFamily(
            PREFIX + "beam_power", "Newest total power: the mean over the channels", labels=["beam"]
        )
        for beam, name in zip(beams, distinct(beam["name"] for beam in beams)):
            if beam["power"] is not None:
                powers.add_metric([name], beam["power"])
        return powers

    @staticmethod
    def _machine(server):
        families = {
            # names that end in _total are those of counters
            key: GaugeMetricFamily(f"{PREFIX}gpu_{name}", about, labels=["gpu", "name"])
            for key, name, about in (
                ("memory_used", "memory_used", "Bytes"),
                ("memory_total", "memory_size", "Bytes"),
                ("power", "power", "W"),
                ("utilization", "utilization", "0 to 1"),
                ("temperature", "temperature", "Degrees Celsius"),
            )
        }
        for gpu in server.gpus:
            for key, family in families.items():
                if gpu[key] is not None:
                    family.add_metric([gpu["index"], gpu["name"]], gpu[key])
        yield from families.values()
        for name, process in (("flowgraph", server.flowgraph), ("server", "self")):
            found = (
                linux.process_figures(process)
                if process != "self"
                else linux.process_figures(server.pid)
            )
            for key, about in (
                ("resident", "Bytes of memory"),
                ("threads", "Threads"),
                ("descriptors", "Open files and sockets"),
            ):
                if key in found:
                    yield _gauge(f"{name}_{key}", f"{about} of the {name}'s process", found[key])
            if "seconds" in found:
                yield _counter(
                    f"{name}_cpu_seconds",
                    f"Of processors, by the {name}'s process",
                    found["seconds"],
                )


def distinct(names):
    """The names, with a number from 2 on behind each that was there before: no two series of a
    metric have the same labels."""
    found = {}
    for name in map(str, names):
        number, different = 1, name
        while different in found:
            number += 1
            different = f"{name} ({number})"
        found[different] = None
    return list(found)


def _gauge(name, about, value):
    family = GaugeMetricFamily(PREFIX + name, about)
    if value is not None:
        family.add_metric([], float(value))
    return family


def _counter(name, about, value):
    family = CounterMetricFamily(PREFIX + name, about)
    if value is not None:
        family.add_metric([], float(value))
    return family
