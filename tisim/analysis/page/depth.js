// The call path of one rank over time: functions, the call, and below them the messages inside
// collectives.

import { Asker } from "./ask.js";
import { themed } from "./canvas.js";
import { bytes, time } from "./format.js";

const LEFT = 64;
const ROW = 18; // pixels
const MESSAGE = 6;
// Colours of functions by their names, as light as text on them needs.
const COLOURS = ["#A6CEE3", "#FDBF6F", "#B2DF8A", "#FB9A99", "#CAB2D6", "#FFFF99", "#8DD3C7", "#D9D9D9", "#FCCDE5", "#BC9FCB"];

function colourOf(name) {
  let sum = 7;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) % 65521;
  return COLOURS[sum % COLOURS.length];
}

export class DepthChart {
  // `of`: which run; its view has the window, that of the first run the depth and the selection.
  constructor(canvas, name, slider, view, say, of = "a", main = view) {
    Object.assign(this, { canvas, name, slider, view, of, main, answer: null });
    this.asker = new Asker((answer) => { this.answer = answer; this.draw(); }, say);
    new ResizeObserver(() => this.draw()).observe(canvas);
    canvas.addEventListener("pointermove", (event) => { canvas.title = this.words(event); });
    canvas.addEventListener("pointerdown", (event) => {
      const at = this.time(event);
      if (this.answer && at !== null) view.select({ rank: this.answer.rank, time: at });
    });
  }

  // The rank that is shown: the selected one, of whichever run, or the first of the window.
  rank() {
    const { selected } = this.main;
    return selected ? selected.rank : this.main.rankAt(this.main.first);
  }

  request() {
    const { begin, end } = this.view;
    this.asker.ask("depth", { of: this.of, begin, end, rank: this.rank() });
  }

  // The depths that the slider lets through.
  rows() {
    const { depths } = this.answer;
    return this.main.depth ? depths.slice(0, this.main.depth) : depths;
  }

  time(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT);
    return share < 0 || share > 1 ? null : this.view.begin + share * (this.view.end - this.view.begin);
  }

  words(event) {
    const at = this.time(event);
    if (at === null || !this.answer) return "";
    const down = event.clientY - this.canvas.getBoundingClientRect().top;
    const rows = this.rows();
    const depth = Math.floor(down / ROW);
    if (depth < rows.length) {
      const found = rows[depth].find(([start, end]) => start <= at && at < end);
      return found ? `${found[2]}, ${time(found[1] - found[0])}` : "";
    }
    const row = Math.floor((down - rows.length * ROW - 3) / MESSAGE);
    const one = this.answer.messages.find((message) => message.row === row && message.start <= at && at < message.end);
    return one ? `message ${one.sends ? "to" : "from"} rank ${one.other}, ${bytes(one.bytes)}, ${time(one.end - one.start)}` : "";
  }

  // What the picture shows; `lanes`: rows of messages.
  said(lanes) {
    const { rank, known, sampled } = this.answer;
    const parts = [known || sampled ? "its call path" : "its calls; the trace has no call sites"];
    if (sampled) parts.push("sampled computations divided among their functions as the samples are, in no order of time");
    if (lanes) parts.push("below, the messages inside its collectives");
    const run = this.main === this.view && !this.view.two ? "" : `${this.of.toUpperCase()}, `;
    return `${run}${run ? "rank" : "Rank"} ${rank}: ${parts.join("; ")}`;
  }

  draw() {
    if (!this.answer) return;
    const { depths, messages, rank } = this.answer;
    if (this.of === "a") {
      this.slider.max = Math.max(depths.length, 1);
      this.slider.value = this.view.depth || depths.length;
      this.slider.parentElement.hidden = depths.length < 2;
    }
    const rows = this.rows();
    const lanes = Math.max(-1, ...messages.map((one) => one.row)) + 1;
    const high = rows.length * ROW + (lanes ? lanes * MESSAGE + 6 : 0);
    this.canvas.style.height = `${Math.max(high, ROW)}px`;
    this.name.textContent = this.said(lanes);
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(Math.max(high, ROW) * ratio))];
    if (this.canvas.width !== width) this.canvas.width = width;
    this.canvas.height = height;
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const { begin, end } = this.view;
    const room = box.width - LEFT;
    const x = (at) => LEFT + Math.max(-1, Math.min(((at - begin) / (end - begin)), 1.01)) * room;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, room, high);
    context.clip();
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    rows.forEach((row, depth) => {
      for (const [start, stop, name] of row) {
        const [left, right] = [Math.max(x(start), LEFT), x(stop)];
        context.fillStyle = colourOf(name);
        context.fillRect(left, depth * ROW, Math.max(right - left - 0.5, 0.6), ROW - 1);
        if (right - left < 24) continue;
        context.fillStyle = "#1c1c1c";
        context.save();
        context.beginPath();
        context.rect(left, depth * ROW, right - left - 2, ROW);
        context.clip();
        context.fillText(name, left + 3, depth * ROW + ROW / 2);
        context.restore();
      }
    });
    for (const one of messages) {
      context.fillStyle = themed(one.sends ? "--accent" : "--mark");
      const left = x(one.start);
      context.fillRect(left, rows.length * ROW + 3 + one.row * MESSAGE, Math.max(x(one.end) - left, 1), MESSAGE - 2);
    }
    context.restore();
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = themed("--ink");
    const name = `rank ${rank}`;
    context.fillText(context.measureText(name).width < LEFT - 8 ? name : String(rank), LEFT - 6, ROW / 2);
    this.canvas.dataset.drawn = String(depths.length);
  }
}
