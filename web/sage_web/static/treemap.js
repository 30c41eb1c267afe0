// The map: says what a tile is while it is pointed at or has the focus, and lets the arrow keys walk over the tiles.
import { onKey } from "/static/base.js";

const facts = document.querySelector("[data-facts]");
const whole = facts?.textContent ?? "";
const tiles = (map) => [...map.querySelectorAll("a.tile")];

function say(event) {
  const tile = event.target.closest?.("[data-map] a.tile");
  if (facts) facts.textContent = tile ? tile.querySelector("title").textContent.replace("\n", ": ") : whole;
}
document.addEventListener("pointerover", say);
document.addEventListener("focusin", say);

const middle = (tile) => { const box = tile.firstElementChild.nextElementSibling.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; };

/** Goes to the tile that is nearest in a direction; one tile of a map is in the order of Tab. */
function walk(map, across, down) {
  const from = document.activeElement?.closest?.("a.tile") ?? map.querySelector("a.tile");
  const [x, y] = middle(from);
  let best = null;
  let least = Infinity;
  for (const one of tiles(map)) {
    if (one === from || one.contains(from)) continue;
    const [dx, dy] = middle(one).map((value, at) => value - [x, y][at]);
    const ahead = dx * across + dy * down;
    if (ahead <= 1) continue;
    const far = ahead + 2 * (Math.abs(dx * down) + Math.abs(dy * across));
    if (far < least) [best, least] = [one, far];
  }
  if (!best) return;
  from.setAttribute("tabindex", "-1");
  best.setAttribute("tabindex", "0");
  best.focus();
}
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
document.addEventListener("keydown", (event) => {
  const map = event.target.closest?.("[data-map]");
  const step = STEPS[event.key];
  if (!map || !step || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  walk(map, ...step);
});
onKey("u", () => {
  const above = [...document.querySelectorAll(".crumbs a:not([aria-current])")].pop();
  if (above) location.assign(above.href);
});
