// The graph: opening a node changes only the page's content and keeps what one looks at in its place; arrow keys walk
// through the drawing; the lines of a node are lit while it is pointed at.
import { onKey } from "/static/base.js";

const drawing = () => document.querySelector("[data-drawing]");
const nodes = () => [...document.querySelectorAll("[data-drawing] .node")];
const current = () => document.activeElement?.closest?.(".node");

/** Shows another state of the graph; `id` names the node whose place on the screen must not change. */
async function show(address, id) {
  const before = id && document.getElementById(id)?.getBoundingClientRect();
  await htmx.ajax("GET", address, { target: "#content", swap: "innerHTML", push: address });
  const now = id && document.getElementById(id);
  const box = drawing();
  if (!now || !box) { centre(); return; }
  const after = now.getBoundingClientRect();
  if (before) box.scrollBy({ left: after.left - before.left, top: after.top - before.top, behavior: "instant" });
  (now.querySelector(".grow") ?? now.querySelector("a"))?.focus({ preventScroll: true });
}

/** Scrolls the drawing so that the centre of the graph is in its middle. */
function centre() {
  const box = drawing();
  const node = box?.querySelector(".node.centre");
  if (!node) return;
  const [inner, outer] = [node.getBoundingClientRect(), box.getBoundingClientRect()];
  box.scrollBy({
    left: inner.left + inner.width / 2 - outer.left - outer.width / 2,
    top: inner.top + inner.height / 2 - outer.top - outer.height / 2,
    behavior: "instant",
  });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-swap]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const address = new URL(link.getAttribute("href"), location.href);
  const keeps = link.matches(".grow") || link.closest(".lists");
  show(address.pathname + address.search, keeps ? link.closest(".node")?.id : null);
});

// --- light ---

function light(node) {
  const box = drawing();
  if (!box) return;
  for (const one of box.querySelectorAll(".lit")) one.classList.remove("lit");
  box.classList.toggle("lighting", Boolean(node));
  if (!node) return;
  const number = node.dataset.n;
  const near = new Set([number]);
  for (const line of box.querySelectorAll(`.line[data-s="${number}"], .line[data-t="${number}"]`)) {
    line.classList.add("lit");
    near.add(line.dataset.s).add(line.dataset.t);
  }
  for (const one of nodes()) if (near.has(one.dataset.n)) one.classList.add("lit");
}
const follow = (event) => {
  if (event.target.closest?.("[data-drawing]")) light(event.target.closest(".node"));
  else if (document.querySelector(".drawing.lighting")) light(null);
};
document.addEventListener("pointerover", follow);
document.addEventListener("focusin", follow);

// --- keys ---

const middle = (node) => { const box = node.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; };

/** Goes to the nearest node in a direction; what lies to the side counts more than what is far. */
function walk(across, down) {
  const from = current() ?? document.querySelector("[data-drawing] .node.centre");
  if (!from) return;
  const [x, y] = middle(from);
  let best = null;
  let least = Infinity;
  for (const one of nodes()) {
    if (one === from) continue;
    const [dx, dy] = middle(one).map((value, at) => value - [x, y][at]);
    const ahead = dx * across + dy * down;
    const aside = Math.abs(dx * down) + Math.abs(dy * across);
    // In a column only the same column counts, so that one does not leave it by accident.
    if (ahead <= 4 || (down && aside > 60)) continue;
    const far = ahead + 1.5 * aside;
    if (far < least) [best, least] = [one, far];
  }
  const link = (current() ? best : from)?.querySelector("a");
  link?.focus({ preventScroll: true });
  link?.closest(".node").scrollIntoView({ block: "nearest", inline: "nearest" });
}
for (const [key, across, down] of [["ArrowLeft", -1, 0], ["ArrowRight", 1, 0], ["ArrowUp", 0, -1], ["ArrowDown", 0, 1]]) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey || !event.target.closest?.("[data-drawing]")) return;
    event.preventDefault();
    walk(across, down);
  });
}
const press = (selector) => (current() ?? document.querySelector("[data-item].here"))?.querySelector(selector)?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
onKey("e", () => press(".grow, .acts a"));
onKey("o", () => press(".recentre, .acts a:last-child"));

// --- the names below the field ---

const names = () => [...document.querySelectorAll("#names a")];
document.addEventListener("keydown", (event) => {
  const at = names().indexOf(event.target);
  if (event.target.id !== "graph-name" && at < 0) return;
  if (event.key === "Escape") document.getElementById("names").replaceChildren();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !names().length) return;
  event.preventDefault();
  (names()[at + step] ?? document.getElementById("graph-name")).focus();
});

centre();
// Back and Forward bring a whole page.
document.addEventListener("htmx:after:swap", (event) => { if (event.detail.ctx.target?.matches?.("body")) centre(); });
