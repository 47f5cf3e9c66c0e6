"use strict";
// Tables that are sorted by a click on a column, and searched.

const SIZES = {
  s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
  "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
};
const LONG = 12; // rows from which on a table can be searched

// What a cell is sorted by: its number with its unit, or its text.
function sortedBy(text) {
  const found = /^([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(%|[kMGT]?B(?:\/s)?|[mun]?s)?$/.exec(text.trim());
  if (!found) return text.trim() === "" ? -Infinity : text.trim();
  return Number(found[1].replaceAll(",", "")) * (SIZES[found[2]] || 1);
}

function compared(a, b) {
  if (typeof a === typeof b) return typeof a === "string" ? a.localeCompare(b) : a - b;
  return typeof a === "string" ? 1 : -1;
}

function makeSortable(table) {
  const [head] = table.tHead.rows;
  const body = table.tBodies[0];
  let [by, down] = [-1, true];
  [...head.cells].forEach((cell, place) => {
    if (!cell.textContent) return;
    cell.tabIndex = 0;
    cell.classList.add("sorts");
    const sort = () => {
      down = place === by ? !down : !cell.classList.contains("text");
      by = place;
      const keyed = [...body.rows].map((row) => [sortedBy(row.cells[place].textContent), row]);
      keyed.sort(([a], [b]) => (down ? compared(b, a) : compared(a, b)));
      body.append(...keyed.map(([, row]) => row));
      for (const one of head.cells) one.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    };
    cell.addEventListener("click", sort);
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}

function makeSearchable(table) {
  const input = document.createElement("input");
  Object.assign(input, { type: "search", placeholder: "filter", className: "filter", ariaLabel: "Filter the table" });
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.parentElement.before(input);
}

// `look(begin, end, rank)` shows what a row with `data-look` is about.
function wireTables(look) {
  for (const table of document.querySelectorAll(".scroll > table")) {
    const { length } = table.tBodies[0].rows;
    if (length > 1) makeSortable(table);
    if (length >= LONG) makeSearchable(table);
  }
  for (const row of document.querySelectorAll("tr[data-look]")) {
    const go = () => look(...row.dataset.look.split(",").map(Number));
    row.tabIndex = 0;
    row.addEventListener("click", go);
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
  }
}
