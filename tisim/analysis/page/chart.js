// The main picture: ranks over time.

import { Asker } from "./ask.js";
import { drawArrow, drawPathLine, drawTimes, pixel, themed } from "./canvas.js";
import { ticks } from "./format.js";
import { listenToMouse } from "./gestures.js";
import { paint, readTile } from "./tile.js";

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
    const image = paint(this.tile, height, this.colours(), pixel(themed("--empty")));
    this.image = document.createElement("canvas");
    [this.image.width, this.image.height] = [image.width, image.height];
    this.image.getContext("2d").putImageData(image, 0, 0);
    this.draw();
    this.canvas.dataset.drawn = String(Number(this.canvas.dataset.drawn || 0) + 1);
  }

  colours() { return this.run.legend(this.tile).map((one) => pixel(one.colour)); }

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
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.fillStyle = themed("--empty");
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
    this.drawArrows(context);
    const { path } = this;
    this.canvas.dataset.path = path && this.view.path ? path.start.length : 0; // parts that are drawn
    if (path && this.view.path) this.drawPath(context);
    this.drawSelection(context);
    context.restore();
    this.drawAxes(context);
  }

  drawArrows(context) {
    const { ratio } = this.area();
    context.strokeStyle = context.fillStyle = themed("--ink");
    context.lineWidth = ratio;
    // Those that were waited for longest are drawn last, on top.
    for (const message of [...this.messages].reverse()) {
      if (message.arrived === null || message.started === null) continue;
      const from = [this.x(message.started), this.middle(message.source)];
      drawArrow(context, from, [this.x(message.arrived), this.middle(message.destination)], ratio);
    }
  }

  drawPath(context) {
    const { start, end, source, destination } = this.path;
    const lines = Array.from(start, (time, i) => [this.x(time), this.middle(source[i]), this.x(end[i]), this.middle(destination[i])]);
    const { ratio, width } = this.area();
    drawPathLine(context, lines, width, ratio);
  }

  drawSelection(context) {
    const { ratio } = this.area();
    context.strokeStyle = themed("--mark");
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
    if (this.box) context.strokeRect(...this.box.map((one) => one * ratio));
  }

  drawAxes(context) {
    const { ratio, left, width, height } = this.area();
    const { begin, end, first, last, ranks } = this.view;
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    drawTimes(context, { begin, end, left, width, top: height, ratio });
    context.textBaseline = "middle";
    context.textAlign = "right";
    const rows = ticks(first, last + 1, height / (22 * ratio));
    const every = Math.max(1, Math.round(rows.step));
    for (let rank = Math.ceil(first / every) * every; rank <= last; rank += every) {
      const y = this.y(rank + Math.min(0.5, ranks / 2));
      const shown = this.view.rankAt(rank);
      const name = `rank ${shown}`;
      const fits = every === 1 && context.measureText(name).width < left - 8 * ratio;
      context.fillText(fits ? name : String(shown), left - 6 * ratio, Math.max(y, 7 * ratio));
    }
    this.drawGroups(context);
    context.textAlign = "left";
  }

  // Where groups of ranks begin, with their names where there is room.
  drawGroups(context) {
    const { groups } = this.view.arrangement || { groups: [] };
    if (!groups.length) return;
    const { ratio, left, width, height } = this.area();
    context.textAlign = "left";
    groups.forEach(([name, first], place) => {
      const [top, next] = [this.y(first), this.y(place + 1 < groups.length ? groups[place + 1][1] : this.view.run.ranks)];
      if (next < 0 || top > height || next - top < 4 * ratio) return;
      context.fillStyle = themed("--ink");
      context.fillRect(left, top, width, ratio);
      const y = Math.max(top, 0) + 9 * ratio;
      if (next - y < 6 * ratio) return;
      const room = context.measureText(name).width + 8 * ratio;
      context.fillStyle = themed("--ground");
      context.fillRect(left, y - 8 * ratio, room, 16 * ratio);
      context.fillStyle = themed("--ink");
      context.fillText(name, left + 4 * ratio, y);
    });
  }

  listen() {
    const { canvas, view } = this;
    listenToMouse(canvas, {
      at: (event) => this.at(event),
      room: () => {
        const { ratio, width, height } = this.area();
        return { width: width / ratio, height: height / ratio };
      },
      window: () => view.window(),
      show: (window, remember) => view.show(window, remember),
      zoomTime: (...how) => view.zoomTime(...how),
      zoomRanks: (...how) => view.zoomRanks(...how),
      pointed: (_, point) => canvas.dispatchEvent(new CustomEvent("pointed", { detail: point })),
      clicked: ({ inside, rank, time }) => { if (inside) view.select({ rank, time }); },
      frame: (box) => {
        this.box = box;
        this.draw();
      },
      remember: (window) => view.remember(window),
    });
  }
}
