// The communication matrix and the load of links: cells, the darker the more.

import { drawTimes, themed } from "./canvas.js";
import { prepared, tip } from "./data.js";
import { bytes, percent, time as duration, whole } from "./format.js";

const DARK = [1, 40, 90];
const LIGHT = [226, 238, 244];

function shade(part) {
  const mixed = LIGHT.map((light, i) => Math.round(light + (DARK[i] - light) * Math.min(part, 1)));
  return `rgb(${mixed.join(",")})`;
}

function ramp(element, low, high) {
  element.textContent = "";
  const strip = document.createElement("i");
  strip.style.background = `linear-gradient(90deg, ${shade(0)}, ${shade(1)})`;
  element.append(low, strip, high);
}

export class Matrix {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.lanes = page.matrix.lanes;
    this.values = { bytes: page.matrix.bytes, messages: page.matrix.messages };
    this.what = "bytes";
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => tip.hide());
  }

  text(value) {
    return this.what === "bytes" ? bytes(value) : `${whole(value)} messages`;
  }

  draw() {
    const count = this.lanes.count;
    const values = this.values[this.what];
    this.cell = Math.max(4, Math.min(40, Math.floor(560 / count)));
    this.left = 90;
    this.top = 36;
    const screen = prepared(this.canvas, count * this.cell + this.top + 8);
    if (screen.width === 0) return;
    const { context } = screen;
    let [least, most] = [Infinity, 0];
    for (const value of values) {
      if (value > 0) [least, most] = [Math.min(least, value), Math.max(most, value)];
    }
    const range = Math.log(most / least) || 1;
    for (let i = 0; i < values.length; i += 1) {
      if (!(values[i] > 0)) continue;
      context.fillStyle = shade(most === least ? 0.7 : 0.1 + 0.9 * (Math.log(values[i] / least) / range));
      const row = Math.floor(i / count);
      const size = this.cell - (this.cell > 10 ? 1 : 0);
      context.fillRect(this.left + (i % count) * this.cell, this.top + row * this.cell, size, size);
    }
    this.drawLabels(context, count);
    const element = document.getElementById("matrix-ramp");
    if (most > 0) ramp(element, `${this.text(least)} `, ` ${this.text(most)} (logarithmic; no colour: none)`);
    else element.textContent = "nothing";
  }

  drawLabels(context, count) {
    context.strokeStyle = themed("--line");
    context.strokeRect(this.left - 0.5, this.top - 0.5, count * this.cell + 1, count * this.cell + 1);
    context.fillStyle = themed("--faint");
    context.textBaseline = "middle";
    const every = Math.ceil(16 / this.cell);
    const along = Math.ceil((Math.max(...this.lanes.labels.map((l) => l.length)) * 8 + 6) / this.cell);
    for (let i = 0; i < count; i += 1) {
      context.textAlign = "right";
      const middle = (i + 0.5) * this.cell;
      if (i % every === 0) context.fillText(this.lanes.labels[i], this.left - 6, this.top + middle);
      context.textAlign = "center";
      if (i % along === 0) context.fillText(this.lanes.labels[i], this.left + middle, this.top - 9);
    }
    context.textAlign = "left";
    context.fillText("to", this.left, 8);
    context.fillText("from", 4, this.top + 8);
  }

  point(event) {
    const column = Math.floor((event.offsetX - this.left) / this.cell);
    const row = Math.floor((event.offsetY - this.top) / this.cell);
    const count = this.lanes.count;
    if (column < 0 || row < 0 || column >= count || row >= count) {
      tip.hide();
      return;
    }
    const i = row * count + column;
    const ends = `${this.lanes.labels[row]} to ${this.lanes.labels[column]}`;
    const sent = `${bytes(this.values.bytes[i])}, ${whole(this.values.messages[i])} messages`;
    tip.show(event, `${this.lanes.size > 1 ? "ranks" : "rank"} ${ends}\n${sent}`);
  }
}

export class LinkChart {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.page = page;
    Object.assign(this, page.links);
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => tip.hide());
  }

  draw() {
    this.row = 17;
    const screen = prepared(this.canvas, this.names.length * this.row + 30);
    if (screen.width === 0) return;
    const { context, width } = screen;
    this.left = Math.min(12 + Math.max(40, ...this.names.map((n) => context.measureText(n).width)), width / 3);
    this.plot = width - this.left - 8;
    this.names.forEach((name, link) => this.drawLink(context, name, link));
    const bottom = this.names.length * this.row;
    drawTimes(context, { begin: 0, end: this.page.end, left: this.left, width: this.plot, top: bottom + 2 });
    ramp(document.getElementById("links-ramp"), "0% ", ` ${percent(this.most)} `);
  }

  drawLink(context, name, link) {
    const top = link * this.row;
    for (let bin = 0; bin < this.bins; bin += 1) {
      const use = this.use[link * this.bins + bin];
      if (!(use > 0)) continue;
      const from = Math.min((bin * this.width) / this.page.end, 1);
      const to = Math.min(((bin + 1) * this.width) / this.page.end, 1);
      context.fillStyle = shade(use / this.most);
      context.fillRect(this.left + from * this.plot, top + 1, (to - from) * this.plot + 0.5, this.row - 2);
    }
    context.fillStyle = themed("--faint");
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillText(name, this.left - 7, top + this.row / 2, this.left - 8);
  }

  point(event) {
    const link = Math.floor(event.offsetY / this.row);
    const time = ((event.offsetX - this.left) / this.plot) * this.page.end;
    const bin = Math.floor(time / this.width);
    if (link < 0 || link >= this.names.length || time < 0 || time > this.page.end) {
      tip.hide();
      return;
    }
    const use = bin < this.bins ? this.use[link * this.bins + bin] : 0;
    tip.show(event, `${this.names[link]}\nat ${duration(time)}: ${percent(use)}`);
  }
}
