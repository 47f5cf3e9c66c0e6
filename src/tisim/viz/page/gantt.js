"use strict";
// The Gantt chart: lanes of ranks, messages and the critical path over them; zoom in time and ranks.

const MOST_ARROWS = 100;
const MOST_LABELS = 3;

class Gantt {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.page = page;
    this.lanes = page.lanes;
    const [begin, end] = page.typical;
    this.view = { begin, end, first: 0, last: page.lanes.count }; // lanes, without last
    const exact = page.gantt.mode === "exact";
    this.source = exact
      ? new AllStates(page.gantt, page.lanes)
      : new Shares(page.gantt, page.lanes, page.end);
    if (page.detail) this.source = new Detailed(this.source, page.detail, page.lanes);
    this.plotHeight = this.lanes.count * Math.max(8, Math.min(110, Math.floor(620 / this.lanes.count)));
    this.left = 74;
    this.top = 6;
    this.show = { messages: page.messages.count <= MOST_ARROWS, path: false };
    this.listen();
  }

  get laneHeight() { return this.plotHeight / (this.view.last - this.view.first); }

  get plotWidth() {
    return Math.max(this.canvas.clientWidth - this.left - 8, 10);
  }

  timeAt(x) {
    return this.view.begin + ((x - this.left) / this.plotWidth) * (this.view.end - this.view.begin);
  }

  xOf(time) {
    return this.left + ((time - this.view.begin) / (this.view.end - this.view.begin)) * this.plotWidth;
  }

  yOf(rank) {
    return this.top + ((rank + 0.5) / this.lanes.size - this.view.first) * this.laneHeight;
  }

  // Show this part of the time and of the lanes, as far as there is anything.
  look(begin, end, first = this.view.first, last = this.view.last) {
    const whole = this.page.end;
    const least = Math.max(this.source.finest((begin + end) / 2), whole * 1e-9);
    const length = Math.min(Math.max(end - begin, least), whole);
    const from = Math.min(Math.max(begin + (end - begin - length) / 2, 0), whole - length);
    const lanes = Math.max(1, Math.min(Math.round(last - first), this.lanes.count));
    const low = Math.max(0, Math.min(Math.round(first), this.lanes.count - lanes));
    this.view = { begin: from, end: from + length, first: low, last: low + lanes };
    this.draw();
  }

  // Show a part of the time and the lanes of some ranks, with a few beside them.
  lookAt(begin, end, rank) {
    const lane = Math.floor(rank / this.lanes.size);
    const beside = Math.max(4, Math.min(8, this.lanes.count >> 2));
    this.look(begin - (end - begin), end + (end - begin), lane - beside, lane + beside + 1);
  }

  zoomLanes(factor, around = (this.view.first + this.view.last) / 2) {
    const { begin, end, first, last } = this.view;
    const count = factor > 1 ? Math.floor((last - first) / factor) : Math.ceil((last - first) / factor);
    const low = around - ((around - first) * count) / (last - first);
    this.look(begin, end, low, Math.round(low) + Math.max(count, 1));
  }

  zoom(factor, around = (this.view.begin + this.view.end) / 2) {
    this.look(around - (around - this.view.begin) / factor, around + (this.view.end - around) / factor);
  }

  move(part) {
    const by = part * (this.view.end - this.view.begin);
    const room = by < 0 ? -this.view.begin : this.page.end - this.view.end;
    const step = by < 0 ? Math.max(by, room) : Math.min(by, room);
    this.look(this.view.begin + step, this.view.end + step);
  }

  moveLanes(part) {
    const { begin, end, first, last } = this.view;
    const by = Math.sign(part) * Math.ceil(Math.abs(part) * (last - first));
    this.look(begin, end, first + by, last + by);
  }

  draw() {
    const height = this.top + this.plotHeight + 34;
    const screen = prepared(this.canvas, height);
    if (screen.width === 0) return; // its tab is not shown
    this.paintLanes(screen);
    this.drawAxes(screen);
    const notes = [];
    screen.context.save();
    screen.context.beginPath();
    screen.context.rect(this.left, this.top, this.plotWidth, this.plotHeight);
    screen.context.clip();
    if (this.show.messages) notes.push(this.drawMessages(screen.context));
    if (this.show.path) notes.push(this.drawPath(screen.context));
    this.drawOutliers(screen.context);
    screen.context.restore();
    this.tell(notes);
  }

  tell(notes) {
    const { begin, end, first, last } = this.view;
    Object.assign(this.canvas.dataset, { begin, end, first, last });
    this.canvas.dispatchEvent(new CustomEvent("looked", { detail: this.view }));
    const [unit, factor] = unitOf(end);
    const shown = [begin, end].map((t) => Number((t * factor).toPrecision(7)));
    document.getElementById("range").textContent =
      `${shown[0]} to ${shown[1]} ${unit} (${timeText(end - begin)}, ${percentText((end - begin) / this.page.end)})${this.laneText()}`;
    const perPixel = (end - begin) / this.plotWidth;
    const width = this.source.step(this.view);
    if (width > perPixel) notes.push(`Columns are means over ${timeText(width)}.`);
    document.getElementById("gantt-note").textContent = notes.join(" ");
  }

  laneText() {
    const { first, last } = this.view;
    if (last - first === this.lanes.count) return "";
    const [low] = this.lanes.labels[first].split("-");
    return `, ranks ${low} to ${this.lanes.labels[last - 1].split("-").pop()}`;
  }

  paintLanes({ context, ratio }) {
    const columns = Math.round(this.plotWidth * ratio);
    const rows = Math.max(1, Math.round(this.laneHeight * 0.86 * ratio));
    const kinds = this.page.states.length;
    const colours = this.page.states.map(({ colour }) => pixelOf(colour));
    for (let { first: lane } = this.view; lane < this.view.last; lane += 1) {
      const sums = new Float32Array(columns * kinds);
      this.source.add(lane, this.view, columns, kinds, sums);
      const image = context.createImageData(columns, rows);
      const pixels = new Uint32Array(image.data.buffer);
      for (let x = 0; x < columns; x += 1) this.stack(sums, x, kinds, colours, pixels, columns, rows);
      const top = this.top + (lane - this.view.first + 0.07) * this.laneHeight;
      context.putImageData(image, Math.round(this.left * ratio), Math.round(top * ratio));
    }
  }

  // One column of a lane: states upon one another, the rest is the ground.
  stack(sums, x, kinds, colours, pixels, columns, rows) {
    let whole = 0;
    for (let state = 0; state < kinds; state += 1) whole += sums[x * kinds + state];
    const scale = rows / (whole > 0.98 ? whole : 1); // shares are rounded
    let reached = 0;
    let row = rows;
    for (let state = 0; state < kinds; state += 1) {
      reached += sums[x * kinds + state] * scale;
      for (const to = rows - Math.round(reached); row > to; ) {
        row -= 1;
        pixels[row * columns + x] = colours[state];
      }
    }
    const ground = pixelOf(themed("--ground"));
    while (row > 0) {
      row -= 1;
      pixels[row * columns + x] = ground;
    }
  }

  drawAxes({ context, height }) {
    const { begin, end } = this.view;
    const [unit, factor] = unitOf(end);
    const bottom = this.top + this.plotHeight;
    context.fillStyle = themed("--faint");
    context.strokeStyle = themed("--line");
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(15 / this.laneHeight));
    for (let { first: lane } = this.view; lane < this.view.last; lane += every) {
      const y = this.top + (lane - this.view.first + 0.5) * this.laneHeight;
      context.fillText(this.lanes.labels[lane], this.left - 7, y);
    }
    context.textBaseline = "top";
    context.beginPath();
    for (const time of ticks(begin * factor, end * factor, this.plotWidth / 110)) {
      const x = this.xOf(time / factor);
      context.moveTo(x, bottom);
      context.lineTo(x, bottom + 5);
      context.textAlign = x > this.left + this.plotWidth - 30 ? "right" : "center";
      context.fillText(`${Number(time.toPrecision(8))} ${unit}`, x, bottom + 8);
    }
    context.moveTo(this.left, bottom);
    context.lineTo(this.left + this.plotWidth, bottom);
    context.stroke();
  }

  // Those that were waited for longest come first.
  drawMessages(context) {
    const { started, arrived, source, destination, part } = this.page.messages;
    const { begin, end, first, last } = this.view;
    const [low, high] = [first * this.lanes.size, last * this.lanes.size];
    const inside = (rank) => rank >= low && rank < high;
    let seen = 0;
    context.strokeStyle = context.fillStyle = themed("--ink");
    context.lineWidth = 0.8;
    for (let i = 0; i < started.length; i += 1) {
      if (started[i] > end || arrived[i] < begin || !(inside(source[i]) || inside(destination[i]))) continue;
      seen += 1;
      if (seen > MOST_ARROWS) continue;
      const tail = [this.xOf(started[i]), this.yOf(source[i])];
      this.arrow(context, tail, [this.xOf(arrived[i]), this.yOf(destination[i])]);
    }
    if (part === 1 && seen <= MOST_ARROWS) return "Arrows: all messages in view, while they are on their way.";
    const of = part === 1 ? ` of ${seen.toLocaleString("en")}` : "";
    return `Arrows: the ${Math.min(seen, MOST_ARROWS)}${of} messages in view that were waited for longest.`;
  }

  // Computations that took far longer than others like them.
  drawOutliers(context) {
    const { begin, end, first, last } = this.view;
    const labels = this.page.outliers.filter((one) => {
      const lane = Math.floor(one.rank / this.lanes.size);
      return one.begin < end && one.end > begin && lane >= first && lane < last;
    });
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const one of labels.slice(0, MOST_LABELS)) {
      const [x, right, y] = [this.xOf(one.begin), this.xOf(one.end), this.yOf(one.rank)];
      const width = context.measureText(one.text).width + 12;
      const above = y - this.laneHeight / 2 > this.top + 22;
      const place = y + (above ? -1 : 1) * (this.laneHeight / 2 + 8);
      const left = Math.max(this.left, Math.min((x + right) / 2 - width / 2, this.left + this.plotWidth - width));
      context.strokeStyle = themed("--mark");
      context.lineWidth = 2;
      context.strokeRect(x, y - this.laneHeight / 2 + 1, Math.max(right - x, 2), this.laneHeight - 2);
      context.fillStyle = themed("--ground");
      context.fillRect(left, place - 10, width, 20);
      context.lineWidth = 1;
      context.strokeRect(left, place - 10, width, 20);
      context.fillStyle = themed("--ink");
      context.fillText(one.text, left + 6, place);
    }
  }

  arrow(context, [x0, y0], [x1, y1]) {
    const angle = Math.atan2(y1 - y0, x1 - x0);
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 7 * Math.cos(angle - 0.35), y1 - 7 * Math.sin(angle - 0.35));
    context.lineTo(x1 - 7 * Math.cos(angle + 0.35), y1 - 7 * Math.sin(angle + 0.35));
    context.fill();
  }

  drawPath(context) {
    const { time, rank, merged } = this.page.path;
    for (const [colour, width] of [[themed("--ground"), 5], [themed("--ink"), 2.4]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.lineJoin = "round";
      context.beginPath();
      for (let i = 0; i < time.length; i += 1) {
        if (i + 1 < time.length && time[i + 1] < this.view.begin) continue;
        context.lineTo(this.xOf(time[i]), this.yOf(rank[i]));
        if (time[i] > this.view.end) break;
      }
      context.stroke();
    }
    const detail = merged ? ` Its turns within ${timeText(merged)} are not drawn.` : "";
    return `Thick line: the critical path.${detail}`;
  }

  listen() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lane = this.view.first + (event.offsetY - this.top) / this.laneHeight;
      if (event.shiftKey) this.zoomLanes((event.deltaY || event.deltaX) < 0 ? 1.25 : 0.8, lane);
      else this.zoom(event.deltaY < 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(3, this.timeAt(event.offsetX)));
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, y: event.offsetY, view: this.view };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => { drag = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (drag === null) {
        this.point(event);
        return;
      }
      tip.hide();
      const length = drag.view.end - drag.view.begin;
      const wanted = drag.view.begin - ((event.offsetX - drag.x) / this.plotWidth) * length;
      const begin = Math.min(Math.max(wanted, 0), this.page.end - length);
      const lanes = Math.round((drag.y - event.offsetY) / this.laneHeight);
      this.look(begin, begin + length, drag.view.first + lanes, drag.view.last + lanes);
    });
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("keydown", (event) => {
      const actions = {
        "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5),
        "*": () => this.zoomLanes(2), "/": () => this.zoomLanes(0.5),
        0: () => this.look(0, this.page.end, 0, this.lanes.count),
        t: () => this.look(...this.page.typical, 0, this.lanes.count),
        ArrowUp: () => this.moveLanes(-0.2), ArrowDown: () => this.moveLanes(0.2),
        ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
      };
      if (event.key in actions) {
        event.preventDefault();
        actions[event.key]();
      }
    });
  }

  point(event) {
    const lane = this.view.first + Math.floor((event.offsetY - this.top) / this.laneHeight);
    const time = this.timeAt(event.offsetX);
    const inside = event.offsetX >= this.left && lane >= this.view.first && lane < this.view.last;
    if (inside && time >= 0 && time <= this.page.end) {
      tip.show(event, this.source.describe(lane, time, this.page));
    } else {
      tip.hide();
    }
  }
}
