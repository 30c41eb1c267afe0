// The code page: colours and links of the lines in sight, marked lines, the trail, uses, memories in the margin, and
// whether the file is still the one that is shown.
import { change, notice, onKey, toast } from "./base.js";

const page = document.querySelector(".code-page");
const code = document.getElementById("code");
const { slug, file, own, hash } = page.dataset;
const shownPath = page.dataset.shown; // with unseen characters written out
const count = Number(page.dataset.lines);
const coloured = Number(page.dataset.coloured);
const LINE = 20; // px, as in code.css
const BLOCK = 100; // lines, as in code_lines.py
const NEAR = "600px 0px";
const WAIT_MS = 60; // a block that is only scrolled past is not asked for
const FRESH_MS = 10_000;
const TRAIL = 8;
const TRIES = 4;
const AGAIN_MS = 1_500;

let notes = []; // of the margin: state, first and last line

// --- marked lines: the fragment of the address says which ---

/** The lines that a fragment names: `#L10`, `#L10-L20`. */
function marked() {
  const found = /^#L(\d+)(?:-L?(\d+))?$/.exec(location.hash);
  if (!found) return null;
  const [low, high] = [Number(found[1]), Number(found[2] ?? found[1])].sort((one, other) => one - other);
  return low >= 1 && low <= count ? { first: low, last: Math.min(high, count) } : null;
}

const fragment = (first, last) => (last > first ? `#L${first}-L${last}` : `#L${first}`);
const line = (number) => document.getElementById(`L${number}`);
const blockOf = (number) => code.children[Math.floor((number - 1) / BLOCK)];

/** Makes lines of a block that is plain text still. */
function expand(block) {
  if (!block?.classList.contains("plain")) return;
  const { first, last } = block.dataset;
  const lines = block.querySelector(".text").textContent.split("\n").map((text, at) => {
    const made = document.createElement("div");
    const number = Object.assign(document.createElement("a"), { className: "n", href: `#L${Number(first) + at}`, tabIndex: -1, textContent: Number(first) + at });
    made.className = "l";
    made.id = `L${Number(first) + at}`;
    made.append(number, text);
    return made;
  });
  block.classList.remove("plain");
  block.replaceChildren(...lines);
  decorate(Number(first), Number(last));
}

function showMarked({ scroll }) {
  for (const one of code.querySelectorAll(".l.marked")) one.classList.remove("marked");
  const lines = marked();
  if (!lines) return;
  expand(blockOf(lines.first));
  decorate(lines.first, lines.last);
  if (scroll) line(lines.first)?.scrollIntoView({ block: lines.last - lines.first > 20 ? "start" : "center" });
}

code.addEventListener("click", (event) => {
  const number = event.target.closest("a.n");
  if (number && event.shiftKey && marked()) {
    event.preventDefault();
    const ends = [Number(number.textContent), marked().first].sort((one, other) => one - other);
    history.replaceState(null, "", fragment(...ends));
    showMarked({ scroll: false });
    return;
  }
  if (number && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    history.pushState(null, "", number.hash);
    showMarked({ scroll: false });
    return;
  }
  const definition = event.target.closest("a.d");
  if (definition && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    showUses(definition.href);
  }
});

addEventListener("hashchange", () => { showMarked({ scroll: true }); remember(); });
addEventListener("popstate", () => showMarked({ scroll: false }));

/** The lines that a person means: selected text, or marked lines; nothing means the whole file. */
function meant() {
  const selection = getSelection();
  if (selection && !selection.isCollapsed && code.contains(selection.anchorNode) && code.contains(selection.focusNode)) {
    const ends = [selection.anchorNode, selection.focusNode].map((node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement).closest(".l"));
    if (ends[0] && ends[1]) {
      const [first, last] = ends.map((one) => Number(one.id.slice(1))).sort((one, other) => one - other);
      return { first, last };
    }
  }
  return marked();
}

// --- blocks: colours and links when they come into sight ---

const waiting = new Map();
const tries = new WeakMap();

/** Asks for the lines of a block: in colour if they have none yet, then with links. */
async function fill(block) {
  if (block.dataset.state) return;
  block.dataset.state = "asked";
  const isColoured = Number(block.dataset.last) <= coloured || block.dataset.coloured;
  try {
    if (!isColoured) {
      block.dataset.coloured = "yes";
      await ask(block, { links: 0 });
    }
    const links = await ask(block, {});
    block.dataset.state = links;
    if (links !== "all") later(block);
    else if (block.contains(target())) performance.mark("sage:linked");
  } catch {
    delete block.dataset.state; // the server is away for a moment
  }
}

