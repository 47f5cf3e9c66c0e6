// A page in a folder of any web server: pictures and answers are precomputed (viewer/folder.py).

import { readTile } from "./tile.js";

const MISSING =
  "Not available in a page written to a folder; open the run file with tisim view instead.";

// The folder of the answers; undefined if a server answers.
export const folder = document.documentElement.dataset.prepared;

const files = new Map();

async function fetched(name) {
  const response = await fetch(`${folder}/${name}`);
  if (!response.ok) throw new Error(`${name} is missing in the folder of this page.`);
  if (!name.endsWith(".z")) return response.arrayBuffer();
  const plain = response.body.pipeThrough(new DecompressionStream("deflate"));
  return new Response(plain).arrayBuffer();
}

// A file of the folder, fetched once.
function file(name) {
  if (!files.has(name)) {
    const answer = fetched(name);
    answer.catch(() => files.delete(name));
    files.set(name, answer);
  }
  return files.get(name);
}

const json = async (name) => JSON.parse(new TextDecoder().decode(await file(name)));

// Yields the cells of a tile for some lanes, merged by class of key, with shifted columns.
function* cellsOf(tile, classOf, [low, high], shift) {
  for (let i = 0; i < tile.cells; ) {
    const [column, lane] = [tile.column[i], tile.lane[i]];
    const cell = new Map(); // share and seen of each class
    for (; i < tile.cells && tile.column[i] === column && tile.lane[i] === lane; i += 1) {
      const key = classOf[tile.key[i]];
      const [share, seen] = cell.get(key) ?? [0, 0];
      cell.set(key, [share + tile.share[i], seen | tile.seen[i]]);
    }
    if (lane < low || lane > high) continue;
    for (const key of [...cell.keys()].sort((a, b) => a - b)) {
      const [share, seen] = cell.get(key);
      yield [column + shift, lane - low, key, Math.min(share, 255), seen];
    }
  }
}

const FIELDS = ["column", "lane", "key", "share", "seen"];
const TYPES = [Uint16Array, Uint16Array, Uint8Array, Uint8Array, Uint8Array];

// The picture of a window, from the coarsest level with columns narrow enough, or the finest.
async function tile({ begin, end, first, last, columns, by }) {
  const [run, index] = await Promise.all([json("run.z"), json("index.json")]);
  const wanted = Math.ceil(Math.log2((run.end * columns) / (index.columns * (end - begin))));
  const level = Math.max(0, Math.min(wanted, index.levels - 1));
  const parts = 2 ** level;
  const from = Math.max(0, Math.min(Math.floor((begin / run.end) * parts), parts - 1));
  const to = Math.max(from, Math.min(Math.ceil((end / run.end) * parts) - 1, parts - 1));
  const names = Array.from({ length: to - from + 1 }, (_, i) => `tile-${level}-${from + i}.z`);
  const tiles = (await Promise.all(names.map(file))).map((buffer) => readTile(buffer));
  const { lanes } = tiles[0];
  const lane = (position) => Math.floor((position * lanes) / run.ranks);
  const low = lane(first);
  const high = lane(last);
  const classOf = run.keys.map(([state, kind]) => (by === "kind" ? kind : state));
  const rows = tiles.flatMap((one, i) => [
    ...cellsOf(one, classOf, [low, high], i * index.columns),
  ]);
  const made = { by, note: null, legend: null, cells: rows.length, lanes: high - low + 1 };
  FIELDS.forEach((field, i) => {
    made[field] = TYPES[i].from(rows, (row) => row[i]);
  });
  return {
    ...made,
    begin: (run.end * from) / parts,
    end: (run.end * (to + 1)) / parts,
    columns: tiles.length * index.columns,
    first: Math.ceil((low * run.ranks) / lanes),
    last: Math.ceil(((high + 1) * run.ranks) / lanes) - 1,
  };
}

// The answer for the shortest prepared window that contains the window.
async function within(name, { begin, end }) {
  const [run, index] = await Promise.all([json("run.z"), json("index.json")]);
  const pictured = name === "path" || name === "messages";
  for (let level = (pictured ? index.pictured : index.windows) - 1; level >= 0; level -= 1) {
    const half = run.end / 2 ** (level + 1);
    const part = Math.max(0, Math.min(Math.floor(begin / half), 2 ** (level + 1) - 2));
    const window = { begin: part * half, end: (part + 2) * half };
    if (level > 0 && (begin < window.begin || end > window.end * (1 + 1e-12))) continue;
    const answers = await json(`window-${level}-${part}.z`);
    return { ...answers[name], prepared: window };
  }
  throw new Error(MISSING);
}

async function record({ rank, time }) {
  const records = await json("records.z");
  const has = ({ state }) => state.rank === rank && state.start <= time && time < state.end;
  const match = records.find(has);
  if (!match) throw new Error(MISSING);
  return match;
}

export async function askFolder(name, query) {
  if (name === "tile") return tile(query);
  if (name === "run" || name === "findings") return json(`${name}.z`);
  if (name === "record") return record(query);
  if (name === "state" || name === "order" || name === "search") throw new Error(MISSING);
  return within(name, query);
}
