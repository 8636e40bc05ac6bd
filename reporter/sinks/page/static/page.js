"use strict";
// Renews the page when the daemon says that something changed, and keeps times up to date.
// What is new is loaded as a document and moved in: no text is ever made into HTML here.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const AGAIN = 1 * SECOND;
const WITHOUT_STREAM = 15 * SECOND;
// The daemon says each 10 s that it is there.
const OVERDUE = 35 * SECOND;
const UNSTREAMED = "Not live, as no stream was given: this page renews itself every 15 s.";
const LOST = "The connection is lost: what you see may be old. Trying again.";

const body = document.body;
const live = document.getElementById("live");
const said = document.getElementById("said");
const query = document.getElementById("q");
const shown = document.getElementById("shown");

// How far the daemon's clock is ahead of ours; exact once the stream has said the time.
let ahead = Date.parse(body.dataset.now) - Date.now();

// Times

const STEPS = [
  [120, 1, "s", 0, ""],
  [600, 60, "m", 1, "s"],
  [3 * 3600, 60, "m", 0, ""],
  [8 * 3600, 3600, "h", 60, "m"],
  [48 * 3600, 3600, "h", 0, ""],
  [8 * 86400, 86400, "d", 3600, "h"],
  [Infinity, 86400, "d", 0, ""],
];

function age(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / SECOND));
  const [, unit, letter, smaller, smallerLetter] = STEPS.find(([below]) => seconds < below);
  const rest = smaller ? Math.floor((seconds % unit) / smaller) : 0;
  return Math.floor(seconds / unit) + letter + (rest ? rest + smallerLetter : "");
}

function tick() {
  const now = Date.now() + ahead;
  for (const time of document.querySelectorAll("time[data-relation]")) {
    const moment = Date.parse(time.dateTime);
    const text = age(time.dataset.relation === "since" ? now - moment : moment - now);
    if (time.textContent !== text) time.textContent = text;
  }
}

// Renewing: the old tree takes over what differs, so that focus and what is open stay.

const KEPT = new Set(["open", "hidden"]);

function renew(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!KEPT.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (!KEPT.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  // What is gone goes first, so that what stays is not moved: what is moved loses the focus.
  const staying = new Set([...fresh.children].map((each) => each.id));
  for (const each of [...old.children]) if (each.id && !staying.has(each.id)) each.remove();
  const byId = new Map([...old.children].filter((each) => each.id).map((each) => [each.id, each]));
  let place = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    let match = wanted.id ? byId.get(wanted.id) : place;
    if (match && !alike(match, wanted)) match = null;
    if (!match) {
      old.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (match === place) place = place.nextSibling;
    else old.insertBefore(match, place);
    if (match.nodeType === Node.ELEMENT_NODE) renew(match, wanted);
    else if (match.data !== wanted.data) match.data = wanted.data;
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

function alike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.id || "") === (other.id || "");
}

function load(url) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", url);
    request.setRequestHeader("Accept", "text/html");
    request.responseType = "document";
    request.timeout = 20 * SECOND;
    request.onload = () => (request.status === 200 ? resolve(request.responseXML) : reject());
    request.onerror = request.ontimeout = () => reject();
    request.send();
  });
}

let loading = false;
let outdated = false;
let wanted = body.dataset.version;

