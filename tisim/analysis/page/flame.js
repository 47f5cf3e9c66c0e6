// The flame graph of call paths: functions from the outermost down, with width proportional to
// their time in the window over all ranks; below the innermost, its calls and their states.

import { colourOf, drawSpan } from "./call_path.js";
import { prepared, tip } from "./canvas.js";
import { percent, time } from "./format.js";
import { element } from "./tables.js";

const ROW = 18; // pixels
const SEEN = 0.4; // pixels: narrower ones are omitted

const NOWHERE = "between calls";

// The tree of functions and their parts.
function treeOf(rows, colours) {
  const root = { name: "all", seconds: 0, parts: new Map(), depth: 0, colour: "#c8c8c8" };
  for (const { path, kind, state, seconds } of rows) {
    const names = [...(path ? path.split(" > ") : [NOWHERE]), ...(kind === state ? [] : [kind])];
    let node = root;
    node.seconds += seconds;
    for (const name of [...names, state]) {
      if (!node.parts.has(name)) {
        const made = { name, seconds: 0, parts: new Map(), above: node, depth: node.depth + 1 };
        node.parts.set(name, made);
      }
      node = node.parts.get(name);
      node.seconds += seconds;
    }
    node.colour = colours.get(state);
  }
  return root;
}

const deepest = (node) => Math.max(node.depth, ...[...node.parts.values()].map(deepest));

// `whole`: the full names of shortened functions.
export function flameGraph(rows, whole, { run }) {
  const root = treeOf(rows, new Map(run.states.map(({ name, colour }) => [name, colour])));
  const canvas = element("canvas", { class: "flame", "aria-label": "Flame graph of call paths" });
  let top = root; // the node that fills the width
  let boxes = [];
  const put = (node, left, width, least) => {
    boxes.push({ node, left, width, row: node.depth - least });
    let from = left;
    const inside = [...node.parts.values()].sort((a, b) => b.seconds - a.seconds);
    for (const part of inside) {
      const own = (part.seconds / node.seconds) * width;
      if (own >= SEEN) put(part, from, own, least);
      from += own;
    }
  };
  const paint = () => {
    if (!canvas.clientWidth) return;
    const above = [];
    for (let node = top.above; node; node = node.above) above.unshift(node);
    const { context, width } = prepared(canvas, (deepest(top) + 1) * ROW);
    boxes = above.map((node) => ({ node, left: 0, width, row: node.depth }));
    put(top, 0, width, 0);
    for (const { node, left, width: own, row } of boxes) {
      context.globalAlpha = row < top.depth ? 0.5 : 1;
      const name = node.name.split(" (")[0];
      drawSpan(context, left, left + own, row * ROW, name, node.colour ?? colourOf(node.name));
    }
    canvas.dataset.boxes = String(boxes.length);
  };
  const at = ({ offsetX, offsetY }) => {
    const row = Math.floor(offsetY / ROW);
    return boxes.find(
      (box) => box.row === row && offsetX >= box.left && offsetX < box.left + box.width,
    );
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = at(event);
    const describe = ({ name, seconds }) =>
      `${whole[name] ?? name}\n${time(seconds)}, ${percent(seconds / (root.seconds || 1))} of the window`;
    tip.show(event, box ? describe(box.node) : "");
  });
  canvas.addEventListener("pointerleave", () => tip.hide());
  canvas.addEventListener("click", (event) => {
    top = at(event)?.node ?? root;
    paint();
  });
  new ResizeObserver(paint).observe(canvas);
  return canvas;
}
