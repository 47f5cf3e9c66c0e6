// The Gantt chart of the report and the viewer: ranks over time, messages, the critical path.
// A run (embedded.js or server.js) provides the content of a window.

import {
  drawArrows,
  drawPathLine,
  drawTimes,
  pixel,
  prepared,
  sizeOf,
  textColourOn,
  themed,
  tip,
} from "./canvas.js";
import { laneName, namedLanes, percent, ticks } from "./format.js";
import { listenToMouse } from "./gestures.js";
import { barsOf, cellsAt, pictureOf } from "./tile.js";

const MIN_LANE_HEIGHT = 4; // pixels
const MIN_GROUP_HEIGHT = 11; // the same for a lane of several ranks, which is labelled
const MAX = { columns: 4096, lanes: 2048 };
const ARROWS = 500;
const ARROW = 16; // pixels: arrows that begin and end in the same cells are merged
const FEW_ARROWS = 60; // more arrows are fainter
const STRENGTHS = 5; // number of arrow strengths
const MAX_LABELS = 3;
const NAMED = { height: 14, width: 40 }; // minimum size in pixels of a bar that shows its name
const DIMMED = 0.66; // opacity of the cover over everything outside the critical path
const EMPTY = "Nothing happens here: the ranks have ended or have not started.";

export const LEFT = 76; // pixels: width of the lane names

export class Gantt {
  // `say` shows an error; `of` is "a" or "b", one of two runs; `margins` and `height` are those of
  // the picture in pixels. Without a height, the style's height applies.
  constructor(canvas, view, run, { say, of = "a", margins = {}, height = null } = {}) {
    Object.assign(this, { canvas, view, run, of, height, messages: [], notes: {} });
    this.margins = { left: LEFT, right: 0, top: 0, bottom: 22, ...margins };
    this.tile = null;
    this.image = null;
    this.path = null; // the critical path of the window
    this.record = null; // the selected state
    this.frame = null; // frame of a window being selected
    this.tiles = run.createQuery((tile) => this.useTile(tile), say);
    this.arrows = run.createQuery((answer) => this.useMessages(answer), say);
    this.paths = run.createQuery((answer) => {
      if (answer.unknown) say(new Error(answer.unknown));
      this.path = answer.drawn ?? null;
      this.notes.path = answer.note;
      this.draw();
    }, say);
    new ResizeObserver(() => this.request()).observe(canvas);
    this.listen();
  }

  // Computes the area of the canvas in which time and ranks are drawn.
  measure() {
    const { left, right, top, bottom } = this.margins;
    const size = sizeOf(this.canvas);
    const width = Math.max(size.width - left - right, 1);
    const height = this.height ?? Math.max(size.height - top - bottom, 1);
    this.area = { left, top, width, height, ratio: size.ratio };
  }

  // Requests the content of the window; until it arrives, the previous picture is stretched.
  request() {
    if (!this.canvas.clientWidth) return; // its tab is hidden
    const { of, view } = this;
    this.measure();
    const { width, height, ratio } = this.area;
    const lanes = this.lanesFor(view.ranks, height);
    const columns = Math.min(Math.round(width * ratio), MAX.columns);
    const cells = Math.min(Math.ceil(width / ARROW), MAX.columns);
    const shown = { of, ...view.window() };
    this.isAsking = true;
    this.tiles.ask("tile", { ...shown, columns, lanes, ...view.colouring });
    if (view.arrows) this.arrows.ask("messages", { ...shown, most: ARROWS, columns: cells, lanes });
    else {
      this.arrows.stop(); // an answer in flight would draw what was switched off
      this.messages = [];
    }
    if (view.path) this.paths.ask("path", shown);
    else {
      this.paths.stop();
      this.path = null;
    }
    this.isAsking = false;
    this.draw();
  }

  // A lane is a rank, or a group of 2, 4, 8, ... ranks large enough for the group's name.
  lanesFor(ranks, height) {
    if (this.run.rowSize || ranks * MIN_LANE_HEIGHT <= height) return Math.min(ranks, MAX.lanes);
    let size = 2;
    while (Math.ceil(ranks / size) * MIN_GROUP_HEIGHT > height && size < ranks) size *= 2;
    return Math.min(Math.ceil(ranks / size), MAX.lanes);
  }

