// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The page: asks what the instrument is, follows what it does, and draws that.

import { Refused, follow, get, picture, setToken } from "./api.js";
import { Beams } from "./beams.js";
import { showControls } from "./controls.js";
import { $, element, large, number, percent, utc, write } from "./draw.js";
import { ArrayMap } from "./map.js";
import { Fringes, Spectra } from "./plots.js";
import { Sky } from "./sky.js";

const MOST_LINES = 200, MOST_CANDIDATES = 20;
const FIRST_PAUSE = 1000, LAST_PAUSE = 15000;   // ms between attempts to connect

const bandpasses = new Spectra($("bandpass-plot"));
const fringes = new Fringes($("phase-plot"), $("coherence-plot"));
const beams = new Beams($("beam-plot"), $("power-plot"));
const sky = new Sky($("sky"), $("sky-lines"));
const map = new ArrayMap($("map"), chooseInputs);
const known = { about: null, key: "", sky: 0, skyBusy: false, now: null,
                loading: new Set(), pictures: new Map(), waiting: false };

// ---- choices

function chooseInputs(names) {
  names.forEach((name) => bandpasses.choice.toggle(name));
  if (known.now) showBandpasses(known.now.bandpasses);
}

// Buttons for names, the chosen ones with their colours.
function showChips(node, entries, choice, changed) {
  const key = JSON.stringify([entries, [...choice.colours]]);
  if (node.dataset.key === key) return;
  node.dataset.key = key;
  node.replaceChildren(...entries.map(([name, text]) => {
    const colour = choice.colours.get(name);
    const button = element("button", {
      type: "button", class: colour === undefined ? "" : `c${colour}`,
      "aria-pressed": colour !== undefined }, element("i"), text);
    button.addEventListener("click", () => {
      choice.toggle(name);
      changed();
    });
    return button;
  }));
}

// ---- parts of the page

function showHeader(now) {
  const running = now.connected && now.state === "running";
  $("dot").className = `dot ${running ? "good" : "bad"}`;
  write($("name"), now.name || "gr-aperture");
  write($("state"), now.connected ? now.state : "the instrument has ended");
  const at = now.tracking;
  write($("tracking"), !at || !at.direction ? "" : `tracking ${at.direction}` + (
    at.elevation === null || at.elevation === undefined ? "" :
      `, az ${at.azimuth.toFixed(1)}°, el ${at.elevation.toFixed(1)}°`));
  if (now.figures.time) write($("clock"), `${utc(now.figures.time, true)} UTC`);
  document.title = `${running ? "" : "⚠ "}${now.name || "gr-aperture"}`;
}

function showTiles(now) {
  const figures = now.figures, inputs = now.bandpasses.inputs || [];
  const worst = (key) => inputs.length && inputs.some((one) => one[key] !== null)
    ? Math.max(...inputs.map((one) => one[key] || 0)) : null;
  const speed = figures.times_real_time;
  const tiles = [
    ["× real time", number(speed), speed !== null && speed < 0.95 ? "warn" : ""],
    ["integrations", figures.integrations === undefined ? "–" : String(figures.integrations), ""],
    ["latency", figures.latency === null || figures.latency === undefined ? "–"
      : `${number(figures.latency)} s`, ""],
    ["missing, worst input", percent(worst("missing")), worst("missing") > 0 ? "warn" : ""],
    ["clamped, worst input", percent(worst("clamped")), worst("clamped") > 0.005 ? "warn" : ""],
    ["messages dropped", String(figures.dropped || 0), figures.dropped > 0 ? "warn" : ""],
    ...now.gpus.map((gpu) => [`GPU ${gpu.index}, ${gpu.power === null ? "" :
      `${number(gpu.power)} W`}`, `${number((gpu.memory_used || 0) / 2 ** 30)} GiB`, ""])];
  const node = $("tiles");
  while (node.children.length > tiles.length) node.lastChild.remove();
  tiles.forEach(([about, value, grade], place) => {
    let tile = node.children[place];
    if (!tile) {
      tile = element("div", {}, element("b"), element("span"));
      node.append(tile);
    }
    tile.className = `tile ${grade}`;
    write(tile.firstChild, value);
    write(tile.lastChild, about);
  });
}

