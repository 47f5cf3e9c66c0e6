// Arrays of the page's data, and the places that pictures are drawn in.

const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u1: Uint8Array };

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new TYPES[packed.type](await new Response(stream).arrayBuffer());
}

// The same object with its packed arrays unpacked, wherever they are.
export async function unpackAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (!Array.isArray(value) && "type" in value && "data" in value) return unpack(value);
  const made = Array.isArray(value) ? [] : {};
  for (const key of Object.keys(value)) made[key] = await unpackAll(value[key]);
  return made;
}

// A canvas as large as its place, in the pixels of the screen.
export function prepared(canvas, height) {
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
