// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The image of the sky: north at the top, east on the left, with what is known to be there.

import { element, svg } from "./draw.js";

const SIZE = 400, EDGE = 26, BOX = SIZE - 2 * EDGE, MIDDLE = SIZE / 2;

export class Sky {
  constructor(node, lines) {
    this.node = node;
    this.lines = lines;
    this.url = "";
    node.setAttribute("viewBox", `0 0 ${SIZE} ${SIZE}`);
  }

  // sky: of the state; blob: its picture
  show(sky, blob) {
    const old = this.url;
    this.url = URL.createObjectURL(blob);
    const extent = sky.pixels * sky.cell;
    // pixel n / 2 is the centre; the whole sky is a circle of radius 1
    const scale = BOX / (sky.whole ? 2 : extent);
    const centre = Math.floor(sky.pixels / 2) + 0.5;
    const place = (l, m) => [MIDDLE - l * scale, MIDDLE - m * scale];
    const left = MIDDLE - centre * sky.cell * scale;
    const top = MIDDLE - (sky.pixels - centre) * sky.cell * scale;
    const image = svg("image", { href: this.url, x: left, y: top, width: extent * scale,
                                 height: extent * scale, preserveAspectRatio: "none" });
    const parts = [];
    if (sky.whole) {
      parts.push(svg("circle", { cx: MIDDLE, cy: MIDDLE, r: BOX / 2, class: "black" }), image);
      for (const elevation of [30, 60]) {
        const radius = BOX / 2 * Math.cos(elevation * Math.PI / 180);
        parts.push(svg("circle", { cx: MIDDLE, cy: MIDDLE, r: radius, class: "grid" }));
      }
      for (let azimuth = 0; azimuth < 180; azimuth += 45) {
        const [x, y] = [Math.sin(azimuth * Math.PI / 180), Math.cos(azimuth * Math.PI / 180)];
        const [from, to] = [place(x, y), place(-x, -y)];
        parts.push(svg("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1],
                                 class: "grid" }));
      }
      parts.push(svg("circle", { cx: MIDDLE, cy: MIDDLE, r: BOX / 2, class: "frame" }));
    } else {
      parts.push(image, svg("rect", { x: EDGE, y: EDGE, width: BOX, height: BOX,
                                      class: "frame" }));
    }
    for (const [name, x, y] of [["N", MIDDLE, EDGE - 9], ["S", MIDDLE, SIZE - EDGE + 18],
                                ["E", EDGE - 12, MIDDLE + 4], ["W", SIZE - EDGE + 12, MIDDLE + 4]]) {
      parts.push(svg("text", { x, y, "text-anchor": "middle", class: "side" }, name));
    }
    for (const [name, l, m] of sky.sources) {
      const [x, y] = place(l, m);
      const right = x < SIZE * 0.7;
      parts.push(svg("circle", { cx: x, cy: y, r: 9, class: "mark" }),
                 svg("text", { x: right ? x + 12 : x - 12, y: y + 4,
                               "text-anchor": right ? "start" : "end", class: "name" }, name));
    }
    const [x, y] = place(sky.peak[0], sky.peak[1]);
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      parts.push(svg("line", { x1: x + 5 * dx, y1: y + 5 * dy, x2: x + 12 * dx, y2: y + 12 * dy,
                               class: "peak" }));
    }
    this.node.replaceChildren(...parts);
    this.lines.replaceChildren(...sky.lines.slice(0, 7).flatMap(([name, text]) => [
      element("dt", {}, name), element("dd", {}, text)]));
    // what is drawn holds the picture; its address is needed no more after the next one
    if (old) URL.revokeObjectURL(old);
  }

  clear() {
    this.node.replaceChildren();
    this.lines.replaceChildren();
  }
}
