// The communication matrix and the load of links: cells are darker for higher values.

import { drawTimes, prepared, themed, tip } from "./canvas.js";
import { bytes, time as duration, percent, whole } from "./format.js";

const DARK = [1, 40, 90];
const LIGHT = [226, 238, 244];
const ROW = 17; // pixels per link

export function shade(part) {
  const mixed = LIGHT.map((light, i) => Math.round(light + (DARK[i] - light) * Math.min(part, 1)));
  return `rgb(${mixed.join(",")})`;
}

function showRamp(id, low, high) {
  const strip = document.createElement("i");
  strip.style.background = `linear-gradient(90deg, ${shade(0)}, ${shade(1)})`;
  document.getElementById(id).replaceChildren(low, strip, high);
}

// Shows `tipText(event)` next to the mouse; "" hides them.
function showTips(canvas, tipText) {
  canvas.addEventListener("pointermove", (event) => tip.show(event, tipText(event)));
  canvas.addEventListener("pointerleave", () => tip.hide());
}

export class Matrix {
  constructor(canvas, page) {
    const { lanes, bytes: sent, messages } = page.matrix;
    Object.assign(this, { canvas, lanes, values: { bytes: sent, messages }, unit: "bytes" });
    Object.assign(this, { left: 90, top: 36 });
    this.cell = Math.max(4, Math.min(40, Math.floor(560 / lanes.count)));
    showTips(canvas, (event) => this.tipText(event));
  }

  // `unit`: "bytes" or "messages".
  show(unit) {
    this.unit = unit;
    this.request();
  }

  text(value) {
    return this.unit === "bytes" ? bytes(value) : `${whole(value)} messages`;
  }

  request() {
    const { cell, left, top } = this;
    const { count } = this.lanes;
    const values = this.values[this.unit];
    const { context, width } = prepared(this.canvas, count * cell + top + 8);
    if (width === 0) return; // its tab is hidden
    const sent = values.filter((value) => value > 0);
    const least = sent.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const most = sent.reduce((a, b) => Math.max(a, b), 0);
    const range = Math.log(most / least) || 1;
    const size = cell - (cell > 10 ? 1 : 0);
    values.forEach((value, i) => {
      if (!(value > 0)) return;
      const part = most === least ? 0.7 : 0.1 + 0.9 * (Math.log(value / least) / range);
      context.fillStyle = shade(part);
      context.fillRect(left + (i % count) * cell, top + Math.floor(i / count) * cell, size, size);
    });
    this.drawLabels(context, count);
    const rest = " (logarithmic; no colour: none)";
    if (most > 0) showRamp("matrix-ramp", `${this.text(least)} `, ` ${this.text(most)}${rest}`);
    else document.getElementById("matrix-ramp").textContent = "nothing";
  }

  drawLabels(context, count) {
    const { cell, left, top } = this;
    const { labels } = this.lanes;
    context.strokeStyle = themed("--line");
    context.strokeRect(left - 0.5, top - 0.5, count * cell + 1, count * cell + 1);
    context.fillStyle = themed("--faint");
    const every = Math.ceil(16 / cell);
    const along = Math.ceil((Math.max(...labels.map(({ length }) => length)) * 8 + 6) / cell);
    labels.forEach((label, i) => {
      const middle = (i + 0.5) * cell;
      context.textAlign = "right";
      if (i % every === 0) context.fillText(label, left - 6, top + middle);
      context.textAlign = "center";
      if (i % along === 0) context.fillText(label, left + middle, top - 9);
    });
    context.textAlign = "left";
    context.fillText("to", left, 8);
    context.fillText("from", 4, top + 8);
  }

  tipText(event) {
    const { count, labels, size } = this.lanes;
    const column = Math.floor((event.offsetX - this.left) / this.cell);
    const row = Math.floor((event.offsetY - this.top) / this.cell);
    if (column < 0 || row < 0 || column >= count || row >= count) return "";
    const i = row * count + column;
    const who = `${size > 1 ? "ranks" : "rank"} ${labels[row]} to ${labels[column]}`;
    return `${who}\n${bytes(this.values.bytes[i])}, ${whole(this.values.messages[i])} messages`;
  }
}

export class LinkChart {
  constructor(canvas, page) {
    Object.assign(this, { canvas, end: page.end, ...page.links });
    showTips(canvas, (event) => this.tipText(event));
  }

  request() {
    const { context, width } = prepared(this.canvas, this.names.length * ROW + 30);
    if (width === 0) return;
    const lengths = this.names.map((name) => context.measureText(name).width);
    this.left = Math.min(12 + Math.max(40, ...lengths), width / 3);
    this.plot = width - this.left - 8;
    this.names.forEach((name, link) => this.drawLink(context, name, link));
    const { end, left, plot } = this;
    const top = this.names.length * ROW + 2;
    drawTimes(context, { begin: 0, end, left, width: plot, top });
    showRamp("links-ramp", "0% ", ` ${percent(this.most)} `);
  }

  drawLink(context, name, link) {
    const top = link * ROW;
    const x = (bin) => this.left + Math.min((bin * this.width) / this.end, 1) * this.plot;
    for (let bin = 0; bin < this.bins; bin += 1) {
      const use = this.use[link * this.bins + bin];
      if (!(use > 0)) continue;
      context.fillStyle = shade(use / this.most);
      context.fillRect(x(bin), top + 1, x(bin + 1) - x(bin) + 0.5, ROW - 2);
    }
    context.fillStyle = themed("--faint");
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillText(name, this.left - 7, top + ROW / 2, this.left - 8);
  }

  tipText(event) {
    const link = Math.floor(event.offsetY / ROW);
    const time = ((event.offsetX - this.left) / this.plot) * this.end;
    if (link < 0 || link >= this.names.length || time < 0 || time > this.end) return "";
    const bin = Math.floor(time / this.width);
    const use = bin < this.bins ? this.use[link * this.bins + bin] : 0;
    return `${this.names[link]}\nat ${duration(time)}: ${percent(use)}`;
  }
}
