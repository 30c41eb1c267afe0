// What every page does: the key of changes, keyboard, theme, copying, toasts with undo, and the live events.

const changeKey = document.querySelector('meta[name="change-key"]')?.content ?? "";

// Every request of htmx carries the key; the server asks for it where something changes.
document.addEventListener("htmx:config:request", (event) => {
  event.detail.ctx.request.headers["X-Sage-Change"] = changeKey;
});
document.addEventListener("htmx:error", () => toast("The server does not answer. Is `sage web` still running?", { bad: true }));

/** Sends a change; the answer is what fetch gives. */
export function change(address, fields = {}) {
  document.dispatchEvent(new CustomEvent("sage:changing"));
  return fetch(address, {
    method: "POST",
    headers: { "X-Sage-Change": changeKey, "HX-Request": "true" },
    body: new URLSearchParams(fields),
  }).finally(() => document.dispatchEvent(new CustomEvent("sage:changed")));
}

/** Shows a line at the corner; with `undo`, a button that calls it. */
export function toast(text, { undo = null, bad = false, seconds = 8 } = {}) {
  const box = document.createElement("div");
  box.className = bad ? "toast bad" : "toast";
  const line = document.createElement("span");
  line.textContent = text;
  box.append(line);
  if (undo) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Undo";
    button.addEventListener("click", () => { box.remove(); undo(); });
    box.append(button);
  }
  document.getElementById("toasts")?.append(box);
  setTimeout(() => box.remove(), seconds * 1000);
}

/** Shows a line under the header until the page is left, with a button that reloads the page. */
export function notice(text, label = "Reload") {
  const bar = document.getElementById("notice");
  if (!bar) return;
  const line = document.createElement("span");
  line.textContent = text;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small";
  button.textContent = label;
  button.addEventListener("click", () => location.reload());
  bar.replaceChildren(line, button);
  bar.hidden = false;
}

// Theme: a cookie, so that the server sends the right page and nothing flashes.
function toggleTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  document.cookie = `sage_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${text.replace(/[\p{Cc}\p{Cf}]/gu, "�")}`, { seconds: 3 });
  } catch {
    toast("The browser does not let this page copy", { bad: true });
  }
}

const help = () => document.getElementById("help");
const items = () => [...document.querySelectorAll("[data-item]")].filter((one) => one.offsetParent !== null);
const current = () => document.querySelector("[data-item].here");

/** Makes the item that is `step` further in the list the current one. */
export function move(step) {
  const all = items();
  if (!all.length) return;
  const at = all.indexOf(current());
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  current()?.classList.remove("here");
  next.classList.add("here");
  const link = next.matches("a") ? next : next.querySelector("a");
  link?.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
  next.dispatchEvent(new CustomEvent("sage:here", { bubbles: true }));
}

const KEYS = {
  "/": () => { const box = document.querySelector("[data-search-box]"); box?.focus(); box?.select(); },
  "?": () => help()?.showModal(),
  t: toggleTheme,
  j: () => move(1),
  k: () => move(-1),
  c: () => { const text = current()?.querySelector("[data-copy]")?.dataset.copy ?? document.querySelector("[data-copy]")?.dataset.copy; if (text) copy(text); },
};

/** Adds a shortcut of one page. */
export function onKey(key, action) { KEYS[key] = action; }

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && typing) { event.target.blur(); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const action = KEYS[event.key];
  if (action) { event.preventDefault(); action(event); }
});

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-copy], [data-theme-toggle], [data-help]");
  for (const open of document.querySelectorAll("details.menu[open]")) if (!open.contains(event.target)) open.open = false;
  if (!target) return;
  if (target.dataset.copy !== undefined && target.matches("button")) copy(target.dataset.copy);
  else if (target.dataset.themeToggle !== undefined) toggleTheme();
  else if (target.dataset.help !== undefined) help()?.showModal();
});

// The live events come after everything that the page needs to be read.
addEventListener("load", () => setTimeout(() => import("./live.js"), 0));
