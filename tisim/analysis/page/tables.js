// Tables of a page without a server: sorted by a click on a column, and searched.

import { clickable, compared, filterField, sortable } from "./cells.js";

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

function makeSortable(table) {
  const body = table.tBodies[0];
  sortable([...table.tHead.rows[0].cells], (place, down) => {
    const keyed = [...body.rows].map((row) => [sortedBy(row.cells[place].textContent), row]);
    keyed.sort(([a], [b]) => (down ? compared(b, a) : compared(a, b)));
    body.append(...keyed.map(([, row]) => row));
  });
}

function makeSearchable(table) {
  table.parentElement.before(filterField((wanted) => {
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  }));
}

// `look(begin, end, rank)` shows what a row with `data-look` is about.
export function wireTables(look) {
  for (const table of document.querySelectorAll(".scroll > table")) {
    const { length } = table.tBodies[0].rows;
    if (length > 1) makeSortable(table);
    if (length >= LONG) makeSearchable(table);
  }
  for (const row of document.querySelectorAll("tr[data-look]")) {
    clickable(row, () => look(...row.dataset.look.split(",").map(Number)));
  }
}
