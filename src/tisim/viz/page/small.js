"use strict";
// The whole run in small, on the first page: a click opens the chart there.

class SmallGantt {
  constructor(canvas, gantt, open) {
    Object.assign(this, { canvas, gantt });
    canvas.addEventListener("click", (event) => {
      const { lanes, page } = gantt;
      const time = (event.offsetX / canvas.clientWidth) * page.end;
      const lane = Math.floor((event.offsetY / canvas.clientHeight) * lanes.count);
      open(time - page.end / 40, time + page.end / 40, lane * lanes.size);
    });
  }

  draw() {
    const { lanes, page, source } = this.gantt;
    const rows = Math.max(2, Math.floor(130 / lanes.count));
    const { context, ratio, width } = prepared(this.canvas, rows * lanes.count);
    if (width === 0) return;
    const columns = Math.round(width * ratio);
    const high = Math.round(rows * ratio);
    const kinds = page.states.length;
    const colours = page.states.map(({ colour }) => pixelOf(colour));
    for (let lane = 0; lane < lanes.count; lane += 1) {
      const sums = new Float32Array(columns * kinds);
      source.add(lane, { begin: 0, end: page.end }, columns, kinds, sums);
      const image = context.createImageData(columns, high);
      const pixels = new Uint32Array(image.data.buffer);
      for (let x = 0; x < columns; x += 1) this.gantt.stack(sums, x, kinds, colours, pixels, columns, high);
      context.putImageData(image, 0, Math.round(lane * rows * ratio));
    }
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    for (const one of page.outliers.slice(0, MOST_LABELS)) {
      const x = (one.begin / page.end) * width;
      const y = Math.floor(one.rank / lanes.size) * rows;
      context.strokeRect(x - 3, y - 2, Math.max(((one.end - one.begin) / page.end) * width, 1) + 6, rows + 4);
    }
  }
}