/** Replaces the lines of a block by the answer; says which of the links are there. */
async function ask(block, wanted) {
  const { first, last } = block.dataset;
  const answer = await fetch(`/p/${slug}/lines/${path()}?${new URLSearchParams({ first, last, was: hash, ...wanted })}`, { headers: { "HX-Request": "true" } });
  if (answer.status === 409) changed();
  if (!answer.ok) return "all";
  replaceWhenIdle(block, await answer.text());
  const links = answer.headers.get("x-sage-links");
  const note = decodeURIComponent(answer.headers.get("x-sage-note") ?? "");
  const why = links === "none" ? "the index has another version of this file" : note;
  // At first the index may only be at work.
  const isSaid = links !== "all" && why && (tries.get(block) ?? 0) > 1;
  if (links !== "later") document.getElementById("link-state").textContent = isSaid ? `not all names are linked: ${why}` : "";
  return links;
}

/** The index may be at work: asks again, a few times. */
function later(block) {
  const count = (tries.get(block) ?? 0) + 1;
  tries.set(block, count);
  if (count <= TRIES) setTimeout(() => { delete block.dataset.state; fill(block); }, count * AGAIN_MS);
}

const target = () => { const lines = marked(); return line(lines ? lines.first : 1); };

/** Swaps the lines of a block, but not under a selection or the focus: both would be lost. */
function replaceWhenIdle(block, text) {
  const selection = getSelection();
  const isSelected = selection && !selection.isCollapsed && selection.containsNode(block, true);
  if (isSelected || block.contains(document.activeElement)) {
    setTimeout(() => replaceWhenIdle(block, text), 500);
    return;
  }
  block.classList.remove("plain");
  block.innerHTML = text;
  decorate(Number(block.dataset.first), Number(block.dataset.last));
}

const path = () => file.split("/").map(encodeURIComponent).join("/");

const seen = new IntersectionObserver((entries) => {
  for (const { target: block, isIntersecting } of entries) {
    clearTimeout(waiting.get(block));
    if (isIntersecting) {
      expand(block);
      waiting.set(block, setTimeout(() => fill(block), WAIT_MS));
    }
  }
}, { rootMargin: NEAR });
for (const block of code.children) seen.observe(block);

// --- the margin: memories beside the lines where their code is now ---

const margin = document.getElementById("margin");

/** Draws marks on lines again after their block was replaced. */
function decorate(first, last) {
  for (const { state, from, to } of notes) {
    for (let number = Math.max(from, first); number <= Math.min(to, last); number += 1) line(number)?.classList.add(`m-${state}`);
  }
  const lines = marked();
  for (let number = Math.max(lines?.first ?? 1, first); lines && number <= Math.min(lines.last, last); number += 1) line(number)?.classList.add("marked");
}

/** Puts each note beside its first line, below the one before it. */
function place() {
  if (!margin) return;
  const cards = [...margin.querySelectorAll(".note")];
  notes = cards.map((card) => ({ state: card.dataset.state, from: Number(card.dataset.first), to: Number(card.dataset.last) })).filter((note) => note.from);
  const isBeside = getComputedStyle(margin).position === "relative";
  margin.classList.toggle("placed", isBeside && cards.length > 0);
  let bottom = 0;
  for (const card of cards) {
    const top = isBeside ? Math.max(bottom, (Number(card.dataset.first || 1) - 1) * LINE + 8) : 0;
    card.style.top = isBeside ? `${Math.max(top, 0)}px` : "";
    bottom = top + card.offsetHeight + 8;
  }
  if (isBeside) margin.style.minHeight = `${bottom}px`;
  const button = document.querySelector("[data-notes]");
  if (button) button.textContent = cards.length ? `Memories (${cards.length})` : "Memories";
  decorate(1, count);
}

if (margin) {
  document.addEventListener("htmx:after:swap", place);
  margin.addEventListener("toggle", place, true);
  addEventListener("resize", place);
  document.querySelector("[data-notes]")?.addEventListener("click", (event) => {
    event.target.setAttribute("aria-expanded", String(margin.classList.toggle("open")));
  });
}

async function renewMargin() {
  if (!margin) return location.reload();
  const answer = await fetch(`/p/${slug}/margin/${path()}`, { headers: { "HX-Request": "true" } });
  margin.innerHTML = await answer.text();
  for (const one of code.querySelectorAll(".l[class*=' m-']")) one.classList.remove("m-holds", "m-moved", "m-changed", "m-gone");
  place();
}

// --- remembering something about lines, editing a memory, confirming it: all without leaving the page ---

const dialog = document.getElementById("remember");
const editing = document.getElementById("edit-note");

