// The lines of a file: those that the address marks, and colours and links for those in sight.
const page = document.querySelector(".code-page");
export const code = document.getElementById("code");
export const { slug, file, own, hash } = page.dataset;
const count = Number(page.dataset.lines);
const coloured = Number(page.dataset.coloured);
export const LINE = 20; // px, as in code.css
const BLOCK = 100; // lines, as in code_lines.py
const NEAR = "600px 0px";
const WAIT_MS = 60; // a block that is only scrolled past is not asked for
const TRIES = 4;
const AGAIN_MS = 1_500;

let notes = []; // of the margin: state, first and last line

// --- marked lines: the fragment of the address says which ---

/** The lines that a fragment names: `#L10`, `#L10-L20`. */
export function marked() {
  const found = /^#L(\d+)(?:-L?(\d+))?$/.exec(location.hash);
  if (!found) return null;
  const [low, high] = [Number(found[1]), Number(found[2] ?? found[1])].sort((one, other) => one - other);
  return low >= 1 && low <= count ? { first: low, last: Math.min(high, count) } : null;
}

export const fragment = (first, last) => (last > first ? `#L${first}-L${last}` : `#L${first}`);
export const line = (number) => document.getElementById(`L${number}`);
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

export function showMarked({ scroll }) {
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
  }
});

addEventListener("hashchange", () => showMarked({ scroll: true }));
addEventListener("popstate", () => showMarked({ scroll: false }));

/** The lines that a person means: selected text, or marked lines; nothing means the whole file. */
export function meant() {
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

// --- marks of memories, and of the address ---

/** Draws the marks of memories: state, first and last line of each. */
export function showNotes(found) {
  notes = found;
  for (const one of code.querySelectorAll(".l[class*=' m-']")) one.classList.remove("m-holds", "m-moved", "m-changed", "m-gone");
  decorate(1, count);
}

/** Draws marks on lines again after their block was replaced. */
function decorate(first, last) {
  for (const { state, from, to } of notes) {
    for (let number = Math.max(from, first); number <= Math.min(to, last); number += 1) line(number)?.classList.add(`m-${state}`);
  }
  const lines = marked();
  for (let number = Math.max(lines?.first ?? 1, first); lines && number <= Math.min(lines.last, last); number += 1) line(number)?.classList.add("marked");
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
  if (answer.status === 409) document.dispatchEvent(new CustomEvent("sage:changed"));
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

export const path = () => file.split("/").map(encodeURIComponent).join("/");

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
