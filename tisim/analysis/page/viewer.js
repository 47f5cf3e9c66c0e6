// The viewer: asks the server for the run, and connects the picture, the tables and the address.

import { ask } from "./ask.js";
import { DepthChart } from "./depth.js";
import { Chart } from "./chart.js";
import { instant, time, whole } from "./format.js";
import { windowKeys } from "./gestures.js";
import { MiniMap } from "./minimap.js";
import { Panels } from "./panels.js";
import { Delays } from "./delays.js";
import { SecondView } from "./second.js";
import { element } from "./cells.js";
import { View } from "./view.js";

// Colours of calls, one after another; Okabe and Ito's, and lighter ones of theirs.
const CALLS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8A7A00", "#7A3B9A", "#4D4D4D", "#A6761D", "#1B9E77", "#B2182B"];

const $ = (id) => document.getElementById(id);

function say(error) {
  $("message").hidden = !error;
  if (error) $("message").textContent = error instanceof TypeError ? "The server does not answer: has tisim view been stopped?" : error.message;
}

// The names and colours of the classes of a picture.
function legendOf(run, names) {
  const kinds = run.kinds.map((name) => ({ name, colour: CALLS[Math.max(names.indexOf(name), 0) % CALLS.length], meaning: "" }));
  return (tile) => tile.legend || (tile.by === "kind" ? kinds : run.states);
}

// The names of the calls of runs, which have one colour in all of them.
function namesOf(runs) {
  return [...new Set(runs.flatMap((run) => run.keys.map(([, kind]) => run.kinds[kind])))];
}

const factsOf = (run) => `${time(run.end, 6)}, ${whole(run.ranks)} ranks, ${whole(run.records.states)} states, ${whole(run.records.messages)} messages`;

// The second run: its chart, beneath the first, and by how much it is behind.
function addSecond(run, view) {
  for (const name of ["delays", "name-a", "name-b", "chart-b", "tab-differences", "mode-label", "depth-name-b", "depth-chart-b"]) $(name).hidden = false;
  document.body.classList.add("two");
  const own = new SecondView(run, view, say);
  const chart = new Chart($("chart-b"), own, run, say, "b");
  const depth = new DepthChart($("depth-chart-b"), $("depth-name-b"), null, own, say, "b", view);
  const delays = new Delays($("delays"), view, say);
  view.two = true;
  $("name-a").textContent = `A: ${view.run.title} (${view.run.file}), ${factsOf(view.run)}`;
  $("name-b").textContent = `B: ${run.title} (${run.file}), ${factsOf(run)}`;
  own.addEventListener("changed", () => {
    chart.request();
    if (view.stack) depth.request();
  });
  view.addEventListener("changed", (event) => {
    $("mode").value = view.mode;
    if (event.detail !== "selection") own.follow();
    else if (view.stack) depth.request();
    delays.draw();
  });
  $("mode").addEventListener("change", (event) => view.set({ mode: event.target.value }));
  delays.request();
  return { chart, view: own, run };
}

function showLegend(run, view, tile) {
  const present = [...new Set(tile.key)].sort((a, b) => a - b);
  const classes = run.legend(tile);
  $("legend").replaceChildren(...present.map((key) => {
    const swatch = element("i", { class: "swatch" });
    swatch.style.background = classes[key].colour;
    return element("li", { title: classes[key].meaning }, swatch, classes[key].name || "other");
  }));
  const width = (tile.end - tile.begin) / tile.columns;
  const ranks = view.ranks / tile.lanes;
  const lanes = ranks > 1 ? `A lane is ${ranks.toFixed(ranks < 10 ? 1 : 0)} ranks` : "A lane is a rank";
  $("said").textContent = `${tile.note ? `${tile.note} ` : ""}${lanes}, a column ${time(width, 3)}; a column of a lane is divided as its time is.`;
}

// Asks for an order of ranks; `keep`: the window stays.
async function arrange(view, name, keep) {
  try {
    view.arrange(name, name === "rank" ? null : await ask("order", { name }), keep);
  } catch (error) {
    view.arrange(view.order, view.arrangement, true);
    say(error);
  }
}