  useTile(tile) {
    this.tile = tile;
    this.bars = null;
    const { height, ratio } = this.area;
    const colours = this.run.legend(tile).map(({ colour }) => pixel(colour));
    this.image = pictureOf(tile, Math.round(height * ratio), colours, pixel(themed("--empty")));
    this.canvas.dispatchEvent(new CustomEvent("tile", { detail: tile }));
    this.canvas.dataset.drawn = String(Number(this.canvas.dataset.drawn || 0) + 1);
    this.draw();
  }

  useMessages({ messages, note }) {
    this.messages = messages;
    this.notes.messages = note;
    this.draw();
  }

  x(time) {
    const { left, width } = this.area;
    const { begin, end } = this.view;
    return left + ((time - begin) / (end - begin)) * width;
  }

  // Ranks per row: 1, or the number set by the run; the last row may have fewer.
  get rowSize() {
    return this.run.rowSize ? this.run.rowSize(this.view) : 1;
  }

  // Number of positions across the height.
  get positions() {
    return Math.ceil(this.view.ranks / this.rowSize) * this.rowSize;
  }

  y(position) {
    const { top, height } = this.area;
    return top + ((position - this.view.first) / this.positions) * height;
  }

  middle(rank) {
    return this.y(this.view.positionOf(rank) + 0.5);
  }

  // The point under the mouse.
  at(event) {
    const { begin, end, first, last } = this.view;
    const { left, top, width, height } = this.area;
    const box = this.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / width;
    const down = (event.clientY - box.top - top) / height;
    const exactPosition = first + down * this.positions;
    const position = Math.max(first, Math.min(Math.floor(exactPosition), last));
    const isInside = share >= 0 && share <= 1 && down >= 0 && exactPosition <= last + 1;
    const isBeside = share < 0 && down >= 0 && down <= 1;
    const rank = this.view.rankAt(position);
    return {
      time: begin + share * (end - begin),
      rank,
      position,
      exactPosition,
      isInside,
      isBeside,
    };
  }

  // Content of the tile under a point as lines of text; empty if there is none.
  sharesAt({ time, position }) {
    const { tile } = this;
    if (!tile) return { count: 0, lines: [] };
    const column = Math.floor(((time - tile.begin) / (tile.end - tile.begin)) * tile.columns);
    const ranks = tile.last - tile.first + 1;
    const lane = Math.floor(((position - tile.first) * tile.lanes) / ranks);
    const { from, to } = cellsAt(tile, column, lane);
    const classes = this.run.legend(tile);
    const cells = [];
    for (let i = from; i < to; i += 1) cells.push([tile.share[i] / 255, classes[tile.key[i]].name]);
    cells.sort((a, b) => b[0] - a[0]);
    const lines = cells.map(([share, name]) => `${percent(share)} ${name || "other"}`);
    return { lines, isOne: ranks === tile.lanes && cells.length === 1 };
  }

  draw() {
    if (this.isAsking || !this.canvas.clientWidth) return;
    const { margins, height: rows } = this;
    const whole = rows === null ? null : margins.top + rows + margins.bottom;
    const { context } = prepared(this.canvas, whole);
    this.measure();
    const { left, top, width, height } = this.area;
    const { begin, end, first, last } = this.view;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.fillStyle = themed("--empty");
    context.fillRect(left, top, width, height);
    this.drawImage(context);
    if (this.path) this.dimOutsidePath(context);
    this.nameBars(context);
    this.drawMessages(context);
    if (this.path) this.drawPath(context, width);
    if (this.tile && !this.tile.cells) this.say(context, this.tile.note || EMPTY);
    this.drawOutliers(context);
    this.drawSelection(context);
    context.restore();
    drawTimes(context, { begin, end, left, width, top: top + height });
    context.textBaseline = "middle";
    context.textAlign = "right";
    if (this.run.rowSize) this.nameRows(context);
    else if (this.hasGroups) this.nameLanes(context);
    else this.nameRanks(context);
    this.drawGroups(context);
    const path = this.path ? this.path.start.length : 0; // number of drawn parts
    const { named } = this; // number of named bars
    Object.assign(this.canvas.dataset, { begin, end, first, last, path, named });
    this.canvas.dispatchEvent(new CustomEvent("drawn"));
  }

