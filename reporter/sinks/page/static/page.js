"use strict";
// Updates the page when the daemon reports a change, shows at once that the page is outdated, and
// keeps times up to date. A new page is loaded as a document and its nodes are moved in: no text is
// ever parsed as HTML here.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const AGAIN = 1 * SECOND;
const WITHOUT_STREAM = 15 * SECOND;
// The daemon sends a heartbeat every 5 s.
const OVERDUE = 15 * SECOND;
// Some proxies cut a stream now and then; it is back within a second.
const HICCUP = 1.5 * SECOND;
// If a newer page is not loaded within this time, the page is outdated.
const BEHIND = 10 * SECOND;
const TYPED = 0.3 * SECOND;
const UNSTREAMED = "Not live, as no stream was given: this page renews itself every 15 s.";

const body = document.body;
const alarm = document.getElementById("alarm");
const live = document.getElementById("live");
const said = document.getElementById("said");
const query = document.getElementById("q");
const shown = document.getElementById("shown");

// How far the daemon's clock is ahead of ours; exact once the stream has sent the time.
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

function two(number) {
  return String(number).padStart(2, "0");
}

// Local time, with the day unless it is today.
function local(moment) {
  const date = new Date(moment);
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  const same = date.toDateString() === new Date().toDateString();
  return same ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

function isElsewhere(moment) {
  return new Date(moment).getTimezoneOffset() !== 0;
}

function both(moment) {
  const utc = new Date(moment).toISOString().slice(0, 19).replace("T", " ");
  return isElsewhere(moment) ? `${utc} UTC (${local(moment)} local)` : `${utc} UTC`;
}

function localise() {
  for (const room of document.querySelectorAll(".local")) {
    const moment = Date.parse(room.previousElementSibling.dateTime);
    room.textContent = isElsewhere(moment) ? ` (${local(moment)} local)` : "";
  }
  for (const time of document.querySelectorAll(".clock")) {
    const moment = Date.parse(time.dateTime);
    const here = isElsewhere(moment) ? `\n${local(moment).slice(-8, -3)} local` : "";
    time.textContent = time.dateTime.slice(11, 16) + here;
  }
}

// An equal report makes no new page; only its time changes.
function dated() {
  const time = document.querySelector("#as-of time");
  const moment = `${new Date(looked).toISOString().slice(0, 19)}Z`;
  if (!time || time.dateTime === moment) return;
  time.dateTime = time.textContent = moment;
  localise();
}

function tick() {
  const now = Date.now() + ahead;
  // On an outdated page faults may be over, so their ages stay as they were.
  const counted = body.hasAttribute("data-old") ? [] : document.querySelectorAll("main time[data-relation]");
  for (const time of [...counted, ...document.querySelectorAll("header time[data-relation]")]) {
    const moment = Date.parse(time.dateTime);
    const text = age(time.dataset.relation === "since" ? now - moment : moment - now);
    if (time.textContent !== text) time.textContent = text;
  }
  assess();
}

// Is the page outdated?

// When the daemon last sent anything, since when it has been silent, and since when it has a newer page.
let heard = Date.now();
let failing = 0;
let behind = 0;
let looked = Date.parse(body.dataset.now);
let limit = Number(body.dataset.limit) * SECOND || Infinity;
let patience = OVERDUE;
let title = document.title;

function why() {
  const now = Date.now();
  if (location.protocol === "file:") return "This is a copy of a page that was live.";
  if (failing && now - failing >= HICCUP) return "The reporter does not answer.";
  if (now - heard > patience) return `Nothing has come from the reporter for ${age(now - heard)}.`;
  if (behind && now - behind > BEHIND) return "There is a newer report, and it cannot be loaded.";
  if (now + ahead - looked > limit) return "The reporter answers but does not look at the cluster any more.";
  return "";
}

function assess() {
  const reason = why();
  const old = Boolean(reason) || body.dataset.served === "old";
  if (old !== body.hasAttribute("data-old")) body.toggleAttribute("data-old", old);
  const since = reason ? `OLD, of ${new Date(looked).toISOString().slice(11, 16)} UTC · ` : "OLD · ";
  const wanted = old ? since + title : title;
  if (document.title !== wanted) document.title = wanted;
  alarm.hidden = !reason;
  live.hidden = Boolean(reason) || !live.textContent;
  // A screen reader speaks every change here, so it contains no running age.
  const text = reason && `${reason} What you see is from ${both(looked)} and may be wrong by now. Trying again.`;
  const steady = text.replace(/for \w+\./, "for some time.");
  if (alarm.dataset.said !== steady) {
    alarm.dataset.said = steady;
    alarm.textContent = steady;
  }
}

function hear() {
  heard = Date.now();
  failing = 0;
}

function fail() {
  if (failing) return;
  failing = Date.now();
  setTimeout(assess, HICCUP + 1);
}

// Updating: only differences are applied to the old tree, so that focus and open sections stay.

const KEPT = new Set(["open", "hidden"]);

function renew(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!KEPT.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (!KEPT.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  // Remove first, so that nodes that stay are not moved: a moved node loses the focus.
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

function take(page) {
  const verdict = document.getElementById("verdict").textContent;
  const focused = document.activeElement;
  const around = focused.closest("section[tabindex]");
  for (const id of ["state", "main"]) renew(document.getElementById(id), page.getElementById(id));
  renew(document.querySelector("footer"), page.querySelector("footer"));
  const holder = focused.isConnected ? focused : around;
  if (holder && holder !== document.activeElement) holder.focus({ preventScroll: true });
  body.dataset.version = page.body.dataset.version;
  body.dataset.now = page.body.dataset.now;
  body.dataset.served = page.body.hasAttribute("data-old") ? "old" : "new";
  looked = Math.max(looked, Date.parse(body.dataset.now));
  title = page.title.replace(/^OLD · /, "");
  const now = document.getElementById("verdict").textContent;
  if (now !== verdict) said.textContent = `${now}.`;
  if (page.getElementById("q").getAttribute("value") === query.value.trim()) {
    // The daemon has filtered the page, over the whole report.
    for (const each of narrowed()) each.hidden = false;
    openNames();
    say(page.getElementById("shown").textContent);
  } else narrow();
  localise();
  dated();
}

async function catchUp() {
  if (loading) return;
  loading = true;
  try {
    while (outdated || wanted !== body.dataset.version) {
      const asked = wanted;
      outdated = false;
      const page = await load(location.pathname + location.search);
      if (!page || !page.body.dataset.version) {
        outdated = true;
        break;
      }
      take(page);
      hear();
      behind = 0;
      if (wanted === asked) wanted = body.dataset.version;
      tick();
      await new Promise((resolve) => setTimeout(resolve, outdated ? TYPED : AGAIN));
    }
  } catch {
    outdated = true;
    fail();
  } finally {
    loading = false;
  }
}

// The stream

function tell(text) {
  if (live.textContent !== text) live.textContent = text;
  assess();
}

let stream = null;
let timer = 0;

function leave() {
  clearTimeout(timer);
  if (stream) stream.close();
  stream = null;
}

// A connection may die silently, and a proxy may hold back data.
function expectNews(within) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    outdated = true;
    catchUp();
    listen();
  }, within);
}

