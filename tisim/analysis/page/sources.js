// Where the Gantt chart has its colours from: all states, or the shares of each in bins of time.
// Both add, for a row of
// one or several ranks, the part of each pixel that each state takes, as a mean over these ranks.

import { percent, time as duration } from "./format.js";

function spread(sums, columns, kinds, from, to, state, weight) {
  const first = Math.max(Math.floor(from), 0);
  const last = Math.min(Math.ceil(to), columns);
  for (let x = first; x < last; x += 1) {
    const part = Math.min(to, x + 1) - Math.max(from, x);
    if (part > 0) sums[x * kinds + state] += part * weight;
  }
}

const MOST_RANKS = 128; // with a row each
const MOST_ROWS = 64; // of more ranks
// Shares of fewer ranks are taken where a window has so many of their longer bins.
const FEWEST_BINS = 16;
// A window shows every state of a part that is known if the part is so much of it.
const LEAST_COMMON = 0.25;

// Ranks of a row of a window: 1, 2, 5, 10, 20, ...; `most` in a window of all.
export function ranksOfARow({ first, last }, most) {
  const ranks = last - first + 1;
  if (ranks <= MOST_RANKS) return 1;
  let power = 1;
  for (;;) {
    for (const factor of [1, 2, 5]) if (factor * power * MOST_ROWS >= ranks) return Math.min(factor * power, most);
    power *= 10;
  }
}

// The name of a row.
export const nameOf = (first, last) => (first === last ? String(first) : `${first}-${last}`);

// Every state of every rank: those of a rank follow one another without a gap.
class AllStates {
  constructor(data) {
    Object.assign(this, data, { size: 1, step: 0 });
  }

  // The state of a rank at a time, by its place.
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
    return place > this.first[rank] ? this.end[place - 1] : this.from ? this.from[rank] : 0;
  }

  add(low, high, view, columns, kinds, sums, part = view) {
    const scale = columns / (view.end - view.begin);
    const weight = 1 / (high - low + 1);
    for (let rank = low; rank <= high; rank += 1) {
      for (let i = this.find(rank, part.begin); i < this.first[rank + 1]; i += 1) {
        const from = Math.max(this.begin(rank, i), part.begin);
        if (from >= part.end) break;
        const left = (from - view.begin) * scale;
        spread(sums, columns, kinds, left, (Math.min(this.end[i], part.end) - view.begin) * scale, this.state[i], weight);
      }
    }
  }

  describe(low, high, time, page) {
    return low === high ? this.describeOne(low, time, page) : this.describeAll(low, high, time, page);
  }

  describeOne(rank, time, page) {
    const i = this.find(rank, time);
    if (i >= this.first[rank + 1]) return `rank ${rank} has ended`;
    const from = this.begin(rank, i);
    const cause = this.cause[i] >= 0 ? `\nwaits for rank ${this.cause[i]}` : "";
    const kind = page.kinds[this.kind[i]];
    return `rank ${rank}: ${page.states[this.state[i]].name}, in ${kind}${cause}\n` +
      `${duration(from, 7)} to ${duration(this.end[i], 7)}: ${duration(this.end[i] - from)}`;
  }

  // How many of some ranks are in each state.
  describeAll(low, high, time, page) {
    const counts = page.states.map(({ name }) => [0, name]);
    for (let rank = low; rank <= high; rank += 1) {
      const i = this.find(rank, time);
      if (i < this.first[rank + 1]) counts[this.state[i]][0] += 1;
    }
    const parts = counts.filter(([count]) => count > 0).sort((a, b) => b[0] - a[0]);
    return [`ranks ${nameOf(low, high)}, ${duration(time, 7)}`, ...parts.map((one) => one.join(" "))].join("\n");
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

  add(low, high, view, columns, kinds, sums, within = view) {
    const scale = columns / (view.end - view.begin);
    const last = Math.min(Math.ceil(within.end / this.step), this.bins);
    for (let group = Math.floor(low / this.size); group * this.size <= high; group += 1) {
      const inside = Math.min((group + 1) * this.size, high + 1) - Math.max(group * this.size, low);
      const part = inside / (high - low + 1);
      for (let bin = Math.max(Math.floor(within.begin / this.step), 0); bin < last; bin += 1) {
        const left = (Math.max(bin * this.step, within.begin) - view.begin) * scale;
        const right = (Math.min((bin + 1) * this.step, within.end) - view.begin) * scale;
        for (let state = 0; state < kinds; state += 1) {
          const weight = this.at(state, group, bin) * part;
          if (weight > 0) spread(sums, columns, kinds, left, right, state, weight);
        }
      }
    }
  }

  describe(low, high, time, page) {
    const bin = Math.min(Math.floor(time / this.step), this.bins - 1);
    const from = bin * this.step;
    const sums = new Float32Array(page.states.length);
    this.add(low, high, { begin: from, end: from + this.step }, 1, sums.length, sums);
    const parts = page.states
      .map(({ name }, number) => [sums[number], name])
      .filter(([share]) => share > 0)
      .sort((a, b) => b[0] - a[0])
      .map(([share, name]) => `${percent(share)} ${name}`);
    const span = `${duration(from, 7)} to ${duration(from + this.step, 7)}`;
    const first = Math.floor(low / this.size) * this.size;
    const last = Math.min(Math.max(high, Math.floor(high / this.size) * this.size + this.size - 1), page.ranks - 1);
    return [`${first === last ? "rank" : "ranks"} ${nameOf(first, last)}, ${span}`, ...parts].join("\n");
  }
}

