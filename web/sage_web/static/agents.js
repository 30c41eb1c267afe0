// Pages about what agents remember: characters are counted while one types, unsaved text is not lost, and keys.
import { onKey } from "./base.js";

const number = new Intl.NumberFormat("en");

function count(area) {
  const shown = area.form.querySelector("[data-counted]");
  if (!shown) return;
  const limit = Number(area.dataset.count);
  const used = [...area.value].length; // as the server counts: characters, not halves of them
  shown.textContent = `${number.format(used)} of ${number.format(limit)} characters${used > limit ? ": too many to be saved" : ""}`;
  shown.classList.toggle("over", used > limit);
  area.form.querySelector(".bar rect")?.setAttribute("width", Math.min(100, (100 * used) / limit));
}

let unsaved = document.querySelector('[data-guarded="dirty"]') !== null;
document.addEventListener("input", (event) => {
  if (event.target.matches("textarea[data-count]")) count(event.target);
  if (event.target.closest("[data-guarded]")) unsaved = true;
});
document.addEventListener("submit", () => { unsaved = false; });
document.addEventListener("click", (event) => { if (event.target.closest("[data-leave]")) unsaved = false; });
addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
    event.target.form?.requestSubmit();
  }
});

const focus = (selector) => () => document.querySelector(selector)?.focus();
const click = (selector) => () => document.querySelector(selector)?.click();
onKey("s", focus("[data-own-search]"));
onKey("e", focus("[data-edit]"));
onKey("u", click("[data-undo]"));
onKey("[", click("a[rel=prev]"));
onKey("]", click("a[rel=next]"));
