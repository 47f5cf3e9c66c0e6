"use strict";
// The Gantt chart: lanes of ranks, messages and the critical path over them; zoom and pan.

const MOST_ARROWS = 300;

class Gantt {
  constructor(canvas, page) {
    this.canvas = canvas;
    this.page = page;
    this.view = { begin: 0, end: page.end };
    this.lanes = page.lanes;
    const exact = page.gantt.mode === "exact";
    this.source = exact
      ? new AllStates(page.gantt, page.lanes)
      : new Shares(page.gantt, page.lanes, page.end);
    this.laneHeight = Math.max(8, Math.min(110, Math.floor(620 / this.lanes.count)));
    this.left = 74;
    this.top = 6;
    this.show = { messages: page.messages.count <= MOST_ARROWS, path: false };
    this.listen();
  }

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
    return this.top + ((rank + 0.5) / this.lanes.size) * this.laneHeight;
  }

  // Show this part of the time, as far as there is anything.
  look(begin, end) {
    const whole = this.page.end;
    const least = Math.max(this.source.least, whole * 1e-9);
    const length = Math.min(Math.max(end - begin, least), whole);
    const from = Math.min(Math.max(begin + (end - begin - length) / 2, 0), whole - length);
    this.view = { begin: from, end: from + length };
    this.draw();
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

  draw() {
    const height = this.top + this.lanes.count * this.laneHeight + 34;
    const screen = prepared(this.canvas, height);
    if (screen.width === 0) return; // its tab is not shown
    this.paintLanes(screen);
    this.drawAxes(screen);
    const notes = [];
    screen.context.save();
    screen.context.beginPath();
    screen.context.rect(this.left, this.top, this.plotWidth, this.lanes.count * this.laneHeight);
    screen.context.clip();
    if (this.show.messages) notes.push(this.drawMessages(screen.context));
    if (this.show.path) notes.push(this.drawPath(screen.context));
    screen.context.restore();
    this.tell(notes);
  }

  tell(notes) {
    const { begin, end } = this.view;
    Object.assign(this.canvas.dataset, { begin, end });
    const [unit, factor] = unitOf(end);
    const shown = [begin, end].map((t) => Number((t * factor).toPrecision(7)));
    document.getElementById("range").textContent =
      `${shown[0]} to ${shown[1]} ${unit} (${timeText(end - begin)}, ${percentText((end - begin) / this.page.end)})`;
    const perPixel = (end - begin) / this.plotWidth;
    if (this.source.width > perPixel) notes.push(`Columns are means over ${timeText(this.source.width)}.`);
    document.getElementById("gantt-note").textContent = notes.join(" ");
  }

  paintLanes({ context, ratio }) {
    const columns = Math.round(this.plotWidth * ratio);
    const rows = Math.max(1, Math.round(this.laneHeight * 0.86 * ratio));
    const kinds = this.page.states.length;
    const colours = this.page.states.map(({ colour }) => {
      const number = parseInt(colour.slice(1), 16);
      return (0xff000000 | ((number & 255) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
    });
    for (let lane = 0; lane < this.lanes.count; lane += 1) {
      const sums = new Float32Array(columns * kinds);
      this.source.add(lane, this.view, columns, kinds, sums);
      const image = context.createImageData(columns, rows);
      const pixels = new Uint32Array(image.data.buffer);
      for (let x = 0; x < columns; x += 1) this.stack(sums, x, kinds, colours, pixels, columns, rows);
      const top = this.top + lane * this.laneHeight + this.laneHeight * 0.07;
      context.putImageData(image, Math.round(this.left * ratio), Math.round(top * ratio));
    }
  }

  // One column of a lane: states upon one another, the rest is white.
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
    while (row > 0) {
      row -= 1;
      pixels[row * columns + x] = 0xffffffff;
    }
  }

  drawAxes({ context, height }) {
    const { begin, end } = this.view;
    const [unit, factor] = unitOf(end);
    const bottom = this.top + this.lanes.count * this.laneHeight;
    context.fillStyle = "#444";
    context.strokeStyle = "#bbb";
    context.textAlign = "right";
    context.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(15 / this.laneHeight));
    for (let lane = 0; lane < this.lanes.count; lane += every) {
      context.fillText(this.lanes.labels[lane], this.left - 7, this.top + (lane + 0.5) * this.laneHeight);
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

  // Messages are in random order: the first of them are a sample.
  drawMessages(context) {
    const { started, arrived, source, destination, part } = this.page.messages;
    let seen = 0;
    context.strokeStyle = "#000";
    context.fillStyle = "#000";
    context.lineWidth = 0.8;
    for (let i = 0; i < started.length; i += 1) {
      if (started[i] > this.view.end || arrived[i] < this.view.begin) continue;
      seen += 1;
      if (seen > MOST_ARROWS) continue;
      const tail = [this.xOf(started[i]), this.yOf(source[i])];
      this.arrow(context, tail, [this.xOf(arrived[i]), this.yOf(destination[i])]);
    }
    if (part === 1 && seen <= MOST_ARROWS) return "Arrows: all messages in view, while they are on their way.";
    const whole = `${part < 1 ? "about " : ""}${Math.round(seen / part).toLocaleString("en")}`;
    return `Arrows: ${Math.min(seen, MOST_ARROWS)} of ${whole} messages in view, chosen at random.`;
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
    for (const [colour, width] of [["#fff", 5], ["#000", 2.4]]) {
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
    return `Black line: the critical path.${detail}`;
  }

  listen() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey) this.move(Math.sign(event.deltaY || event.deltaX) * 0.1);
      else this.zoom(event.deltaY < 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("dblclick", (event) => this.zoom(3, this.timeAt(event.offsetX)));
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.offsetX, view: this.view };
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
      this.look(begin, begin + length);
    });
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("keydown", (event) => {
      const actions = {
        "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5),
        0: () => this.look(0, this.page.end),
        ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
      };
      if (event.key in actions) {
        event.preventDefault();
        actions[event.key]();
      }
    });
  }

  point(event) {
    const lane = Math.floor((event.offsetY - this.top) / this.laneHeight);
    const time = this.timeAt(event.offsetX);
    const inside = event.offsetX >= this.left && lane >= 0 && lane < this.lanes.count;
    if (inside && time >= 0 && time <= this.page.end) {
      tip.show(event, this.source.describe(lane, time, this.page));
    } else {
      tip.hide();
    }
  }
}
