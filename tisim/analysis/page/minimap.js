// The whole run in small, with a frame around the window.

import { ask } from "./ask.js";
import { pixel, themed } from "./canvas.js";
import { paint, readTile } from "./tile.js";

export class MiniMap {
  constructor(canvas, view, run, say) {
    this.canvas = canvas;
    this.view = view;
    this.run = run;
    this.say = say;
    new ResizeObserver(() => this.request()).observe(canvas);
    const go = (event) => {
      const box = canvas.getBoundingClientRect();
      const time = ((event.clientX - box.left) / box.width) * run.end;
      const rank = Math.floor(((event.clientY - box.top) / box.height) * run.ranks);
      const length = view.end - view.begin;
      view.show({ begin: time - length / 2, end: time + length / 2, first: rank - (view.ranks >> 1), last: rank - (view.ranks >> 1) + view.ranks - 1 });
    };
    canvas.addEventListener("pointerdown", go);
    canvas.addEventListener("pointermove", (event) => { if (event.buttons & 1) go(event); });
  }

  async request() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
    [this.canvas.width, this.canvas.height] = [width, height];
    const lanes = Math.min(this.run.ranks, Math.max(1, height >> 2));
    try {
      const whole = { begin: 0, end: this.run.end, first: 0, last: this.run.ranks - 1, order: this.view.order };
      this.tile = readTile(await ask("tile", { ...whole, columns: Math.min(width, 4096), lanes, by: this.view.by, depth: this.view.depth }));
      this.draw();
    } catch (error) {
      this.say(error);
    }
  }

  draw() {
    if (!this.tile) return;
    const context = this.canvas.getContext("2d");
    const { width, height } = this.canvas;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const colours = this.run.legend(this.tile).map((one) => pixel(one.colour));
    context.putImageData(paint(this.tile, height, colours, pixel(themed("--empty"))), 0, 0);
    const { view, run } = this;
    const x = (view.begin / run.end) * width;
    const y = (view.first / run.ranks) * height;
    const size = [Math.max(((view.end - view.begin) / run.end) * width, 4), Math.max((view.ranks / run.ranks) * height, 4)];
    context.fillStyle = dark ? "#0009" : "#fffa";
    context.beginPath();
    context.rect(0, 0, width, height);
    context.rect(x, y, ...size);
    context.fill("evenodd");
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, size[0] - 2, size[1] - 2);
  }
}
