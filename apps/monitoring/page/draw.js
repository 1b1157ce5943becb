// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Elements, colours and numbers. Texts of the instrument become text, never markup.

export const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
                        "#7f6fd6", "#8c8c8c"];
const SVG = "http://www.w3.org/2000/svg";

export function $(id) {
  return document.getElementById(id);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  for (const child of children) {
    made.append(child instanceof Node ? child : String(child));
  }
  return made;
}

export function element(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

// Only what changed is written: a browser lays out what is written.
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(1).replace("-", "−");
  return Number(value.toPrecision(digits)).toString().replace("-", "−");
}

export function large(value) {
  if (value === null || value === undefined) return "–";
  for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (Math.abs(value) >= size) return number(value / size) + unit;
  }
  return number(value);
}

export function percent(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 %";
  return value < 1e-4 ? "< 0.01 %" : `${number(100 * value, 2)} %`;
}

export function utc(seconds, date = false) {
  const text = new Date(1000 * seconds).toISOString();
  return date ? text.slice(0, 19).replace("T", " ") : text.slice(11, 19);
}

export function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
