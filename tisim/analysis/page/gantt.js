// The Gantt chart: rows of ranks, messages and the critical path over them; zoom in time and ranks.
// A row is one rank, or several where more are shown.

import { drawArrow, drawPathLine, drawTimes, pixel, themed } from "./canvas.js";
import { prepared, tip } from "./data.js";
import { instant, percent, time as duration, whole } from "./format.js";
import { listenToMouse, windowKeys } from "./gestures.js";
import { nameOf, ranksOfARow, sourceOf, tileOf } from "./sources.js";
import { paint } from "./tile.js";
import { fitted, moved, zoomedInRows, zoomedInTime } from "./window.js";

const MOST_ARROWS = 100;
const MOST_LABELS = 3;
const KEPT = 100; // windows that can be gone back to

export class Gantt {
  constructor(canvas, page) {
    Object.assign(this, { canvas, page, lanes: page.lanes, source: sourceOf(page), past: [], box: null });
    const [begin, end] = page.typical;
    this.view = { begin, end, first: 0, last: page.ranks - 1 };
    this.plotHeight = this.lanes.count * Math.max(8, Math.min(110, Math.floor(620 / this.lanes.count)));
    this.left = 74;
    this.top = 6;
    this.shown = { messages: page.messages.count <= MOST_ARROWS, path: false };
    this.listen();
  }

  // Ranks of a row.
  get size() { return ranksOfARow(this.view, this.lanes.size); }

  get rows() { return Math.ceil((this.view.last - this.view.first + 1) / this.size); }

  get rowHeight() { return this.plotHeight / this.rows; }

  // First and last rank of a row.
  ranksOf(row) {
    const first = this.view.first + row * this.size;
    return [first, Math.min(first + this.size - 1, this.view.last)];
  }

  get plotWidth() { return Math.max(this.canvas.clientWidth - this.left - 8, 10); }

  xOf(time) {
    return this.left + ((time - this.view.begin) / (this.view.end - this.view.begin)) * this.plotWidth;
  }

  yOf(rank) {
    return this.top + ((rank + 0.5 - this.view.first) / this.size) * this.rowHeight;
  }

  // The point under the mouse; positions are ranks.
  at(event) {
    const { begin, end, first, last } = this.view;
    const share = (event.offsetX - this.left) / this.plotWidth;
    const exactPosition = first + ((event.offsetY - this.top) / this.rowHeight) * this.size;
    const position = Math.max(first, Math.min(Math.floor(exactPosition), last));
    const inside = share >= 0 && share <= 1 && exactPosition >= first && exactPosition < last + 1;
    return { time: begin + share * (end - begin), position, exactPosition, inside };
  }

  // Show this part of the time and of the ranks, as far as there is anything; `remember`: "back"
  // leads to the one before.
  show(wanted, remember = true) {
    const next = { ...this.view, ...wanted };
    const least = Math.max(this.source.finest((next.begin + next.end) / 2), this.page.end * 1e-9);
    const now = fitted(next, { end: this.page.end, rows: this.page.ranks, least });
    if (remember && Object.keys(now).some((name) => now[name] !== this.view[name])) this.remember(this.view);
    this.view = now;
    this.draw();
  }

  remember(view) {
    this.past.push(view);
    if (this.past.length > KEPT) this.past.shift();
  }

  back() {
    if (!this.past.length) return;
    this.view = this.past.pop();
    this.draw();
  }

  zoomTime(factor, around = undefined, remember = true) { this.show(zoomedInTime(this.view, factor, around), remember); }

  zoomRanks(factor, around = undefined, remember = true) { this.show(zoomedInRows(this.view, factor, around), remember); }

  move(share, shareOfRanks = 0) { this.show(moved(this.view, share, shareOfRanks)); }

  all() { this.show({ begin: 0, end: this.page.end, first: 0, last: this.page.ranks - 1 }); }

  typical() {
    const [begin, end] = this.page.typical;
    this.show({ begin, end, first: 0, last: this.page.ranks - 1 });
  }

