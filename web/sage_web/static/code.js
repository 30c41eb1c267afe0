// The code page: uses of a definition, outline, trail, actions, and whether the file is still the one that is shown.
import { change, notice, onKey, toast } from "./base.js";
import { LINE, code, file, fragment, hash, line, marked, meant, own, path, showMarked, slug } from "./code-lines.js";
import "./code-memory.js";

const shownPath = document.querySelector(".code-page").dataset.shown; // with unseen characters written out
const FRESH_MS = 10_000;
const TRAIL = 8;

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
code.addEventListener("click", (event) => {
  const definition = event.target.closest("a.d");
  if (definition && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    showUses(definition.href);
  }
});
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

addEventListener("hashchange", remember);

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

document.addEventListener("sage:changed", () => changed());

showMarked({ scroll: true });
remember();
document.querySelector(".tree [aria-current]")?.scrollIntoView({ block: "nearest" });
performance.mark("sage:ready");
