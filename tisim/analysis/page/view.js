// What is shown: the window, the selection and the rest of what the address of the page holds.

import { fitted, fromAddress, moved, toAddress, zoomedInRows, zoomedInTime } from "./window.js";

const KEPT = 100; // windows that can be gone back to
const MARKS = 30; // bookmarks that the address holds

export class View extends EventTarget {
  constructor(run) {
    super();
    this.run = run;
    this.past = [];
    this.future = []; // windows that were gone back from
    this.marks = []; // bookmarks: windows with a name
    this.by = "state";
    this.depth = 0; // of the functions that are shown and coloured; 0: all, the innermost
    this.stack = false; // whether the call path of a rank over time is shown
    this.order = "rank"; // of ranks; first and last are positions in it
    this.arrangement = null; // the ranks in that order, the position of each, and groups of them
    this.arrows = false;
    this.path = false; // whether the critical path is drawn
    this.tab = "statistics";
    this.query = "";
    this.mode = "call"; // how a second run is aligned, or "time"
    this.selected = null; // { rank, time, of: which run }
    this.whole();
  }

  whole() {
    this.begin = 0;
    this.end = this.run.end || 1e-9;
    this.first = 0;
    this.last = this.run.ranks - 1;
  }

  get ranks() { return this.last - this.first + 1; }

  window() { return { begin: this.begin, end: this.end, first: this.first, last: this.last, order: this.order }; }

  rankAt(position) { return this.arrangement ? this.arrangement.ranks[position] : position; }

  positionOf(rank) { return this.arrangement ? this.arrangement.positions[rank] : rank; }

  // Puts ranks in an order, as the server has it; by their numbers without one.
  arrange(name, answer, keep) {
    let arrangement = null;
    if (name !== "rank") {
      const positions = new Array(answer.ranks.length);
      answer.ranks.forEach((rank, position) => { positions[rank] = position; });
      arrangement = { ...answer, positions };
    }
    const all = keep ? {} : { first: 0, last: this.run.ranks - 1 };
    this.set({ order: name, wanted: name, arrangement, ...all });
  }

  // Shows a window; `remember`: "back" leads to the one before.
  show({ begin = this.begin, end = this.end, first = this.first, last = this.last }, remember = true) {
    const before = this.window();
    const whole = { end: this.run.end, rows: this.run.ranks, least: this.run.end * 1e-12 };
    const now = { ...fitted({ begin, end, first, last }, whole), order: this.order };
    if (Object.keys(now).every((name) => now[name] === before[name])) return;
    if (remember) this.remember(before);
    Object.assign(this, now);
    this.changed("window");
  }

  // "Back" leads to this window.
  remember(window) {
    this.past.push(window);
    if (this.past.length > KEPT) this.past.shift();
    this.future = [];
  }

  back() { this.exchange(this.past, this.future); }

  forward() { this.exchange(this.future, this.past); }

  exchange(from, to) {
    const other = from.pop();
    if (!other) return;
    to.push(this.window());
    Object.assign(this, { ...other, order: this.order });
    this.changed("window");
  }

  zoomTime(factor, around = undefined, remember = true) { this.show(zoomedInTime(this.window(), factor, around), remember); }

  zoomRanks(factor, around = undefined, remember = true) { this.show(zoomedInRows(this.window(), factor, around), remember); }

  move(share, shareOfRanks = 0, remember = true) { this.show(moved(this.window(), share, shareOfRanks), remember); }

  all() { this.show({ begin: 0, end: this.run.end, first: 0, last: this.run.ranks - 1 }); }

  select(selected, { bring = false } = {}) {
    this.selected = selected && { of: "a", ...selected };
    if (selected) {
      this.tab = "selected";
      if (bring) this.bring(selected);
    }
    this.changed("selection");
  }

  // Moves the window so that a point lies in it.
  bring({ rank, time }) {
    const length = this.end - this.begin;
    const next = this.window();
    if (time < this.begin || time > this.end) Object.assign(next, { begin: time - length / 2, end: time + length / 2 });
    const position = this.positionOf(rank);
    if (position < this.first || position > this.last) {
      Object.assign(next, { first: position - (this.ranks >> 1), last: position - (this.ranks >> 1) + this.ranks - 1 });
    }
    this.show(next);
  }

  set(values) {
    Object.assign(this, values);
    this.changed("settings");
  }

  changed(what) { this.dispatchEvent(new CustomEvent("changed", { detail: what })); }

  // A bookmark as the address has it.
  markOf(text) {
    const [, begin, end, first, last, name] = /^([-+.\de]+?)\.\.([-+.\de]+)@(\d+)\.\.(\d+)@(.*)$/s.exec(text) || [];
    const mark = { name, begin: Number(begin), end: Number(end), first: Number(first), last: Number(last) };
    return name && mark.begin < mark.end && mark.first <= mark.last ? mark : null;
  }

  // The part of the address after #.
  toHash() {
    const hash = new URLSearchParams(toAddress(this));
    hash.set("by", this.by);
    hash.set("tab", this.tab);
    if (this.arrows) hash.set("m", "1");
    if (this.order !== "rank") hash.set("o", this.order);
    if (this.stack) hash.set("c", "1");
    if (this.depth) hash.set("d", this.depth);
    if (this.path) hash.set("k", "1");
    if (this.query) hash.set("q", this.query);
    if (this.mode !== "call") hash.set("mode", this.mode);
    if (this.selected) hash.set("s", `${this.selected.of === "b" ? "b:" : ""}${this.selected.rank}@${this.selected.time}`);
    for (const { name, begin, end, first, last } of this.marks.slice(0, MARKS)) {
      hash.append("mark", `${begin}..${end}@${first}..${last}@${name}`);
    }
    return `#${hash}`;
  }

  fromHash(text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    this.show(fromAddress(hash), false);
    if (["state", "kind", "procedure", "distance", "cause"].includes(hash.get("by"))) this.by = hash.get("by");
    this.wanted = hash.get("o") || "rank"; // the order that the server is asked for
    this.stack = hash.get("c") === "1";
    this.depth = Math.max(0, Math.min(Math.floor(Number(hash.get("d"))) || 0, 1000));
    this.tab = hash.get("tab") || this.tab;
    this.arrows = hash.get("m") === "1";
    this.path = hash.get("k") === "1";
    this.query = hash.get("q") || "";
    if (hash.get("mode") === "time") this.mode = "time";
    this.marks = hash.getAll("mark").slice(0, MARKS).map((one) => this.markOf(one)).filter(Boolean);
    const [, of, rank, time] = /^(b:)?(\d+)@([-+.\de]+)$/.exec(hash.get("s") || "") || [];
    const known = Number.isFinite(Number(time)) && Number(rank) < this.run.ranks;
    this.selected = known ? { rank: Number(rank), time: Number(time), of: of ? "b" : "a" } : null;
    this.changed("all");
  }
}
