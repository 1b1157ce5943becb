// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The array from above, north at the top, each antenna in the colour of its worst input.

import { svg, write } from "./draw.js";

const WIDTH = 400, HEIGHT = 240, MARGIN = 30;
const ORDER = ["unknown", "good", "warn", "bad"];

// A round length that takes about a quarter of the map.
function roundLength(metres) {
  const power = 10 ** Math.floor(Math.log10(metres));
  return [5, 2, 1].map((factor) => factor * power).find((length) => length <= metres) || power;
}

export class ArrayMap {
  constructor(node, choose) {
    this.node = node;
    this.choose = choose;
    this.antennas = new Map();
    node.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  }

  // array: of the instrument; may be missing
  set(array) {
    this.node.replaceChildren();
    this.antennas.clear();
    if (!array || !Array.isArray(array.antennas) || array.antennas.length === 0) {
      this.node.append(svg("text", { x: WIDTH / 2, y: HEIGHT / 2, "text-anchor": "middle",
                                     class: "faint" }, "where the antennas are is not known"));
      return;
    }
    const xs = array.antennas.map((one) => one.position[0]);
    const ys = array.antennas.map((one) => one.position[1]);
    const middle = [(Math.min(...xs) + Math.max(...xs)) / 2,
                    (Math.min(...ys) + Math.max(...ys)) / 2];
    const wide = Math.max(Math.max(...xs) - Math.min(...xs), 1e-3);
    const high = Math.max(Math.max(...ys) - Math.min(...ys), 1e-3);
    const scale = Math.min((WIDTH - 2 * MARGIN) / wide, (HEIGHT - 2 * MARGIN) / high);
    this.drawScale(scale);
    const used = [];
    for (const antenna of array.antennas) {
      const x = WIDTH / 2 + (antenna.position[0] - middle[0]) * scale;
      const y = HEIGHT / 2 - (antenna.position[1] - middle[1]) * scale;
      this.drawAntenna(antenna, x, y, used, array);
    }
  }

  drawScale(scale) {
    const length = roundLength(90 / scale);
    const end = 12 + length * scale;
    this.node.append(
      svg("line", { x1: 12, y1: HEIGHT - 10, x2: end, y2: HEIGHT - 10 }),
      svg("text", { x: end + 6, y: HEIGHT - 6, class: "faint" }, `${length} m`),
      svg("line", { x1: WIDTH - 16, y1: 34, x2: WIDTH - 16, y2: 16 }),
      svg("line", { x1: WIDTH - 16, y1: 16, x2: WIDTH - 20, y2: 22 }),
      svg("line", { x1: WIDTH - 16, y1: 16, x2: WIDTH - 12, y2: 22 }),
      svg("text", { x: WIDTH - 16, y: 12, "text-anchor": "middle", class: "faint" }, "N"));
  }

  drawAntenna(antenna, x, y, used, array) {
    const circle = svg("circle", { cx: x, cy: y, r: array.antennas.length > 40 ? 4 : 6,
                                   class: "unknown" });
    const title = svg("title", {}, antenna.name);
    const group = svg("g", { class: "antenna", tabindex: 0 }, title, circle);
    // a name where it covers no other
    const width = 7 * antenna.name.length;
    const place = [[x + 9, y + 4], [x - 9 - width, y + 4], [x - width / 2, y - 10],
                   [x - width / 2, y + 19]].find(([left, base]) =>
      left > 0 && left + width < WIDTH && !used.some((other) =>
        left < other[2] && left + width > other[0] && base - 10 < other[3] && base > other[1]));
    used.push([x - 6, y - 6, x + 6, y + 6]);
    if (place && array.antennas.length <= 64) {
      used.push([place[0], place[1] - 10, place[0] + width, place[1]]);
      group.append(svg("text", { x: place[0], y: place[1] }, antenna.name));
    }
    const inputs = array.inputs.filter((one) => one.antenna === antenna.name)
      .map((one) => one.name);
    const choose = () => this.choose(inputs);
    group.addEventListener("click", choose);
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") choose();
    });
    this.antennas.set(antenna.name, { group, circle, title, inputs });
    this.node.append(group);
  }

  // inputs: with their grades; chosen: names of those that are drawn
  update(inputs, chosen) {
    const byName = new Map(inputs.map((one) => [one.name, one]));
    for (const [name, antenna] of this.antennas) {
      const states = antenna.inputs.map((one) => byName.get(one)).filter(Boolean);
      const worst = states.reduce((grade, one) =>
        ORDER.indexOf(one.grade) > ORDER.indexOf(grade) ? one.grade : grade, "unknown");
      antenna.circle.setAttribute("class", worst);
      antenna.group.classList.toggle("chosen", antenna.inputs.some((one) => chosen.has(one)));
      write(antenna.title, [name, ...states.map((one) =>
        `${one.name}: ${one.level || "level unknown"}`)].join("\n"));
    }
  }
}
