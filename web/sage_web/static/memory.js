// The pages of memories: buttons that change something, what they say with Undo, and keys for them.
import { change, onKey, toast } from "./base.js";

const SAID = "sage-said"; // what the last change says, for the page that comes after it

/** Shows what a change has done, with a button that takes it back. */
function show(said) {
  toast(said.said, { undo: said.undo ? () => undo(said) : null, seconds: said.undo ? 12 : 5 });
}

async function undo(said) {
  const answer = await change(said.undo, { key: said.key });
  if (!answer.ok) return toast(await answer.text(), { bad: true });
  sessionStorage.setItem(SAID, JSON.stringify({ said: "Undone" }));
  if (said.then) location.assign(said.then);
  else location.reload();
}

function remember(headers) {
  const said = headers.get("x-sage-undo");
  if (said) sessionStorage.setItem(SAID, said);
}

function goTo(address) {
  // To the same address a browser would only scroll.
  if (new URL(address, location.href).href === location.href) location.reload();
  else location.assign(address);
}

// A button changes something and leads to another page; a refusal is shown where the person is.
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-change]");
  if (!form) return;
  event.preventDefault();
  const button = event.submitter ?? form.querySelector("button");
  button.disabled = true;
  try {
    const answer = await change(form.action, new FormData(form));
    if (answer.ok) {
      remember(answer.headers);
      return goTo(answer.headers.get("hx-redirect") ?? location.href);
    }
    const isText = answer.headers.get("content-type")?.startsWith("text/plain");
    const page = isText ? null : new DOMParser().parseFromString(await answer.text(), "text/html");
    toast(isText ? await answer.text() : page.querySelector("[role=alert]")?.textContent ?? "That did not work", { bad: true });
  } catch {
    toast("The server does not answer. Is `sage web` still running?", { bad: true });
  }
  button.disabled = false;
});

// Forms that are sent by htmx come back with what was wrong, or lead on.
document.addEventListener("htmx:after:request", (event) => remember(event.detail.ctx.response.headers));
document.addEventListener("htmx:after:swap", () => document.querySelector(".memory-error")?.focus());

// `data-key` is the key of a button or a link; the page may have been replaced meanwhile.
for (const key of ["s", "e", "d", "n", "p"]) {
  onKey(key, () => document.querySelector(`[data-key="${key}"]`)?.click());
}

// On a small screen the tabs are a row that scrolls.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });

const said = sessionStorage.getItem(SAID);
if (said) {
  sessionStorage.removeItem(SAID);
  show(JSON.parse(said));
}
