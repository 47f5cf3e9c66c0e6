// The viewer's page in a notebook: its own files, with queries sent to the kernel.

// Prefix of this view's query numbers: several views share one kernel.
const view = Math.random().toString(36).slice(2);
let asked = 0;

// Sends queries through the widget's model; answers are bytes.
function connect(model) {
  const waiting = new Map();
  const take = ({ id, error }, buffers) => {
    if (!waiting.has(id)) return; // belongs to another view, or was abandoned
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) {
      reject(new Error(error));
      return;
    }
    const { buffer, byteOffset, byteLength } = buffers[0];
    resolve(buffer.slice(byteOffset, byteOffset + byteLength));
  };
  model.on("msg:custom", take);
  const ask = (name, query = {}, signal = undefined) =>
    new Promise((resolve, reject) => {
      asked += 1;
      const id = `${view}-${asked}`;
      waiting.set(id, { resolve, reject });
      if (signal) {
        signal.addEventListener("abort", () => {
          waiting.delete(id);
          reject(new DOMException("not wanted any more", "AbortError"));
        });
      }
      const texts = Object.fromEntries(
        Object.entries(query).map(([key, value]) => [key, String(value)]),
      );
      model.send({ id, name, query: texts });
    });
  return { ask, end: () => model.off("msg:custom", take) };
}

// The page as one URL: style inline, and each module at a URL that its imports refer to.
function addressesOf(files) {
  const made = new Map();
  const add = (name, type, text) => {
    made.set(name, URL.createObjectURL(new Blob([text], { type })));
    return made.get(name);
  };
  const module = (name) => {
    if (made.has(name)) return made.get(name);
    const address = (_, before, other) => `${before}${module(other)}"`;
    const text = files[name].replace(/(from ")\.\/([\w-]+\.js)"/g, address);
    return add(name, "text/javascript", text);
  };
  const link = '<link rel="stylesheet" href="page/viewer.css">';
  const html = files["viewer.html"]
    .replace(link, () => `<style>${files["viewer.css"]}</style>`)
    .replace("page/viewer.js", module("viewer.js"));
  return { page: add("viewer.html", "text/html", html), all: [...made.values()] };
}

async function render({ model, el }) {
  const { ask, end } = connect(model);
  const { height, files } = JSON.parse(new TextDecoder().decode(await ask("page")));
  const { page, all } = addressesOf(files);
  const frame = document.createElement("iframe");
  Object.assign(frame.style, { width: "100%", height: `${height}px`, border: "0" });
  frame.title = "tisim view";
  frame.askKernel = ask; // called by server.js
  frame.src = page;
  el.append(frame);
  return () => {
    end();
    for (const address of all) URL.revokeObjectURL(address);
  };
}

export default { render };
