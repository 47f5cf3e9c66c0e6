// Where the Gantt chart has its colours from: all states, or the shares of each in bins of time.
// Both add, for a lane, the part of each pixel that each state takes.

import { percent, time as duration } from "./format.js";

function spread(sums, columns, kinds, from, to, state, weight) {
  const first = Math.max(Math.floor(from), 0);
  const last = Math.min(Math.ceil(to), columns);
  for (let x = first; x < last; x += 1) {
    const part = Math.min(to, x + 1) - Math.max(from, x);
    if (part > 0) sums[x * kinds + state] += part * weight;
  }
}

// Every state of every rank: those of a rank follow one another without a gap.
class AllStates {
  constructor(data, lanes) {
    Object.assign(this, data);
    this.lanes = lanes;
  }

  finest() { return 0; }

  step() { return 0; }

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

  add(lane, view, columns, kinds, sums) {
    const scale = columns / (view.end - view.begin);
    for (let i = this.find(lane, view.begin); i < this.first[lane + 1]; i += 1) {
      const from = this.begin(lane, i);
      if (from >= view.end) break;
      const left = (from - view.begin) * scale;
      spread(sums, columns, kinds, left, (this.end[i] - view.begin) * scale, this.state[i], 1);
    }
  }

  describe(lane, time, page) {
    const i = this.find(lane, time);
    if (i >= this.first[lane + 1]) return `rank ${lane} has ended`;
    const from = this.begin(lane, i);
    const cause = this.cause[i] >= 0 ? `\nwaits for rank ${this.cause[i]}` : "";
    const kind = page.kinds[this.kind[i]];
    return `rank ${lane}: ${page.states[this.state[i]].name}, in ${kind}${cause}\n` +
      `${duration(from, 7)} to ${duration(this.end[i], 7)}: ${duration(this.end[i] - from)}`;
  }
}

// Shares of each state, 0 to 255, by state, lane and bin.
class Shares {
  constructor(data, lanes, end) {
    Object.assign(this, data);
    this.lanes = lanes;
    this.width = end / data.bins;
  }

  // The length of a part in which there is no more to see than in a longer one around a time.
  finest() { return 8 * this.width; }

  // What columns are means over.
  step() { return this.width; }

  at(state, lane, bin) {
    return this.share[(state * this.lanes.count + lane) * this.bins + bin] / 255;
  }

  add(lane, view, columns, kinds, sums) {
    const scale = columns / (view.end - view.begin);
    const last = Math.min(Math.ceil(view.end / this.width), this.bins);
    for (let bin = Math.max(Math.floor(view.begin / this.width), 0); bin < last; bin += 1) {
      const left = (bin * this.width - view.begin) * scale;
      for (let state = 0; state < kinds; state += 1) {
        const weight = this.at(state, lane, bin);
        if (weight > 0) spread(sums, columns, kinds, left, left + this.width * scale, state, weight);
      }
    }
  }

  describe(lane, time, page) {
    const bin = Math.min(Math.floor(time / this.width), this.bins - 1);
    const from = bin * this.width;
    const parts = page.states
      .map((state, number) => [this.at(number, lane, bin), state.name])
      .filter(([share]) => share > 0)
      .sort((a, b) => b[0] - a[0])
      .map(([share, name]) => `${percent(share)} ${name}`);
    const span = `${duration(from, 7)} to ${duration(from + this.width, 7)}`;
    return [`${this.lanes.size > 1 ? "ranks" : "rank"} ${page.lanes.labels[lane]}, ${span}`, ...parts].join("\n");
  }
}

// Shares of the whole run, and every state of a part of it.
class Detailed {
  constructor(shares, part, lanes) {
    Object.assign(this, { shares, begin: part.begin, end: part.end });
    this.states = new AllStates(part.states, lanes);
  }

  of(begin, end) { return begin >= this.begin && end <= this.end ? this.states : this.shares; }

  finest(time) { return this.of(time, time).finest(); }

  step(view) { return this.of(view.begin, view.end).step(); }

  add(lane, view, ...more) { this.of(view.begin, view.end).add(lane, view, ...more); }

  describe(lane, time, page) { return this.of(time, time).describe(lane, time, page); }
}

// What a page has: all states, or shares, and all states of a part of the time.
export function sourceOf(page) {
  const all = page.gantt.mode === "exact" ? new AllStates(page.gantt, page.lanes) : new Shares(page.gantt, page.lanes, page.end);
  return page.detail ? new Detailed(all, page.detail, page.lanes) : all;
}

// The lanes of a window as a tile: shares of each column of each lane.
export function tileOf(source, view, columns, kinds) {
  const lanes = view.last - view.first + 1;
  const room = columns * lanes * kinds;
  const tile = {
    columns, lanes, cells: 0, column: new Uint16Array(room), lane: new Uint16Array(room),
    key: new Uint8Array(room), share: new Uint8Array(room), seen: new Uint8Array(room),
  };
  for (let lane = 0; lane < lanes; lane += 1) {
    const sums = new Float32Array(columns * kinds);
    source.add(view.first + lane, view, columns, kinds, sums);
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
