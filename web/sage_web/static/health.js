// The pages about health: the list of live events, the index run as it goes on, and parts that are loaded again.
import { onKey } from "./base.js";
import { onEvent } from "./live.js";

const KEPT = 200;
const project = document.body.dataset.project;
const byId = (id) => document.getElementById(id);
const refresh = (...parts) => { for (const part of parts) part?.dispatchEvent(new CustomEvent("refresh")); };

const cardOf = (slug) => document.querySelector(`[data-card="${CSS.escape(slug)}"] .part-body`);

// -- live events ------------------------------------------------------------------------------------------------------

const list = byId("events"), filter = byId("event-filter"), own = byId("event-own"), pause = byId("event-pause");
const waiting = []; // what has come while the list is paused
let missed = 0;
let isDrawing = false;
const isPaused = () => pause.getAttribute("aria-pressed") === "true";

function rowOf(event) {
  const row = document.createElement("li");
  row.dataset.type = event.type;
  row.dataset.project = event.project;
  const piece = (tag, text, name = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    row.append(made, " ");
  };
  piece("time", new Date(event.at * 1000).toTimeString().slice(0, 8));
  piece("span", event.type, "tag");
  piece("span", event.about, "about");
  piece("small", event.who);
  row.hidden = !isWanted(row);
  return row;
}

function isWanted(row) {
  const wanted = filter.value.trim().toLowerCase();
  if (own?.checked && row.dataset.project !== project) return false;
  return !wanted || row.dataset.type.startsWith(wanted) || row.textContent.toLowerCase().includes(wanted);
}

// Many events may come at once: the list is changed once a frame, and never has more than it keeps.
function draw() {
  isDrawing = false;
  if (!isPaused()) {
    list.prepend(...waiting.splice(0).reverse().map(rowOf));
    while (list.childElementCount > KEPT) list.lastElementChild.remove();
    byId("events-empty").hidden = list.childElementCount > 0;
  }
  const notes = [];
  if (isPaused()) notes.push(waiting.length ? `paused, ${waiting.length} new` : "paused");
  if (missed) notes.push(`${missed.toLocaleString("en")} came too fast and were left out`);
  byId("event-note").textContent = notes.join(" · ");
}

function drawSoon() {
  if (isDrawing) return;
  isDrawing = true;
  // A page that nobody sees has no frames, and has to forget too.
  if (document.hidden) setTimeout(draw, 1000);
  else requestAnimationFrame(draw);
}

function sift() {
  for (const row of list.children) row.hidden = !isWanted(row);
}

function togglePause() {
  pause.setAttribute("aria-pressed", String(!isPaused()));
  pause.textContent = isPaused() ? "Go on" : "Pause";
  draw();
}

filter.addEventListener("input", sift);
own?.addEventListener("change", sift);
pause.addEventListener("click", togglePause);
onKey("p", togglePause);

// -- the index run ----------------------------------------------------------------------------------------------------

const phases = {}; // by project, as its card shows it
function runHeard(run) {
  const phase = `${run.number} ${run.phase}`;
  if (phases[run.project] !== phase) refresh(cardOf(run.project));
  phases[run.project] = phase;
  const box = byId("run");
  if (!box || run.project !== project) return;
  const shown = box.querySelector("[data-phase]");
  if (!shown) return; // it is being loaded
  if (shown.dataset.phase !== run.phase || shown.dataset.number !== String(run.number)) {
    shown.dataset.phase = run.phase;
    shown.dataset.number = run.number;
    refresh(box);
    if (!["running", "stopping"].includes(run.phase)) refresh(byId("freshness-body"));
    return;
  }
  const stage = box.querySelector("[data-run-stage]");
  if (!stage) return;
  stage.textContent = run.stage;
  const count = run.total ? `${run.done.toLocaleString("en")} of ${run.total.toLocaleString("en")}` : "";
  box.querySelector("[data-run-count]").textContent = count;
  box.querySelector("[data-run-note]").textContent = run.note;
  const bar = box.querySelector("[data-run-bar]");
  if (run.total) {
    bar.max = run.total;
    bar.value = run.done;
  } else bar.removeAttribute("value");
}

// -- what has come -----------------------------------------------------------------------------------------------------

const connection = byId("connection");
function connected(is) {
  connection.textContent = is ? "connected" : "not connected";
  connection.className = is ? "tag ok" : "tag bad";
}

onEvent((message) => {
  if (message.kind === "down") return connected(false);
  connected(true);
  if (message.kind === "event") {
    missed += message.missed;
    waiting.push(message);
    if (waiting.length > KEPT) waiting.shift();
    drawSoon();
  } else if (message.kind === "lost") {
    missed += message.count;
    drawSoon();
  } else if (message.kind === "run") runHeard(message);
});

// These pages load again what has changed, instead of saying that they are old.
document.addEventListener("sage:stale", (event) => {
  const { what, project: slug } = event.detail;
  event.preventDefault();
  refresh(cardOf(slug));
  if (slug !== project) return;
  if (what === "index") refresh(byId("freshness-body"), byId("store-body"), byId("skipped-body"), byId("memory-body"));
  else refresh(byId("memory-body"));
});
document.addEventListener("htmx:after:swap", ({ detail }) => detail.ctx.target?.removeAttribute?.("aria-busy"));