function listen() {
  leave();
  // A browser has six connections to a server for all of its tabs: a hidden tab holds none.
  if (document.hidden) {
    patience = 2.5 * MINUTE;
    return;
  }
  stream = new EventSource("live");
  expectNews(OVERDUE);
  stream.addEventListener("report", (event) => {
    patience = OVERDUE;
    hear();
    expectNews(OVERDUE);
    const { version, now, age, limit: most, lost } = JSON.parse(event.data);
    wanted = version;
    ahead = Date.parse(now) + age * SECOND - Date.now();
    looked = Date.parse(now);
    if (most !== null) limit = most * SECOND;
    behind = version === body.dataset.version ? 0 : behind || Date.now();
    dated();
    tell(lost ? "Live, but the reporter cannot reach the API server." : "Live.");
    catchUp();
  });
  stream.onerror = () => {
    if (stream.readyState !== EventSource.CLOSED) {
      fail();
      return;
    }
    // An answer but no stream: too many are open, or a proxy is in between.
    expectNews(WITHOUT_STREAM);
    patience = 2 * WITHOUT_STREAM + 5 * SECOND;
    outdated = true;
    catchUp().then(() => tell(UNSTREAMED));
  };
}

function begin() {
  if (location.protocol === "file:") return;
  if (!document.hidden) {
    // The tab may have slept for hours: the page counts as outdated until data arrives.
    if (Date.now() - heard > OVERDUE) fail();
    tell("Connecting.");
    outdated = true;
    catchUp();
  }
  listen();
}

