"use strict";
// Tabs, and what starts the pictures.

function openTab(name, charts) {
  for (const button of document.querySelectorAll("nav button")) {
    button.setAttribute("aria-selected", String(button.dataset.tab === name));
  }
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  tip.hide();
  if (charts[name]) charts[name].draw();
}

function wireTools(gantt, matrix) {
  const on = (id, action) => document.getElementById(id).addEventListener("click", action);
  on("zoom-in", () => gantt.zoom(2));
  on("zoom-out", () => gantt.zoom(0.5));
  on("zoom-all", () => gantt.look(0, gantt.page.end));
  for (const what of ["messages", "path"]) {
    const box = document.getElementById(`show-${what}`);
    box.checked = gantt.show[what];
    box.addEventListener("change", () => {
      gantt.show[what] = box.checked;
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

async function start() {
  const page = await unpackAll(JSON.parse(document.getElementById("data").textContent));
  const charts = {
    gantt: new Gantt(document.getElementById("gantt-chart"), page),
    matrix: new Matrix(document.getElementById("matrix-chart"), page),
    links: new LinkChart(document.getElementById("links-chart"), page),
  };
  wireTools(charts.gantt, charts.matrix);
  for (const button of document.querySelectorAll("nav button")) {
    button.addEventListener("click", () => openTab(button.dataset.tab, charts));
  }
  const opened = () => document.querySelector("main > section:not([hidden])").id;
  window.addEventListener("resize", () => charts[opened()]?.draw());
  openTab("summary", charts);
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  const note = document.createElement("p");
  note.textContent = typeof DecompressionStream === "undefined"
    ? "This page needs a browser of 2023 or later."
    : `This page cannot be shown: ${error.message}`;
  document.querySelector("main").prepend(note);
});
