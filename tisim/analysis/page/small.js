// The whole run in small, on the first page: a click opens the chart there.

import { pixel, themed } from "./canvas.js";
import { prepared } from "./data.js";
import { tileOf } from "./sources.js";
import { paint } from "./tile.js";

const MOST_MARKS = 3;

export class SmallGantt {
  constructor(canvas, gantt, open) {
    Object.assign(this, { canvas, gantt });
    canvas.addEventListener("click", (event) => {
      const { lanes, page } = gantt;
      const time = (event.offsetX / canvas.clientWidth) * page.end;
      const lane = Math.floor((event.offsetY / canvas.clientHeight) * lanes.count);
      open(time - page.end / 40, time + page.end / 40, lane * lanes.size + (lanes.size >> 1));
    });
  }

  draw() {
    const { lanes, page, source } = this.gantt;
    const rows = Math.max(2, Math.floor(130 / lanes.count));
    const { context, ratio, width } = prepared(this.canvas, rows * lanes.count);
    if (width === 0) return;
    const columns = Math.round(width * ratio);
    const colours = page.states.map(({ colour }) => pixel(colour));
    const all = { begin: 0, end: page.end, first: 0, last: page.ranks - 1 };
    const tile = tileOf(source, all, columns, colours.length, lanes.size);
    context.putImageData(paint(tile, Math.round(rows * lanes.count * ratio), colours, pixel(themed("--empty"))), 0, 0);
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    for (const one of page.outliers.slice(0, MOST_MARKS)) {
      const x = (one.begin / page.end) * width;
      const y = Math.floor(one.rank / lanes.size) * rows;
      context.strokeRect(x - 3, y - 2, Math.max(((one.end - one.begin) / page.end) * width, 1) + 6, rows + 4);
    }
  }
}