async function catchUp() {
  if (loading) return;
  loading = true;
  try {
    while (outdated || wanted !== body.dataset.version) {
      const asked = wanted;
      const page = await load(location.pathname);
      if (!page || !page.body.dataset.version) break;
      const verdict = document.getElementById("verdict").textContent;
      const focused = document.activeElement;
      const around = focused.closest("section[tabindex]");
      for (const id of ["verdict", "rest", "main"]) {
        renew(document.getElementById(id), page.getElementById(id));
      }
      renew(document.querySelector(".overview"), page.querySelector(".overview"));
      renew(document.querySelector("footer"), page.querySelector("footer"));
      const holder = focused.isConnected ? focused : around;
      if (holder && holder !== document.activeElement) holder.focus({ preventScroll: true });
      body.dataset.version = page.body.dataset.version;
      body.dataset.now = page.body.dataset.now;
      outdated = false;
      if (wanted === asked) wanted = body.dataset.version;
      document.title = page.title;
      const now = document.getElementById("verdict").textContent;
      if (now !== verdict) said.textContent = `${now}.`;
      narrow();
      tick();
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  } catch {
    tell("The page could not be renewed; trying again.");
  } finally {
    loading = false;
  }
}

// The stream

function tell(text) {
  if (live.textContent !== text) live.textContent = text;
  live.hidden = !text;
}

let stream = null;
let timer = 0;

function leave() {
  clearTimeout(timer);
  if (stream) stream.close();
  stream = null;
}

// A connection may die without a word, and a proxy may hold back what is said.
function expectNews(within, message = LOST) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (message) tell(message);
    outdated = true;
    catchUp();
    listen();
  }, within);
}

function listen() {
  leave();
  // A browser has six connections to a server for all of its tabs: one that nobody sees holds none.
  if (document.hidden) return;
  stream = new EventSource("live");
  expectNews(OVERDUE);
  stream.addEventListener("report", (event) => {
    expectNews(OVERDUE);
    const { version, now, age, lost } = JSON.parse(event.data);
    wanted = version;
    ahead = Date.parse(now) + age * SECOND - Date.now();
    const look = new Date(now).toISOString().slice(11, 19);
    tell(lost ? "Live, but the reporter cannot reach the API server." : `Live. The last look was ${look} UTC.`);
    catchUp();
  });
  stream.onerror = () => {
    if (stream.readyState !== EventSource.CLOSED) {
      tell(LOST);
      return;
    }
    // An answer, and no stream: too many have one, or a proxy is in between.
    expectNews(WITHOUT_STREAM, "");
    outdated = true;
    catchUp().then(() => tell(outdated && !loading ? LOST : UNSTREAMED));
  };
}

function begin() {
  tell("Connecting.");
  listen();
}

document.addEventListener("visibilitychange", begin);
addEventListener("pagehide", leave);
addEventListener("pageshow", (event) => {
  // It comes back from the browser's memory as it was left.
  if (event.persisted) begin();
});

// Narrowing

function narrow() {
  const text = query.value.trim().toLowerCase();
  let count = 0;
  for (const each of document.querySelectorAll(".cards > li, #causes > .rows > li, #notices > .rows > li, #others > .rows > li, .tile, .names > li")) {
    each.hidden = Boolean(text) && !words(each).includes(text);
    if (!each.hidden) count += 1;
  }
  for (const list of document.querySelectorAll(".layer details")) {
    if (text && list.querySelector(".names > li:not([hidden])")) list.open = true;
  }
  const told = text ? (count ? `${count} shown` : "Nothing names this") : "";
  // A screen reader speaks whatever is set here, also if it is the same.
  if (shown.textContent !== told) shown.textContent = told;
}

function words(each) {
  return `${each.dataset.words || ""} ${each.textContent}`.toLowerCase();
}

// A link to what is inside of something closed opens it.

function reveal() {
  let id = "";
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    return;
  }
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let each = target; each; each = each.parentElement) {
    if (each.localName === "details") each.open = true;
  }
  const inner = target.querySelector(":scope > details");
  if (inner) inner.open = true;
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

query.addEventListener("input", narrow);
document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#search button").hidden = true;
addEventListener("hashchange", reveal);
setInterval(tick, SECOND);
setInterval(() => {
  // The strip moves on where nothing else does.
  outdated = true;
  catchUp();
}, MINUTE);
if (query.value) {
  // The server narrowed the page; from here on the script does.
  outdated = true;
}
begin();
catchUp();
reveal();
