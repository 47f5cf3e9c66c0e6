// The state of the viewer stored in its address: window, selection, colours, bookmarks.

import { View, fromAddress, toAddress } from "./view.js";

const MARKS = 30; // maximum number of bookmarks in the address
const COLOURINGS = ["state", "kind", "procedure", "distance", "cause"];

export class ViewerView extends View {
  constructor(run) {
    super(run);
    this.marks = []; // bookmarks: named windows
    this.by = "state"; // what states are coloured by
    this.depth = 0; // call levels shown; 0: all, coloured by the innermost
    this.stack = false; // whether the call path of a rank over time is shown
    this.order = "rank"; // order of ranks; first and last are positions in it
    this.tab = "findings";
    this.query = "";
    this.mode = "call"; // how a second run is aligned, or "time"
    this.selected = null; // { rank, time, of: "a" or "b", the run }
  }

  get colouring() {
    return { by: this.by, depth: this.depth };
  }

  window() {
    return { ...this.span(), order: this.order };
  }

  // Restores the order of rank numbers, which findings refer to.
  toRankOrder() {
    Object.assign(this, { order: "rank", wanted: "rank", arrangement: null });
  }

  // Applies an order of ranks provided by the server; "rank" restores the order of rank numbers.
  arrange(name, answer, keepsWindow) {
    let arrangement = null;
    if (name !== "rank") {
      const positions = new Array(answer.ranks.length);
      answer.ranks.forEach((rank, position) => {
        positions[rank] = position;
      });
      arrangement = { ...answer, positions };
    }
    const all = keepsWindow ? {} : { first: 0, last: this.run.ranks - 1 };
    this.set({ order: name, wanted: name, arrangement, ...all });
  }

  select(selected, { moveIntoView = false } = {}) {
    this.selected = selected && { of: "a", ...selected };
    if (selected) {
      this.tab = "selected";
      if (moveIntoView) this.moveIntoView(selected);
    }
    this.changed("selection");
  }

  // Moves the window so that it contains a point.
  moveIntoView({ rank, time }) {
    const { begin, end, first, last } = this;
    const position = this.positionOf(rank);
    const isOutside = position < first || position > last;
    if (time < begin || time > end) this.centre(time, isOutside ? position : null);
    else if (isOutside) this.centre((begin + end) / 2, position);
  }

  // Parses a bookmark of the address.
  markOf(text) {
    const form = /^([-+.\de]+?)\.\.([-+.\de]+)@(\d+)\.\.(\d+)@(.*)$/s;
    const [, ...parts] = form.exec(text) || [];
    const [begin, end, first, last] = parts.slice(0, 4).map(Number);
    const name = parts[4];
    return name && begin < end && first <= last ? { name, begin, end, first, last } : null;
  }

  // The part of the address after #.
  toHash() {
    const hash = new URLSearchParams(toAddress(this));
    const { selected } = this;
    const put = (name, value) => {
      if (value) hash.set(name, value);
    };
    put("by", this.by);
    put("tab", this.tab);
    put("m", this.arrows && "1");
    put("o", this.order !== "rank" && this.order);
    put("c", this.stack && "1");
    put("d", this.depth);
    put("k", this.path && "1");
    put("q", this.query);
    put("mode", this.mode !== "call" && this.mode);
    put("s", selected && `${selected.of === "b" ? "b:" : ""}${selected.rank}@${selected.time}`);
    for (const { name, begin, end, first, last } of this.marks.slice(0, MARKS)) {
      hash.append("mark", `${begin}..${end}@${first}..${last}@${name}`);
    }
    return `#${hash}`;
  }

  fromHash(text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    this.show(fromAddress(hash), false);
    if (COLOURINGS.includes(hash.get("by"))) this.by = hash.get("by");
    this.wanted = hash.get("o") || "rank"; // the order to request from the server
    this.stack = hash.get("c") === "1";
    this.depth = Math.max(0, Math.min(Math.floor(Number(hash.get("d"))) || 0, 1000));
    this.tab = hash.get("tab") || this.tab;
    this.arrows = hash.get("m") === "1";
    this.path = hash.get("k") === "1";
    this.query = hash.get("q") || "";
    if (hash.get("mode") === "time") this.mode = "time";
    const marks = hash.getAll("mark").slice(0, MARKS);
    this.marks = marks.map((mark) => this.markOf(mark)).filter(Boolean);
    const [, of, rank, time] = /^(b:)?(\d+)@([-+.\de]+)$/.exec(hash.get("s") || "") || [];
    const isKnown = Number.isFinite(Number(time)) && Number(rank) < this.run.ranks;
    const point = { rank: Number(rank), time: Number(time), of: of ? "b" : "a" };
    this.selected = isKnown ? point : null;
    this.changed("all");
  }
}
