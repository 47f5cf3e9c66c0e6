// What links carry: those of a message's route, and those of the window on the drawn topology.

import { Asker } from "./ask.js";
import { bytes, percent, rate, whole } from "./format.js";
import { element } from "./cells.js";
import { table } from "./table.js";

// Links have long names: what they join is shown, and the name where the mouse is.
const link = { name: "link", value: (row) => row.words || row.link, title: (row) => row.link, left: true };

// The links of the route of a message, and its part of each.
export function route(rows) {
  return [
    element("h3", {}, `Its route: ${whole(rows.length)} link${rows.length === 1 ? "" : "s"}`),
    table([
      link,
      { name: "bandwidth", value: (row) => row.bandwidth, text: rate },
      { name: "its share", value: (row) => row.share, text: percent },
      { name: "all", value: (row) => (row.load === null ? -1 : row.load), text: (value) => (value < 0 ? "unknown" : percent(value)) },
      { name: "messages", value: (row) => (row.messages === null ? -1 : row.messages), text: (value) => (value < 0 ? "" : whole(value)) },
    ], rows, { sorted: 3, filter: false }),
    element("p", { class: "note" }, "Means over the time in which the message is under way: its part of the bandwidth, and that of all messages."),
  ];
}

export class NetworkPanel {
  constructor(box, view, say) {
    Object.assign(this, { box, view });
    this.links = new Asker((answer) => this.show(answer), say);
  }

  request() { this.links.ask("links", { begin: this.view.begin, end: this.view.end }); }

  show(answer) {
    if (this.view.tab !== "links") return;
    if (answer.unknown) {
      this.box.replaceChildren(element("p", { class: "note" }, answer.unknown));
      return;
    }
    const picture = element("img", {
      class: "platform", title: "Larger, and smaller again", onclick: (event) => event.target.classList.toggle("large"), alt: "The platform; links are coloured by their mean load in the window",
      src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(answer.picture)}`,
    });
    this.box.replaceChildren(
      element("h3", {}, `Links that are used in this time: ${whole(answer.all)}`),
      picture,
      table([
        link,
        { name: "load", value: (row) => row.load, text: percent },
        { name: "carried", value: (row) => row.bytes, text: (value) => bytes(Math.round(value)) },
        { name: "messages", value: (row) => row.messages, text: whole },
        { name: "bandwidth", value: (row) => row.bandwidth, text: rate },
      ], answer.rows, { sorted: 1, most: 100 }),
      element("p", { class: "note" }, "Load: the mean part of the bandwidth that is used in the window, by messages of all ranks."),
    );
  }
}
