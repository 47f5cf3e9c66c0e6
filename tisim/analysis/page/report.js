// Tabs, and what starts the pictures.

import { tip, unpackAll } from "./data.js";
import { Gantt } from "./gantt.js";
import { LinkChart, Matrix } from "./heatmaps.js";
import { SmallGantt } from "./small.js";
import { wireTables } from "./tables.js";
import { fromAddress, toAddress } from "./window.js";

function openTab(name, charts) {
  for (const button of document.querySelectorAll("nav button")) {
    button.setAttribute("aria-selected", String(button.dataset.tab === name));
  }
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  tip.hide();
  if (charts[name]) charts[name].draw();
}

// The tab that the address names, as in lu.html#gantt; behind ? is what the chart shows.
function namedTab() {
  const [name] = location.hash.slice(1).split("?");
  return document.querySelector(`nav button[data-tab="${CSS.escape(name)}"]`) ? name : "summary";
}

// The window of the chart that the address names, as in #gantt?t=0.01..0.02&r=0..3.
function namedWindow(gantt) {
  const named = fromAddress(new URLSearchParams(location.hash.split("?")[1] || ""));
  if ("begin" in named) gantt.show({ first: 0, last: gantt.page.ranks - 1, ...named });
}

function keepWindow(gantt) {
  let waiting = 0;
  gantt.canvas.addEventListener("looked", ({ detail: shown }) => {
    clearTimeout(waiting);
    const hash = `#gantt?${toAddress(shown).map((pair) => pair.join("=")).join("&")}`;
    waiting = setTimeout(() => { if (namedTab() === "gantt") history.replaceState(null, "", hash); }, 200);
  });
}

function wireTools(gantt, matrix) {
  const on = (id, action) => document.getElementById(id).addEventListener("click", action);
  on("zoom-in", () => gantt.zoomTime(0.5));
  on("zoom-out", () => gantt.zoomTime(2));
  on("lanes-in", () => gantt.zoomRanks(0.5));
  on("lanes-out", () => gantt.zoomRanks(2));
  on("zoom-back", () => gantt.back());
  on("zoom-typical", () => gantt.typical());
  on("zoom-all", () => gantt.all());
  for (const what of ["messages", "path"]) {
    const box = document.getElementById(`show-${what}`);
    box.checked = gantt.shown[what];
    box.addEventListener("change", () => {
      gantt.shown[what] = box.checked;
      gantt.draw();
    });
  }
  for (const choice of document.querySelectorAll("input[name=matrix]")) {
    choice.addEventListener("change", () => {
      matrix.what = choice.value;
      matrix.draw();
    });
  }
}

// On paper all parts stand below one another.
function printAllParts(charts, arrive) {
  window.addEventListener("beforeprint", () => {
    for (const section of document.querySelectorAll("main > section")) section.hidden = false;
    for (const chart of Object.values(charts)) chart.draw();
  });
  window.addEventListener("afterprint", arrive);
}

async function start() {
  const page = await unpackAll(JSON.parse(document.getElementById("data").textContent));
  const charts = {
    summary: null,
    gantt: new Gantt(document.getElementById("gantt-chart"), page),
    matrix: new Matrix(document.getElementById("matrix-chart"), page),
    links: new LinkChart(document.getElementById("links-chart"), page),
  };
  const go = (tab) => {
    openTab(tab, charts);
    history.replaceState(null, "", `#${tab}`);
  };
  const look = (begin, end, rank) => {
    go("gantt");
    charts.gantt.lookAt(begin, end, rank);
  };
  charts.summary = new SmallGantt(document.getElementById("small-chart"), charts.gantt, look);
  wireTools(charts.gantt, charts.matrix);
  keepWindow(charts.gantt);
  wireTables(look);
  for (const button of document.querySelectorAll("nav button")) {
    button.addEventListener("click", () => go(button.dataset.tab));
  }
  const opened = () => document.querySelector("main > section:not([hidden])").id;
  window.addEventListener("resize", () => charts[opened()]?.draw());
  const arrive = () => {
    openTab(namedTab(), charts);
    if (namedTab() === "gantt") namedWindow(charts.gantt);
  };
  window.addEventListener("hashchange", arrive);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts[opened()]?.draw());
  printAllParts(charts, arrive);
  arrive();
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  const note = document.createElement("p");
  note.textContent = typeof DecompressionStream === "undefined"
    ? "This page needs a browser of 2023 or later."
    : `This page cannot be shown: ${error.message}`;
  document.querySelector("main").prepend(note);
});
