"use strict";
// Arrays of the page's data, and numbers as people read them.

const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new TYPES[packed.type](await new Response(stream).arrayBuffer());
}

// The same object with its packed arrays unpacked, wherever they are.
async function unpackAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (!Array.isArray(value) && "type" in value && "data" in value) return unpack(value);
  const made = Array.isArray(value) ? [] : {};
  for (const key of Object.keys(value)) made[key] = await unpackAll(value[key]);
  return made;
}

function unitOf(seconds) {
  const size = Math.abs(seconds);
  if (size >= 1 || size === 0) return ["s", 1];
  if (size >= 1e-3) return ["ms", 1e3];
  return size >= 1e-6 ? ["us", 1e6] : ["ns", 1e9];
}

function timeText(seconds, digits = 5) {
  const [unit, factor] = unitOf(seconds);
  return `${Number((seconds * factor).toPrecision(digits))} ${unit}`;
}

function bytesText(bytes) {
  const units = [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];
  for (const [unit, factor] of units) {
    if (bytes >= factor) return `${Number((bytes / factor).toPrecision(4))} ${unit}`;
  }
  return `${bytes} B`;
}

function percentText(share) {
  return `${(100 * share).toFixed(1)}%`;
}

// Round numbers between two, about so many.
function ticks(begin, end, count) {
  const raw = (end - begin) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((d) => d * power).find((s) => s >= raw * (1 - 1e-9));
  const found = [];
  for (let i = Math.ceil(begin / step - 1e-9); i * step <= end + 1e-9 * step; i += 1) found.push(i * step);
  return found;
}

// A colour of the page, light or dark.
function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A colour such as #0170A9 as a pixel.
function pixelOf(colour) {
  const number = parseInt(colour.slice(1), 16);
  return (0xff000000 | ((number & 255) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
}

// A canvas as large as its place, in the pixels of the screen.
function prepared(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`; // may change the room that there is
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height, ratio };
}

const tip = {
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