// Rows of a table, of which only cells that changed are written.
function showRows(body, rows) {
  while (body.rows.length > rows.length) body.lastChild.remove();
  rows.forEach((cells, place) => {
    const row = body.rows[place] || body.insertRow();
    cells.forEach(([text, kind], column) => {
      const cell = row.cells[column] || row.insertCell();
      write(cell, text);
      if (cell.className !== kind) cell.className = kind;
    });
  });
}

function showBandpasses(found) {
  if (!found.inputs) return;
  write($("health"), found.words);
  write($("bandpass-about"), found.inputs.length > 8 ? "eight at a time" : "");
  bandpasses.show(found.inputs.map((one) => one.name), found);
  showChips($("bandpass-choices"), found.inputs.map((one) => [one.name, one.name]),
            bandpasses.choice, () => showBandpasses(known.now.bandpasses));
  map.update(found.inputs, found.inputs.length > 8 ? new Set(bandpasses.choice.colours.keys())
    : new Set());
  showRows($("inputs").tBodies[0], found.inputs.map((one) => [
    [one.name, ""], [one.level || (one.grade === "unknown" ? "–" : one.grade), one.grade],
    [number(one.rms), "number"], [percent(one.clamped), "number"],
    [percent(one.missing), "number"]]));
}

function showFringes(now) {
  const newest = now.fringes.newest;
  if (!newest) return;
  if (!fringes.add(newest)) loadFringes();
  fringes.show();
  const first = [...fringes.choice.colours.keys()][0];
  const words = newest.find((one) => one.pair === first) || newest[0];
  if (words) {
    $("fringe-words").className = `words ${words.clear ? "" : "faint"}`;
    write($("fringe-words"), words.text);
  }
  showChips($("fringe-choices"), newest.map((one) => [one.pair, one.names.join("–")]),
            fringes.choice, () => showFringes(known.now));
}

// A past that the server keeps; not twice at the same time.
async function load(name, take) {
  if (known.loading.has(name)) return;
  known.loading.add(name);
  try {
    take(await get(`/api/v1/${name}`));
  } catch (_) {
    // the next update asks again
  }
  known.loading.delete(name);
}

function loadFringes() {
  return load("fringes", (found) => fringes.load(found.baselines));
}

function loadBeams() {
  return load("beams", (found) => beams.load(found));
}

function showBeams(found) {
  $("beams").hidden = !found.beams;
  if (!found.beams) return;
  const shown = found.beams.length;
  write($("beams-about"), shown < found.all ? `${shown} of ${found.all}, eight at a time`
    : shown > 8 ? "eight at a time" : "");
  if (!beams.add(found)) loadBeams();
  beams.show(found);
  showChips($("beam-choices"), found.beams.map((one) => [one.name, one.name]), beams.choice,
            () => showBeams(known.now.beams));
  showRows($("beam-table").tBodies[0], found.beams.map((one) => [
    [one.name, ""], [one.direction || "–", ""],
    [one.decibels === null ? "–" : `${one.decibels.toFixed(2).replace("-", "−")} dB`,
     "number"]]));
}

async function showSky(now) {
  write($("sky-words"), now.sky.words || "waiting for visibilities");
  if (!now.sky.serial) {
    sky.clear();
    return;
  }
  write($("sky-about"), now.sky.centre || "");
  if (now.sky.serial === known.sky || known.skyBusy) return;
  known.skyBusy = true;
  try {
    sky.show(now.sky, await picture("/api/v1/sky.png"));
    known.sky = now.sky.serial;
  } catch (_) {
    // another one comes soon
  }
  known.skyBusy = false;
}

function showLog(lines) {
  const node = $("log");
  for (const line of lines) {
    // a line that came again takes the place of what it was
    const again = line.count > 1;
    if (again) node.querySelector(`[data-first="${line.first}"]`)?.remove();
    const when = utc(line.time, true) + (again ? `, first ${utc(line.since, true)}` : "");
    node.prepend(element("li", { class: line.level === "alarm" ? "alarm" : "",
                                 "data-first": line.first },
                         element("time", { title: when }, utc(line.time)),
                         element("span", {}, `${line.source}: ${line.text}`
                                 + (again ? ` (${line.count} times)` : ""))));
  }
  while (node.children.length > MOST_LINES) node.lastChild.remove();
  const alarms = node.querySelectorAll(".alarm").length;
  write($("alarms"), alarms === 0 ? "no alarms" : `${alarms} alarm${alarms > 1 ? "s" : ""}`);
}

