// Durations of calls: a histogram for each kind of call, all with the same axis.

import { drawText, prepared, themed, tip } from "./canvas.js";
import { time, whole } from "./format.js";
import { element, note, title } from "./tables.js";

const HEIGHT = 44;
const AXIS = 16; // pixels below the bars

// The range of bins used by any kind.
function usedBins(kinds) {
  const places = kinds.flatMap(({ bins }) => bins.map((count, i) => (count ? i : -1)));
  const used = places.filter((place) => place >= 0);
  const least = used.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return [least, used.reduce((a, b) => Math.max(a, b), 0)];
}

function histogram({ kind, bins, median }, edges, [first, last]) {
  const canvas = element("canvas", { class: "histogram", "aria-label": `Durations of ${kind}` });
  const most = Math.log(1 + bins.reduce((a, b) => Math.max(a, b), 0));
  const span = Math.log(edges[last + 1] / edges[first]);
  const x = (seconds, width) => (Math.log(seconds / edges[first]) / span) * width;
  const paint = () => {
    if (!canvas.clientWidth) return;
    const { context, width } = prepared(canvas, HEIGHT);
    const room = HEIGHT - AXIS;
    context.fillStyle = themed("--accent");
    for (let bin = first; bin <= last; bin += 1) {
      const height = (Math.log(1 + bins[bin]) / most) * room;
      const [from, to] = [x(edges[bin], width), x(edges[bin + 1], width)];
      if (bins[bin]) context.fillRect(from, room - height, Math.max(to - from - 1, 1), height);
    }
    context.fillStyle = themed("--mark");
    context.fillRect(x(Math.max(median, edges[first]), width) - 1, 0, 2, room);
    context.fillStyle = themed("--line");
    context.fillRect(0, room, width, 1);
    context.fillStyle = themed("--faint");
    // Powers of ten, as many as fit.
    const step = Math.ceil((span / Math.LN10 / width) * 48);
    const low = Math.ceil(Math.log10(edges[first]) - 1e-9);
    for (let power = low; 10 ** power <= edges[last + 1] * 1.001; power += step) {
      context.fillRect(x(10 ** power, width), room, 1, 4);
      drawText(context, time(10 ** power, 1), x(10 ** power, width), room + AXIS / 2 + 2, width);
    }
  };
  new ResizeObserver(paint).observe(canvas);
  canvas.addEventListener("pointermove", (event) => {
    const share = event.offsetX / canvas.clientWidth;
    const bin = first + Math.floor(share * (last - first + 1));
    if (!(bin >= first && bin <= last)) return;
    const [from, to] = [edges[bin], edges[bin + 1]];
    tip.show(event, `${time(from, 2)} to ${time(to, 2)}: ${whole(bins[bin])} of ${kind}`);
  });
  canvas.addEventListener("pointerleave", () => tip.hide());
  return canvas;
}

export function histograms({ edges, kinds }, { view }) {
  if (!kinds.length) return [note("No call takes any time in this window.")];
  const range = usedBins(kinds);
  const parts = kinds.flatMap((row) => {
    const { kind, count, seconds, median, longest } = row;
    const find = () => view.set({ tab: "found", query: `call = ${kind}` });
    const name = element(
      "button",
      { type: "button", title: "Its longest states", onclick: find },
      kind,
    );
    const sums = `${whole(count)}, ${time(seconds)} in all, median ${time(median, 3)}, longest ${time(longest, 3)}`;
    return [element("p", { class: "of-kind" }, name, ` ${sums}`), histogram(row, edges, range)];
  });
  return [
    title("How long calls take"),
    ...parts,
    note(
      "Each bar counts the calls of that duration that overlap the window (with their full " +
        "duration); heights are logarithmic. The line is the median.",
    ),
  ];
}
