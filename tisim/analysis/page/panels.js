// The tables next to the chart: one per tab, for the window.

import { findings } from "./findings.js";
import { flameGraph } from "./flame.js";
import { bytes, instant, percent, time, whole } from "./format.js";
import { histograms } from "./histograms.js";
import { links } from "./links.js";
import { Selection } from "./selected.js";
import { LatestQuery } from "./server.js";
import { counts, element, instants, note, numbers, table, texts, times, title } from "./tables.js";

// Maximum number of rows in the table of ranks; with more ranks, rows are groups.
const MAX_RANKS = 2048;
const SEARCH = "Search for states of the window, such as: state = late sender and wait > 1ms";
const GAIN = "The run only becomes shorter if one of them does.";
const NO_SITES =
  "The trace of this run has neither call sites nor samples, or no longer exists. tisim " +
  "record --call-sites --sample writes them.";

// Queries of the tabs: `ask(view)` returns the name and parameters of a query, and
// `show(answer, panels)` the content of the panel.
const TABS = {
  findings: { ask: () => ["findings"], show: findings },
  statistics: { ask: (view) => ["statistics", { ...view.window(), lanes: 1 }], show: statistics },
  ranks: { ask: (view) => ["statistics", { ...view.window(), lanes: MAX_RANKS }], show: ranks },
  sites: { ask: (view) => ["sites", view.window()], show: sites },
  path: { ask: (view) => ["path", view.window()], show: path },
  links: { ask: ({ begin, end }) => ["links", { begin, end }], show: links },
  messages: { ask: (view) => ["messages", { ...view.window(), most: 400 }], show: messages },
  found: { ask: (view) => ["search", { ...view.window(), q: view.query }], show: found },
  durations: { ask: (view) => ["durations", view.window()], show: histograms },
  differences: { ask: (view) => ["differences", view.window()], show: differences },
};

export class Panels {
  // `second`: the chart, view, run and delays of a second run, if there is one.
  constructor(box, tabs, chart, say, second = null) {
    const { view, run } = chart;
    Object.assign(this, { box, tabs, view, run, say, second });
    this.selection = new Selection(box, chart, second);
    this.query = new LatestQuery(
      (answer) => this.show(answer),
      (error) => {
        box.replaceChildren(note(error.message)); // the previous content answered another query
        say(error);
      },
    );
    for (const tab of tabs) tab.addEventListener("click", () => view.set({ tab: tab.dataset.tab }));
  }

  async update(what) {
    const { box, view } = this;
    const { tab } = view;
    if (tab !== this.shown && (tab in TABS || tab === "selected"))
      box.replaceChildren(note("Looking through the run \u2026"));
    this.shown = tab;
    for (const one of this.tabs) one.setAttribute("aria-selected", String(one.dataset.tab === tab));
    this.selection.update(what);
    this.query.stop();
    if (tab === "selected") return;
    if (tab === "bookmarks") box.replaceChildren(...bookmarks(view));
    else if (tab === "found" && !view.query) box.replaceChildren(note(SEARCH));
    else if (tab in TABS && (tab !== "differences" || this.second)) {
      if (tab === "differences") await this.second.delays.known;
      if (tab === view.tab) this.query.ask(...TABS[tab].ask(view));
    }
  }

  show(answer) {
    const { unknown, prepared } = answer;
    const parts = unknown ? [note(unknown)] : TABS[this.view.tab].show(answer, this);
    if (prepared) {
      const step = (prepared.end - prepared.begin) / 1000;
      const when = (at) => instant(at, step, prepared.end);
      const span = `${when(prepared.begin)} to ${when(prepared.end)}`;
      parts.unshift(note(`Prepared for ${span}, all ranks.`));
    }
    this.box.replaceChildren(...parts);
  }

  // Searches for the longest states with a row's call and state.
  search({ kind, state }) {
    const call = kind ? `call = ${kind} and ` : "";
    this.view.set({ tab: "found", query: `${call}state = ${state}` });
  }

  select(rank, at) {
    this.view.select({ rank, time: at }, { moveIntoView: true });
  }
}

const CALL = texts("call", "kind", { narrow: true });
const STATE = texts("state", "state", { narrow: true });
const SUM = times("sum", "seconds");

function statistics({ keys, seconds }, panels) {
  const { states, kinds } = panels.run;
  const rows = keys.map((row) => ({
    ...row,
    state: states[row.state].name,
    kind: kinds[row.kind],
  }));
  const sums = new Map();
  for (const { state, ...row } of rows) {
    const sum = sums.get(state) || { state, kind: "", seconds: 0, count: 0, longest: 0 };
    sum.seconds += row.seconds;
    sum.count += row.count;
    sum.longest = Math.max(sum.longest, row.longest);
    sums.set(state, sum);
  }
  const share = numbers("share", (row) => row.seconds / seconds, percent);
  const columns = [STATE, SUM, share, counts("times", "count"), times("longest", "longest")];
  const click = (row) => panels.search(row);
  return [
    title("States of the window, summed over its ranks"),
    table(columns, [...sums.values()], { sorted: 1, click, filter: false }),
    title("By call and state"),
    table([CALL, ...columns], rows, { sorted: 2, click }),
    note(
      "Click a row to find its longest states. Longest refers to the whole state, even if the " +
        "window shows only part of it.",
    ),
  ];
}

