// A second run beneath the first: its window follows that of the first, call by call.

import { ask } from "./ask.js";
import { View } from "./view.js";

// The view of the second run. What moves it moves the first, and it follows.
export class SecondView extends View {
  constructor(run, main, say) {
    super(run);
    Object.assign(this, { main, say, asked: 0 });
  }

  // Called when the window of the first run has changed.
  async follow() {
    const { main } = this;
    const asked = ++this.asked;
    let { begin, end } = main;
    try {
      if (main.mode === "call") ({ begin, end } = await ask("match", { of: "a", begin, end }));
    } catch (error) {
      this.say(error);
      return;
    }
    if (asked !== this.asked) return; // it has changed again meanwhile
    const length = Math.max(end - begin, this.run.end * 1e-12);
    Object.assign(this, { begin, end: begin + length, first: main.first, last: main.last, by: main.by, arrows: main.arrows, path: main.path, order: main.order, arrangement: main.arrangement, depth: main.depth });
    this.changed("window");
  }

  async show({ begin = this.begin, end = this.end, first = this.first, last = this.last }, remember = true) {
    const [low, high] = [Math.max(0, begin), Math.min(end, Math.max(this.run.end, this.main.run.end))];
    try {
      const times = this.main.mode === "call" ? await ask("match", { of: "b", begin: low, end: Math.max(high, low) }) : { begin, end };
      this.main.show({ ...times, first, last }, remember);
    } catch (error) {
      this.say(error);
    }
  }

  select(selected, options = {}) {
    this.main.select(selected && { ...selected, of: "b" });
    if (selected && options.bring) this.bring(selected);
  }
}
