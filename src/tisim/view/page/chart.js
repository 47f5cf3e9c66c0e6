// The main picture: ranks over time.

import { Asker } from "./ask.js";
import { instant, ticks } from "./format.js";
import { paint, pixel, readTile } from "./tile.js";

const LEFT = 64; // for the names of ranks
const BOTTOM = 22; // for times
const LEAST_LANE = 4; // pixels
const MOST = { columns: 4096, lanes: 2048 };
const ARROWS = 2000;
const ARROW = 10; // pixels: of the arrows that begin and end in the same cells, one is drawn

export class Chart {
  constructor(canvas, view, run, say, of = "a") {
    this.of = of; // which run
    this.canvas = canvas;
    this.view = view;
    this.run = run;
    this.tile = null;
    this.image = null;
    this.messages = [];
    this.record = null; // the selected state
    this.tiles = new Asker((answer) => this.use(answer), say);
    this.arrows = new Asker((answer) => {
      this.messages = answer.messages;
      canvas.dispatchEvent(new CustomEvent("messages", { detail: answer }));
      this.draw();
    }, say);
    this.path = null; // the critical path of the window
    this.paths = new Asker((answer) => {
      if (answer.unknown) say(new Error(answer.unknown));
      this.path = answer.unknown ? null : answer.drawn;
      this.draw();
    }, say);
    new ResizeObserver(() => this.request()).observe(canvas);
    this.listen();
  }

  // The part of the canvas in which time and ranks are drawn, in its pixels.
  area() {
    const ratio = window.devicePixelRatio || 1;
    const left = Math.round(LEFT * ratio);
    const bottom = Math.round(BOTTOM * ratio);
    return { ratio, left, width: Math.max(this.canvas.width - left, 1), height: Math.max(this.canvas.height - bottom, 1) };
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
  }

  // Asks for what the window shows; until it is there, what is known is stretched.
  request() {
    this.resize();
    this.draw();
    const { width, height, ratio } = this.area();
    const lanes = Math.min(this.view.ranks, Math.max(1, Math.floor(height / (LEAST_LANE * ratio))), MOST.lanes);
    this.tiles.ask("tile", { of: this.of, ...this.view.window(), columns: Math.min(width, MOST.columns), lanes, by: this.view.by, depth: this.view.depth });
    const cells = { columns: Math.min(Math.ceil(width / (ARROW * ratio)), MOST.columns), lanes };
    if (this.view.arrows) this.arrows.ask("messages", { of: this.of, ...this.view.window(), most: ARROWS, ...cells });
    else this.messages = [];
    if (this.view.path) this.paths.ask("path", { of: this.of, ...this.view.window() });
    else this.path = null;
  }

  use(answer) {
    this.tile = readTile(answer);
    this.canvas.dispatchEvent(new CustomEvent("tile", { detail: this.tile }));
    const { height } = this.area();
    const image = paint(this.tile, height, this.colours(), pixel(this.ground()));
    this.image = document.createElement("canvas");
    [this.image.width, this.image.height] = [image.width, image.height];
    this.image.getContext("2d").putImageData(image, 0, 0);
    this.draw();
    this.canvas.dataset.drawn = String(Number(this.canvas.dataset.drawn || 0) + 1);
  }

  colours() { return this.run.legend(this.tile).map((one) => pixel(one.colour)); }

  ground() { return matchMedia("(prefers-color-scheme: dark)").matches ? "#202327" : "#f7f7f7"; }

  x(time) {
    const { left, width } = this.area();
    return left + ((time - this.view.begin) / (this.view.end - this.view.begin)) * width;
  }

  y(position) { return ((position - this.view.first) / this.view.ranks) * this.area().height; }

  middle(rank) { return this.y(this.view.positionOf(rank) + 0.5); }

