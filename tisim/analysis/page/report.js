// The report: its tabs and their charts.

import { tip } from "./canvas.js";
import { EmbeddedRun, unpackAll } from "./embedded.js";
import { time as duration, instant, percent } from "./format.js";
import { Gantt } from "./gantt.js";
import { listenToKeys, windowKeys } from "./gestures.js";
import { LinkChart, Matrix } from "./heatmaps.js";
import { Overview } from "./overview.js";
import { wireTables } from "./tables.js";
import { View, fromAddress, toAddress } from "./view.js";

const $ = (id) => document.getElementById(id);
const tabs = () => [...document.querySelectorAll("nav button")];
const sections = () => [...document.querySelectorAll("main > section")];

function openTab(name, charts) {
  for (const tab of tabs()) tab.setAttribute("aria-selected", String(tab.dataset.tab === name));
  for (const section of sections()) section.hidden = section.id !== name;
  tip.hide();
  charts[name]?.request();
}

// The tab in the address, as in lu.html#gantt; the chart's window follows after ?.
function namedTab() {
  const [name] = location.hash.slice(1).split("?");
  return tabs().some((tab) => tab.dataset.tab === name) ? name : "summary";
}

// The window of the chart in the address, as in #gantt?t=0.01..0.02&r=0..3.
function showNamedWindow(view) {
  const named = fromAddress(new URLSearchParams(location.hash.split("?")[1] || ""));
  const { first, last } = view.whole;
  if ("begin" in named) view.show({ first, last, ...named });
}

// All ranks, and a part of the time that is typical of the run.
const typicalOf = (view, { typical: [begin, end] }) => ({ ...view.whole, begin, end });

function ganttOf(run, page) {
  const view = new View(run);
  Object.assign(view, typicalOf(view, page));
  view.arrows = page.messages.count <= 100;
  const { count } = page.lanes;
  const height = count * Math.max(8, Math.min(110, Math.floor(620 / count)));
  const margins = { left: 74, right: 8, top: 6, bottom: 34 };
  const gantt = new Gantt($("gantt-chart"), view, run, { margins, height });
  let waiting = 0;
  view.addEventListener("changed", () => {
    tip.hide();
    gantt.request();
    clearTimeout(waiting);
    const pairs = toAddress(view).map((pair) => pair.join("="));
    waiting = setTimeout(() => {
      if (namedTab() === "gantt") history.replaceState(null, "", `#gantt?${pairs.join("&")}`);
    }, 200);
  });
  gantt.canvas.addEventListener("drawn", () => describeWindow(run, view, gantt));
  gantt.canvas.addEventListener("dblclick", (event) => view.zoomTime(1 / 3, gantt.at(event).time));
  gantt.canvas.addEventListener("pointerleave", () => tip.hide());
  listenToKeys(gantt.canvas, {
    ...windowKeys(view),
    "*": () => view.zoomRanks(0.5),
    "/": () => view.zoomRanks(2),
    t: () => view.show(typicalOf(view, page)),
    Backspace: () => view.back(),
  });
  return gantt;
}

// Describes the window next to and below the chart.
function describeWindow(run, view, gantt) {
  const { begin, end, first, last } = view;
  const step = (end - begin) / 1000;
  const share = percent((end - begin) / run.end);
  const ranks = view.ranks === run.ranks ? "" : `, ranks ${first} to ${last}`;
  const span = `${instant(begin, step, end)} to ${instant(end, step)}`;
  $("range").textContent = `${span} (${duration(end - begin)}, ${share})${ranks}`;
  const { messages, path } = gantt.notes;
  const exact = run.notes(view, (end - begin) / gantt.area.width);
  const notes = [view.arrows && messages, view.path && path, ...exact];
  $("gantt-note").textContent = notes.filter(Boolean).join(" ");
}

function wireTools(view, page, matrix) {
  const actions = {
    "zoom-in": () => view.zoomTime(0.5),
    "zoom-out": () => view.zoomTime(2),
    "lanes-in": () => view.zoomRanks(0.5),
    "lanes-out": () => view.zoomRanks(2),
    "zoom-back": () => view.back(),
    "zoom-typical": () => view.show(typicalOf(view, page)),
    "zoom-all": () => view.all(),
  };
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
  for (const [id, name] of [
    ["show-messages", "arrows"],
    ["show-path", "path"],
  ]) {
    $(id).checked = view[name];
    $(id).addEventListener("change", (event) => view.set({ [name]: event.target.checked }));
  }
  for (const choice of document.querySelectorAll("input[name=matrix]")) {
    choice.addEventListener("change", () => matrix.show(choice.value));
  }
}

function overviewOf(run, view, look) {
  const { count, size } = run.lanes;
  const height = count * Math.max(2, Math.floor(130 / count));
  const overview = new Overview($("small-chart"), view, run, { height });
  overview.canvas.addEventListener("click", (event) => {
    const { time, down } = overview.at(event);
    const rank = Math.floor(down * count) * size + (size >> 1);
    look(time - run.end / 40, time + run.end / 40, rank);
  });
  return overview;
}

// Printing shows all parts one below the other.
function printAllParts(charts, arrive) {
  window.addEventListener("beforeprint", () => {
    for (const section of sections()) section.hidden = false;
    for (const chart of Object.values(charts)) chart.request();
  });
  window.addEventListener("afterprint", arrive);
}

async function start() {
  const page = await unpackAll(JSON.parse($("data").textContent));
  const run = new EmbeddedRun(page);
  const gantt = ganttOf(run, page);
  const { view } = gantt;
  const go = (tab) => {
    openTab(tab, charts);
    history.replaceState(null, "", `#${tab}`);
  };
  // Shows an interval of a rank, with a few ranks next to it.
  const look = (begin, end, rank) => {
    const beside = Math.max(4, Math.min(8, run.ranks >> 2));
    const around = end - begin;
    go("gantt");
    view.show({
      begin: begin - around,
      end: end + around,
      first: rank - beside,
      last: rank + beside,
    });
  };
  const charts = {
    summary: overviewOf(run, view, look),
    gantt,
    matrix: new Matrix($("matrix-chart"), page),
    links: new LinkChart($("links-chart"), page),
  };
  const arrive = () => {
    openTab(namedTab(), charts);
    if (namedTab() === "gantt") showNamedWindow(view);
  };
  const redraw = () => charts[sections().find((section) => !section.hidden).id]?.request();
  wireTools(view, page, charts.matrix);
  wireTables(look);
  for (const tab of tabs()) tab.addEventListener("click", () => go(tab.dataset.tab));
  window.addEventListener("resize", redraw);
  window.addEventListener("hashchange", arrive);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  printAllParts(charts, arrive);
  arrive();
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  const text = document.createElement("p");
  text.textContent =
    typeof DecompressionStream === "undefined"
      ? "This page needs a browser of 2023 or later."
      : `This page cannot be shown: ${error.message}`;
  document.querySelector("main").prepend(text);
});
