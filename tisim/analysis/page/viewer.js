// The viewer: connects the charts, the tables, the address and the server.

import { BarTip } from "./bar_tip.js";
import { CallPathChart } from "./call_path.js";
import { instant, time, whole } from "./format.js";
import { Gantt } from "./gantt.js";
import { listenToKeys, windowKeys } from "./gestures.js";
import { Overview } from "./overview.js";
import { Panels, addBookmark } from "./panels.js";
import { folder } from "./prepared.js";
import { Delays, SecondView } from "./second_run.js";
import { ask, serverRun } from "./server.js";
import { element } from "./tables.js";
import { ViewerView } from "./viewer_view.js";

// Colours of calls, in order of assignment: Okabe and Ito's, and variants of them.
const CALLS = [
  ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"],
  ["#8A7A00", "#7A3B9A", "#4D4D4D", "#A6761D", "#1B9E77", "#B2182B"],
].flat();
// Elements of the page used only with two runs.
const TWO_RUN_ELEMENTS = [
  ["delays", "name-a", "name-b", "chart-b", "tab-differences", "mode-label"],
  ["depth-name-b", "depth-chart-b"],
].flat();
const STOPPED = "The server does not respond: was tisim view stopped?";

const $ = (id) => document.getElementById(id);

// Shows an error, or hides the message.
function say(error) {
  $("message").hidden = !error;
  if (error) $("message").textContent = error instanceof TypeError ? STOPPED : error.message;
}

// Names and colours of a picture's classes: a call has the same colour in all runs.
function addLegends(runs) {
  const names = runs.flatMap((run) => run.keys.map(([, kind]) => run.kinds[kind]));
  const known = [...new Set(names)];
  const colourOf = (name) => CALLS[Math.max(known.indexOf(name), 0) % CALLS.length];
  for (const run of runs) {
    const kinds = run.kinds.map((name) => ({ name, colour: colourOf(name), meaning: "" }));
    run.legend = (tile) => tile.legend || (tile.by === "kind" ? kinds : run.states);
  }
}

function factsOf({ end, ranks, records }) {
  const { states, messages } = records;
  const sizes = `${whole(ranks)} ranks, ${whole(states)} states, ${whole(messages)} messages`;
  return `${time(end, 6)}, ${sizes}`;
}

// The second run: its chart below the first, and its delay.
function addSecond(run, view) {
  for (const name of TWO_RUN_ELEMENTS) $(name).hidden = false;
  document.body.classList.add("two");
  const own = new SecondView(run, view, say);
  const chart = new Gantt($("chart-b"), own, run, { say, of: "b" });
  new BarTip(chart);
  const names = [$("depth-chart-b"), $("depth-name-b")];
  const callPath = new CallPathChart(...names, null, own, say, "b", view);
  const delays = new Delays($("delays"), view, say);
  view.two = true;
  $("name-a").textContent = `A: ${view.run.title} (${view.run.file}), ${factsOf(view.run)}`;
  $("name-b").textContent = `B: ${run.title} (${run.file}), ${factsOf(run)}`;
  own.addEventListener("changed", () => {
    chart.request();
    if (view.stack) callPath.request();
  });
  view.addEventListener("changed", (event) => {
    $("mode").value = view.mode;
    if (event.detail !== "selection") own.follow();
    else if (view.stack) callPath.request();
    delays.draw();
  });
  $("mode").addEventListener("change", (event) => view.set({ mode: event.target.value }));
  return { chart, delays };
}

function showLegend(run, tile) {
  const classes = run.legend(tile);
  const present = [...new Set(tile.key)].sort((a, b) => a - b);
  const items = present.map((key) => {
    const { name, colour, meaning } = classes[key];
    const swatch = element("i", { class: "swatch" });
    swatch.style.background = colour;
    return element("li", { title: meaning }, swatch, name || "other");
  });
  $("legend").replaceChildren(...items);
  const width = time((tile.end - tile.begin) / tile.columns, 3);
  const ranks = (tile.last - tile.first + 1) / tile.lanes;
  const opens = "; a click on its name opens the group, Back closes it";
  const lane =
    ranks > 1 ? `A lane is a group of ${Math.ceil(ranks)} ranks${opens}.` : "A lane is a rank.";
  const columns = `A column is ${width}, divided as its time is.`;
  $("said").textContent = [tile.cells ? tile.note : "", lane, columns].filter(Boolean).join(" ");
}

// Requests an order of ranks.
async function arrange(view, name, keepsWindow) {
  try {
    view.arrange(name, name === "rank" ? null : await ask("order", { name }), keepsWindow);
  } catch (error) {
    view.arrange(view.order, view.arrangement, true);
    say(error);
  }
}