  // Show a part of the time of a rank, with a few ranks beside it.
  lookAt(begin, end, rank) {
    const beside = Math.max(4, Math.min(8, this.page.ranks >> 2));
    const around = end - begin;
    this.show({ begin: begin - around, end: end + around, first: rank - beside, last: rank + beside });
  }

  draw() {
    const height = this.top + this.plotHeight + 34;
    const screen = prepared(this.canvas, height);
    if (screen.width === 0) return; // its tab is not shown
    this.paintRows(screen);
    this.drawAxes(screen);
    const notes = [];
    screen.context.save();
    screen.context.beginPath();
    screen.context.rect(this.left, this.top, this.plotWidth, this.plotHeight);
    screen.context.clip();
    if (this.shown.messages) notes.push(this.drawMessages(screen.context));
    if (this.shown.path) notes.push(this.drawPath(screen.context));
    this.drawOutliers(screen.context);
    if (this.box) this.drawFrame(screen.context);
    screen.context.restore();
    this.tell(notes);
  }

  // Of the window that is being selected.
  drawFrame(context) {
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    context.strokeRect(...this.box);
  }

  tell(notes) {
    const { begin, end, first, last } = this.view;
    Object.assign(this.canvas.dataset, { begin, end, first, last });
    this.canvas.dispatchEvent(new CustomEvent("looked", { detail: this.view }));
    const step = (end - begin) / 1000;
    document.getElementById("range").textContent =
      `${instant(begin, step, end)} to ${instant(end, step)} (${duration(end - begin)}, ${percent((end - begin) / this.page.end)})${this.rankText()}`;
    const perPixel = (end - begin) / this.plotWidth;
    const { step: width, size, part } = this.source.of(this.view, this.size);
    const outside = part ? [begin < part.begin && `before ${instant(part.begin, step)}`, end > part.end && `after ${instant(part.end, step)}`] : [];
    const where = outside.filter(Boolean).map((words, place) => `${place ? " and" : ""} ${words}`).join("");
    if (width > perPixel) notes.push(`Columns are means over ${duration(width)}${where}.`);
    if (size > this.size) notes.push(`Rows are means over ${whole(size)} ranks${where}: tisim view shows every rank at any time.`);
    else if (this.size > 1) notes.push(`A row is ${whole(this.size)} ranks.`);
    document.getElementById("gantt-note").textContent = notes.join(" ");
  }

  rankText() {
    const { first, last } = this.view;
    return last - first + 1 === this.page.ranks ? "" : `, ranks ${first} to ${last}`;
  }

  paintRows({ context, ratio }) {
    const columns = Math.round(this.plotWidth * ratio);
    const colours = this.page.states.map(({ colour }) => pixel(colour));
    const tile = tileOf(this.source, this.view, columns, colours.length, this.size);
    const image = paint(tile, Math.round(this.plotHeight * ratio), colours, pixel(themed("--empty")));
    context.putImageData(image, Math.round(this.left * ratio), Math.round(this.top * ratio));
  }

