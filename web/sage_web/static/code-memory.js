// Memories about the file: beside the lines where their code is now; added, edited and confirmed without leaving the page.
import { change, onKey, toast } from "./base.js";
import { LINE, file, fragment, meant, own, path, showNotes, slug } from "./code-lines.js";

const margin = document.getElementById("margin");

/** Puts each note beside its first line, below the one before it. */
function place() {
  if (!margin) return;
  const cards = [...margin.querySelectorAll(".note")];
  const notes = cards.map((card) => ({ state: card.dataset.state, from: Number(card.dataset.first), to: Number(card.dataset.last) })).filter((note) => note.from);
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
  showNotes(notes);
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

document.querySelector(".code-page").addEventListener("submit", (event) => { if (event.target.closest("#margin")) { event.preventDefault(); send(event.target, null); } });
document.querySelector(".code-page").addEventListener("click", (event) => {
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
onKey("m", openRemember);