function wireTools(view, panels) {
  const on = (id, type, action) => $(id).addEventListener(type, (event) => action(event.target));
  on("all", "click", () => view.all());
  on("undo", "click", () => view.back());
  on("redo", "click", () => view.forward());
  on("in", "click", () => view.zoomTime(0.5));
  on("out", "click", () => view.zoomTime(2));
  on("by", "change", ({ value }) => view.set({ by: value }));
  on("order", "change", ({ value }) => arrange(view, value, false));
  on("depth", "input", ({ value, max }) => {
    view.set({ depth: Number(value) < Number(max) ? Number(value) : 0 });
  });
  for (const name of ["arrows", "path", "stack"]) {
    on(name, "change", ({ checked }) => view.set({ [name]: checked }));
  }
  on("help", "click", () => {
    $("keys").hidden = !$("keys").hidden;
  });
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    view.set({ query: $("search").value.trim(), tab: "found" });
  });
  listenToKeys(document, {
    ...windowKeys(view),
    Backspace: (event) => (event.shiftKey ? view.forward() : view.back()),
    b: () => addBookmark(view),
    m: () => view.set({ arrows: !view.arrows }),
    k: () => view.set({ path: !view.path }),
    v: () => view.set({ stack: !view.stack }),
    c: () => panels.selection.toCause(),
    n: () => panels.selection.step(1),
    p: () => panels.selection.step(-1),
    "/": () => $("search").focus(),
    Escape: () => view.select(null),
    "?": () => $("help").click(),
  });
}

// Hides features that a folder of prepared answers lacks.
function hideUnprepared() {
  const colours = ["procedure", "distance", "cause"].map((by) => `#by [value=${by}]`);
  const tools = ["#search-form", "#order", "label:has(#order)", "label:has(#stack)"];
  for (const selector of [...colours, ...tools, "[data-tab=found]"]) {
    for (const part of document.querySelectorAll(selector)) part.hidden = true;
  }
}

// Stores the view in the page's address, and applies changes of the address to the view.
class Address {
  constructor(view) {
    Object.assign(this, { view, written: "", waiting: 0 });
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.written) view.fromHash(location.hash);
    });
  }

  update() {
    this.written = this.view.toHash();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => history.replaceState(null, "", this.written), 150);
  }
}

function showSettings(view) {
  [$("by").value, $("order").value, $("search").value] = [view.by, view.order, view.query];
  for (const name of ["arrows", "path", "stack"]) $(name).checked = view[name];
  $("depth-box").hidden = !view.stack;
  const { begin, end, first, last } = view;
  const step = (end - begin) / 1000;
  const ranks = `${view.order === "rank" ? "ranks" : "positions"} ${first} to ${last}`;
  $("window").textContent = `${instant(begin, step, end)} to ${instant(end, step)}, ${ranks}`;
}

async function start() {
  const run = await serverRun("a");
  const other = run.runs === 2 ? await serverRun("b") : null;
  addLegends(other ? [run, other] : [run]);
  document.title = `${run.title} - tisim view`;
  $("title").textContent = other ? "Two runs" : run.title;
  $("facts").textContent = other ? "" : factsOf(run);
  const orders = run.orders.map(({ name, words }) => element("option", { value: name }, words));
  $("order").replaceChildren(...orders);
  if (folder) hideUnprepared();
  const view = new ViewerView(run);
  const chart = new Gantt($("chart"), view, run, { say });
  new BarTip(chart);
  const overview = new Overview($("mini"), view, run, { say, isFramed: true });
  const callPath = new CallPathChart($("depth-chart"), $("depth-name"), $("depth"), view, say);
  const second = other ? addSecond(other, view) : null;
  const panels = new Panels(
    $("panel"),
    [...document.querySelectorAll("[role=tab]")],
    chart,
    say,
    second,
  );
  const address = new Address(view);
  view.addEventListener("changed", ({ detail: what }) => {
    say(null);
    if (view.wanted && view.wanted !== view.order) arrange(view, view.wanted, true);
    showSettings(view);
    address.update();
    chart.request();
    if (what === "settings" || what === "all") overview.request();
    else overview.draw();
    panels.update(what);
    if (view.stack) callPath.request();
  });
  chart.canvas.addEventListener("tile", (event) => showLegend(run, event.detail));
  const go = (event) => {
    const { time: at, down } = overview.at(event);
    view.centre(at, Math.floor(down * run.ranks));
  };
  overview.canvas.addEventListener("pointerdown", go);
  overview.canvas.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) go(event);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    chart.request();
    second?.chart.request();
    overview.draw();
  });
  wireTools(view, panels);
  view.fromHash(location.hash);
  document.documentElement.dataset.ready = "yes";
}

start().catch(say);