  drawAxes({ context }) {
    const { begin, end } = this.view;
    const bottom = this.top + this.plotHeight;
    context.fillStyle = themed("--faint");
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(15 / this.rowHeight));
    for (let row = 0; row < this.rows; row += every) {
      context.fillText(nameOf(...this.ranksOf(row)), this.left - 7, this.top + (row + 0.5) * this.rowHeight);
    }
    drawTimes(context, { begin, end, left: this.left, width: this.plotWidth, top: bottom + 1 });
  }

  // Those that were waited for longest come first.
  drawMessages(context) {
    const { started, arrived, source, destination, part } = this.page.messages;
    const { begin, end, first, last } = this.view;
    const inside = (rank) => rank >= first && rank <= last;
    let seen = 0;
    context.strokeStyle = context.fillStyle = themed("--ink");
    context.lineWidth = 0.8;
    for (let i = 0; i < started.length; i += 1) {
      if (started[i] > end || arrived[i] < begin || !(inside(source[i]) || inside(destination[i]))) continue;
      seen += 1;
      if (seen > MOST_ARROWS) continue;
      const tail = [this.xOf(started[i]), this.yOf(source[i])];
      drawArrow(context, tail, [this.xOf(arrived[i]), this.yOf(destination[i])]);
    }
    if (part === 1 && seen <= MOST_ARROWS) return "Arrows: all messages in view, while they are on their way.";
    const of = part === 1 ? ` of ${whole(seen)}` : "";
    return `Arrows: the ${Math.min(seen, MOST_ARROWS)}${of} messages in view that were waited for longest.`;
  }

  // Computations that took far longer than others like them.
  drawOutliers(context) {
    const { begin, end, first, last } = this.view;
    const { rowHeight } = this;
    const labels = this.page.outliers.filter((one) => one.begin < end && one.end > begin && one.rank >= first && one.rank <= last);
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const one of labels.slice(0, MOST_LABELS)) {
      const row = Math.floor((one.rank - first) / this.size);
      const [x, right, y] = [this.xOf(one.begin), this.xOf(one.end), this.top + (row + 0.5) * rowHeight];
      const width = context.measureText(one.text).width + 12;
      const above = y - rowHeight / 2 > this.top + 22;
      const place = y + (above ? -1 : 1) * (rowHeight / 2 + 8);
      const left = Math.max(this.left, Math.min((x + right) / 2 - width / 2, this.left + this.plotWidth - width));
      context.strokeStyle = themed("--mark");
      context.lineWidth = 2;
      context.strokeRect(x, y - rowHeight / 2 + 1, Math.max(right - x, 2), Math.max(rowHeight - 2, 2));
      context.fillStyle = themed("--ground");
      context.fillRect(left, place - 10, width, 20);
      context.lineWidth = 1;
      context.strokeRect(left, place - 10, width, 20);
      context.fillStyle = themed("--ink");
      context.fillText(one.text, left + 6, place);
    }
  }

  drawPath(context) {
    const { time, rank, merged } = this.page.path;
    const lines = [];
    for (let i = 0; i + 1 < time.length && time[i] <= this.view.end; i += 1) {
      if (time[i + 1] >= this.view.begin) lines.push([this.xOf(time[i]), this.yOf(rank[i]), this.xOf(time[i + 1]), this.yOf(rank[i + 1])]);
    }
    drawPathLine(context, lines, this.plotWidth);
    const detail = merged ? ` Its turns within ${duration(merged)} are not drawn.` : "";
    return `Red line: the critical path.${detail}`;
  }

  listen() {
    const { canvas } = this;
    listenToMouse(canvas, {
      at: (event) => this.at(event),
      room: () => ({ width: this.plotWidth, height: this.plotHeight }),
      window: () => this.view,
      show: (view, remember) => {
        tip.hide();
        this.show(view, remember);
      },
      zoomTime: (...how) => this.zoomTime(...how),
      zoomRanks: (...how) => this.zoomRanks(...how),
      pointed: (event, point) => this.point(event, point),
      clicked: () => {},
      frame: (box) => {
        this.box = box;
        this.draw();
      },
      remember: (view) => this.remember(view),
    });
    canvas.addEventListener("dblclick", (event) => this.zoomTime(1 / 3, this.at(event).time));
    canvas.addEventListener("pointerleave", () => tip.hide());
    const keys = {
      ...windowKeys(this), "*": () => this.zoomRanks(0.5), "/": () => this.zoomRanks(2), t: () => this.typical(), Backspace: () => this.back(),
    };
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  point(event, { inside, position, time }) {
    if (!inside || time > this.page.end) {
      tip.hide();
      return;
    }
    const ranks = this.ranksOf(Math.floor((position - this.view.first) / this.size));
    tip.show(event, this.source.of(this.view, this.size).describe(...ranks, time, this.page));
  }
}