function showCandidates(found) {
  const node = $("candidates");
  if (found.length === 0) return;
  const shown = found.slice(-MOST_CANDIDATES).reverse();
  const key = JSON.stringify(shown.map((one) => [one.id, one.picture]));
  if (node.dataset.key === key) return;
  node.dataset.key = key;
  for (const [id, url] of known.pictures) {
    if (!shown.some((one) => one.id === id)) {
      URL.revokeObjectURL(url);
      known.pictures.delete(id);
    }
  }
  node.replaceChildren(...shown.map((one) => {
    const image = one.picture ? element("img", { alt: `candidate ${one.id}` })
      : element("div", { class: "nothing" });
    if (one.picture) showPicture(image, one.id);
    return element("article", {}, image, element("div", {},
      element("b", {}, `S/N ${number(one.snr)}`),
      element("div", {}, `DM ${number(one.dm, 5)} pc/cm³, ${number(one.width * 1e3)} ms`),
      element("div", { class: "faint" }, `beam ${one.beam}, ${utc(one.time)}`)));
  }));
}

async function showPicture(image, id) {
  try {
    if (!known.pictures.has(id)) {
      const blob = await picture(`/api/v1/candidates/${encodeURIComponent(id)}.png`);
      known.pictures.set(id, URL.createObjectURL(blob));
    }
    image.src = known.pictures.get(id);
  } catch (_) {
    image.remove();
  }
}

function showBlocks(figures) {
  const waiting = new Map();
  for (const [, reader, count] of figures.edges || []) {
    waiting.set(reader, (waiting.get(reader) || 0) + count);
  }
  showRows($("blocks").tBodies[0], Object.entries(figures.blocks || {}).map(([name, one]) => [
    [name, ""], [one.rate_in === undefined ? "" : large(one.rate_in), "number"],
    [one.rate_out === undefined ? "" : large(one.rate_out), "number"],
    [waiting.has(name) ? large(waiting.get(name)) : "", "number"]]));
}

// The parts that show visibilities are there where a block makes some.
function showParts(now) {
  $("main").classList.toggle("beams-only", !now.correlates);
  document.querySelectorAll("[data-of=visibilities]").forEach((part) => {
    part.hidden = !now.correlates;
  });
}

function show(now) {
  known.now = now;
  showParts(now);
  showHeader(now);
  showTiles(now);
  showBandpasses(now.bandpasses);
  showFringes(now);
  showBeams(now.beams);
  showSky(now);
  showCandidates(now.candidates || []);
  showBlocks(now.figures);
}

// ---- the connection

// A hidden page draws nothing, and the newest state once it is seen again.
function take(now) {
  showLog(now.log || []);
  known.now = now;
  if (known.waiting) return;
  known.waiting = true;
  const draw = () => {
    known.waiting = false;
    show(known.now);
  };
  if (document.hidden) document.addEventListener("visibilitychange", draw, { once: true });
  else requestAnimationFrame(draw);
}

async function begin() {
  const about = await get("/api/v1/about");
  const key = JSON.stringify([about.instrument.array, about.controls, about.can_change]);
  if (known.key !== key) {
    known.key = key;
    known.about = about;
    map.set(about.instrument.array);
    showControls(about);
  }
  await Promise.all([loadFringes(), loadBeams()]);
  $("login").hidden = true;
  $("main").hidden = false;
  $("log").replaceChildren();
  await follow(take);
}

function askForToken() {
  $("login").hidden = false;
  $("main").hidden = true;
  write($("state"), "a token is needed");
  return new Promise((resolve) => {
    $("login-form").onsubmit = (event) => {
      event.preventDefault();
      setToken($("login-token").value.trim());
      $("login-token").value = "";
      resolve();
    };
  });
}

async function run() {
  let pause = FIRST_PAUSE;
  for (;;) {
    const start = Date.now();
    try {
      await begin();
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        setToken("");
        await askForToken();
        continue;
      }
    }
    $("dot").className = "dot warn";
    write($("state"), "not connected, trying again");
    pause = Date.now() - start > LAST_PAUSE ? FIRST_PAUSE : Math.min(2 * pause, LAST_PAUSE);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const plot of [bandpasses.plot, fringes.phases, fringes.coherences, ...beams.plots]) {
    plot.restyle();
  }
});
run();
