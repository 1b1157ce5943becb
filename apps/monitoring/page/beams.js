// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Beams: their spectra, and their total powers against time, as long as the server keeps them.

import { COLOURS } from "./draw.js";
import { LONGEST, Plot, Spectra } from "./plots.js";

export class Beams {
  constructor(spectra, powers) {
    this.spectra = new Spectra(spectra);
    this.names = [];
    this.points = [];   // [time, dB of each beam]
    this.powers = new Plot(powers, {
      labelsUTC: true, ylabel: "total power (dB)", drawPoints: true, pointSize: 1.5,
      axes: { y: { axisLabelWidth: 50 } } });
  }

  get choice() {
    return this.spectra.choice;
  }

  get plots() {
    return [this.spectra.plot, this.powers];
  }

  // all that the server has kept
  load(found) {
    this.names = found.beams.map((one) => one.name);
    this.points = found.times.slice(-LONGEST).map((time, row) => {
      const place = row + Math.max(0, found.times.length - LONGEST);
      return [time, ...found.beams.map((one) => one.decibels[place])];
    });
  }

  // whether the beams are those that were loaded
  add(found) {
    if (found.beams.length !== this.names.length ||
        found.beams.some((one, place) => one.name !== this.names[place])) return false;
    const last = this.points.length ? this.points[this.points.length - 1][0] : -Infinity;
    if (found.time < last) this.points = [];   // the flowgraph begins anew
    if (found.time !== last) {
      this.points.push([found.time, ...found.beams.map((one) => one.decibels)]);
    }
    if (this.points.length > LONGEST) this.points.splice(0, this.points.length - LONGEST);
    return true;
  }

  show(found) {
    this.spectra.show(found.beams.map((one) => one.name), found);
    const chosen = [...this.choice.colours.keys()].filter((name) => this.names.includes(name));
    const columns = chosen.map((name) => 1 + this.names.indexOf(name));
    this.powers.show(chosen, this.points.map((point) =>
      [new Date(1000 * point[0]), ...columns.map((column) => point[column])]),
                     chosen.map((name) => COLOURS[this.choice.colours.get(name)]));
  }
}