function listen(view, panels) {
  $("all").addEventListener("click", () => view.all());
  $("undo").addEventListener("click", () => view.back());
  $("redo").addEventListener("click", () => view.forward());
  $("in").addEventListener("click", () => view.zoomTime(0.5));
  $("out").addEventListener("click", () => view.zoomTime(2));
  $("by").addEventListener("change", (event) => view.set({ by: event.target.value }));
  $("order").addEventListener("change", (event) => arrange(view, event.target.value, false));
  $("stack").addEventListener("change", (event) => view.set({ stack: event.target.checked }));
  $("depth").addEventListener("input", (event) => {
    const { value, max } = event.target;
    view.set({ depth: Number(value) < Number(max) ? Number(value) : 0 });
  });
  $("arrows").addEventListener("change", (event) => view.set({ arrows: event.target.checked }));
  $("path").addEventListener("change", (event) => view.set({ path: event.target.checked }));
  $("help").addEventListener("click", () => { $("keys").hidden = !$("keys").hidden; });
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    say(null);
    view.set({ query: $("search").value.trim(), tab: "found" });
  });
  const keys = {
    ...windowKeys(view),
    Backspace: (event) => (event.shiftKey ? view.forward() : view.back()), b: () => panels.bookmarks.add(),
    m: () => view.set({ arrows: !view.arrows }), k: () => view.set({ path: !view.path }), v: () => view.set({ stack: !view.stack }), c: () => panels.toCause(),
    n: () => panels.step(1), p: () => panels.step(-1), "/": () => $("search").focus(),
    Escape: () => view.select(null), "?": () => $("help").click(),
  };
  document.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act(event);
  });
}

async function start() {
  const run = await ask("run");
  const other = run.runs === 2 ? await ask("run", { of: "b" }) : null;
  const names = namesOf(other ? [run, other] : [run]);
  for (const one of [run, other]) if (one) one.legend = legendOf(one, names);
  document.title = `${run.title} - tisim view`;
  $("title").textContent = other ? "Two runs" : run.title;
  $("facts").textContent = other ? "" : factsOf(run);
  const view = new View(run);
  const chart = new Chart($("chart"), view, run, say);
  const mini = new MiniMap($("mini"), view, run, say);
  const depth = new DepthChart($("depth-chart"), $("depth-name"), $("depth"), view, say);
  $("order").replaceChildren(...run.orders.map(({ name, words }) => element("option", { value: name }, words)));
  const second = other ? addSecond(other, view) : null;
  const panels = new Panels($("panel"), [...document.querySelectorAll("[role=tab]")], view, run, chart, say, second);
  let written = "";
  let waiting = 0;
  view.addEventListener("changed", (event) => {
    say(null);
    [$("by").value, $("order").value, $("search").value] = [view.by, view.order, view.query];
    [$("arrows").checked, $("path").checked, $("stack").checked] = [view.arrows, view.path, view.stack];
    $("depth-box").hidden = !view.stack;
    if (view.wanted && view.wanted !== view.order) arrange(view, view.wanted, true);
    const step = (view.end - view.begin) / 1000;
    $("window").textContent = `${instant(view.begin, step, view.end)} to ${instant(view.end, step)}, ${view.order === "rank" ? "ranks" : "positions"} ${view.first} to ${view.last}`;
    written = view.toHash();
    clearTimeout(waiting);
    waiting = setTimeout(() => history.replaceState(null, "", written), 150);
    chart.request();
    if (event.detail === "settings" || event.detail === "all") mini.request();
    else mini.draw();
    panels.update(event.detail);
    if (view.stack) depth.request();
  });
  chart.canvas.addEventListener("tile", (event) => showLegend(run, view, event.detail));
  window.addEventListener("hashchange", () => { if (location.hash !== written) view.fromHash(location.hash); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    chart.request();
    if (second) second.chart.request();
    mini.draw();
  });
  listen(view, panels);
  view.fromHash(location.hash);
  document.documentElement.dataset.ready = "yes";
}

start().catch(say);
