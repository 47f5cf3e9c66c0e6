// Tables of what the server answers, sorted by a click on a column, and filtered.

import { clickable, compared, element, filterField, sortable } from "./cells.js";

// `columns`: { name, value(row), text(value, row), title(row), left, narrow: without breaks }; `click(row)`; the largest first in `sorted`.
export function table(columns, rows, { click = null, sorted = 0, filter = true, most = 500 } = {}) {
  const body = element("tbody");
  const note = element("p", { class: "note" });
  let [by, down, wanted] = [sorted, true, ""];
  const text = (column, row) => (column.text ? column.text(column.value(row), row) : String(column.value(row)));
  const told = (column, row) => `${text(column, row)} ${(column.title && column.title(row)) || ""}`;
  const cell = (column, row) => element("td", {
    class: column.left ? `text${column.narrow ? " narrow" : ""}` : null, title: column.title ? column.title(row) : null,
  }, text(column, row));
  const fill = () => {
    const { value } = columns[by];
    const fits = (row) => columns.some((column) => told(column, row).toLowerCase().includes(wanted));
    const chosen = rows.filter((row) => !wanted || fits(row));
    chosen.sort((a, b) => (down ? compared(value(b), value(a)) : compared(value(a), value(b))));
    body.replaceChildren(...chosen.slice(0, most).map((row) => {
      const made = element("tr", {}, ...columns.map((column) => cell(column, row)));
      return click ? clickable(made, () => click(row)) : made;
    }));
    note.textContent = chosen.length > most ? `the first ${most} of ${chosen.length} rows` : "";
  };
  const heads = columns.map((column) => element("th", { class: column.left ? "text" : null, scope: "col" }, column.name));
  sortable(heads, (place, falling) => {
    [by, down] = [place, falling];
    fill();
  }, sorted);
  const box = element("div", {}, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body), note);
  if (filter) {
    box.prepend(filterField((entered) => {
      wanted = entered;
      fill();
    }));
  }
  fill();
  return box;
}
