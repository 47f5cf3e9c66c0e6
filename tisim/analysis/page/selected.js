// The selected state: its call, its message, the chain of its causes, and the ranks waiting for it.

import { bytes, instant, percent, time, whole } from "./format.js";
import { linkColumn } from "./link_names.js";
import { LatestQuery } from "./server.js";
import { element, note, numbers, table, texts, times, title } from "./tables.js";

const HINT = "Click a state in the picture: its call, its message and its cause are shown here.";

// Names and values; empty values are omitted.
function list(...pairs) {
  const known = pairs.filter(([, value]) => value !== "");
  const cells = ([name, value]) => [element("dt", {}, name), element("dd", {}, value)];
  return element("dl", {}, ...known.flatMap(cells));
}

const plural = (count, noun) => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
const rankOf = (rank) => (rank < 0 ? "" : `rank ${rank}`);
const timeInFlight = ({ arrived, started }) => (arrived ?? 0) - (started ?? arrived ?? 0);

export class Selection {
  // The state may be selected in the chart of either run.
  constructor(box, chart, second) {
    Object.assign(this, { box, first: chart, second: second?.chart ?? null, view: chart.view });
    this.query = new LatestQuery(
      (answer) => this.show(answer),
      (error) => {
        this.forget();
        this.box.replaceChildren(note(error.message));
      },
    );
  }

  // Called after a change; `what` as in View.
  update(what) {
    const { selected, tab } = this.view;
    if (selected) {
      if (what !== "window" || !this.chart.record) this.query.ask("record", selected);
      return;
    }
    this.query.stop();
    this.forget();
    if (tab === "selected") this.box.replaceChildren(note(HINT));
  }

  // The chart with the selected state.
  get chart() {
    return this.second && this.view.selected?.of === "b" ? this.second : this.first;
  }

  forget() {
    for (const chart of [this.first, this.second]) {
      if (!chart?.record) continue;
      chart.record = null;
      chart.draw();
    }
  }

  go(rank, at) {
    this.chart.view.select({ rank, time: at }, { moveIntoView: true });
  }

  goTo({ rank, start, end }) {
    this.go(rank, (start + end) / 2);
  }

  toCause() {
    const { record } = this.chart;
    if (record?.chain.length) this.goTo(record.chain[0]);
  }

  // Selects the rank's next state, or its previous one.
  step(direction) {
    const { record, run } = this.chart;
    if (!record) return;
    const { rank, start, end } = record.state;
    const little = Math.max(end, 1e-9) * 1e-12;
    const at = direction > 0 ? end + little : start - little;
    if (at > 0 && at < run.end) this.go(rank, at);
  }

  show(answer) {
    this.forget();
    this.chart.record = answer;
    this.chart.draw();
    if (this.view.tab !== "selected") return;
    const { state, sampled, order, messages, route, waiting } = answer;
    const length = state.end - state.start;
    const step = Math.max(length / 100, 1e-12);
    this.box.replaceChildren(
      title(this.swatch(state.state), `${state.state}, ${time(length)}`),
      list(
        ["rank", `${state.rank} on ${answer.host}`],
        ["from", instant(state.start, step)],
        ["to", instant(state.end, step)],
        ["waits for", rankOf(state.cause)],
      ),
      ...callParts(answer),
      ...(sampled.length ? sampledParts(length, sampled, order) : []),
      ...this.chainParts(answer),
      ...messageParts(answer.message, step),
      ...(messages.length > 1 ? this.messagesParts(state.rank, messages) : []),
      ...(route ? routeParts(route) : []),
      ...this.waitingParts(waiting),
    );
  }

  swatch(name) {
    const box = element("i", { class: "swatch" });
    const known = this.first.run.states.find((state) => state.name === name);
    if (known) box.style.background = known.colour;
    return box;
  }

  // Causes of a wait: shares that add up to it, and the ranks on the path to the largest.
  chainParts({ chain, causes }) {
    if (!causes.length) return [];
    const steps = chain.map((step) => {
      const what = `${step.state} in ${step.kind} (line ${step.line}), ${time(step.end - step.start)}`;
      const explained = `explains ${time(step.explains)}, ${percent(step.share)}`;
      const part = step.share < 0.0005 ? ": passes it on" : `: ${explained}`;
      const text = `rank ${step.rank}: ${what.replace(/ (?=[^ ]+$)/, "\u00a0")}${part}`;
      const button = { onclick: () => this.goTo(step) };
      return element("li", {}, element("button", button, this.swatch(step.state), text));
    });
    const columns = [
      texts("rank", ({ rank }) => (rank < 0 ? "" : String(rank))),
      texts("in", ({ state }) => state),
      times("explains", "explains"),
      numbers("share", "share", percent),
      numbers("parts", "parts", whole),
    ];
    const click = (cause) => cause.start !== undefined && this.goTo(cause);
    return [
      title("What it waited for"),
      element("p", {}, this.describeCause(causes[0])),
      table(columns, causes, { sorted: 2, filter: false, click }),
      ...(steps.length ? [note("Path to the largest cause:")] : []),
      element("ol", { class: "chain" }, ...steps),
    ];
  }

