// Tooltip of a bar in the viewer's chart: the server provides the state under the mouse.

import { tip } from "./canvas.js";
import { bytes, instant, laneName, time } from "./format.js";

const PAUSE = 60; // milliseconds of rest before the server is queried

export class BarTip {
  constructor(gantt) {
    Object.assign(this, { gantt, event: null, known: null, waiting: 0 });
    // Without an answer, the tooltip shows the content of the picture.
    this.query = gantt.run.createQuery(
      (answer) => {
        this.known = answer;
        if (this.event) tip.show(this.event, this.tipText(answer));
      },
      () => {},
    );
    gantt.asked = (event, point) => this.point(event, point);
    gantt.canvas.addEventListener("pointerleave", () => this.stop());
    gantt.canvas.addEventListener("pointerdown", () => this.stop());
  }

  stop() {
    clearTimeout(this.waiting);
    this.query.stop();
    this.event = null;
    tip.hide();
  }

  point(event, point) {
    this.stop();
    const { gantt, known } = this;
    if (!point.isInside) return;
    const { lines, isOne } = gantt.sharesAt(point);
    if (!lines.length) return;
    this.event = event;
    const { rank, time: at } = point;
    if (isOne && known && known.rank === rank && at >= known.start && at < known.end) {
      tip.show(event, this.tipText(known));
      return;
    }
    tip.show(event, [this.title(point), ...lines].join("\n"));
    if (!isOne) return;
    const ask = () => this.query.ask("state", { of: gantt.of, rank, time: at });
    this.waiting = setTimeout(ask, PAUSE);
  }

  title({ position, rank, time: at }) {
    const { gantt } = this;
    const { begin, end } = gantt.view;
    const when = instant(at, (end - begin) / 1000);
    if (!gantt.hasGroups) return `${laneName(gantt.run, rank)}, ${when}`;
    const { first, last } = gantt.groupOf(position);
    return `${gantt.view.arrangement ? "positions" : "ranks"} ${first} to ${last}, ${when}`;
  }

  tipText({ rank, host, state, kind, start, end, site, peer, size, cause }) {
    const length = end - start;
    const step = Math.max(length / 100, 1e-12);
    const what = kind === state || !kind ? state : `${state} in ${kind}`;
    const span = `${instant(start, step, end)} to ${instant(end, step)}`;
    const name = laneName(this.gantt.run, rank);
    const lines = [`${name} on ${host}`, `${what}, ${time(length)}`, span];
    if (site) lines.push(site);
    if (peer >= 0) lines.push(`with rank ${peer}${size > 0 ? `, ${bytes(size)}` : ""}`);
    if (cause >= 0) lines.push(`waits for rank ${cause}`);
    return lines.join("\n");
  }
}
