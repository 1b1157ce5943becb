// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Spectra, and fringes against time, drawn by dygraphs; all of bounded length.

import { COLOURS, style } from "./draw.js";

export const LONGEST = 600;   // points of a curve against time
const MOST_CURVES = 8;    // as many as there are colours

function available(node) {
  if (window.Dygraph) return true;
  node.className += " none";
  node.textContent = "the plotting library is not installed (Debian: libjs-dygraphs)";
  return false;
}

// The legend is ours, and dygraphs' own sets styles that the page's policy forbids.
if (window.Dygraph) {
  window.Dygraph.PLUGINS = window.Dygraph.PLUGINS.filter(
    (plugin) => plugin !== window.Dygraph.Plugins.Legend);
}

function options(more) {
  return { gridLineColor: style("--grid"), axisLineColor: style("--line"),
           axisLabelFontSize: 12, xLabelHeight: 16, yLabelWidth: 16, highlightCircleSize: 3,
           strokeWidth: 1.3, animatedZooms: false, connectSeparatedPoints: false, ...more };
}

// With as many digits as tell one mark from the next.
function frequencyLabel(value, granularity, option, graph) {
  const [low, high] = graph.xAxisRange();
  const digits = Math.ceil(-Math.log10(Math.max(high - low, 1e-6) / 8));
  return value.toFixed(Math.max(0, Math.min(6, digits)));
}

export class Plot {
  constructor(node, more) {
    this.node = node;
    this.more = more;
    this.graph = null;
    this.key = "";
    new ResizeObserver(() => {
      if (this.graph !== null) this.graph.resize();
    }).observe(node);
  }

  // names: of the curves; rows: [x, y, ...]
  show(names, rows, colours, more = {}) {
    if (rows.length === 0 || names.length === 0 || !available(this.node)) return;
    const key = JSON.stringify([names, colours]);
    if (this.graph === null || this.key !== key) {
      if (this.graph !== null) this.graph.destroy();
      this.graph = new window.Dygraph(this.node, rows, options({
        labels: ["x", ...names], colors: colours, ...this.more, ...more }));
      this.key = key;
      return;
    }
    this.graph.updateOptions({ file: rows, ...more });
  }

  restyle() {
    if (this.graph !== null) {
      this.graph.updateOptions({ gridLineColor: style("--grid"), axisLineColor: style("--line") });
    }
  }
}

// Which of many curves are shown, each with a colour of its own as long as it is.
export class Choice {
  constructor(most = MOST_CURVES) {
    this.most = most;
    this.colours = new Map();
  }

  add(name) {
    if (this.colours.has(name)) return;
    if (this.colours.size >= this.most) this.colours.delete(this.colours.keys().next().value);
    const used = new Set(this.colours.values());
    this.colours.set(name, COLOURS.findIndex((_, place) => !used.has(place)));
  }

  toggle(name) {
    if (this.colours.has(name)) this.colours.delete(name);
    else this.add(name);
  }

  keep(names) {
    for (const name of [...this.colours.keys()]) {
      if (!names.includes(name)) this.colours.delete(name);
    }
  }
}

// Spectra of inputs or of beams, of up to as many as there are colours.
export class Spectra {
  constructor(node) {
    this.choice = new Choice();
    this.plot = new Plot(node, {
      xlabel: "frequency (MHz)", ylabel: "power (dB)", drawPoints: false,
      axes: { x: { axisLabelWidth: 80, axisLabelFormatter: frequencyLabel },
              y: { axisLabelWidth: 40 } } });
  }

  // found: decibels [name][point], frequencies or null, low and high
  show(names, found) {
    this.choice.keep(names);
    if (this.choice.colours.size === 0) names.slice(0, MOST_CURVES).forEach((name) =>
      this.choice.add(name));
    const chosen = [...this.choice.colours.keys()].filter((name) => names.includes(name));
    const curves = chosen.map((name) => found.decibels[names.indexOf(name)]);
    const places = found.frequencies
      ? found.frequencies.map((one) => one / 1e6)
      : found.decibels[0].map((_, place) => place);
    this.plot.show(chosen, places.map((place, row) => [place, ...curves.map((one) => one[row])]),
                   chosen.map((name) => COLOURS[this.choice.colours.get(name)]),
                   { valueRange: [found.low, found.high],
                     xlabel: found.frequencies ? "frequency (MHz)" : "channel" });
  }
}

export class Fringes {
  constructor(phases, coherences) {
    this.choice = new Choice(6);
    this.points = new Map();   // pair -> [time, coherence, phase, delay]
    this.names = new Map();
    const time = { labelsUTC: true, xValueParser: Number };
    this.phases = new Plot(phases, {
      ...time, ylabel: "phase (°)", valueRange: [-190, 190], drawPoints: true, pointSize: 1.8,
      strokeWidth: 0, axes: { y: { axisLabelWidth: 40, ticker: () => [-180, -90, 0, 90, 180].map(
        (value) => ({ v: value, label: String(value).replace("-", "−") })) } } });
    this.coherences = new Plot(coherences, {
      ...time, ylabel: "coherence", drawPoints: true, pointSize: 1.5,
      includeZero: true, axes: { y: { axisLabelWidth: 40 } } });
  }

  // all that the server has kept
  load(baselines) {
    this.points.clear();
    this.names.clear();
    for (const one of baselines) {
      this.points.set(one.pair, one.points.slice(-LONGEST));
      this.names.set(one.pair, one.names.join("–"));
    }
    this.choice.keep([...this.points.keys()]);
    if (this.choice.colours.size === 0) [...this.points.keys()].slice(0, 4).forEach((pair) =>
      this.choice.add(pair));
  }

  // whether the baselines are those that were loaded
  add(newest) {
    for (const one of newest) {
      const points = this.points.get(one.pair);
      if (points === undefined) return false;
      const last = points.length ? points[points.length - 1][0] : -Infinity;
      if (one.point[0] < last) points.length = 0;   // the flowgraph begins anew
      if (one.point[0] !== last) points.push(one.point);
      if (points.length > LONGEST) points.splice(0, points.length - LONGEST);
    }
    return true;
  }

  show() {
    const chosen = [...this.choice.colours.keys()].filter((pair) => this.points.has(pair));
    const colours = chosen.map((pair) => COLOURS[this.choice.colours.get(pair)]);
    const names = chosen.map((pair) => this.names.get(pair));
    // baselines are followed together: their times are alike
    const times = chosen.length ? this.points.get(chosen[0]).map((point) => point[0]) : [];
    const columns = chosen.map((pair) => new Map(this.points.get(pair).map((one) =>
      [one[0], one])));
    const rows = (value) => times.map((time) => [new Date(1000 * time), ...columns.map((one) => {
      const point = one.get(time);
      return point === undefined ? null : value(point);
    })]);
    const wrapped = (degrees) => degrees === null ? null :
      degrees - 360 * Math.round(degrees / 360);
    this.phases.show(names, rows((point) => wrapped(point[2])), colours);
    this.coherences.show(names, rows((point) => point[1]), colours);
  }
}
