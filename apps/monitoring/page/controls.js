// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A form for each setting that a user changes by hand; all others are for programs.

import { set, setToken, token } from "./api.js";
import { $, element, write } from "./draw.js";

function field(label, input, narrow = false) {
  return element("label", narrow ? { class: "narrow" } : {}, label, input);
}

function answered(text, grade) {
  const node = $("control-answer");
  node.className = `words ${grade}`;
  write(node, text);
}

// A form whose values() are sent to a port; what: a word for the answer.
function form(block, port, what, fields, values, button = "Set") {
  const made = element("form", {}, ...fields, element("button", {}, button));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await set(block, port, values());
      answered(`${what}: done`, "good");
    } catch (error) {
      answered(`${what}: ${error.message}`, "bad");
    }
  });
  return made;
}

const FORMS = {
  integration: (block) => {
    const seconds = element("input", { type: "number", min: 0, step: "any", required: "" });
    return form(block, "integration", "integration", [field("integration (s)", seconds)],
                () => ({ seconds: Number(seconds.value) }));
  },
  direction: (block, schema) => {
    const direction = element("input", { type: "text", maxlength: 128, required: "",
                                         placeholder: "Cas A, sun, az=180, el=45" });
    const several = schema.properties && "directions" in schema.properties;
    return form(block, "direction", "direction",
                [field(several ? "beams, with ; between them" : "track", direction)],
                () => several
                  ? { directions: direction.value.split(";").map((one) => one.trim()) }
                  : { direction: direction.value });
  },
  gains: (block, schema, names) => {
    const gain = element("input", { type: "number", step: "any", required: "" });
    const input = element("select", {}, element("option", { value: "" }, "all"),
                          ...names.map((name, place) =>
                            element("option", { value: place }, name)));
    return form(block, "gains", "gain", [field("gain", gain), field("input", input, true)],
                () => input.value === "" ? { gain: Number(gain.value) }
                  : { gain: Number(gain.value), input: Number(input.value) });
  },
  trigger: (block) => {
    const before = element("input", { type: "number", min: 0, step: "any", value: 1,
                                      required: "" });
    return form(block, "trigger", "dump", [field("dump voltages of the last (s)", before)],
                () => ({ before: Number(before.value) }), "Dump");
  },
  command: (block) => form(block, "command", "measurement",
                           [element("label", {}, `${block}: calibrate`)],
                           () => ({ command: "measure" }), "Measure"),
};
const ORDER = ["integration", "direction", "gains", "trigger", "command"];

// about: of /api/v1/about
export function showControls(about) {
  const node = $("controls");
  if (!about.can_change) {
    node.replaceChildren(element("p", { class: "faint" },
                                 "Nothing can be changed here: no token is configured."));
    return;
  }
  if (!token()) {
    const input = element("input", { type: "password", autocomplete: "off", required: "" });
    const made = element("form", {}, field("token", input), element("button", {}, "Unlock"));
    made.addEventListener("submit", (event) => {
      event.preventDefault();
      setToken(input.value.trim());
      showControls(about);
    });
    node.replaceChildren(made);
    return;
  }
  const names = ((about.instrument.array || {}).inputs || []).map((one) => one.name);
  const forms = ORDER.flatMap((port) => Object.entries(about.controls)
    .filter(([, ports]) => port in ports)
    .map(([block, ports]) => FORMS[port](block, ports[port].schema, names)));
  const lock = element("form", {}, element("label", {}, "the token is kept in this tab"),
                       element("button", {}, "Forget"));
  lock.addEventListener("submit", (event) => {
    event.preventDefault();
    setToken("");
    showControls(about);
  });
  node.replaceChildren(...forms, lock);
}