// Every state in a part of the time, shares before and after it.
class Mixed {
  constructor(states, part, shares) {
    Object.assign(this, { states, part, shares, size: shares.size, step: shares.step });
  }

  add(low, high, view, columns, kinds, sums) {
    const begin = Math.max(view.begin, this.part.begin);
    const end = Math.min(view.end, this.part.end);
    const add = (source, part) => source.add(low, high, view, columns, kinds, sums, part);
    if (view.begin < begin) add(this.shares, { begin: view.begin, end: begin });
    add(this.states, { begin, end });
    if (end < view.end) add(this.shares, { begin: end, end: view.end });
  }

  describe(low, high, time, page) {
    const inside = time >= this.part.begin && time <= this.part.end;
    return (inside ? this.states : this.shares).describe(low, high, time, page);
  }
}

// What a page has: all states; or shares of the whole run, of long groups of ranks and of shorter
// ones in longer bins, and every state of a part of the time.
class Source {
  constructor(page) {
    this.states = page.gantt.mode === "exact" ? new AllStates(page.gantt) : null;
    this.shares = this.states ? [] : page.gantt.levels.map((level) => new Shares(level, page.end));
    this.part = page.detail;
    this.detail = page.detail ? new AllStates(page.detail.states) : null;
  }

  has(begin, end) { return this.part && begin >= this.part.begin && end <= this.part.end; }

  // What is known best of a window with rows of so many ranks.
  of({ begin, end }, size) {
    if (this.states) return this.states;
    if (this.has(begin, end)) return this.detail;
    const [groups, ...finer] = this.shares;
    const fits = (one) => size < groups.size && end - begin >= FEWEST_BINS * one.step;
    const shares = finer.find(fits) || groups;
    const common = this.part ? Math.min(end, this.part.end) - Math.max(begin, this.part.begin) : 0;
    return common > LEAST_COMMON * (end - begin) ? new Mixed(this.detail, this.part, shares) : shares;
  }

  // The length of a part in which there is no more to see than in a longer one around a time.
  finest(time) { return this.states || this.has(time, time) ? 0 : 8 * this.shares[0].step; }
}

export const sourceOf = (page) => new Source(page);

// The rows of a window as a tile: shares of each column of each row of `size` ranks.
export function tileOf(source, view, columns, kinds, size) {
  const lanes = Math.ceil((view.last - view.first + 1) / size);
  const room = columns * lanes * kinds;
  const tile = {
    columns, lanes, cells: 0, column: new Uint16Array(room), lane: new Uint16Array(room),
    key: new Uint8Array(room), share: new Uint8Array(room), seen: new Uint8Array(room),
  };
  const known = source.of(view, size);
  for (let lane = 0; lane < lanes; lane += 1) {
    const sums = new Float32Array(columns * kinds);
    const first = view.first + lane * size;
    known.add(first, Math.min(first + size - 1, view.last), view, columns, kinds, sums);
    for (let x = 0; x < columns; x += 1) addCells(tile, lane, x, sums.subarray(x * kinds, (x + 1) * kinds));
  }
  return tile;
}

// The states of a column of a lane, without gaps where they add up to about everything.
function addCells(tile, lane, x, parts) {
  const whole = parts.reduce((sum, part) => sum + part, 0);
  const scale = 255 / (whole > 0.98 ? whole : 1); // shares are rounded
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
