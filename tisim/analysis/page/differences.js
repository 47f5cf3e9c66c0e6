// Where the time of two runs differs: in the window, and in all of them.

import { ask, Asker } from "./ask.js";
import { instant, time } from "./format.js";
import { element } from "./cells.js";
import { table } from "./table.js";

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "\u2212" : ""}${time(Math.abs(value))}`;

export class Differences {
  constructor(box, view, say) {
    Object.assign(this, { box, view, say, delays: null });
    this.sums = new Asker((answer) => this.show(answer), say);
  }

  async request() {
    try {
      if (!this.delays) this.delays = await ask("delays", { columns: 2 });
      this.sums.ask("differences", this.view.window());
    } catch (error) {
      this.say(error);
    }
  }

  show(answer) {
    if (this.view.tab !== "differences") return;
    const { a, b, ranks, rows } = answer;
    const longer = (b.end - b.begin) - (a.end - a.begin);
    const step = (a.end - a.begin) / 1000;
    const columns = [
      { name: "call", value: (row) => row.kind, left: true },
      { name: "state", value: (row) => row.state, left: true },
      { name: "A", value: (row) => row.a / ranks, text: (value) => time(value) },
      { name: "B", value: (row) => row.b / ranks, text: (value) => time(value) },
      { name: "B \u2212 A", value: (row) => Math.abs(row.b - row.a) / ranks, text: (_, row) => signed((row.b - row.a) / ranks) },
    ];
    const search = (row) => this.view.set({ tab: "found", query: `${row.kind ? `call = ${row.kind} and ` : ""}state = ${row.state}` });
    this.box.replaceChildren(
      element("h3", {}, `The calls of the window take ${signed(longer)} in B: ${time(b.end - b.begin)}, in A ${time(a.end - a.begin)}`),
      table(columns, rows.filter((row) => row.a !== row.b), { sorted: 4, click: search, filter: rows.length > 20 }),
      element("p", { class: "note" }, "Seconds are means over the ranks of the window. A click on a row finds its longest states in A."),
      element("h3", {}, "Where B falls behind, or catches up"),
      table([
        { name: "in A from", value: (one) => one.begin, text: (value) => instant(value, step) },
        { name: "to", value: (one) => one.end, text: (value) => instant(value, step) },
        { name: "B takes", value: (one) => Math.abs(one.seconds), text: (_, one) => signed(one.seconds) },
        { name: "most on rank", value: (one) => one.rank },
      ], this.delays.steps, { sorted: 2, filter: false, click: (one) => this.view.show({ begin: one.begin, end: one.end }) }),
      element("p", { class: "note" }, "By the median of the ranks, to a 256th of A. A click shows the part."),
    );
  }
}
