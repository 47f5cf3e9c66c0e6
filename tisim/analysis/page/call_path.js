// The call path of one rank over time: functions, the call, and below them the messages within
// collectives.

import { prepared, textColourOn, themed } from "./canvas.js";
import { bytes, time } from "./format.js";
import { LEFT } from "./gantt.js";
import { LatestQuery } from "./server.js";

const ROW = 18; // pixels
const MESSAGE = 6;
// Colours of functions, chosen by name; light enough for text on them.
const COLOURS = [
  ["#A6CEE3", "#FDBF6F", "#B2DF8A", "#FB9A99", "#CAB2D6"],
  ["#FFFF99", "#8DD3C7", "#D9D9D9", "#FCCDE5", "#BC9FCB"],
].flat();

export function colourOf(name) {
  let sum = 7;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) % 65521;
  return COLOURS[sum % COLOURS.length];
}

export class CallPathChart {
  // `of`: the run; its view gives the window, that of the first run the depth and the selection.
  constructor(canvas, name, slider, view, say, of = "a", main = view) {
    Object.assign(this, { canvas, name, slider, view, of, main, answer: null });
    this.query = new LatestQuery((answer) => {
      this.answer = answer;
      this.draw();
    }, say);
    new ResizeObserver(() => this.draw()).observe(canvas);
    canvas.addEventListener("pointermove", (event) => {
      canvas.title = this.tipText(event);
    });
    canvas.addEventListener("pointerdown", (event) => {
      const at = this.time(event);
      if (this.answer && at !== null) view.select({ rank: this.answer.rank, time: at });
    });
  }

  // The displayed rank: the selected one, of either run, or the first of the window.
  rank() {
    const { selected } = this.main;
    return selected ? selected.rank : this.main.rankAt(this.main.first);
  }

  request() {
    const { begin, end } = this.view;
    this.query.ask("depth", { of: this.of, begin, end, rank: this.rank() });
  }

  // The depths within the slider's limit.
  rows() {
    const { depths } = this.answer;
    return this.main.depth ? depths.slice(0, this.main.depth) : depths;
  }

  time(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT);
    const { begin, end } = this.view;
    return share < 0 || share > 1 ? null : begin + share * (end - begin);
  }

  // Text for the function or message under the mouse.
  tipText(event) {
    const at = this.time(event);
    if (at === null || !this.answer) return "";
    const down = event.clientY - this.canvas.getBoundingClientRect().top;
    const rows = this.rows();
    const depth = Math.floor(down / ROW);
    if (depth < rows.length) {
      const span = rows[depth].find(([start, end]) => start <= at && at < end);
      return span ? `${span[2]}, ${time(span[1] - span[0])}` : "";
    }
    const row = Math.floor((down - rows.length * ROW - 3) / MESSAGE);
    const message = this.answer.messages.find(
      (one) => one.row === row && one.start <= at && at < one.end,
    );
    if (!message) return "";
    const { sends, other, start, end } = message;
    const ends = `message ${sends ? "to" : "from"} rank ${other}`;
    return `${ends}, ${bytes(message.bytes)}, ${time(end - start)}`;
  }

  // The title of the chart; `lanes`: number of message rows.
  title(lanes) {
    const { rank, known, sampled } = this.answer;
    const isKnown = known || sampled;
    const parts = [isKnown ? "its call path" : "its calls; the trace has no call sites"];
    if (sampled) {
      parts.push(
        "sampled computations divided among their functions as the samples are, in no order of " +
          "time",
      );
    }
    if (lanes) parts.push("below, the messages inside its collectives");
    const isOneRun = this.main === this.view && !this.view.two;
    const who = isOneRun ? "Rank" : `${this.of.toUpperCase()}, rank`;
    return `${who} ${rank}: ${parts.join("; ")}`;
  }

  draw() {
    if (!this.answer) return;
    const { depths, messages, rank } = this.answer;
    if (this.slider) {
      this.slider.max = Math.max(depths.length, 1);
      this.slider.value = this.view.depth || depths.length;
      this.slider.parentElement.hidden = depths.length < 2;
    }
    const rows = this.rows();
    const lanes = Math.max(-1, ...messages.map((message) => message.row)) + 1;
    const height = Math.max(rows.length * ROW + (lanes ? lanes * MESSAGE + 6 : 0), ROW);
    this.name.textContent = this.title(lanes);
    const { context, width } = prepared(this.canvas, height);
    const { begin, end } = this.view;
    const share = (at) => Math.max(-1, Math.min((at - begin) / (end - begin), 1.01));
    const x = (at) => LEFT + share(at) * (width - LEFT);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT, height);
    context.clip();
    rows.forEach((row, depth) => {
      for (const [start, stop, name] of row) {
        drawSpan(context, Math.max(x(start), LEFT), x(stop), depth * ROW, name);
      }
    });
    for (const { sends, start, end: stop, row } of messages) {
      context.fillStyle = themed(sends ? "--accent" : "--mark");
      const top = rows.length * ROW + 3 + row * MESSAGE;
      context.fillRect(x(start), top, Math.max(x(stop) - x(start), 1), MESSAGE - 2);
    }
    context.restore();
    context.textAlign = "right";
    context.fillStyle = themed("--ink");
    const name = `rank ${rank}`;
    const fits = context.measureText(name).width < LEFT - 8;
    context.fillText(fits ? name : String(rank), LEFT - 6, ROW / 2);
    this.canvas.dataset.drawn = String(depths.length);
  }
}

// Draws a function or call, with its name if there is room.
export function drawSpan(context, left, right, top, name, colour = colourOf(name)) {
  context.fillStyle = colour;
  context.fillRect(left, top, Math.max(right - left - 0.5, 0.6), ROW - 1);
  if (right - left < 24) return;
  context.fillStyle = textColourOn(colour);
  context.save();
  context.beginPath();
  context.rect(left, top, right - left - 2, ROW);
  context.clip();
  context.fillText(name, left + 3, top + ROW / 2);
  context.restore();
}
