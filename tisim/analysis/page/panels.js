// What stands beside the picture: the selected state, and tables of the window.

import { ask, Asker } from "./ask.js";
import { Bookmarks } from "./bookmarks.js";
import { Differences } from "./differences.js";
import { bytes, instant, percent, time, whole } from "./format.js";
import { NetworkPanel, route } from "./network.js";
import { PathPanel } from "./path.js";
import { CallSites } from "./sites.js";
import { element } from "./cells.js";
import { table } from "./table.js";

// Rows of the table of ranks; of more ranks, a row is several.
const MOST_RANKS = 2048;
const rank = (number) => (number < 0 ? "" : String(number));

export class Panels {
  // `second`: the chart, view and run of a second run, if there is one.
  constructor(box, tabs, view, run, chart, say, second = null) {
    Object.assign(this, { box, tabs, view, run, chart, say, second });
    this.differences = new Differences(box, view, say);
    this.bookmarks = new Bookmarks(box, view);
    this.path = new PathPanel(box, view, say);
    this.links = new NetworkPanel(box, view, say);
    this.sites = new CallSites(box, view, say);
    this.sums = new Asker((answer) => this.showSums(answer), say);
    this.found = new Asker((answer) => this.showFound(answer), say);
    this.record = new Asker((answer) => this.showRecord(answer), (error) => {
      this.forget();
      this.box.replaceChildren(element("p", { class: "note" }, error.message));
    });
    for (const tab of tabs) tab.addEventListener("click", () => view.set({ tab: tab.dataset.tab }));
    chart.canvas.addEventListener("messages", (event) => this.showMessages(event.detail));
  }

  update(what) {
    const { tab } = this.view;
    for (const one of this.tabs) one.setAttribute("aria-selected", String(one.dataset.tab === tab));
    if (this.view.selected) {
      if (what !== "window" || !this.selectedChart().record) this.record.ask("record", this.view.selected);
    } else this.forget();
    if (tab === "selected" && !this.view.selected) {
      this.say(null);
      this.box.replaceChildren(element("p", { class: "note" }, "Click a state in the picture: its call, its message and its cause are shown here."));
    } else if (tab === "statistics") this.sums.ask("statistics", { ...this.view.window(), lanes: 1 });
    else if (tab === "ranks") this.sums.ask("statistics", { ...this.view.window(), lanes: MOST_RANKS });
    else if (tab === "messages") this.askMessages();
    else if (tab === "bookmarks") this.bookmarks.show();
    else if (tab === "path") this.path.request();
    else if (tab === "links") this.links.request();
    else if (tab === "sites") this.sites.request();
    else if (tab === "differences" && this.second) this.differences.request();
    else if (tab === "found") {
      if (this.view.query) this.found.ask("search", { ...this.view.window(), q: this.view.query });
      else this.box.replaceChildren(element("p", { class: "note" }, "Search for states of the window, such as: state = late sender and wait > 1ms"));
    }
  }

  // The chart with the selected state, and no other selects one.
  selectedChart() { return this.view.selected && this.view.selected.of === "b" && this.second ? this.second.chart : this.chart; }

  forget() {
    for (const chart of [this.chart, this.second && this.second.chart]) {
      if (!chart || !chart.record) continue;
      chart.record = null;
      chart.draw();
    }
  }

  async askMessages() {
    try {
      this.showMessages(await ask("messages", { ...this.view.window(), most: 400 }));
    } catch (error) {
      this.say(error);
    }
  }

  swatch(name) {
    const box = element("i", { class: "swatch" });
    const known = this.run.states.find((one) => one.name === name);
    if (known) box.style.background = known.colour;
    return box;
  }

