// Questions to the server, or, in a widget of a notebook, to its kernel.

export async function ask(name, query = {}, { signal } = {}) {
  // Null where the page is no frame, or one of a page of another origin.
  const carry = window.frameElement && window.frameElement.askKernel;
  if (carry) {
    const bytes = await carry(name, query, signal);
    return name === "tile" ? bytes : JSON.parse(new TextDecoder().decode(bytes));
  }
  const response = await fetch(`ask/${name}?${new URLSearchParams(query)}`, { signal });
  if (response.headers.get("Content-Type").startsWith("application/octet-stream")) {
    return response.arrayBuffer();
  }
  if (!response.headers.get("Content-Type").startsWith("application/json")) throw new Error(await response.text());
  const answer = await response.json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

// Asks again and again; only the answer to the last question is used.
export class Asker {
  constructor(use, fail) {
    this.use = use;
    this.fail = fail;
    this.running = null;
  }

  async ask(name, query) {
    if (this.running) this.running.abort();
    const own = new AbortController();
    this.running = own;
    try {
      const answer = await ask(name, query, { signal: own.signal });
      if (this.running === own) this.use(answer);
    } catch (error) {
      if (error.name !== "AbortError" && this.running === own) this.fail(error);
    }
  }
}