  drawImage(context) {
    if (!this.image) return;
    const { begin, end, first, last } = this.tile;
    const [x, right] = [this.x(begin), this.x(end)];
    const [y, bottom] = [this.y(first), this.y(last + 1)];
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, x, y, right - x, bottom - y);
  }

  say(context, text) {
    const { left, top, width, height } = this.area;
    context.fillStyle = themed("--faint");
    context.textAlign = "center";
    context.fillText(text, left + width / 2, top + height / 2, width - 16);
    context.textAlign = "left";
  }

  // Writes the name of the state into each uniform bar with room for it.
  nameBars(context) {
    const { tile } = this;
    this.named = 0;
    if (!tile || !tile.cells) return;
    const laneHeight =
      this.y(tile.first + (tile.last - tile.first + 1) / tile.lanes) - this.y(tile.first);
    const columnWidth = (this.x(tile.end) - this.x(tile.begin)) / tile.columns;
    if (laneHeight < NAMED.height) return;
    const least = Math.ceil(NAMED.width / columnWidth);
    if (this.bars?.least !== least) this.bars = { least, all: barsOf(tile, least) };
    const classes = this.run.legend(tile);
    const scale = (tile.last - tile.first + 1) / tile.lanes;
    for (const { lane, key, from, to } of this.bars.all) {
      const { name, colour } = classes[key];
      const { left, width } = this.area;
      const begin = Math.max(this.x(tile.begin) + from * columnWidth, left);
      const end = Math.min(this.x(tile.begin) + to * columnWidth, left + width);
      if (context.measureText(name).width + 8 > end - begin) continue;
      context.fillStyle = this.path ? themed("--ink") : textColourOn(colour);
      const y = this.y(tile.first + (lane + 0.5) * scale);
      // Above the critical path, which runs through the middle.
      const beside = this.path && laneHeight >= 3 * NAMED.height ? NAMED.height : 0;
      context.fillText(name, begin + 4, y - beside);
      this.named += 1;
    }
  }

  // Draws arrows, stronger and on top the longer the wait for the message. If there are many, they
  // are fainter to keep the states visible.
  drawMessages(context) {
    const known = this.messages.filter((one) => one.arrived !== null && one.started !== null);
    const most = known.reduce((value, { waited }) => Math.max(value, waited ?? 0), 0);
    const few = Math.min(1, Math.sqrt(FEW_ARROWS / Math.max(known.length, 1)));
    const levels = Array.from({ length: STRENGTHS }, () => []);
    for (const { source, destination, started, arrived, waited } of known) {
      const part = most > 0 && waited !== undefined ? Math.sqrt(Math.max(waited, 0) / most) : 0.5;
      const tail = [this.x(started), this.middle(source)];
      const level = Math.min(Math.floor(part * STRENGTHS), STRENGTHS - 1);
      levels[level].push([...tail, this.x(arrived), this.middle(destination)]);
    }
    context.save();
    context.strokeStyle = context.fillStyle = themed("--arrow");
    levels.forEach((arrows, level) => {
      const part = level / (STRENGTHS - 1);
      context.globalAlpha = (0.2 + 0.7 * part) * (0.35 + 0.65 * few);
      context.lineWidth = 0.8 + 0.7 * part;
      drawArrows(context, arrows);
    });
    context.restore();
  }

  // The upper and the lower edge of a rank's row.
  edges(rank) {
    const { first, last } = this.run.rowSize || !this.tile ? this.view : this.tile;
    const position = this.view.positionOf(rank);
    const rows = this.run.rowSize ? this.positions / this.rowSize : (this.tile?.lanes ?? 1);
    const size = this.run.rowSize ? this.rowSize : (last - first + 1) / rows;
    const top = this.y(first + Math.floor((position - first) / size) * size);
    return [top, this.y(first + size) - this.y(first)];
  }

  // Dims everything outside the critical path.
  dimOutsidePath(context) {
    const { left, top, width, height } = this.area;
    context.save();
    context.globalAlpha = DIMMED;
    context.fillStyle = themed("--ground");
    context.fillRect(left, top, width, height);
    context.globalAlpha = 1;
    context.beginPath();
    const { start, end, source, destination } = this.path;
    for (let i = 0; i < start.length; i += 1) {
      if (source[i] !== destination[i]) continue;
      const [x, [y, row]] = [this.x(start[i]), this.edges(source[i])];
      context.rect(x, y, Math.max(this.x(end[i]) - x, 1), row);
    }
    context.clip();
    this.drawImage(context);
    context.restore();
  }

  drawPath(context, width) {
    const { start, end, source, destination } = this.path;
    const line = (time, i) => [
      this.x(time),
      this.middle(source[i]),
      this.x(end[i]),
      this.middle(destination[i]),
    ];
    drawPathLine(context, Array.from(start, line), width);
  }

  // Marks computations that took far longer than comparable ones.
  drawOutliers(context) {
    const { view, rowSize } = this;
    const { begin, end, first, last } = view;
    const isSeen = (outlier) =>
      outlier.begin < end && outlier.end > begin && outlier.rank >= first && outlier.rank <= last;
    for (const outlier of (this.run.outliers ?? []).filter(isSeen).slice(0, MAX_LABELS)) {
      const row = first + Math.floor((outlier.rank - first) / rowSize) * rowSize;
      this.drawOutlier(context, outlier, this.y(row), this.y(row + rowSize));
    }
  }

  drawOutlier(context, outlier, rowTop, rowBottom) {
    const { left, top, width } = this.area;
    const [x, right] = [this.x(outlier.begin), this.x(outlier.end)];
    const size = context.measureText(outlier.text).width + 12;
    const y = rowTop > top + 22 ? rowTop - 8 : rowBottom + 8;
    const from = Math.max(left, Math.min((x + right) / 2 - size / 2, left + width - size));
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    const rowHeight = Math.max(rowBottom - rowTop - 2, 2);
    context.strokeRect(x, rowTop + 1, Math.max(right - x, 2), rowHeight);
    context.fillStyle = themed("--ground");
    context.fillRect(from, y - 10, size, 20);
    context.lineWidth = 1;
    context.strokeRect(from, y - 10, size, 20);
    context.fillStyle = themed("--ink");
    context.fillText(outlier.text, from + 6, y);
  }

  // Draws the selected state with its chain of causes, and the window being selected.
  drawSelection(context) {
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    if (this.frame) context.strokeRect(...this.frame);
    if (!this.record) return;
    const { state, chain } = this.record;
    const position = this.view.positionOf(state.rank);
    const [x, y] = [this.x(state.start), this.y(position)];
    const size = [this.x(state.end) - x, this.y(position + 1) - y - 1];
    context.strokeRect(x, y, Math.max(size[0], 2), Math.max(size[1], 3));
    context.setLineDash([4, 3]);
    context.beginPath();
    for (const { start, end, rank } of [state, ...chain]) {
      context.lineTo(this.x((start + end) / 2), this.middle(rank));
    }
    context.stroke();
    context.setLineDash([]);
  }

  nameRows(context) {
    const { left, top, height } = this.area;
    const { view, rowSize } = this;
    const rows = this.positions / rowSize;
    context.fillStyle = themed("--faint");
    const every = Math.max(1, Math.ceil((15 * rows) / height));
    for (let row = 0; row < rows; row += every) {
      const first = view.first + row * rowSize;
      const name = this.run.nameOf(first, Math.min(first + rowSize - 1, view.last));
      context.fillText(name, left - 7, top + ((row + 0.5) / rows) * height);
    }
  }

  // True if lanes are groups of ranks, which open with a click on their names.
  get hasGroups() {
    const { tile } = this;
    return !this.run.rowSize && tile !== null && tile.lanes < tile.last - tile.first + 1;
  }

  // The positions of the group that contains a position.
  groupOf(position) {
    const { first, last, lanes } = this.tile;
    const ranks = last - first + 1;
    const lane = Math.floor(((position - first) * lanes) / ranks);
    const begin = (number) => first + Math.ceil((number * ranks) / lanes);
    return { first: begin(lane), last: begin(lane + 1) - 1 };
  }

  nameLanes(context) {
    const { left } = this.area;
    const every = Math.ceil((13 * this.tile.lanes) / this.area.height);
    context.fillStyle = themed("--accent");
    for (let lane = 0; lane < this.tile.lanes; lane += every) {
      const ranks = this.tile.last - this.tile.first + 1;
      const at = this.tile.first + Math.ceil((lane * ranks) / this.tile.lanes);
      const { first, last } = this.groupOf(at);
      context.fillText(`${first}\u2013${last}`, left - 6, this.y((first + last + 1) / 2), left - 8);
    }
  }

  nameRanks(context) {
    const { left, height } = this.area;
    const { first, last, ranks } = this.view;
    const every = Math.max(1, Math.round(ticks(first, last + 1, height / 22).step));
    const hostAt = (position) => this.run.hostOf?.[this.view.rankAt(position)];
    const multiples = () => {
      const begin = Math.ceil(first / every);
      const count = Math.max(Math.floor(last / every) - begin + 1, 0);
      return Array.from({ length: count }, (_, place) => (begin + place) * every);
    };
    const apart = (12 * ranks) / height;
    for (const at of this.run.lanes ? namedLanes(first, last, apart, hostAt) : multiples()) {
      const rank = this.view.rankAt(at);
      const name = laneName(this.run, rank);
      const fits = this.run.lanes || (every === 1 && context.measureText(name).width < left - 8);
      const y = this.y(at + Math.min(0.5, ranks / 2));
      context.fillText(fits ? name : String(rank), left - 6, Math.max(y, 7), left - 8);
    }
  }

  // Draws a line at the first rank of each group, with its name if there is room.
  drawGroups(context) {
    const { groups } = this.view.arrangement || { groups: [] };
    const { left, width, height } = this.area;
    context.textAlign = "left";
    groups.forEach(([name, first], place) => {
      const [, after] = groups[place + 1] ?? ["", this.run.ranks];
      const [top, next] = [this.y(first), this.y(after)];
      if (next < 0 || top > height || next - top < 4) return;
      context.fillStyle = themed("--ink");
      context.fillRect(left, top, width, 1);
      const y = Math.max(top, 0) + 9;
      if (next - y < 6) return;
      context.fillStyle = themed("--ground");
      context.fillRect(left, y - 8, context.measureText(name).width + 8, 16);
      context.fillStyle = themed("--ink");
      context.fillText(name, left + 4, y);
    });
  }

  listen() {
    listenToMouse(this.canvas, this.view, {
      at: (event) => this.at(event),
      room: () => this.area,
      pointed: (event, point) => this.point(event, point),
      select: (frame) => {
        this.frame = frame;
        this.draw();
      },
      clickedBeside: (point) => {
        if (this.hasGroups) this.view.show(this.groupOf(point.position));
      },
    });
    this.canvas.addEventListener("pointerleave", () => tip.hide());
  }

  // Shows the state under the mouse, from the run if it contains all states, else from the server.
  point(event, point) {
    const { run, view, rowSize } = this;
    const { isInside, position, time } = point;
    if (!run.describe) {
      this.canvas.style.cursor = this.hasGroups && point.isBeside ? "pointer" : "";
      this.asked?.(event, point);
      return;
    }
    const first = view.first + Math.floor((position - view.first) / rowSize) * rowSize;
    const last = Math.min(first + rowSize - 1, view.last);
    if (isInside && time <= run.end) tip.show(event, run.describe(view, first, last, time));
    else tip.hide();
  }
}