  // The point under the mouse.
  at(event) {
    const { ratio, left, width, height } = this.area();
    const box = this.canvas.getBoundingClientRect();
    const share = ((event.clientX - box.left) * ratio - left) / width;
    const down = ((event.clientY - box.top) * ratio) / height;
    const position = Math.max(this.view.first, Math.min(Math.floor(this.view.first + down * this.view.ranks), this.view.last));
    return {
      time: this.view.begin + share * (this.view.end - this.view.begin),
      rank: this.view.rankAt(position),
      position,
      exactPosition: this.view.first + down * this.view.ranks,
      inside: share >= 0 && share <= 1 && down >= 0 && down <= 1,
    };
  }

  draw() {
    const context = this.canvas.getContext("2d");
    const { left, width, height } = this.area();
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.fillStyle = this.ground();
    context.fillRect(left, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, height);
    context.clip();
    if (this.image) {
      const { tile } = this;
      const [x, right] = [this.x(tile.begin), this.x(tile.end)];
      const [y, bottom] = [this.y(tile.first), this.y(tile.last + 1)];
      context.imageSmoothingEnabled = false;
      context.drawImage(this.image, x, y, right - x, bottom - y);
    }
    this.drawArrows(context, colour);
    const { path } = this;
    this.canvas.dataset.path = path && this.view.path ? path.start.length : 0; // parts that are drawn
    if (path && this.view.path) this.drawPath(context, colour);
    this.drawSelection(context, colour);
    context.restore();
    this.drawAxes(context, colour);
  }

  drawArrows(context, colour) {
    const { ratio } = this.area();
    context.strokeStyle = context.fillStyle = colour("--ink");
    context.lineWidth = ratio;
    // Those that were waited for longest are drawn last, on top.
    for (const message of [...this.messages].reverse()) {
      if (message.arrived === null || message.started === null) continue;
      const from = [this.x(message.started), this.middle(message.source)];
      const to = [this.x(message.arrived), this.middle(message.destination)];
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
      const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
      context.beginPath();
      context.moveTo(...to);
      for (const side of [-0.4, 0.4]) {
        context.lineTo(to[0] - 7 * ratio * Math.cos(angle + side), to[1] - 7 * ratio * Math.sin(angle + side));
      }
      context.fill();
    }
  }

  // A line along each part, with a border of the ground's colour so that it is seen on any state.
  drawPath(context, colour) {
    const { ratio } = this.area();
    const { start, end, source, destination } = this.path;
    for (const [width, name] of [[5, "--ground"], [2.5, "--path"]]) {
      context.lineWidth = width * ratio;
      context.strokeStyle = colour(name);
      context.beginPath();
      for (let i = 0; i < start.length; i += 1) {
        context.moveTo(this.x(start[i]), this.middle(source[i]));
        context.lineTo(this.x(end[i]), this.middle(destination[i]));
      }
      context.stroke();
    }
  }

  drawSelection(context, colour) {
    const { ratio } = this.area();
    context.strokeStyle = colour("--mark");
    context.lineWidth = 2 * ratio;
    if (this.record) {
      const { rank, start, end } = this.record.state;
      const position = this.view.positionOf(rank);
      const [x, y] = [this.x(start), this.y(position)];
      context.strokeRect(x, y, Math.max(this.x(end) - x, 2 * ratio), Math.max(this.y(position + 1) - y - 1, 3 * ratio));
      context.setLineDash([4 * ratio, 3 * ratio]);
      let before = this.record.state;
      for (const step of this.record.chain) {
        context.beginPath();
        context.moveTo(this.x((before.start + before.end) / 2), this.middle(before.rank));
        context.lineTo(this.x((step.start + step.end) / 2), this.middle(step.rank));
        context.stroke();
        before = step;
      }
      context.setLineDash([]);
    }
    if (this.box) context.strokeRect(...this.box);
  }