  showSums(answer) {
    if (this.view.tab === "ranks") return this.showRanks(answer);
    if (this.view.tab !== "statistics") return undefined;
    const rows = answer.keys.map((row) => ({ ...row, state: this.run.states[row.state].name, kind: this.run.kinds[row.kind] }));
    const states = new Map();
    for (const row of rows) {
      const sum = states.get(row.state) || { state: row.state, kind: "", seconds: 0, count: 0, longest: 0 };
      sum.seconds += row.seconds;
      sum.count += row.count;
      sum.longest = Math.max(sum.longest, row.longest);
      states.set(row.state, sum);
    }
    const columns = (kinds) => [
      ...(kinds ? [{ name: "call", value: (row) => row.kind, left: true }] : []),
      { name: "state", value: (row) => row.state, left: true },
      { name: "sum", value: (row) => row.seconds, text: (value) => time(value) },
      { name: "share", value: (row) => row.seconds / answer.seconds, text: percent },
      { name: "times", value: (row) => row.count, text: whole },
      { name: "longest", value: (row) => row.longest, text: (value) => time(value) },
    ];
    const search = (row) => {
      const call = row.kind ? `call = ${row.kind} and ` : "";
      this.view.set({ tab: "found", query: `${call}state = ${row.state}` });
    };
    return this.box.replaceChildren(
      element("h3", {}, "States of the window, summed over its ranks"),
      table(columns(false), [...states.values()], { sorted: 1, click: search, filter: false }),
      element("h3", {}, "By call and state"),
      table(columns(true), rows, { sorted: 2, click: search }),
      element("p", { class: "note" }, "A click on a row finds its longest states. Longest: of the whole state, also where the window shows a part of it."),
    );
  }

  showRanks(answer) {
    const lanes = new Map();
    for (const [first, last, state, seconds, longest] of answer.lanes) {
      const lane = lanes.get(first) || { first, last, computing: 0, waiting: 0, longest: 0 };
      if (this.run.states[state].wait) {
        lane.waiting += seconds;
        lane.longest = Math.max(lane.longest, longest);
      } else if (this.run.states[state].name === "compute") lane.computing += seconds;
      lanes.set(first, lane);
    }
    const go = (lane) => this.view.show({ first: lane.first, last: lane.last });
    const mean = (name) => (lane) => lane[name] / (lane.last - lane.first + 1);
    const groups = [...lanes.values()].some((lane) => lane.first < lane.last);
    const host = (lane) => this.run.hosts[this.run.hostOf[this.view.rankAt(lane.first)]];
    this.box.replaceChildren(
      element("h3", {}, "Ranks of the window"),
      table([
        { name: "rank", value: (lane) => lane.first, text: (value, lane) => (lane.first === lane.last ? String(this.view.rankAt(value)) : `${value} to ${lane.last}`) },
        ...(groups ? [] : [{ name: "host", value: host, text: (value) => value.split(".")[0], title: host, left: true, narrow: true }]),
        { name: "computing", value: mean("computing"), text: (value) => time(value) },
        { name: "waiting", value: mean("waiting"), text: (value) => time(value) },
        { name: "longest", value: (lane) => lane.longest, text: (value) => time(value) },
      ], [...lanes.values()], { sorted: groups ? 1 : 2, click: go }),
      element("p", { class: "note" }, `${groups ? "A row is several ranks: their means, and the longest wait of all. " : ""}Waiting: in the wait states, for another rank; longest: of these states. A click on a row shows these ranks only; Back returns.`),
    );
  }

  showMessages(answer) {
    if (this.view.tab !== "messages") return;
    if (answer.all === null) {
      this.box.replaceChildren(element("p", { class: "note" }, "The window has too many messages to list; zoom in."));
      return;
    }
    const waited = (one) => (one.arrived === null || one.received === null ? 0 : one.arrived - one.received);
    const go = (one) => this.view.select({ rank: one.destination, time: one.arrived - Math.min(1e-9, waited(one) / 2) }, { bring: true });
    this.box.replaceChildren(
      element("h3", {}, `${whole(answer.messages.length)} of ${whole(answer.all)} messages of the window, the longest waits first`),
      table([
        { name: "from", value: (one) => one.source },
        { name: "to", value: (one) => one.destination },
        { name: "size", value: (one) => one.bytes, text: bytes },
        { name: "tag", value: (one) => one.tag },
        { name: "under way", value: (one) => (one.arrived ?? 0) - (one.started ?? one.arrived ?? 0), text: (value) => time(value) },
        { name: "waited for", value: waited, text: (value) => time(value) },
      ], answer.messages, { sorted: 5, click: go }),
    );
  }