  // The largest cause as text.
  describeCause({ rank, state, explains, share, origin }) {
    const { run } = this.chart;
    if (rank < 0) return "The two ranks met too long ago: the cause of the wait is unknown.";
    const what = `rank ${rank} in ${state}, on ${run.hosts[run.hostOf[rank]]}`;
    const part = `explains ${time(explains)} of the wait, ${percent(share)}.`;
    return origin
      ? `The origin: ${what}. It ${part}`
      : `No single origin: the largest cause, ${what}, ${part}`;
  }

  // The messages of one call: a collective, or a receive and a send.
  messagesParts(rank, messages) {
    const first = Math.min(...messages.map(({ posted }) => posted ?? Number.POSITIVE_INFINITY));
    const columns = [
      numbers("from", "source"),
      numbers("to", "destination"),
      numbers("size", "bytes", bytes),
      times("sent after", ({ posted }) => (posted ?? first) - first),
      times("under way", timeInFlight),
    ];
    // Shows the other end at the time when it posts the message.
    const click = ({ source, destination, posted, received }) => {
      const [other, at] = source === rank ? [destination, received] : [source, posted];
      if (at !== null) this.go(other, at);
    };
    return [
      title(`Messages of this call: ${whole(messages.length)}`),
      table(columns, messages, { sorted: 4, filter: false, click }),
    ];
  }

  waitingParts(waiting) {
    if (waiting === null) {
      return [
        note(
          "The run has too many states, or its chains of waits are too long, to find the ranks " +
            "that wait because of it.",
        ),
      ];
    }
    if (!waiting.length) return [];
    const all = waiting.reduce((sum, { seconds }) => sum + seconds, 0);
    const columns = [numbers("rank", "rank"), times("waits", "seconds"), texts("in", "state")];
    return [
      title(`Who waits because of it: ${plural(waiting.length, "rank")}, ${time(all)} in all`),
      table(columns, waiting, { sorted: 1, filter: false, click: this.goTo.bind(this), most: 50 }),
      note(
        "All waits caused by it, including later ones. Click to show the longest of these waits.",
      ),
    ];
  }
}

function callParts({ state, call, site, text }) {
  if (!call) return [];
  return [
    title(`Call: ${call.kind}, ${time(call.end - call.start)}`),
    list(
      ["line", `${call.line} of the trace of rank ${state.rank}`],
      ["source", sourceOf(site || "")],
      ["text", text || ""],
      ["peer", rankOf(call.peer)],
      ["size", call.bytes < 0 ? "" : bytes(call.bytes)],
      ["volume", call.volume ? call.volume.toPrecision(6) : ""],
      ["communicator", call.communicator ? String(call.communicator) : ""],
    ),
  ];
}

// A call path: one function per line, the outermost first.
function sourceOf(path) {
  if (!path.includes(" > ") || /^(between|behind|before) /.test(path)) return path;
  const functions = path.split(" > ").map((name) => element("li", {}, name));
  return element("ol", { class: "source" }, ...functions);
}

// The sampled functions of a computation; `order`: in sequence.
function sampledParts(length, sampled, order) {
  const columns = [
    texts("call path", ([path]) => path),
    numbers("share", ([, share]) => share, percent),
    times("time", ([, share]) => share * length),
  ];
  const parts = [title("Sampled in"), table(columns, sampled, { sorted: 1, filter: false })];
  if (order.count < 2) return parts;
  const runs = order.runs.map(([path, samples]) => `${path} ${whole(samples)}`).join(", ");
  const more = order.count - order.runs.length;
  const rest = more ? `, and ${whole(more)} more` : "";
  return [...parts, note(`In order of time, with numbers of samples: ${runs}${rest}`)];
}

function messageParts(message, step) {
  if (!message) return [];
  const { source, destination, tag, collective, posted, received, started, arrived } = message;
  const when = (at) => (at === null ? "never" : instant(at, step));
  const kind = `tag ${tag}${collective ? ", of a collective" : ""}`;
  return [
    title("The message"),
    list(
      ["from", `rank ${source} to rank ${destination}`],
      ["size", `${bytes(message.bytes)}, ${kind}`],
      ["send posted", when(posted)],
      ["receive posted", when(received)],
      ["under way", started === null ? "" : `${when(started)} to ${when(arrived)}`],
    ),
  ];
}

// The links of a message's route, and its share of each.
function routeParts(rows) {
  const columns = [
    linkColumn,
    numbers("bandwidth", "bandwidth", (value) => `${bytes(value)}/s`),
    numbers("its share", "share", percent),
    numbers(
      "all",
      (row) => row.load ?? -1,
      (value) => (value < 0 ? "unknown" : percent(value)),
    ),
    numbers(
      "messages",
      (row) => row.messages ?? -1,
      (value) => (value < 0 ? "" : whole(value)),
    ),
  ];
  return [
    title(`Its route: ${plural(rows.length, "link")}`),
    table(columns, rows, { sorted: 3, filter: false }),
    note(
      "Means over the time in which the message is in flight: its share of the bandwidth, and " +
        "that of all messages.",
    ),
  ];
}