function ranks(answer, { view, run }) {
  const lanes = new Map();
  for (const [first, last, state, seconds, longest] of answer.lanes) {
    const lane = lanes.get(first) || { first, last, computing: 0, waiting: 0, longest: 0 };
    const { name, wait } = run.states[state];
    if (name === "compute") lane.computing += seconds;
    if (wait) {
      lane.waiting += seconds;
      lane.longest = Math.max(lane.longest, longest);
    }
    lanes.set(first, lane);
  }
  const rows = [...lanes.values()];
  const areGroups = rows.some(({ first, last }) => first < last);
  const mean = (name) => (lane) => lane[name] / (lane.last - lane.first + 1);
  const nameOf = (value, { first, last }) =>
    first === last ? String(view.rankAt(value)) : `${value} to ${last}`;
  const host = ({ first }) => run.hosts[run.hostOf[view.rankAt(first)]];
  const look = { text: (name) => name.split(".")[0], title: host, narrow: true };
  const columns = [
    numbers("rank", "first", nameOf),
    ...(areGroups ? [] : [texts("host", host, look)]),
    times("compute", mean("computing")),
    times("waiting", mean("waiting")),
    times("longest", "longest"),
  ];
  const click = ({ first, last }) => view.show({ first, last });
  const means = "A row is several ranks: their means, and the longest wait of all. ";
  const meaning =
    "Waiting: in the wait states, for another rank; longest: of these states. A click on a row " +
    "shows these ranks only; Back returns.";
  return [
    title("Ranks of the window"),
    table(columns, rows, { sorted: areGroups ? 1 : 2, click }),
    note(`${areGroups ? means : ""}${meaning}`),
  ];
}

// The innermost function of a call path; the full path is the cell's tooltip.
function innermost(callPath) {
  return callPath.split(" > ").at(-1);
}

// The time of the window by call site.
function sites({ known, rows, whole }, panels) {
  if (!known) return [note(NO_SITES)];
  if (rows === null) {
    return [note("The window has too many states to look up their call sites; zoom in.")];
  }
  const all = rows.reduce((sum, row) => sum + row.seconds, 0) || 1;
  const inFull = (path) => path.split(" > ").map((name) => whole[name] ?? name);
  const look = { text: innermost, title: ({ path }) => (path ? inFull(path).join(" > ") : null) };
  const columns = [
    texts("innermost", (row) => row.path || "between calls", look),
    texts("call and state", ({ kind, state }) => (kind === state ? kind : `${kind}, ${state}`)),
    SUM,
    numbers("share", (row) => row.seconds / all, percent),
    counts("times", "count"),
  ];
  return [
    title("The time of the window by call path"),
    flameGraph(rows, whole, panels),
    note(
      "The width of a function is the time of all ranks in it, from main downwards; the lowest " +
        "boxes are states. Click a box to make it as wide as the picture, and a box above it to " +
        "go back.",
    ),
    table(columns, rows, { sorted: 2, click: (row) => panels.search(row) }),
    note(
      "Calls show the path of their caller; hover over a row for the full path. Sampled " +
        "computations (tisim record --sample) are divided among paths in proportion to their " +
        "samples; the others are shown between calls.",
    ),
  ];
}

// The parts of the critical path.
function path(answer, panels) {
  const { view } = panels;
  const step = (view.end - view.begin) / 1000;
  const share = numbers("share", (row) => row.seconds / (answer.seconds || 1), percent);
  const where = (rank, { destination }) =>
    destination === rank ? String(rank) : `${rank} to ${destination}`;
  const showRank = ({ rank }) => {
    const position = view.positionOf(rank);
    view.show({ first: position, last: position });
  };
  const parts = [
    numbers("rank", "rank", where),
    STATE,
    CALL,
    instants("begins", "start", step),
    times("lasts", ({ start, end }) => end - start),
  ];
  const select = ({ rank, start, end }) => panels.select(rank, (start + end) / 2);
  const kinds = [STATE, CALL, SUM, share, counts("times", "count")];
  const options = { sorted: 1, click: showRank, filter: false, most: 20 };
  return [
    note(`The path has ${whole(answer.parts)} parts in this time, on all ranks. ${GAIN}`),
    title("Composition"),
    table(kinds, answer.kinds, { sorted: 2, filter: false }),
    title("Ranks on the path"),
    table([numbers("rank", "rank"), SUM, share], answer.ranks, options),
    title("Its longest parts"),
    table(parts, answer.longest, { sorted: 4, click: select }),
  ];
}