/** Sends a form of a memory; a refusal is shown in the form, or as a line. */
async function send(form, box) {
  let answer;
  try {
    answer = await change(form.action, new FormData(form));
  } catch {
    return toast("The server does not answer. Is `sage web` still running?", { bad: true });
  }
  if (!answer.ok) {
    const text = await answer.text();
    const isText = answer.headers.get("content-type")?.startsWith("text/plain");
    const page = isText ? null : new DOMParser().parseFromString(text, "text/html");
    if (page && box === editing) return fillEditing(page);
    return toast(isText ? text : page.querySelector("[role=alert]")?.textContent ?? "That did not work", { bad: true });
  }
  box?.close();
  if (form.closest("#remember")) form.reset();
  say(answer.headers.get("x-sage-undo"));
  await renewMargin();
}

function say(header) {
  const { said = "Done", undo = "", key = "" } = header ? JSON.parse(header) : {};
  const takeBack = async () => {
    const answer = await change(undo, { key });
    toast(answer.ok ? "Undone" : await answer.text(), { bad: !answer.ok, seconds: 4 });
    await renewMargin();
  };
  toast(said, { undo: undo ? takeBack : null });
}

function fillEditing(page) {
  const form = page.querySelector("form[action$='/edit']");
  if (!form) return;
  for (const name of ["hx-post", "hx-target", "hx-swap"]) form.removeAttribute(name);
  editing.querySelector(".edit-box").replaceChildren(...[page.querySelector("[role=alert]"), form].filter(Boolean));
}

async function openEditing(link) {
  const answer = await fetch(link.href, { headers: { "HX-Request": "true" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok || !page.querySelector("form[action$='/edit']")) return location.assign(link.href);
  fillEditing(page);
  editing.showModal();
  editing.querySelector("textarea")?.focus();
}

page.addEventListener("submit", (event) => { if (event.target.closest("#margin")) { event.preventDefault(); send(event.target, null); } });
page.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-edit]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); openEditing(link); }
});
for (const box of [dialog, editing]) {
  box.addEventListener("submit", (event) => { event.preventDefault(); event.stopPropagation(); send(event.target, box); });
  box.addEventListener("click", (event) => { if (event.target.closest("[data-close]")) box.close(); });
}

function openRemember() {
  const lines = meant();
  const refs = lines ? `${file}:${lines.first}${lines.last > lines.first ? `-${lines.last}` : ""}` : file;
  dialog.querySelector("[name=refs]").value = refs;
  dialog.querySelector("[name=back]").value = own + (lines ? fragment(lines.first, lines.last) : "");
  dialog.showModal();
  dialog.querySelector("[name=content]").focus();
}
document.querySelector("[data-remember]").addEventListener("click", openRemember);

// --- uses of a definition ---

const drawer = document.getElementById("uses");
let cameFrom = null;

async function showUses(address) {
  cameFrom = document.activeElement;
  drawer.hidden = false;
  drawer.replaceChildren(Object.assign(document.createElement("p"), { className: "muted", textContent: "Looking for uses …" }));
  drawer.focus({ preventScroll: true });
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true" } });
    drawer.innerHTML = await answer.text();
  } catch {
    drawer.hidden = true;
    toast("The server does not answer. Is `sage web` still running?", { bad: true });
  }
}

function closeUses() {
  drawer.hidden = true;
  cameFrom?.focus?.({ preventScroll: true });
}
drawer.addEventListener("click", (event) => {
  if (event.target.closest("[data-close-uses]")) closeUses();
  const link = event.target.closest("a");
  if (link && link.pathname === location.pathname) drawer.hidden = true;
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !drawer.hidden) closeUses(); });

// --- the outline, and the definition that is in sight ---

const outline = document.getElementById("outline");
const items = () => [...outline.querySelectorAll("a[data-line]")];

function around(number) {
  return items().findLast((one) => Number(one.dataset.line) <= number && number <= Number(one.dataset.end));
}

let scheduled = false;
function follow() {
  scheduled = false;
  // The marked line while it is in sight, otherwise the first one below the header.
  const top = code.getBoundingClientRect().top;
  const first = Math.max(1, Math.floor((120 - top) / LINE) + 1);
  const chosen = marked()?.first ?? 0;
  const here = around(chosen >= first && chosen * LINE + top < innerHeight ? chosen : first);
  for (const one of outline.querySelectorAll("[aria-current]")) if (one !== here) one.removeAttribute("aria-current");
  here?.setAttribute("aria-current", "true");
  if (here && outline.scrollHeight > outline.clientHeight) outline.scrollTop = here.offsetTop - outline.offsetTop - outline.clientHeight / 3;
  document.getElementById("here-in").textContent = here?.dataset.qualname ?? "";
}
addEventListener("scroll", () => { if (!scheduled) { scheduled = true; requestAnimationFrame(follow); } }, { passive: true });
document.addEventListener("htmx:after:swap", follow);