  drawAxes(context, colour) {
    const { ratio, left, width, height } = this.area();
    const { begin, end, first, last, ranks } = this.view;
    context.fillStyle = colour("--ink");
    context.strokeStyle = colour("--line");
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    context.lineWidth = ratio;
    context.textBaseline = "top";
    const { step, found } = ticks(begin, end, width / (110 * ratio));
    for (const time of found) {
      const text = instant(time, step, end);
      const size = context.measureText(text).width;
      const x = this.x(time);
      context.fillRect(x, height, ratio, 4 * ratio);
      context.fillText(text, Math.max(left, Math.min(x - size / 2, left + width - size)), height + 6 * ratio);
    }
    context.textBaseline = "middle";
    context.textAlign = "right";
    const rows = ticks(first, last + 1, height / (22 * ratio));
    const every = Math.max(1, Math.round(rows.step));
    for (let rank = Math.ceil(first / every) * every; rank <= last; rank += every) {
      const y = this.y(rank + Math.min(0.5, ranks / 2));
      const shown = this.view.rankAt(rank);
      context.fillText(every === 1 && ranks < 100 ? `rank ${shown}` : String(shown), left - 6 * ratio, Math.max(y, 7 * ratio));
    }
    this.drawGroups(context, colour);
    context.textAlign = "left";
  }

  // Where groups of ranks begin, with their names where there is room.
  drawGroups(context, colour) {
    const { groups } = this.view.arrangement || { groups: [] };
    if (!groups.length) return;
    const { ratio, left, width, height } = this.area();
    context.textAlign = "left";
    groups.forEach(([name, first], place) => {
      const [top, next] = [this.y(first), this.y(place + 1 < groups.length ? groups[place + 1][1] : this.view.run.ranks)];
      if (next < 0 || top > height || next - top < 4 * ratio) return;
      context.fillStyle = colour("--ink");
      context.fillRect(left, top, width, ratio);
      const y = Math.max(top, 0) + 9 * ratio;
      if (next - y < 6 * ratio) return;
      const room = context.measureText(name).width + 8 * ratio;
      context.fillStyle = colour("--ground");
      context.fillRect(left, y - 8 * ratio, room, 16 * ratio);
      context.fillStyle = colour("--ink");
      context.fillText(name, left + 4 * ratio, y);
    });
  }

  listen() {
    const { canvas, view } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const point = this.at(event);
      const factor = Math.exp(Math.max(-1, Math.min((event.deltaY || event.deltaX) / 300, 1)));
      if (event.shiftKey) view.zoomRanks(factor, point.exactPosition, false);
      else view.zoomTime(factor, point.time, false);
    }, { passive: false });
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      from = { x: event.clientX, y: event.clientY, point: this.at(event), window: view.window(), moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) {
        canvas.dispatchEvent(new CustomEvent("pointed", { detail: this.at(event) }));
        return;
      }
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > 4) from.moved = true;
      if (from.moved) this.drag(event, from);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!from) return;
      const [start, point] = [from, this.at(event)];
      from = null;
      if (!start.moved) {
        if (point.inside) view.select({ rank: point.rank, time: point.time });
      } else if (this.box) {
        this.box = null;
        this.draw();
        view.show({
          begin: Math.min(start.point.time, point.time), end: Math.max(start.point.time, point.time),
          first: Math.min(start.point.position, point.position), last: Math.max(start.point.position, point.position),
        });
      } else view.remember(start.window);
    });
    canvas.addEventListener("pointercancel", () => { from = null; this.box = null; });
  }

  drag(event, from) {
    const { ratio, width, height } = this.area();
    const box = this.canvas.getBoundingClientRect();
    if (event.shiftKey) {
      const [x, y] = [(from.x - box.left) * ratio, (from.y - box.top) * ratio];
      this.box = [x, y, (event.clientX - from.x) * ratio, (event.clientY - from.y) * ratio];
      this.draw();
      return;
    }
    const was = from.window;
    const time = (((from.x - event.clientX) * ratio) / width) * (was.end - was.begin);
    const ranks = Math.round((((from.y - event.clientY) * ratio) / height) * (was.last - was.first + 1));
    this.view.show({ begin: was.begin + time, end: was.end + time, first: was.first + ranks, last: was.last + ranks }, false);
  }
}
