// Parts of tables: heads that sort, fields that filter, rows that lead somewhere.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// By a click, and by Enter where the element has the focus.
function clicked(target, action) {
  target.tabIndex = 0;
  target.addEventListener("click", action);
  target.addEventListener("keydown", (event) => { if (event.key === "Enter") action(); });
}

// Numbers before texts, each by their own order.
export function compared(a, b) {
  const texts = [a, b].filter((one) => typeof one === "string").length;
  if (texts === 1) return typeof a === "string" ? 1 : -1;
  return texts ? a.localeCompare(b) : a - b;
}

// Heads that sort by their column: numbers the largest first, texts from A, a second time the other
// way. `apply(place, down)` does it; `sorted`: the column by which rows are sorted already.
export function sortable(heads, apply, sorted = -1) {
  let [by, down] = [sorted, true];
  const tell = () => heads.forEach((head, place) => {
    head.setAttribute("aria-sort", place !== by ? "none" : down ? "descending" : "ascending");
  });
  heads.forEach((head, place) => {
    if (!head.textContent) return;
    head.classList.add("sorts");
    clicked(head, () => {
      down = place === by ? !down : !head.classList.contains("text");
      by = place;
      apply(by, down);
      tell();
    });
  });
  tell();
}

// A field; `use(text)` with what is to be found, in small letters.
export function filterField(use) {
  const input = element("input", { class: "filter", type: "search", placeholder: "filter", "aria-label": "Filter the table" });
  input.addEventListener("input", () => use(input.value.toLowerCase()));
  return input;
}

// A row that leads somewhere.
export function clickable(row, go) {
  row.classList.add("clickable");
  clicked(row, go);
  return row;
}