// --- the trail: places that were visited in this tab ---

function places() {
  try { return JSON.parse(sessionStorage.getItem("sage:trail") ?? "[]"); } catch { return []; }
}

function remember() {
  const lines = marked();
  const label = shownPath.split("/").pop() + (lines ? `:${lines.first}` : "");
  const here = { address: own + (lines ? fragment(lines.first, lines.last) : ""), label, full: shownPath };
  const others = places().filter((one) => one.address !== here.address);
  const all = [...others, here].slice(-TRAIL);
  sessionStorage.setItem("sage:trail", JSON.stringify(all));
  drawTrail(all.slice(0, -1));
}

function drawTrail(all) {
  const trail = document.getElementById("trail");
  const back = Object.assign(document.createElement("button"), { type: "button", className: "button small", textContent: "← Back" });
  back.addEventListener("click", () => history.back());
  const links = all.toReversed().map(({ address, label, full }) => Object.assign(document.createElement("a"), { className: "chip", href: address, textContent: label, title: full }));
  trail.replaceChildren(back, ...links);
  trail.hidden = !links.length;
}

// --- actions and keys ---

const permalink = () => { const lines = meant(); return location.origin + own + (lines ? fragment(lines.first, lines.last) : ""); };

async function copyPermalink() {
  try {
    await navigator.clipboard.writeText(permalink());
    toast(`Copied ${permalink()}`, { seconds: 3 });
  } catch {
    toast("The browser does not let this page copy", { bad: true });
  }
}

const editor = document.querySelector("[data-editor]");

/** Opens the file at the marked line: by the server, or by a link that VS Code understands. */
async function openEditor() {
  const at = meant()?.first ?? 1;
  if (editor.matches("a")) {
    editor.href = editor.getAttribute("href").replace(/:\d+$/, `:${at}`);
    return;
  }
  const answer = await change(`/search/edit/${slug}/${path()}`, { line: at });
  const said = (await answer.text()).slice(0, 200);
  toast(answer.ok ? "Opened in the editor" : said || "The editor could not be opened", { bad: !answer.ok, seconds: 4 });
}

const goTo = document.getElementById("go-to");
goTo.addEventListener("close", () => {
  const found = /(\d+)(?:\s*[-–]\s*(\d+))?/.exec(goTo.querySelector("input").value);
  if (goTo.returnValue === "go" && found) location.hash = fragment(Number(found[1]), Number(found[2] ?? found[1]));
});

function toggleSide() {
  const side = document.getElementById("side");
  const isOpen = side.classList.toggle("open");
  document.querySelector("[data-side]").setAttribute("aria-expanded", String(isOpen));
  (side.querySelector(".tree [aria-current]") ?? side.querySelector("a"))?.focus({ preventScroll: getComputedStyle(side).position === "sticky" });
}

document.querySelector("[data-permalink]").addEventListener("click", copyPermalink);
editor.addEventListener("click", openEditor);
document.querySelector("[data-side]").addEventListener("click", toggleSide);
onKey("g", () => { goTo.returnValue = ""; goTo.querySelector("input").value = ""; goTo.showModal(); });
onKey("m", openRemember);
onKey("y", copyPermalink);
onKey("e", () => editor.click());
onKey("b", () => history.back());
onKey("o", toggleSide);
onKey("u", () => {
  const lines = marked();
  const focused = document.activeElement?.closest?.("a.d") ?? (lines && line(lines.first)?.querySelector("a.d"));
  const named = lines ? around(lines.first) : outline.querySelector("[aria-current]");
  if (focused) showUses(focused.href);
  else if (named) showUses(`/p/${slug}/uses?${new URLSearchParams({ name: named.dataset.qualname, file, line: named.dataset.line })}`);
});

// --- is the file still the one that is shown? ---

let saidChanged = false;
function changed(gone = false) {
  if (saidChanged) return;
  saidChanged = true;
  notice(gone ? "This file is gone from the project." : "This file has changed on the disk since the page was loaded.");
}

async function askFresh() {
  if (saidChanged || document.visibilityState !== "visible") return;
  try {
    const answer = await fetch(`/p/${slug}/fresh?${new URLSearchParams({ file, was: hash })}`);
    const said = answer.ok ? await answer.json() : { fresh: true };
    if (!said.fresh) changed(said.gone);
  } catch { /* the server is away for a moment: the next request says so */ }
}
addEventListener("focus", askFresh);
document.addEventListener("visibilitychange", askFresh);
setInterval(askFresh, FRESH_MS);

showMarked({ scroll: true });
remember();
document.querySelector(".tree [aria-current]")?.scrollIntoView({ block: "nearest" });
performance.mark("sage:ready");
