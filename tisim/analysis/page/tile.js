// A picture of a window: cells by column and lane, as sent by the server.

const FULL_SHARE = 250; // share in 255ths above which a cell counts as full

// After a JSON head: column and lane (16 bits each), class, share of the cell in 255ths, and
// whether a state of the class in the cell is longer than a column (8 bits each).
export function readTile(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const { cells } = head;
  let at = 4 + length;
  const next = (Type, size) => {
    const array = new Type(buffer.slice(at, at + cells * size));
    at += cells * size;
    return array;
  };
  return {
    ...head,
    column: next(Uint16Array, 2),
    lane: next(Uint16Array, 2),
    key: next(Uint8Array, 1),
    share: next(Uint8Array, 1),
    seen: next(Uint8Array, 1),
  };
}

// The range of cells of a column of a lane; cells are sorted by both.
export function cellsAt(tile, column, lane) {
  const key = (i) => tile.column[i] * tile.lanes + tile.lane[i];
  const wanted = column * tile.lanes + lane;
  const first = (least) => {
    let [low, high] = [0, tile.cells];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (key(middle) < least) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return { from: first(wanted), to: first(wanted + 1) };
}

// Bars: keys that fill at least `least` consecutive columns of a lane.
export function barsOf(tile, least) {
  const bars = [];
  const open = new Array(tile.lanes).fill(null);
  const close = (bar) => {
    if (bar && bar.to - bar.from >= least) bars.push(bar);
  };
  for (let i = 0; i < tile.cells; i += 1) {
    const [column, lane, key] = [tile.column[i], tile.lane[i], tile.key[i]];
    if (tile.share[i] < FULL_SHARE) continue;
    const bar = open[lane];
    if (bar && bar.key === key && bar.to === column) bar.to += 1;
    else {
      close(bar);
      open[lane] = { lane, key, from: column, to: column + 1 };
    }
  }
  open.forEach(close);
  return bars;
}

// A tile as a picture that can be drawn at any size; parameters as in `paint`.
export function pictureOf(tile, height, colours, ground) {
  const image = paint(tile, height, colours, ground);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// Draws a tile as pixels: each column of a lane is divided in proportion to time, from the bottom
// in the order of the classes, as in the report's pictures. A class with a state longer than the
// column gets at least one pixel, however many ranks the lane has.
export function paint(tile, height, colours, ground) {
  const { columns, lanes } = tile;
  const image = new ImageData(columns, height);
  const pixels = new Uint32Array(image.data.buffer);
  pixels.fill(ground);
  const edge = (lane) => Math.floor((lane * height) / lanes);
  for (let i = 0; i < tile.cells; ) {
    let stop = i;
    while (
      stop < tile.cells &&
      tile.column[stop] === tile.column[i] &&
      tile.lane[stop] === tile.lane[i]
    )
      stop += 1;
    const top = edge(tile.lane[i]);
    const gap = height / lanes >= 8 ? 1 : 0;
    const room = edge(tile.lane[i] + 1) - top - gap;
    let from = 0;
    let used = 0;
    for (let j = i; j < stop; j += 1) {
      used += tile.share[j];
      let to = Math.min(room, Math.round((used * room) / 255));
      if (to === from && tile.seen[j] && from < room) to = from + 1;
      const colour = colours[tile.key[j]];
      const [high, low] = [top + room - to, top + room - from];
      for (let y = high; y < low; y += 1) pixels[y * columns + tile.column[i]] = colour;
      from = Math.max(from, to);
    }
    i = stop;
  }
  return image;
}