  showFound(answer) {
    if (this.view.tab !== "found") return;
    const go = (one) => this.view.select({ rank: one.rank, time: (one.start + one.end) / 2 }, { bring: true });
    const step = (this.view.end - this.view.begin) / 1000;
    this.box.replaceChildren(
      element("h3", {}, `${whole(answer.matches)} states of the window, ${time(answer.seconds)} in all`),
      element("p", { class: "note" }, `${this.view.query}; the longest first`),
      table([
        { name: "rank", value: (one) => one.rank },
        { name: "state", value: (one) => one.state, left: true },
        { name: "call", value: (one) => one.kind, left: true },
        { name: "begins", value: (one) => one.start, text: (value) => instant(value, step) },
        { name: "lasts", value: (one) => one.end - one.start, text: (value) => time(value) },
        { name: "for rank", value: (one) => one.cause, text: rank },
      ], answer.states, { sorted: 4, click: go }),
    );
  }

  showRecord(answer) {
    this.forget();
    const chart = this.selectedChart();
    chart.record = answer;
    chart.draw();
    if (this.view.tab !== "selected") return;
    const { state, call, message, messages, chain, host } = answer;
    const step = Math.max((state.end - state.start) / 100, 1e-12);
    const list = (pairs) => element("dl", {}, ...pairs.filter(([, value]) => value !== "").flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
    const parts = [
      element("h3", {}, this.swatch(state.state), `${state.state}, ${time(state.end - state.start)}`),
      list([
        ["rank", `${state.rank} on ${host}`],
        ["from", instant(state.start, step)],
        ["to", instant(state.end, step)],
        ["waits for", state.cause < 0 ? "" : `rank ${state.cause}`],
      ]),
    ];
    if (call) {
      parts.push(element("h3", {}, `Call: ${call.kind}, ${time(call.end - call.start)}`), list([
        ["line", `${call.line} of the trace of rank ${state.rank}`],
        ["source", this.source(answer.site || "")],
        ["text", answer.text || ""],
        ["peer", call.peer < 0 ? "" : `rank ${call.peer}`],
        ["size", call.bytes < 0 ? "" : bytes(call.bytes)],
        ["volume", call.volume ? call.volume.toPrecision(6) : ""],
        ["communicator", call.communicator ? String(call.communicator) : ""],
      ]));
    }
    if (answer.sampled.length) parts.push(...this.sampledIn(state, answer.sampled));
    if (chain.length) {
      const items = chain.map((one) => {
        const all = one.end - one.start;
        const part = one.within < 0.995 * all ? `, ${time(one.within)} of it ${one.longer === null ? "meanwhile" : "since both last met"}` : "";
        const text = `rank ${one.rank}: ${one.state} in ${one.kind} (line ${one.line}), ${time(all).replace(" ", "\u00a0")}${part}`;
        return element("li", {}, element("button", { onclick: () => this.goTo(one) }, this.swatch(one.state), text));
      });
      const origin = chain[chain.length - 1];
      parts.push(element("h3", {}, "What it waited for"), element("p", {}, this.run.states.find((one) => one.name === origin.state).wait
        ? "The chain ends here: nothing else is known of the last cause."
        : this.originOf(origin, chain.length > 1 ? chain[chain.length - 2].rank : state.rank)), element("ol", { class: "chain" }, ...items));
    }
    if (message) {
      parts.push(element("h3", {}, "The message"), list([
        ["from", `rank ${message.source} to rank ${message.destination}`],
        ["size", `${bytes(message.bytes)}, tag ${message.tag}${message.collective ? ", of a collective" : ""}`],
        ["send posted", message.posted === null ? "never" : instant(message.posted, step)],
        ["receive posted", message.received === null ? "never" : instant(message.received, step)],
        ["under way", message.started === null ? "" : `${instant(message.started, step)} to ${instant(message.arrived, step)}`],
      ]));
    }
    if (messages.length > 1) parts.push(...this.messagesOf(state.rank, messages));
    if (answer.route) parts.push(...route(answer.route));
    if (answer.waiting === null) parts.push(element("p", { class: "note" }, "Too many states are under way meanwhile to find those that wait for it."));
    else if (answer.waiting.length) parts.push(...this.waitingFor(answer));
    this.box.replaceChildren(...parts);
  }

  // What is said of the end of a chain; `other` waits for it.
  originOf({ rank, state, longer }, other) {
    const { run } = this.selectedChart();
    const busy = longer > 0 ? ` Since both last met, it was busy, computing or transferring, for ${time(longer)} longer than rank ${other}.` : "";
    return `The origin: rank ${rank} was in ${state}, on ${run.hosts[run.hostOf[rank]]}.${busy}`;
  }

  // The functions that a computation was in, by its samples.
  sampledIn({ start, end }, sampled) {
    return [
      element("h3", {}, "Sampled in"),
      table([
        { name: "call path", value: ([path]) => path, left: true },
        { name: "share", value: ([, share]) => share, text: percent },
        { name: "time", value: ([, share]) => share * (end - start), text: (value) => time(value) },
      ], sampled, { sorted: 1, filter: false }),
    ];
  }

  // Who waits for the selected state.
  waitingFor({ state, waiting }) {
    const all = waiting.reduce((sum, one) => sum + one.seconds, 0);
    const go = (one) => this.selectedChart().view.select({ rank: one.rank, time: state.end - (state.end - state.start) * 1e-6 }, { bring: true });
    return [
      element("h3", {}, `Who waits meanwhile: ${whole(waiting.length)} rank${waiting.length === 1 ? "" : "s"}, ${time(all)} in all`),
      table([
        { name: "rank", value: (one) => one.rank },
        { name: "waits", value: (one) => one.seconds, text: (value) => time(value) },
      ], waiting, { sorted: 1, filter: false, click: go, most: 50 }),
      element("p", { class: "note" }, "For this rank, or for one that waits for it, while the state lasts. A click shows what the rank does at its end."),
    ];
  }

  // A call path: a function a line, the outermost first.
  source(path) {
    if (!path.includes(" > ") || /^(between|behind|before) /.test(path)) return path;
    return element("ol", { class: "source" }, ...path.split(" > ").map((one) => element("li", {}, one)));
  }

  // Those of one call: a collective, or a receive and a send.
  messagesOf(rank, messages) {
    const first = Math.min(...messages.map((one) => one.posted ?? Infinity));
    return [
      element("h3", {}, `Messages of this call: ${whole(messages.length)}`),
      table([
        { name: "from", value: (one) => one.source },
        { name: "to", value: (one) => one.destination },
        { name: "size", value: (one) => one.bytes, text: bytes },
        { name: "sent after", value: (one) => (one.posted ?? first) - first, text: (value) => time(value) },
        { name: "under way", value: (one) => (one.arrived ?? 0) - (one.started ?? one.arrived ?? 0), text: (value) => time(value) },
      ], messages, { sorted: 4, filter: false, click: (one) => this.toOtherEnd(rank, one) }),
    ];
  }

  // Selects what the other end of a message does when it posts it.
  toOtherEnd(rank, one) {
    const sends = one.source !== rank;
    const at = sends ? one.posted : one.received;
    if (at !== null) this.selectedChart().view.select({ rank: sends ? one.source : one.destination, time: at }, { bring: true });
  }

  goTo(state) { this.selectedChart().view.select({ rank: state.rank, time: (state.start + state.end) / 2 }, { bring: true }); }

  toCause() {
    const { record } = this.selectedChart();
    if (record && record.chain.length) this.goTo(record.chain[0]);
  }

  step(direction) {
    const { record, run, view } = this.selectedChart();
    if (!record) return;
    const { rank: of, start, end } = record.state;
    const little = Math.max(end, 1e-9) * 1e-12;
    const at = direction > 0 ? end + little : start - little;
    if (at > 0 && at < run.end) view.select({ rank: of, time: at }, { bring: true });
  }
}
