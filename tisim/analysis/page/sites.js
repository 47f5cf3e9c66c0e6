// Where in the program the time of the window goes.

import { Asker } from "./ask.js";
import { percent, time, whole } from "./format.js";
import { element } from "./cells.js";
import { table } from "./table.js";

// The innermost function of a call path; the whole path is the title of its cell.
const innermost = (path) => {
  const functions = path.split(" > ");
  return functions.length > 1 ? `\u2026 > ${functions.at(-1)}` : path;
};

export class CallSites {
  constructor(box, view, say) {
    Object.assign(this, { box, view });
    this.sums = new Asker((answer) => this.show(answer), say);
  }

  request() { this.sums.ask("sites", this.view.window()); }

  show({ known, rows }) {
    if (this.view.tab !== "sites") return;
    const note = (text) => this.box.replaceChildren(element("p", { class: "note" }, text));
    if (!known) {
      note("The trace of this run has neither call sites nor samples, or is not there any more. tisim record --call-sites --sample writes them.");
      return;
    }
    if (rows === null) {
      note("The window has too many states to look up their call sites; zoom in.");
      return;
    }
    const all = rows.reduce((sum, row) => sum + row.seconds, 0) || 1;
    const search = (row) => this.view.set({ tab: "found", query: `call = ${row.kind} and state = ${row.state}` });
    this.box.replaceChildren(
      element("h3", {}, "States of the window by call path"),
      table([
        { name: "call path", value: (row) => row.path || "between calls", text: innermost, title: (row) => row.path || null, left: true },
        { name: "call", value: (row) => row.kind, left: true },
        { name: "state", value: (row) => row.state, left: true },
        { name: "sum", value: (row) => row.seconds, text: (value) => time(value) },
        { name: "share", value: (row) => row.seconds / all, text: percent },
        { name: "times", value: (row) => row.count, text: whole },
        { name: "longest", value: (row) => row.longest, text: (value) => time(value) },
      ], rows, { sorted: 3, click: search }),
      element("p", { class: "note" }, "Calls have the path that they were made from; the pointer over a row shows all of it. Computations that were sampled (tisim record --sample) are divided among their paths as the samples are; the others are between calls."),
    );
  }
}
