// Search as you type: every input asks at once, a newer question takes the place of the one in flight. What is chosen
// lives in the address: typing replaces it, a click on a facet adds to the history, Back and Forward ask again.
import { change, move, onKey, toast } from "./base.js";

const COALESCE_MS = 30; // keys that come faster ask once
const SETTLE_MS = 150; // after the last answer, what takes longer: memories, preview, the age of the index
const REFRESH_EVERY_MS = 5000;

const box = document.querySelector("[data-search-box]");
const form = document.getElementById("search-form");
const pageName = crypto.randomUUID();
let turn = 0;
let asking = null; // the request in flight
let asked = Promise.resolve();
let startedAt = 0;
let waiting = 0;
let settling = 0;
let shownFor = location.search; // the question whose answer is shown
let peeking = null; // the request of the preview
let age = { text: "", warn: false, href: "" };
const refreshedAt = new Map();

const byId = (id) => document.getElementById(id);
const here = () => document.querySelector("[data-item].here");
const hitAt = (at) => document.querySelector(`.hit[data-at="${CSS.escape(at)}"]`);
const params = () => new URLSearchParams(location.search);

/** The address of what the box and the choices ask for. */
function addressOfForm() {
  const fields = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  const query = fields.toString();
  return query ? `/?${query}` : "/";
}

