"use strict";
// Where the Gantt chart has its colours from: all states, or the shares of each in bins of time.
// Both add, for a lane, the part of each pixel that each state takes.

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
    this.least = 0;
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
    return place > this.first[rank] ? this.end[place - 1] : 0;
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
      `${timeText(from, 7)} to ${timeText(this.end[i], 7)}: ${timeText(this.end[i] - from)}`;
  }
}

// Shares of each state, 0 to 255, by state, lane and bin.
class Shares {
  constructor(data, lanes, end) {
    Object.assign(this, data);
    this.lanes = lanes;
    this.width = end / data.bins;
    this.least = 8 * this.width; // there is no more to see in less
  }

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
      .map(([share, name]) => `${percentText(share)} ${name}`);
    const span = `${timeText(from, 7)} to ${timeText(from + this.width, 7)}`;
    return [`${this.lanes.size > 1 ? "ranks" : "rank"} ${page.lanes.labels[lane]}, ${span}`, ...parts].join("\n");
  }
}
