// The critical path of the window: what the simulated time consists of.

import { Asker } from "./ask.js";
import { instant, percent, time, whole } from "./format.js";
import { element } from "./cells.js";
import { table } from "./table.js";

export class PathPanel {
  constructor(box, view, say) {
    Object.assign(this, { box, view });
    this.parts = new Asker((answer) => this.show(answer), say);
  }

  request() { this.parts.ask("path", this.view.window()); }

  show(answer) {
    if (this.view.tab !== "path") return;
    if (answer.unknown) {
      this.box.replaceChildren(element("p", { class: "note" }, answer.unknown));
      return;
    }
    const step = (this.view.end - this.view.begin) / 1000;
    const share = (row) => row.seconds / (answer.seconds || 1);
    const go = (row) => this.view.select({ rank: row.rank, time: (row.start + row.end) / 2 }, { bring: true });
    const ofRank = (row) => this.view.show({ first: this.view.positionOf(row.rank), last: this.view.positionOf(row.rank) });
    this.box.replaceChildren(
      element("p", { class: "note" }, `The path has ${whole(answer.parts)} parts in this time, on all ranks. Only what makes one of them shorter makes the run shorter.`),
      element("h3", {}, "What it consists of"),
      table([
        { name: "state", value: (row) => row.state, left: true },
        { name: "call", value: (row) => row.kind, left: true },
        { name: "sum", value: (row) => row.seconds, text: (value) => time(value) },
        { name: "share", value: share, text: percent },
        { name: "times", value: (row) => row.count, text: whole },
      ], answer.kinds, { sorted: 2, filter: false }),
      element("h3", {}, "Ranks that it is on"),
      table([
        { name: "rank", value: (row) => row.rank },
        { name: "sum", value: (row) => row.seconds, text: (value) => time(value) },
        { name: "share", value: share, text: percent },
      ], answer.ranks, { sorted: 1, click: ofRank, filter: false, most: 20 }),
      element("h3", {}, "Its longest parts"),
      table([
        { name: "rank", value: (row) => row.rank, text: (value, row) => (row.destination === value ? String(value) : `${value} to ${row.destination}`) },
        { name: "state", value: (row) => row.state, left: true },
        { name: "call", value: (row) => row.kind, left: true },
        { name: "begins", value: (row) => row.start, text: (value) => instant(value, step) },
        { name: "lasts", value: (row) => row.end - row.start, text: (value) => time(value) },
      ], answer.longest, { sorted: 4, click: go }),
    );
  }
}
