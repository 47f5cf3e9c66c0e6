// A run whose data are embedded in the page: all states, or the share of each state in time bins.
// Both add up the mean share of each pixel that each state takes on the ranks of a row.

import { time as duration, instant, percent, whole } from "./format.js";

const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };
const MAX_ARROWS = 100;
const MAX_RANKS = 128; // with one row each
const MAX_ROWS = 64; // for more ranks
// A window uses shares of fewer ranks if it spans at least this number of their longer bins.
const MIN_BINS = 16;
// A window shows every state of the detailed part if that covers at least this share of it.
const MIN_DETAIL_SHARE = 0.25;

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new TYPES[packed.type](await new Response(stream).arrayBuffer());
}

// Returns a copy of an object with all packed arrays unpacked, at any depth.
export async function unpackAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (!Array.isArray(value) && "type" in value && "data" in value) return unpack(value);
  const made = Array.isArray(value) ? [] : {};
  for (const key of Object.keys(value)) made[key] = await unpackAll(value[key]);
  return made;
}

// The name of a row.
const nameOf = (first, last) => (first === last ? String(first) : `${first}-${last}`);

// The sums of a picture: seconds of each state in each column, in units of columns.
class Sums {
  constructor(view, columns, states) {
    Object.assign(this, { view, columns, states, values: new Float32Array(columns * states) });
    this.scale = columns / (view.end - view.begin);
  }

  add(begin, end, state, weight) {
    const from = (begin - this.view.begin) * this.scale;
    const to = (end - this.view.begin) * this.scale;
    const last = Math.min(Math.ceil(to), this.columns);
    for (let x = Math.max(Math.floor(from), 0); x < last; x += 1) {
      const part = Math.min(to, x + 1) - Math.max(from, x);
      if (part > 0) this.values[x * this.states + state] += part * weight;
    }
  }
}

// Every state of every rank; the states of a rank are contiguous in time.
class AllStates {
  constructor(data) {
    Object.assign(this, data, { size: 1, step: 0 });
  }

