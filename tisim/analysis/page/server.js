// Queries to the viewer's server, to the kernel (in a notebook widget), or to a folder.

import { askFolder, folder } from "./prepared.js";
import { readTile } from "./tile.js";

export async function ask(name, query = {}, { signal } = {}) {
  if (folder) return askFolder(name, query);
  // Null if the page is not in a frame, or in a frame of another origin.
  const carry = window.frameElement?.askKernel;
  if (carry) {
    const bytes = await carry(name, query, signal);
    return name === "tile" ? readTile(bytes) : JSON.parse(new TextDecoder().decode(bytes));
  }
  const response = await fetch(`ask/${name}?${new URLSearchParams(query)}`, { signal });
  const type = response.headers.get("Content-Type");
  if (type.startsWith("application/octet-stream")) return readTile(await response.arrayBuffer());
  if (!type.startsWith("application/json")) throw new Error(await response.text());
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

// Sends queries; only the answer to the last one is used.
export class LatestQuery {
  constructor(use, fail) {
    this.use = use;
    this.fail = fail;
    this.running = null;
  }

  async ask(name, query) {
    this.stop();
    const own = new AbortController();
    this.running = own;
    try {
      const answer = await ask(name, query, { signal: own.signal });
      if (this.running === own) this.use(answer);
    } catch (error) {
      if (error.name !== "AbortError" && this.running === own) this.fail(error);
    }
  }

  // Discards pending answers until the next query.
  stop() {
    this.running?.abort();
    this.running = null;
  }
}

// A run provided by the server: its facts, its colours, and the source of its pictures.
export async function serverRun(of) {
  const run = await ask("run", { of });
  run.createQuery = (use, fail) => new LatestQuery(use, fail);
  run.least = () => run.end * 1e-12;
  return run;
}