/** The box and the hidden fields of the form say what the address says, for the next key that is typed. */
function keepQuestion() {
  const question = params().get("q") ?? "";
  if (box.value !== question) box.value = question; // the same would move the caret to the beginning
  for (const field of form.querySelectorAll("input[type=hidden]")) field.remove();
  for (const [name, value] of params()) {
    if (name === "q" || name === "n") continue;
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
}

/** Asks for an address and shows the answer; `how` it gets into the history: replace, push, or not at all. */
async function ask(address, how = "") {
  asking?.abort();
  const own = (asking = new AbortController());
  startedAt = performance.now();
  clearTimeout(settling);
  if (how === "push") history.pushState(null, "", address);
  else if (how === "replace") history.replaceState(null, "", address);
  byId("results")?.setAttribute("aria-busy", "true");
  try {
    const headers = { "HX-Request": "true", "X-Sage-Page": pageName, "X-Sage-Turn": String(++turn) };
    const answer = await fetch(address, { headers, signal: own.signal });
    if (answer.status === 204) return;
    const text = await answer.text();
    if (own.signal.aborted) return;
    show(text);
    document.dispatchEvent(new CustomEvent("sage:made", { detail: Number(answer.headers.get("x-sage-made")) }));
  } catch (error) {
    if (own.signal.aborted) return;
    byId("results")?.removeAttribute("aria-busy");
    toast("The server does not answer. Is `sage web` still running?", { bad: true });
  }
}

/** Puts an answer into the page; what is beside the results stays until there is something new. */
function show(text) {
  const made = document.createElement("template");
  made.innerHTML = text;
  const fresh = made.content.querySelector("#search");
  const old = byId("search");
  if (!fresh) {
    (byId("results") ?? old ?? byId("content")).replaceChildren(made.content);
    return;
  }
  const key = document.activeElement?.dataset?.key;
  const chosen = here()?.dataset.at;
  const explained = shownFor === location.search ? document.querySelector(".why") : null;
  const explainedAt = explained?.closest(".hit")?.dataset.at;
  shownFor = location.search;
  const filtersOpen = byId("facets")?.classList.contains("open");
  if (old && fresh.classList.contains("search") && old.classList.contains("search")) {
    for (const id of ["bar", "facets", "results"]) byId(id).replaceWith(fresh.querySelector(`#${id}`));
  } else if (old) {
    old.replaceWith(fresh);
    window.htmx?.process(fresh);
  } else {
    byId("content").replaceChildren(fresh);
  }
  if (filtersOpen) openFilters(true);
  if (key) document.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  // The same question may be asked again by itself: nobody loses the place, or the explanation that is open.
  if (chosen) hitAt(chosen)?.classList.add("here");
  const explainedHit = explainedAt && hitAt(explainedAt);
  if (explainedHit) {
    explainedHit.append(explained);
    explainedHit.querySelector("[data-why]")?.setAttribute("aria-expanded", "true");
  }
  document.title = `${params().get("q")?.trim() || "Search"} · Sage`;
  showAge();
  settling = setTimeout(settle, SETTLE_MS);
}

/** What comes after the results, while nobody types. */
function settle() {
  const query = params();
  if (byId("said")) byId("said").textContent = byId("count")?.textContent ?? "";
  if (query.get("q")?.trim()) {
    remember(query);
    peek(here() ?? document.querySelector("#results .hit"));
  }
  lookAtAge();
}

async function remember(query) {
  const place = byId("remembered");
  if (!place || query.get("only") === "memory") { place?.replaceChildren(); return; }
  const before = location.search;
  try {
    const answer = await fetch(`/search/memory?${query}`, { headers: { "HX-Request": "true" } });
    const text = answer.ok ? await answer.text() : "";
    if (location.search === before) place.innerHTML = text;
  } catch {
    place.replaceChildren(); // code is found without memories
  }
}

/** Shows the code around a hit in the panel, where there is room for one. */
async function peek(hit) {
  const panel = byId("preview");
  if (!panel || getComputedStyle(panel.parentElement).display === "none") return;
  if (!hit?.dataset.at) { panel.hidden = true; return; }
  const wanted = `/search/preview/${hit.dataset.at}?${new URLSearchParams({ line: hit.dataset.line, q: box.value })}`;
  if (panel.dataset.shown === wanted && !panel.hidden) return;
  peeking?.abort();
  const own = (peeking = new AbortController());
  try {
    const answer = await fetch(wanted, { headers: { "HX-Request": "true" }, signal: own.signal });
    const text = await answer.text();
    if (own.signal.aborted) return;
    if (!answer.ok) { panel.hidden = true; return; } // the file is gone: the next search says so
    panel.innerHTML = text;
    panel.hidden = false;
    panel.dataset.shown = wanted;
    const code = panel.querySelector("pre");
    const best = panel.querySelector(".ln.best");
    if (code && best) code.scrollTop = best.offsetTop - code.offsetTop - code.clientHeight / 3;
  } catch {
    if (!own.signal.aborted) panel.hidden = true;
  }
}

// The age of the index: looked at after an answer; few changes are brought in, many are counted and said.
async function lookAtAge() {
  const query = params();
  try {
    const answer = await fetch(`/search/fresh?${new URLSearchParams({ in: query.get("in") ?? "" })}`);
    if (!answer.ok) return;
    const all = await answer.json();
    const changed = all.filter((one) => one.state === "unknown" && Date.now() - (refreshedAt.get(one.in) ?? 0) > REFRESH_EVERY_MS);
    sayAge(all);
    let isNew = false;
    for (const one of changed) {
      refreshedAt.set(one.in, Date.now());
      const said = await change("/search/refresh", { in: one.in });
      if (!said.ok) continue;
      const now = await said.json();
      Object.assign(one, now);
      isNew ||= now.state === "fresh";
    }
    if (!changed.length) return;
    sayAge(all);
    for (const card of document.querySelectorAll("[data-home]")) await lookAgain(card);
    if (isNew && location.search === `?${query}`) asked = ask(location.pathname + location.search);
  } catch {
    // The server is gone: the next search says so.
  }
}

async function lookAgain(card) {
  const answer = await fetch(`/search/home/${card.dataset.home}`, { headers: { "HX-Request": "true" } });
  if (answer.ok) card.innerHTML = await answer.text();
}

function sayAge(all) {
  const old = all.filter((one) => one.state === "old");
  const unknown = all.filter((one) => one.state === "unknown");
  if (unknown.length) age = { text: "files have changed: bringing the index up to date…", warn: true };
  else if (old.length === 1) age = { text: (all.length > 1 ? `${old[0].name}: ` : "") + old[0].note, warn: true, href: `/p/${old[0].in}/health` };
  else if (old.length) age = { text: `${old.length} projects are out of date`, warn: true, href: "/health" };
  else age = { text: all.length ? "index up to date" : "", warn: false };
  showAge();
}

function showAge() {
  const place = byId("age");
  if (!place) return;
  place.textContent = age.text;
  if (age.href) {
    const link = document.createElement("a");
    Object.assign(link, { href: age.href, textContent: "Update" });
    place.append(" ", link);
  }
  place.classList.toggle("warn", age.warn);
  place.hidden = !age.text;
}

// Typing
box.addEventListener("input", () => {
  clearTimeout(waiting);
  const left = COALESCE_MS - (performance.now() - startedAt);
  const now = () => { asked = ask(addressOfForm(), "replace"); };
  if (left > 0) waiting = setTimeout(now, left);
  else now();
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await asked;
  move(1);
});
box.addEventListener("focus", () => here()?.classList.remove("here"));
box.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") { event.preventDefault(); move(1); }
});
window.addEventListener("popstate", () => {
  keepQuestion();
  asked = ask(location.pathname + location.search);
});

