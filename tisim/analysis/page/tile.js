// A picture of a window: cells of columns and lanes, as the server sends them.

// After a head in JSON: column and lane (16 bits each), class, share of the cell in 255ths, and
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

// Draws a tile as pixels: each column of a lane is divided as its time is. A class with a state
// that is longer than the column has a pixel at least, however many ranks the lane has.
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
      for (let y = top + from; y < top + to; y += 1) pixels[y * columns + tile.column[i]] = colour;
      from = Math.max(from, to);
    }
    i = stop;
  }
  return image;
}
