// By how much the second run is behind the first, over the time of the first: where the curve rises,
// the second run loses time.

import { ask } from "./ask.js";
import { themed } from "./canvas.js";
import { time } from "./format.js";

export class Delays {
  constructor(canvas, view, say) {
    Object.assign(this, { canvas, view, say, answer: null });
    new ResizeObserver(() => this.draw()).observe(canvas);
    canvas.addEventListener("pointerdown", (event) => {
      const box = canvas.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * view.run.end;
      const length = view.end - view.begin;
      view.show({ begin: at - length / 2, end: at + length / 2 });
    });
  }

  async request() {
    try {
      this.answer = await ask("delays", { columns: 1024 });
      this.draw();
      this.canvas.dataset.drawn = "yes";
    } catch (error) {
      this.say(error);
    }
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = [Math.max(1, Math.round(box.width * ratio)), Math.max(1, Math.round(box.height * ratio))];
    [this.canvas.width, this.canvas.height] = [width, height];
    if (!this.answer) return;
    const { least, median, most } = this.answer;
    const low = Math.min(0, ...least);
    const high = Math.max(0, ...most);
    const context = this.canvas.getContext("2d");
    const x = (place) => (place / (median.length - 1)) * width;
    const top = 20 * ratio; // for the text
    const y = (value) => height - 2 - ((value - low) / (high - low || 1)) * (height - 2 - top);
    context.fillStyle = themed("--line");
    context.beginPath();
    most.forEach((value, place) => context.lineTo(x(place), y(value)));
    for (let place = least.length - 1; place >= 0; place -= 1) context.lineTo(x(place), y(least[place]));
    context.fill();
    context.fillRect(0, y(0), width, ratio);
    context.strokeStyle = themed("--accent");
    context.lineWidth = 1.5 * ratio;
    context.beginPath();
    median.forEach((value, place) => context.lineTo(x(place), y(value)));
    context.stroke();
    const { begin, end, run } = this.view;
    context.strokeStyle = themed("--mark");
    context.strokeRect((begin / run.end) * width, 1, Math.max(((end - begin) / run.end) * width, 4), height - 2);
    context.fillStyle = themed("--ink");
    context.font = `${12 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "top";
    const last = median[median.length - 1];
    context.fillText(`B is ${time(Math.abs(last), 4)} ${last < 0 ? "ahead" : "behind"} in the end; the band has every rank, from ${time(low, 3)} to ${time(high, 3)}`, 6 * ratio, 3 * ratio);
  }
}
