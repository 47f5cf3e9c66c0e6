// Canvas helpers in page pixels: colours, arrows, the critical path, a time axis, tooltips.

import { instant, ticks } from "./format.js";

// Pixels: minimum width of a visible turn of the critical path, and of a visible stay on a rank.
const PATH_TURN = 5;
const PATH_STAY = 6;

// A colour of the page's light or dark theme.
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Black or white, whichever is readable on a colour such as #0170A9.
export function textColourOn(colour) {
  const value = Number.parseInt(colour.slice(1), 16);
  const light = 0.3 * (value >> 16) + 0.59 * ((value >> 8) & 0xff) + 0.11 * (value & 0xff);
  return light > 140 ? "#111111" : "#ffffff";
}

// A colour such as #0170A9 as a pixel.
export function pixel(colour) {
  const value = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

// The size of a canvas without its border, in whole device pixels.
export function sizeOf(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const box = canvas.getBoundingClientRect();
  const whole = (length) => Math.round(length * ratio) / ratio;
  const width = whole(box.width - canvas.offsetWidth + canvas.clientWidth);
  return { width, height: whole(box.height - canvas.offsetHeight + canvas.clientHeight), ratio };
}

// An empty canvas at the screen's resolution. Without a height it keeps the height of its style.
export function prepared(canvas, height = null) {
  if (height !== null) canvas.style.height = `${height}px`; // may change the available width
  const size = sizeOf(canvas);
  const { ratio } = size;
  const [columns, rows] = [size.width, size.height].map((length) => Math.round(length * ratio));
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== rows) canvas.height = rows;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "left";
  return { context, ...size };
}

// Draws arrows [x, y, to x, to y] that do not get darker where they cross.
export function drawArrows(context, arrows) {
  const [lines, heads] = [new Path2D(), new Path2D()];
  for (const [x, y, toX, toY] of arrows) {
    lines.moveTo(x, y);
    lines.lineTo(toX, toY);
    const angle = Math.atan2(toY - y, toX - x);
    heads.moveTo(toX, toY);
    for (const side of [-0.4, 0.4]) {
      heads.lineTo(toX - 7 * Math.cos(angle + side), toY - 7 * Math.sin(angle + side));
    }
    heads.closePath();
  }
  context.stroke(lines);
  context.fill(heads);
}

// Draws the critical path as lines [x, y, to x, to y] in a picture of some width. If it turns too
// often to be followed, the turns are faint and only longer stays on a rank are heavy.
export function drawPathLine(context, lines, pictureWidth) {
  const isDense = lines.length * PATH_TURN > pictureWidth;
  const stays = ([x, y, toX, toY]) => y === toY && toX - x > PATH_STAY;
  const stroke = (drawn, width, name) => {
    context.lineWidth = width;
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
    context.globalAlpha = 0.4;
    stroke(lines, 1, "--path");
    context.globalAlpha = 1;
  }
  const heavy = isDense ? lines.filter(stays) : lines;
  stroke(heavy, 5, "--ground");
  stroke(heavy, 2.5, "--path");
  context.restore();
}

// Draws a text centred at x, clamped to the width of the picture.
export function drawText(context, text, x, y, pictureWidth) {
  const size = context.measureText(text).width;
  context.fillText(text, Math.max(0, Math.min(x - size / 2, pictureWidth - size)), y);
}

// Draws the time axis below a picture whose lower edge is `top`.
export function drawTimes(context, { begin, end, left, width, top }) {
  context.fillStyle = themed("--ink");
  context.textBaseline = "top";
  context.textAlign = "left";
  const { step, values } = ticks(begin, end, width / 110);
  for (const time of values) {
    const text = instant(time, step, end);
    const size = context.measureText(text).width;
    const x = left + ((time - begin) / (end - begin)) * width;
    context.fillRect(x, top, 1, 4);
    context.fillText(text, Math.max(left, Math.min(x - size / 2, left + width - size)), top + 6);
  }
}

export const tip = {
  show(event, text) {
    const box = document.getElementById("tip");
    box.textContent = text;
    box.hidden = text === "";
    const left = Math.min(event.clientX + 14, window.innerWidth - box.offsetWidth - 8);
    const top = Math.min(event.clientY + 14, window.innerHeight - box.offsetHeight - 8);
    box.style.left = `${Math.max(left, 4)}px`;
    box.style.top = `${Math.max(top, 4)}px`;
  },
  hide() {
    document.getElementById("tip").hidden = true;
  },
};
