// Tables: sortable heads, filter fields, rows with actions.

import { instant, time, whole } from "./format.js";

const SIZES = { s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const NUMBER = /^([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(%|[kMGT]?B|[mun]?s)?(?:\/s)?$/;
const NOTHING = "Nothing in this window.";
const LONG = 12; // minimum number of rows of a searchable table in a report

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export const title = (...children) => element("h3", {}, ...children);
export const note = (text) => element("p", { class: "note" }, text);

// Reacts to a click, and to Enter when the element has the focus.
function clicked(target, action) {
  target.tabIndex = 0;
  target.addEventListener("click", action);
  target.addEventListener("keydown", (event) => {
    if (event.key === "Enter") action();
  });
}

// Numbers sort before texts.
function compared(a, b) {
  const strings = [a, b].filter((value) => typeof value === "string").length;
  if (strings === 1) return typeof a === "string" ? 1 : -1;
  return strings ? a.localeCompare(b) : a - b;
}

const inOrder = (keyed, isFalling) =>
  keyed.sort(([a], [b]) => (isFalling ? compared(b, a) : compared(a, b))).map(([, row]) => row);

// Heads that sort by their column: numbers in descending, texts in ascending order, reversed by a
// second click. `apply(place, isFalling)` sorts; `sorted`: the column of the current order.
function sortable(heads, apply, sorted = -1) {
  let [by, isFalling] = [sorted, true];
  const mark = () =>
    heads.forEach((head, place) => {
      const order = isFalling ? "descending" : "ascending";
      head.setAttribute("aria-sort", place === by ? order : "none");
    });
  heads.forEach((head, place) => {
    if (!head.textContent) return;
    head.classList.add("sorts");
    clicked(head, () => {
      isFalling = place === by ? !isFalling : !head.classList.contains("text");
      by = place;
      apply(by, isFalling);
      mark();
    });
  });
  mark();
}

// A filter field; `use(text)` receives its text in lower case.
function filterField(use) {
  const label = { placeholder: "filter", "aria-label": "Filter the table" };
  const input = element("input", { class: "filter", type: "search", ...label });
  input.addEventListener("input", () => use(input.value.toLowerCase()));
  return input;
}

// A row with an action.
function clickable(row, go) {
  row.classList.add("clickable");
  clicked(row, go);
  return row;
}

// Columns of a table: a name, the value of a row (a function, or the name of a field) and its text.
// `more`: the `title` of a cell, or `narrow`, for a cell without line breaks.
const getter = (value) => (typeof value === "function" ? value : (row) => row[value]);
export const texts = (name, value, more = {}) => ({
  name,
  value: getter(value),
  text: String,
  isText: true,
  ...more,
});
export const numbers = (name, value, text = String) => ({ name, value: getter(value), text });
export const counts = (name, value) => numbers(name, value, whole);
export const times = (name, value) => numbers(name, value, (seconds) => time(seconds));
export const instants = (name, value, step) =>
  numbers(name, value, (seconds) => instant(seconds, step));

// A table of rows in descending order of column `sorted`; a click on a row calls `click(row)`.
// An empty table is replaced by the sentence `empty`.
export function table(columns, rows, options = {}) {
  const { click = null, sorted = 0, filter = true, most = 500, empty = NOTHING } = options;
  if (!rows.length) return note(empty);
  const body = element("tbody");
  const rest = note("");
  let [by, isFalling, wanted] = [sorted, true, ""];
  const text = (column, row) => column.text(column.value(row), row);
  const cell = (column, row) => {
    const look = column.isText ? `text${column.narrow ? " narrow" : ""}` : null;
    return element("td", { class: look, title: column.title?.(row) ?? null }, text(column, row));
  };
  const has = (row) => (column) =>
    `${text(column, row)} ${column.title?.(row) ?? ""}`.toLowerCase().includes(wanted);
  const fill = () => {
    const chosen = rows.filter((row) => !wanted || columns.some(has(row)));
    const keyed = chosen.map((row) => [columns[by].value(row), row]);
    const shown = inOrder(keyed, isFalling).slice(0, most);
    const made = shown.map((row) => {
      const cells = columns.map((column) => cell(column, row));
      const line = element("tr", {}, ...cells);
      return click ? clickable(line, () => click(row)) : line;
    });
    body.replaceChildren(...made);
    const isCut = chosen.length > most;
    rest.textContent = isCut ? `the first ${most} of ${chosen.length} rows` : "";
  };
  const heads = columns.map(({ name, isText }) =>
    element("th", { class: isText ? "text" : null, scope: "col" }, name),
  );
  const sort = (place, falling) => {
    [by, isFalling] = [place, falling];
    fill();
  };
  sortable(heads, sort, sorted);
  const head = element("thead", {}, element("tr", {}, ...heads));
  const box = element("div", {}, element("table", {}, head, body), rest);
  const search = (entered) => {
    wanted = entered;
    fill();
  };
  if (filter) box.prepend(filterField(search));
  fill();
  return box;
}

// Sort key of a cell in a report: its number with its unit, or its text.
function sortedBy(cell) {
  const text = cell.textContent.trim();
  const match = NUMBER.exec(text);
  if (!match) return text || Number.NEGATIVE_INFINITY;
  return Number(match[1].replaceAll(",", "")) * (SIZES[match[2]] || 1);
}

function makeSortable(made) {
  const body = made.tBodies[0];
  sortable([...made.tHead.rows[0].cells], (place, isFalling) => {
    const keyed = [...body.rows].map((row) => [sortedBy(row.cells[place]), row]);
    body.append(...inOrder(keyed, isFalling));
  });
}

function makeSearchable(made) {
  const search = (wanted) => {
    for (const row of made.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  };
  made.parentElement.before(filterField(search));
}

// Activates the tables of a static page; `look(begin, end, rank)` shows the part of the chart that
// a row refers to.
export function wireTables(look) {
  for (const made of document.querySelectorAll(".scroll > table")) {
    const { length } = made.tBodies[0].rows;
    if (length > 1) makeSortable(made);
    if (length >= LONG) makeSearchable(made);
  }
  for (const row of document.querySelectorAll("tr[data-look]")) {
    clickable(row, () => look(...row.dataset.look.split(",").map(Number)));
  }
}
