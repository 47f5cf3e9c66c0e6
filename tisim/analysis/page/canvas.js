// What pictures are drawn with: the colours of the page, arrows, an axis of time.

import { instant, ticks } from "./format.js";

// Pixels: a turn of the critical path that can be followed, and a stay that can be seen.
const PATH_TURN = 5;
const PATH_STAY = 6;

// A colour of the page, light or dark.
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A colour such as #0170A9 as a pixel.
export function pixel(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

// Sizes are in units of `ratio` pixels of the canvas.
export function drawArrow(context, [x0, y0], [x1, y1], ratio = 1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
  const angle = Math.atan2(y1 - y0, x1 - x0);
  context.beginPath();
  context.moveTo(x1, y1);
  for (const side of [-0.4, 0.4]) {
    context.lineTo(x1 - 7 * ratio * Math.cos(angle + side), y1 - 7 * ratio * Math.sin(angle + side));
  }
  context.fill();
}

// The critical path: lines [x, y, to x, to y] in a picture so wide. Where it turns too often to be
// followed, the turns are faint, and only where it stays for a while is it heavy.
export function drawPathLine(context, lines, pictureWidth, ratio = 1) {
  const isDense = lines.length * PATH_TURN * ratio > pictureWidth;
  const heavy = isDense ? lines.filter(([x, y, toX, toY]) => y === toY && toX - x > PATH_STAY * ratio) : lines;
  const stroke = (drawn, width, name) => {
    context.lineWidth = width * ratio;
    context.strokeStyle = themed(name);
    context.beginPath();
    for (const [x, y, toX, toY] of drawn) {
      context.moveTo(x, y);
      context.lineTo(toX, toY);
    }
    context.stroke();
  };
  context.save();
  context.lineCap = "round";
  if (isDense) {
    context.globalAlpha = 0.25;
    stroke(lines, 1, "--path");
    context.globalAlpha = 1;
  }
  stroke(heavy, 5, "--ground");
  stroke(heavy, 2.5, "--path");
  context.restore();
}

// Instants below a picture from `left` on, whose lower edge is `top`.
export function drawTimes(context, { begin, end, left, width, top, ratio = 1 }) {
  context.fillStyle = themed("--ink");
  context.textBaseline = "top";
  context.textAlign = "left";
  const { step, found } = ticks(begin, end, width / (110 * ratio));
  for (const time of found) {
    const text = instant(time, step, end);
    const size = context.measureText(text).width;
    const x = left + ((time - begin) / (end - begin)) * width;
    context.fillRect(x, top, ratio, 4 * ratio);
    context.fillText(text, Math.max(left, Math.min(x - size / 2, left + width - size)), top + 6 * ratio);
  }
}
