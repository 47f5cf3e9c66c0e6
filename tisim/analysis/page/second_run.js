// A second run below the first: its window follows that of the first, call by call.

import { prepared, themed } from "./canvas.js";
import { time } from "./format.js";
import { ask } from "./server.js";
import { ViewerView } from "./viewer_view.js";

const FOLLOWED = ["first", "last", "by", "arrows", "path", "order", "arrangement", "depth"];

// The view of the second run: moving it moves the first, which it follows.
export class SecondView extends ViewerView {
  constructor(run, main, say) {
    super(run);
    Object.assign(this, { main, say, asked: 0 });
  }

  // Called when the window of the first run has changed.
  async follow() {
    this.asked += 1;
    const { asked, main } = this;
    const shown = { begin: main.begin, end: main.end };
    try {
      const { begin, end } =
        main.mode === "call" ? await ask("match", { of: "a", ...shown }) : shown;
      if (asked !== this.asked) return; // the window has changed again
      const length = Math.max(end - begin, this.run.end * 1e-12);
      Object.assign(this, { begin, end: begin + length });
    } catch (error) {
      this.say(error);
      return;
    }
    for (const name of FOLLOWED) this[name] = main[name];
    this.changed("window");
  }

  async show(wanted, remember = true) {
    const { begin, end, first, last } = { ...this.span(), ...wanted };
    const { main, run } = this;
    const low = Math.max(0, begin);
    const high = Math.max(low, Math.min(end, Math.max(run.end, main.run.end)));
    try {
      const matched = { of: "b", begin: low, end: high };
      const times = main.mode === "call" ? await ask("match", matched) : { begin, end };
      main.show({ ...times, first, last }, remember);
    } catch (error) {
      this.say(error);
    }
  }

  select(selected, options = {}) {
    this.main.select(selected && { ...selected, of: "b" });
    if (selected && options.moveIntoView) this.moveIntoView(selected);
  }
}

// The delay of the second run over the time of the first: where the curve rises, the second run
// loses time.
export class Delays {
  constructor(canvas, view, say) {
    Object.assign(this, { canvas, view, answer: null });
    new ResizeObserver(() => this.draw()).observe(canvas);
    canvas.addEventListener("pointerdown", (event) => {
      const box = canvas.getBoundingClientRect();
      view.centre(((event.clientX - box.left) / box.width) * view.run.end);
    });
    this.known = ask("delays", { columns: 1024 }).then((answer) => {
      this.answer = answer;
      this.draw();
      canvas.dataset.drawn = "yes";
    }, say);
  }

  draw() {
    if (!this.answer) return;
    const { context, width, height } = prepared(this.canvas);
    const { least, median, most } = this.answer;
    const low = Math.min(0, ...least);
    const high = Math.max(0, ...most);
    const room = height - 22; // below the text
    const x = (place) => (place / (median.length - 1)) * width;
    const y = (value) => height - 2 - ((value - low) / (high - low || 1)) * room;
    context.fillStyle = themed("--line");
    context.beginPath();
    most.forEach((value, place) => context.lineTo(x(place), y(value)));
    least.forEach((_, i) => {
      const place = least.length - 1 - i;
      context.lineTo(x(place), y(least[place]));
    });
    context.fill();
    context.fillRect(0, y(0), width, 1);
    context.strokeStyle = themed("--accent");
    context.lineWidth = 1.5;
    context.beginPath();
    median.forEach((value, place) => context.lineTo(x(place), y(value)));
    context.stroke();
    const { begin, end, run } = this.view;
    context.strokeStyle = themed("--mark");
    const length = Math.max(((end - begin) / run.end) * width, 4);
    context.strokeRect((begin / run.end) * width, 1, length, height - 2);
    context.fillStyle = themed("--ink");
    context.textBaseline = "top";
    const last = median.at(-1);
    const late = `B is ${time(Math.abs(last), 4)} ${last < 0 ? "ahead" : "behind"} in the end`;
    const band = `the band has every rank, from ${time(low, 3)} to ${time(high, 3)}`;
    context.fillText(`${late}; ${band}`, 6, 3);
  }
}