function messages({ all, messages: rows }, panels) {
  if (all === null) return [note("The window has too many messages to list; zoom in.")];
  const waited = ({ arrived, received }) =>
    arrived === null || received === null ? 0 : arrived - received;
  const columns = [
    numbers("from", "source"),
    numbers("to", "destination"),
    numbers("size", "bytes", bytes),
    numbers("tag", "tag"),
    times("under way", ({ arrived, started }) => (arrived ?? 0) - (started ?? arrived ?? 0)),
    times("waited for", waited),
  ];
  const click = (row) =>
    panels.select(row.destination, row.arrived - Math.min(1e-9, waited(row) / 2));
  const number = `${whole(rows.length)} of ${whole(all)}`;
  return [
    title(`${number} messages of the window, the longest waits first`),
    table(columns, rows, {
      sorted: 5,
      click,
      empty: "No message is posted or under way in this window.",
    }),
  ];
}

function found({ matches, seconds, states }, panels) {
  const { view } = panels;
  const columns = [
    numbers("rank", "rank"),
    STATE,
    CALL,
    instants("begins", "start", (view.end - view.begin) / 1000),
    times("lasts", ({ start, end }) => end - start),
    numbers("for rank", "cause", (rank) => (rank < 0 ? "" : String(rank))),
  ];
  const click = ({ rank, start, end }) => panels.select(rank, (start + end) / 2);
  return [
    title(`${whole(matches)} states of the window, ${time(seconds)} in all`),
    note(`${view.query}; the longest first`),
    table(columns, states, {
      sorted: 4,
      click,
      empty: "No state of the window fits. All (0) shows the whole run, which is searched then.",
    }),
  ];
}

function signed(seconds) {
  const sign = seconds > 0 ? "+" : "\u2212";
  return `${seconds ? sign : ""}${time(Math.abs(seconds))}`;
}

// Time differences between two runs: in the window, and in the whole runs.
function differences({ a, b, ranks: count, rows }, panels) {
  const { steps } = panels.second.delays.answer ?? { steps: [] };
  const [inA, inB] = [a.end - a.begin, b.end - b.begin];
  const change = (row) => (row.b - row.a) / count;
  const columns = [
    CALL,
    STATE,
    times("A", (row) => row.a / count),
    times("B", (row) => row.b / count),
    numbers(
      "B \u2212 A",
      (row) => Math.abs(change(row)),
      (_, row) => signed(change(row)),
    ),
  ];
  const step = inA / 1000;
  const stepColumns = [
    instants("in A from", "begin", step),
    instants("to", "end", step),
    numbers(
      "B takes",
      ({ seconds }) => Math.abs(seconds),
      (_, row) => signed(row.seconds),
    ),
    numbers("most on rank", "rank"),
  ];
  const changed = rows.filter((row) => row.a !== row.b);
  const options = { sorted: 4, click: (row) => panels.search(row), filter: rows.length > 20 };
  const show = ({ begin, end }) => panels.view.show({ begin, end });
  const longer = `The calls of the window take ${signed(inB - inA)} in B`;
  return [
    title(`${longer}: ${time(inB)}, in A ${time(inA)}`),
    table(columns, changed, options),
    note(
      "Seconds are means over the ranks of the window. Click a row to find its longest " +
        "states in A.",
    ),
    title("Where B falls behind, or catches up"),
    table(stepColumns, steps, { sorted: 2, filter: false, click: show }),
    note("By the median over ranks, with a resolution of 1/256 of A. Click to show the part."),
  ];
}

// Bookmarks the window under a name that can be edited.
export function addBookmark(view) {
  const taken = view.marks.map(({ name }) => Number(/^window (\d+)$/.exec(name)?.[1] ?? 0));
  const name = `window ${Math.max(0, ...taken) + 1}`;
  view.set({ marks: [...view.marks, { name, ...view.span() }], tab: "bookmarks" });
}

// Named windows, stored in the page's address.
function bookmarks(view) {
  const button = (attributes, text) => element("button", { type: "button", ...attributes }, text);
  const change = (mark, changed) => {
    const marks = view.marks.map((one) => (one === mark ? changed : one)).filter(Boolean);
    view.set({ marks });
  };
  const step = (view.end - view.begin) / 1000;
  const rows = view.marks.map((mark) => {
    const { name, begin, end, first, last } = mark;
    const input = element("input", { value: name, "aria-label": "Name", maxlength: "60" });
    const rename = () => change(mark, { ...mark, name: input.value.trim() || name });
    input.addEventListener("change", rename);
    const span = `${instant(begin, step)}, ${time(end - begin, 3)}, ranks ${first} to ${last}`;
    const show = button({ onclick: () => view.show({ begin, end, first, last }) }, span);
    const forget = button({ title: "Forget it", onclick: () => change(mark, null) }, "\u00d7");
    return element("li", {}, input, show, forget);
  });
  const add = { id: "bookmark", onclick: () => addBookmark(view) };
  return [
    button(add, "Keep this window (b)"),
    element("ul", { class: "bookmarks" }, ...rows),
    note("Bookmarks are part of the address of the page: save or send it to keep them."),
  ];
}
