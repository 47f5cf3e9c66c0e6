// A small picture of the whole run, with a frame around the window or marks at outliers.

import { pixel, prepared, themed } from "./canvas.js";
import { pictureOf } from "./tile.js";

const MAX_COLUMNS = 4096;
const MAX_MARKS = 3;

export class Overview {
  // `height`: used if the page's style sets none; `isFramed`: whether the window has a frame.
  constructor(canvas, view, run, { say, height = null, isFramed = false } = {}) {
    Object.assign(this, { canvas, view, run, height, isFramed, tile: null });
    this.tiles = run.createQuery((tile) => {
      this.tile = tile;
      this.draw();
    }, say);
    new ResizeObserver(() => this.request()).observe(canvas);
  }

  // The point under the mouse.
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const time = ((event.clientX - box.left) / box.width) * this.run.end;
    return { time, down: (event.clientY - box.top) / box.height };
  }

  request() {
    if (!this.canvas.clientWidth) return;
    const { run, view } = this;
    const { width, height, ratio } = prepared(this.canvas, this.height);
    const lanes = Math.min(run.ranks, Math.max(1, Math.round(height * ratio) >> 2));
    const columns = Math.max(1, Math.min(Math.round(width * ratio), MAX_COLUMNS));
    const whole = { ...view.window(), begin: 0, end: run.end, first: 0, last: run.ranks - 1 };
    this.tiles.ask("tile", { ...whole, columns, lanes, ...view.colouring });
  }

  draw() {
    if (!this.tile || !this.canvas.clientWidth) return;
    const { context, width, height, ratio } = prepared(this.canvas, this.height);
    const colours = this.run.legend(this.tile).map(({ colour }) => pixel(colour));
    const rows = Math.round(height * ratio);
    const picture = pictureOf(this.tile, rows, colours, pixel(themed("--empty")));
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, 0, 0, width, height);
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    if (this.isFramed) this.drawFrame(context, width, height);
    else this.markOutliers(context, width, height);
  }

  drawFrame(context, width, height) {
    const { run, view } = this;
    const x = (view.begin / run.end) * width;
    const y = (view.first / run.ranks) * height;
    const length = Math.max(((view.end - view.begin) / run.end) * width, 4);
    const rows = Math.max((view.ranks / run.ranks) * height, 4);
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    context.fillStyle = isDark ? "#0009" : "#fffa";
    context.beginPath();
    context.rect(0, 0, width, height);
    context.rect(x, y, length, rows);
    context.fill("evenodd");
    context.strokeRect(x + 1, y + 1, length - 2, rows - 2);
  }

  markOutliers(context, width, height) {
    const { end, lanes, outliers } = this.run;
    const row = height / lanes.count;
    for (const { begin, end: until, rank } of outliers.slice(0, MAX_MARKS)) {
      const length = Math.max(((until - begin) / end) * width, 1);
      const top = Math.floor(rank / lanes.size) * row;
      context.strokeRect((begin / end) * width - 3, top - 2, length + 6, row + 4);
    }
  }
}
