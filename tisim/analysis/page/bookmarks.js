// Bookmarks: windows with names, which the address of the page keeps.

import { instant, time } from "./format.js";
import { element } from "./cells.js";

export class Bookmarks {
  constructor(box, view) {
    Object.assign(this, { box, view });
  }

  // Keeps what is shown, under a name that can be changed.
  add() {
    const numbers = this.view.marks.map(({ name }) => Number((/^window (\d+)$/.exec(name) || [])[1] || 0));
    const name = `window ${Math.max(0, ...numbers) + 1}`;
    this.view.set({ marks: [...this.view.marks, { name, ...this.view.window() }], tab: "bookmarks" });
  }

  show() {
    const { view } = this;
    const step = (view.end - view.begin) / 1000;
    const add = element("button", { type: "button", id: "bookmark", onclick: () => this.add() }, "Keep this window (b)");
    const rows = view.marks.map((mark) => {
      const input = element("input", { value: mark.name, "aria-label": "Name", maxlength: "60" });
      input.addEventListener("change", () => this.change(mark, { ...mark, name: input.value.trim() || mark.name }));
      return element("li", {}, input,
        element("button", { type: "button", onclick: () => view.show(mark) },
          `${instant(mark.begin, step)}, ${time(mark.end - mark.begin, 3)}, ranks ${mark.first} to ${mark.last}`),
        element("button", { type: "button", title: "Forget it", onclick: () => this.change(mark, null) }, "\u00d7"));
    });
    this.box.replaceChildren(
      add,
      element("ul", { class: "bookmarks" }, ...rows),
      element("p", { class: "note" }, "The address of the page holds bookmarks: they are where it is kept or sent."),
    );
  }

  change(mark, changed) {
    const marks = this.view.marks.map((one) => (one === mark ? changed : one)).filter(Boolean);
    this.view.set({ marks });
  }
}
