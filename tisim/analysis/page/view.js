// The window shown by a page: an interval of time and ranks, and the history of windows.

const MAX_HISTORY = 100; // maximum number of windows in the history

// Clamps a window to the run; a window that is too short grows on both sides.
function fitted({ begin, end, first, last }, { end: whole, rows, least }) {
  const length = Math.max(Math.min(end - begin, whole), least);
  const middle = begin + Math.min(end - begin - length, 0) / 2;
  const from = Math.max(0, Math.min(middle, whole - length));
  const count = Math.max(1, Math.min(Math.round(last - first + 1), rows));
  const low = Math.max(0, Math.min(Math.round(first), rows - count));
  return { begin: from, end: from + length, first: low, last: low + count - 1 };
}

// A window as address parameters: t=<begin>..<end> in seconds and r=<first>..<last>.
export function toAddress({ begin, end, first, last }) {
  return [
    ["t", `${begin}..${end}`],
    ["r", `${first}..${last}`],
  ];
}

// The window of an address (URLSearchParams), without missing or invalid parts.
export function fromAddress(address) {
  const pair = (name) => (address.get(name) || "").split("..").map(Number);
  const [begin, end] = pair("t");
  const [first, last] = pair("r");
  return { ...(end > begin ? { begin, end } : {}), ...(last >= first ? { first, last } : {}) };
}

// Dispatches "changed"; `first` and `last` are positions, which an order of ranks may rearrange.
export class View extends EventTarget {
  constructor(run) {
    super();
    this.run = run;
    this.past = [];
    this.future = []; // windows for "forward"
    this.arrangement = null; // an order of the ranks, the position of each, and groups of ranks
    this.arrows = false; // whether messages are drawn
    this.path = false; // whether the critical path is drawn
    Object.assign(this, this.whole);
  }

  get whole() {
    return { begin: 0, end: this.run.end || 1e-9, first: 0, last: this.run.ranks - 1 };
  }

  get ranks() {
    return this.last - this.first + 1;
  }

  span() {
    const { begin, end, first, last } = this;
    return { begin, end, first, last };
  }

  // The window as parameters of a query.
  window() {
    return this.span();
  }

  rankAt(position) {
    return this.arrangement ? this.arrangement.ranks[position] : position;
  }

  positionOf(rank) {
    return this.arrangement ? this.arrangement.positions[rank] : rank;
  }

  // Shows a window; with `remember`, "back" returns to the previous one.
  show(wanted, remember = true) {
    const before = this.span();
    const next = { ...before, ...wanted };
    const { run } = this;
    const least = run.least((next.begin + next.end) / 2);
    const now = fitted(next, { end: run.end, rows: run.ranks, least });
    if (Object.keys(now).every((name) => now[name] === before[name])) return;
    if (remember) this.remember(before);
    Object.assign(this, now);
    this.changed("window");
  }

  remember(span) {
    this.past.push(span);
    if (this.past.length > MAX_HISTORY) this.past.shift();
    this.future = [];
  }

  back() {
    this.exchange(this.past, this.future);
  }

  forward() {
    this.exchange(this.future, this.past);
  }

  exchange(from, to) {
    const other = from.pop();
    if (!other) return;
    to.push(this.span());
    Object.assign(this, other);
    this.changed("window");
  }

  // A factor below 1 zooms in; the instant `around` keeps its place.
  zoomTime(factor, around = (this.begin + this.end) / 2, remember = true) {
    const begin = around - (around - this.begin) * factor;
    this.show({ begin, end: around + (this.end - around) * factor }, remember);
  }

  // The same for ranks; adds or removes at least one.
  zoomRanks(factor, around = (this.first + this.last + 1) / 2, remember = true) {
    const wanted = this.ranks * factor;
    const count = factor < 1 ? Math.floor(wanted) : Math.ceil(wanted);
    const first = around - ((around - this.first) * count) / this.ranks;
    this.show({ first, last: Math.round(first) + Math.max(count, 1) - 1 }, remember);
  }

  // Moves by fractions of the window.
  move(share, shareOfRanks = 0) {
    const time = (this.end - this.begin) * share;
    const ranks = Math.sign(shareOfRanks) * Math.ceil(Math.abs(this.ranks * shareOfRanks));
    this.show({
      begin: this.begin + time,
      end: this.end + time,
      first: this.first + ranks,
      last: this.last + ranks,
    });
  }

  // Centres an instant, and a position if given.
  centre(time, position = null) {
    const half = (this.end - this.begin) / 2;
    const first = position === null ? this.first : position - (this.ranks >> 1);
    this.show({ begin: time - half, end: time + half, first, last: first + this.ranks - 1 });
  }

  all() {
    this.show(this.whole);
  }

  select() {}

  set(values) {
    Object.assign(this, values);
    this.changed("settings");
  }

  changed(what) {
    this.dispatchEvent(new CustomEvent("changed", { detail: what }));
  }
}
