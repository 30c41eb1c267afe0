// What happens now, on this page: live events for those who ask, and a notice when the page has become old.
import { notice } from "./base.js";

const handlers = new Set();
const project = document.body.dataset.project;
const since = Number(document.body.dataset.made);
const made = { index: since, memory: since, agents: since };
const known = {}; // by project: when its index and its memories were last changed
const news = {}; // and what of that the page was told
let changing = 0; // requests that change something and are under way
let saidOld = false;
const OLD = {
  index: "The index has changed since this page was made.",
  memory: "Memories have changed since this page was made.",
  agents: "What agents remember has changed since this page was made.",
};

/** Calls a handler with every message of the server: kind is event, run, state, lost, down or up. */
export function onEvent(handler) {
  handlers.add(handler);
  return () => handlers.delete(handler);
}

/** Says that what the page shows is as of now: what has changed before does not make it old. */
export function isCurrent(seconds = Date.now() / 1000, parts = Object.keys(made)) {
  for (const what of parts) made[what] = Math.max(made[what], seconds);
  const isOld = Object.entries(known).some(([slug, times]) => Object.keys(times).some((what) => times[what] > made[what] && isConcerned(what, slug)));
  if (saidOld && !isOld) {
    document.getElementById("notice").hidden = true;
    saidOld = false;
  }
}

function isConcerned(what, slug) {
  const path = location.pathname;
  if (what === "agents") return path.startsWith("/agents");
  if (slug !== project) return path === "/" && what === "index" && location.search.length > 1;
  return what === "index" || /^\/p\/[^/]+\/(memory|stale|code)/.test(path);
}

// A page that brings itself up to date listens to `sage:stale` and prevents the default, which is a notice.
function compare() {
  if (changing) return; // what the page itself is about to change is not news
  for (const [slug, times] of Object.entries(known)) {
    if (project && slug && slug !== project) continue;
    for (const [what, time] of Object.entries(times)) {
      const told = (news[slug] ??= {})[what] ?? 0;
      if (!(time > made[what] && time > told)) continue;
      news[slug][what] = time;
      const stale = new CustomEvent("sage:stale", { detail: { what, project: slug }, cancelable: true });
      if (!document.dispatchEvent(stale) || !isConcerned(what, slug)) continue;
      notice(OLD[what]);
      saidOld = true;
    }
  }
}

function say(...words) {
  saidOld = false;
  notice(...words);
}

function heard(message) {
  if (message.kind === "state") {
    Object.assign(known, message.projects);
    compare();
  } else if (message.kind === "down") say("The server does not answer: `sage web` has ended.", "Try again");
  else if (message.kind === "up") say("The server is back.");
  for (const handler of handlers) handler(message);
}

const isChange = (ctx) => (ctx.request?.method ?? "GET").toUpperCase() !== "GET";
const begin = () => { changing += 1; };
function end() {
  changing = Math.max(changing - 1, 0);
  isCurrent(undefined, ["memory", "agents"]);
  compare();
}
document.addEventListener("sage:changing", begin);
document.addEventListener("sage:changed", end);
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => { if (isChange(ctx)) begin(); });
document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => { if (isChange(ctx)) end(); });
// What was loaded since is not old.
function answered(made) {
  if (!made) return;
  document.body.dataset.made = made;
  isCurrent(made);
}
document.addEventListener("sage:made", ({ detail }) => answered(detail));
document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => answered(Number(ctx.response?.headers?.get?.("x-sage-made"))));

async function listen() {
  if (globalThis.SharedWorker) {
    const worker = new SharedWorker("/static/live-worker.js", { type: "module", name: "sage live" });
    const join = () => worker.port.postMessage("here");
    worker.port.onmessage = ({ data }) => heard(data);
    worker.port.start();
    join();
    addEventListener("pagehide", () => worker.port.postMessage("gone"));
    addEventListener("pageshow", (event) => { if (event.persisted) join(); });
    return;
  }
  // Without a worker only the page that is looked at holds a stream.
  const { Stream } = await import("./live-stream.js");
  const stream = new Stream(heard);
  const follow = () => (document.visibilityState === "visible" ? stream.greet(() => {}) : stream.close());
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => stream.close());
  follow();
}

listen();