document.addEventListener("visibilitychange", begin);
addEventListener("pagehide", leave);
addEventListener("pageshow", (event) => {
  // The page returns from the browser's cache as it was left.
  if (event.persisted) begin();
});

// Filtering: at once what is on the page, and a moment later by the daemon, which has everything.

const NARROWED = ".causes > li, #causes .rows > li, #unknown .rows > li, .lanes > li, .tile, .names > li, .strip > ul > li";

function narrowed() {
  return document.querySelectorAll(NARROWED);
}

function narrow() {
  const text = query.value.trim().toLowerCase();
  let count = 0;
  for (const each of narrowed()) {
    const above = each.parentElement.closest("li[hidden], .below");
    each.hidden = Boolean(text) && !above && !words(each).includes(text);
    if (!each.hidden && !above) count += 1;
  }
  openNames();
  say(text ? (count ? `${count} shown` : "Nothing names this") : "");
}

function openNames() {
  for (const list of document.querySelectorAll(".layer details")) {
    if (query.value.trim() && list.querySelector(".names > li:not([hidden])")) list.open = true;
  }
}

function say(told) {
  // A screen reader speaks whatever is set here, even if it is the same.
  if (shown.textContent !== told) shown.textContent = told;
}

function words(each) {
  return `${each.dataset.words || ""} ${each.textContent}`.toLowerCase();
}

let typing = 0;

function typed() {
  narrow();
  const address = new URL(location.href);
  const text = query.value.trim();
  if (text) address.searchParams.set("q", text);
  else address.searchParams.delete("q");
  history.replaceState(null, "", address);
  clearTimeout(typing);
  typing = setTimeout(() => {
    outdated = true;
    catchUp();
  }, TYPED);
}

// A link to an element inside a closed section opens the section.

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

// A cause as text, for a ticket

function ticket(cause) {
  const lines = [...cause.querySelectorAll("[data-copy]")]
    .filter((each) => each.closest("li") === cause && each.dataset.copy !== "skip")
    .map((each) => each.dataset.copy + each.textContent.trim());
  const old = body.hasAttribute("data-old") ? "OLD, " : "";
  return [...lines, `${old}as of ${both(looked)}`].join("\n");
}

async function copy(button) {
  const text = button.dataset.command || ticket(button.closest("li"));
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers offer the clipboard only on loopback and HTTPS; otherwise use the old way.
    const area = document.createElement("textarea");
    area.value = text;
    body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  said.textContent = "Copied.";
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = label), 2 * SECOND);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest(".copy");
  if (button) copy(button);
});
query.addEventListener("input", typed);
document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
document.querySelector("#search button").hidden = true;
body.dataset.served = body.hasAttribute("data-old") ? "old" : "new";
title = title.replace(/^OLD · /, "");
body.classList.add("scripted");
addEventListener("hashchange", reveal);
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open])")) {
    each.open = true;
    each.dataset.printed = "";
  }
});
addEventListener("afterprint", () => {
  for (const each of document.querySelectorAll("details[data-printed]")) {
    each.open = false;
    delete each.dataset.printed;
  }
});
setInterval(tick, SECOND);
setInterval(() => {
  // Ages in the history advance even if nothing else changes.
  outdated = true;
  catchUp();
}, MINUTE);
localise();
begin();
catchUp();
reveal();
tick();
