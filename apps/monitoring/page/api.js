// Copyright 2026 gr-aperture's authors.
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Asks the server. The token is kept as long as the tab is open, and sent in a header alone.

const KEY = "aperture-token";
// of what has come of an event that is not whole
const LONGEST_EVENT = 16e6;

export function setToken(token) {
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}

export function token() {
  return sessionStorage.getItem(KEY) || "";
}

function headers(more) {
  const found = { ...more };
  if (token()) found.Authorization = `Bearer ${token()}`;
  return found;
}

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function checked(answer) {
  if (answer.ok) return answer;
  let text = `status ${answer.status}`;
  try {
    text = String((await answer.json()).error || text);
  } catch (_) {
    // no JSON: the status says enough
  }
  throw new Refused(answer.status, text);
}

export async function get(path) {
  return (await checked(await fetch(path, { headers: headers(), cache: "no-store" }))).json();
}

export async function picture(path) {
  return (await checked(await fetch(path, { headers: headers(), cache: "no-store" }))).blob();
}

export async function set(block, port, value) {
  await checked(await fetch(
    `/api/v1/blocks/${encodeURIComponent(block)}/${encodeURIComponent(port)}`,
    { method: "POST", headers: headers({ "Content-Type": "application/json" }),
      body: JSON.stringify(value) }));
}

// Calls take(event) with each event until the stream ends. EventSource has no headers.
export async function follow(take) {
  const answer = await checked(await fetch("/api/v1/events", { headers: headers(),
                                                               cache: "no-store" }));
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let parts = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parts += decoder.decode(value, { stream: true });
    let end;
    while ((end = parts.indexOf("\n\n")) >= 0) {
      const text = parts.slice(0, end);
      parts = parts.slice(end + 2);
      if (text.startsWith("data: ")) take(JSON.parse(text.slice(6)));
    }
    if (parts.length > LONGEST_EVENT) throw new Error("an event has no end");
  }
}
