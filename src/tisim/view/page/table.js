// Tables that can be sorted by a click on a column, and filtered.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// `columns`: { name, value(row), text(value, row), title(row), left, narrow: without breaks }; `click(row)`; the largest first in `sorted`.
export function table(columns, rows, { click = null, sorted = 0, filter = true, most = 500 } = {}) {
  const box = element("div");
  const body = element("tbody");
  const note = element("p", { class: "note" });
  let by = sorted;
  let down = true;
  let wanted = "";
  const text = (column, row) => (column.text ? column.text(column.value(row), row) : String(column.value(row)));
  const fill = () => {
    const { value } = columns[by];
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      const less = typeof x === "string" ? x.localeCompare(y) : x - y;
      return down ? -less : less;
    };
    const told = (column, row) => `${text(column, row)} ${(column.title && column.title(row)) || ""}`;
    const fits = (row) => columns.some((column) => told(column, row).toLowerCase().includes(wanted));
    const chosen = rows.filter((row) => !wanted || fits(row)).sort(order);
    body.replaceChildren(...chosen.slice(0, most).map((row) => {
      const cells = columns.map((column) => element("td", { class: column.left ? `text${column.narrow ? " narrow" : ""}` : null, title: column.title ? column.title(row) : null }, text(column, row)));
      if (!click) return element("tr", {}, ...cells);
      const go = () => click(row);
      const key = (event) => { if (event.key === "Enter") go(); };
      return element("tr", { class: "clickable", tabindex: "0", onclick: go, onkeydown: key }, ...cells);
    }));
    note.textContent = chosen.length > most ? `the first ${most} of ${chosen.length} rows` : "";
    [...head.children].forEach((cell, place) => {
      cell.setAttribute("aria-sort", place !== by ? "none" : down ? "descending" : "ascending");
      cell.textContent = columns[place].name + (place === by ? (down ? " \u25be" : " \u25b4") : "");
    });
  };
  const head = element("tr", {}, ...columns.map((column, place) => {
    const sort = () => {
      down = place === by ? !down : !column.left;
      by = place;
      fill();
    };
    const key = (event) => { if (event.key === "Enter") sort(); };
    return element("th", { class: column.left ? "text" : null, scope: "col", tabindex: "0", onclick: sort, onkeydown: key });
  }));
  if (filter) {
    const input = element("input", { class: "filter", type: "search", placeholder: "filter", "aria-label": "Filter" });
    input.addEventListener("input", () => {
      wanted = input.value.toLowerCase();
      fill();
    });
    box.append(input);
  }
  box.append(element("table", {}, element("thead", {}, head), body), note);
  fill();
  return box;
}