// A newer index: the same question is asked again, and no notice is needed.
document.addEventListener("sage:stale", (event) => {
  const { what, project } = event.detail;
  if (what !== "index" || !params().get("q")?.trim()) return;
  event.preventDefault();
  if ([null, "", project].includes(params().get("in"))) asked = ask(location.pathname + location.search);
});

// Facets, modes and examples are links that work by themselves; here they change only what differs.
function openFilters(open) {
  byId("facets")?.classList.toggle("open", open);
  document.querySelector("[data-filters]")?.setAttribute("aria-expanded", String(open));
}

document.addEventListener("click", (event) => {
  const plainClick = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  const soft = event.target.closest("a[data-soft]");
  if (soft && plainClick) {
    event.preventDefault();
    asked = ask(soft.getAttribute("href"), "push");
    keepQuestion();
    return;
  }
  if (event.target.closest("[data-filters]")) { openFilters(!byId("facets").classList.contains("open")); return; }
  const hit = event.target.closest(".hit");
  if (!hit) return;
  if (event.target.closest("[data-why]")) why(hit);
  else if (event.target.closest("[data-edit]")) edit(hit);
  else if (!event.target.closest("a, button, .why") && !String(getSelection())) choose(hit);
});

function choose(hit) {
  here()?.classList.remove("here");
  hit.classList.add("here");
  peek(hit);
}

async function why(hit) {
  const button = hit.querySelector("[data-why]");
  if (!button) return;
  const open = hit.querySelector(".why");
  button.setAttribute("aria-expanded", String(!open));
  if (open) { open.remove(); return; }
  const place = document.createElement("div");
  place.className = "why";
  place.textContent = "Adding up…";
  hit.append(place);
  try {
    const answer = await fetch(`/search/why/${hit.dataset.at}?${params()}`, { headers: { "HX-Request": "true" } });
    if (answer.ok) place.innerHTML = await answer.text();
    else place.textContent = "This hit is no longer found: search again.";
  } catch {
    place.textContent = "The server does not answer.";
  }
}

async function edit(hit) {
  try {
    const answer = await change(`/search/edit/${hit.dataset.at}`, { line: hit.dataset.line });
    if (answer.ok) toast("Opened in the editor", { seconds: 3 });
    else toast(await answer.text(), { bad: true });
  } catch {
    toast("The server does not answer.", { bad: true });
  }
}

// Keys
document.addEventListener("sage:here", (event) => peek(event.target));
onKey("ArrowDown", () => move(1));
onKey("ArrowUp", () => {
  const first = document.querySelector("[data-item]");
  if (!here() || here() === first) box.focus();
  else move(-1);
});
onKey("Escape", () => {
  const open = document.querySelector(".why");
  if (open) why(open.closest(".hit"));
  else box.focus();
});
onKey("w", () => { if (here()) why(here()); });
onKey("e", () => here()?.querySelector("[data-edit], [data-edit-link]")?.click());
onKey("m", () => document.querySelector('#facets a[data-key^="what "]:not([aria-current])')?.click());

settle();