  // Returns the index of a rank's state at a time.
  find(rank, time) {
    let low = this.first[rank];
    let high = this.first[rank + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  begin(rank, place) {
    if (place > this.first[rank]) return this.end[place - 1];
    return this.from ? this.from[rank] : 0;
  }

  add(low, high, sums, part = sums.view) {
    const weight = 1 / (high - low + 1);
    for (let rank = low; rank <= high; rank += 1) {
      for (let i = this.find(rank, part.begin); i < this.first[rank + 1]; i += 1) {
        const begin = Math.max(this.begin(rank, i), part.begin);
        if (begin >= part.end) break;
        sums.add(begin, Math.min(this.end[i], part.end), this.state[i], weight);
      }
    }
  }

  describe(low, high, time, page) {
    return low === high
      ? this.describeRank(low, time, page)
      : this.countRanks(low, high, time, page);
  }

  describeRank(rank, time, page) {
    const i = this.find(rank, time);
    if (i >= this.first[rank + 1]) return `rank ${rank} has ended`;
    const [begin, end] = [this.begin(rank, i), this.end[i]];
    const cause = this.cause[i] >= 0 ? `\nwaits for rank ${this.cause[i]}` : "";
    const state = page.states[this.state[i]].name;
    const span = `${duration(begin, 7)} to ${duration(end, 7)}: ${duration(end - begin)}`;
    return `rank ${rank}: ${state}, in ${page.kinds[this.kind[i]]}${cause}\n${span}`;
  }

  // Text with the number of ranks in each state.
  countRanks(low, high, time, page) {
    const counts = page.states.map(({ name }) => [0, name]);
    for (let rank = low; rank <= high; rank += 1) {
      const i = this.find(rank, time);
      if (i < this.first[rank + 1]) counts[this.state[i]][0] += 1;
    }
    const parts = counts.filter(([count]) => count > 0).sort((a, b) => b[0] - a[0]);
    const title = `ranks ${nameOf(low, high)}, ${duration(time, 7)}`;
    return [title, ...parts.map((part) => part.join(" "))].join("\n");
  }
}

// Shares of each state, 0 to 255, by state, group of ranks and bin.
class Shares {
  constructor({ bins, share, count, size }, end) {
    Object.assign(this, { bins, share, count, size, step: end / bins });
  }

  at(state, group, bin) {
    return this.share[(state * this.count + group) * this.bins + bin] / 255;
  }

  add(low, high, sums, part = sums.view) {
    const last = Math.min(Math.ceil(part.end / this.step), this.bins);
    for (let group = Math.floor(low / this.size); group * this.size <= high; group += 1) {
      const first = Math.max(group * this.size, low);
      const ranks = Math.min((group + 1) * this.size, high + 1) - first;
      for (let bin = Math.max(Math.floor(part.begin / this.step), 0); bin < last; bin += 1) {
        const begin = Math.max(bin * this.step, part.begin);
        const end = Math.min((bin + 1) * this.step, part.end);
        for (let state = 0; state < sums.states; state += 1) {
          const weight = (this.at(state, group, bin) * ranks) / (high - low + 1);
          if (weight > 0) sums.add(begin, end, state, weight);
        }
      }
    }
  }

  describe(low, high, time, page) {
    const bin = Math.min(Math.floor(time / this.step), this.bins - 1);
    const [begin, end] = [bin * this.step, (bin + 1) * this.step];
    const sums = new Sums({ begin, end }, 1, page.states.length);
    this.add(low, high, sums);
    const parts = page.states
      .map(({ name }, number) => [sums.values[number], name])
      .filter(([share]) => share > 0)
      .sort((a, b) => b[0] - a[0])
      .map(([share, name]) => `${percent(share)} ${name}`);
    const first = Math.floor(low / this.size) * this.size;
    const until = Math.floor(high / this.size) * this.size + this.size - 1;
    const last = Math.min(Math.max(high, until), page.ranks - 1);
    const who = `${first === last ? "rank" : "ranks"} ${nameOf(first, last)}`;
    return [`${who}, ${duration(begin, 7)} to ${duration(end, 7)}`, ...parts].join("\n");
  }
}

// Every state within a part of the time, shares before and after it.
class Mixed {
  constructor(states, part, shares) {
    Object.assign(this, { states, part, shares, size: shares.size, step: shares.step });
  }

  add(low, high, sums) {
    const { view } = sums;
    const begin = Math.max(view.begin, this.part.begin);
    const end = Math.min(view.end, this.part.end);
    if (view.begin < begin) this.shares.add(low, high, sums, { begin: view.begin, end: begin });
    this.states.add(low, high, sums, { begin, end });
    if (end < view.end) this.shares.add(low, high, sums, { begin: end, end: view.end });
  }

  describe(low, high, time, page) {
    const isKnown = time >= this.part.begin && time <= this.part.end;
    return (isKnown ? this.states : this.shares).describe(low, high, time, page);
  }
}

// The page contains all states; or shares of the whole run, for large groups of ranks and for
// smaller ones in longer bins, and every state within a part of the time.
export class EmbeddedRun {
  constructor(page) {
    const { end, ranks, lanes, states, outliers } = page;
    Object.assign(this, { page, end, ranks, lanes, states, outliers, nameOf });
    this.all = page.gantt.mode === "exact" ? new AllStates(page.gantt) : null;
    this.shares = this.all ? [] : page.gantt.levels.map((level) => new Shares(level, end));
    this.part = page.detail;
    this.detail = page.detail ? new AllStates(page.detail.states) : null;
  }

  // Answers immediately, with the interface of the server's asynchronous queries.
  createQuery(use) {
    return { ask: (name, query) => use(this[name](query)), stop: () => {} }; // nothing to stop
  }

  legend() {
    return this.states;
  }

  // Ranks per row of a window: 1, 2, 5, 10, 20, ...
  rowSize({ first, last }) {
    const ranks = last - first + 1;
    if (ranks <= MAX_RANKS) return 1;
    for (let power = 1; ; power *= 10) {
      for (const factor of [1, 2, 5]) {
        const size = factor * power;
        if (size * MAX_ROWS >= ranks) return Math.min(size, this.lanes.size);
      }
    }
  }

  // The shortest window around a time that shows more detail than a longer one.
  least(time) {
    const finest = this.all || this.knows(time, time) ? 0 : 8 * this.shares[0].step;
    return Math.max(finest, this.end * 1e-9);
  }

  knows(begin, end) {
    return this.part && begin >= this.part.begin && end <= this.part.end;
  }

  // The most detailed data for a window with rows of some size.
  source({ begin, end }, size) {
    if (this.all) return this.all;
    if (this.knows(begin, end)) return this.detail;
    const [groups, ...finer] = this.shares;
    const fits = (shares) => size < groups.size && end - begin >= MIN_BINS * shares.step;
    const shares = finer.find(fits) || groups;
    const { part } = this;
    const common = part ? Math.min(end, part.end) - Math.max(begin, part.begin) : 0;
    return common > MIN_DETAIL_SHARE * (end - begin)
      ? new Mixed(this.detail, part, shares)
      : shares;
  }

  describe(view, first, last, time) {
    return this.source(view, this.rowSize(view)).describe(first, last, time, this.page);
  }

  // Sentences on the resolution of a window's picture; `pixel`: seconds per column.
  notes(view, pixel) {
    const rowSize = this.rowSize(view);
    const { step, size, part } = this.source(view, rowSize);
    const shown = (time) => instant(time, (view.end - view.begin) / 1000);
    const outside = [];
    if (part && view.begin < part.begin) outside.push(`before ${shown(part.begin)}`);
    if (part && view.end > part.end) outside.push(`after ${shown(part.end)}`);
    const where = outside.length ? ` ${outside.join(" and ")}` : "";
    const notes = [];
    if (step > pixel) notes.push(`Columns are means over ${duration(step)}${where}.`);
    if (size > rowSize) {
      const rows = `Rows are means over ${whole(size)} ranks${where}`;
      notes.push(`${rows}: tisim view shows every rank at any time.`);
    } else if (rowSize > 1) notes.push(`A row is ${whole(rowSize)} ranks.`);
    return notes;
  }

  // The rows of a window as a tile: shares for each column of each row.
  tile({ begin, end, first, last, columns }) {
    const view = { begin, end, first, last };
    const size = this.rowSize(view);
    const lanes = Math.ceil((last - first + 1) / size);
    const states = this.states.length;
    const room = columns * lanes * states;
    const tile = { ...view, last: first + lanes * size - 1, columns, lanes, cells: 0 };
    for (const name of ["column", "lane"]) tile[name] = new Uint16Array(room);
    for (const name of ["key", "share", "seen"]) tile[name] = new Uint8Array(room);
    const source = this.source(view, size);
    for (let lane = 0; lane < lanes; lane += 1) {
      const sums = new Sums(view, columns, states);
      const low = first + lane * size;
      source.add(low, Math.min(low + size - 1, last), sums);
      for (let x = 0; x < columns; x += 1) {
        addCells(tile, lane, x, sums.values.subarray(x * states, (x + 1) * states));
      }
    }
    return tile;
  }

  // The longest-awaited messages, which come first in the page.
  messages({ begin, end, first, last }) {
    const { started, arrived, source, destination, part } = this.page.messages;
    const isInside = (rank) => rank >= first && rank <= last;
    const messages = [];
    let count = 0;
    for (let i = 0; i < started.length; i += 1) {
      if (started[i] > end || arrived[i] < begin) continue;
      if (!isInside(source[i]) && !isInside(destination[i])) continue;
      count += 1;
      if (count > MAX_ARROWS) continue;
      const ends = { source: source[i], destination: destination[i] };
      messages.push({ ...ends, started: started[i], arrived: arrived[i] });
    }
    const of = part === 1 ? ` of ${whole(count)}` : "";
    const note =
      part === 1 && count <= MAX_ARROWS
        ? "Arrows: all messages in view, while they are on their way."
        : `Arrows: the ${messages.length}${of} messages in view that were waited for longest.`;
    return { messages, note };
  }

  // The parts of the critical path in a window.
  path({ begin, end }) {
    const { time, rank, merged } = this.page.path;
    const drawn = { start: [], end: [], source: [], destination: [] };
    for (let i = 0; i + 1 < time.length && time[i] <= end; i += 1) {
      if (time[i + 1] < begin) continue;
      drawn.start.push(time[i]);
      drawn.end.push(time[i + 1]);
      drawn.source.push(rank[i]);
      drawn.destination.push(rank[i + 1]);
    }
    const detail = merged ? ` Its turns within ${duration(merged)} are not drawn.` : "";
    return { drawn, note: `Red line: the critical path.${detail}` };
  }
}

// Adds the states of a column of a lane, scaled to leave no gaps if they add up to almost 1.
function addCells(tile, lane, x, parts) {
  const sum = parts.reduce((total, part) => total + part, 0);
  const scale = 255 / (sum > 0.98 ? sum : 1); // shares are rounded
  let [reached, used] = [0, 0];
  parts.forEach((part, state) => {
    reached += part * scale;
    const share = Math.round(reached) - used;
    if (share <= 0) return;
    used += share;
    const i = tile.cells;
    [tile.column[i], tile.lane[i], tile.key[i], tile.share[i]] = [x, lane, state, share];
    tile.cells += 1;
  });
}
