// Formatting of numbers: one unit for all times of a window, so that they can be compared.

const UNITS = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "us"],
  [1e-9, "ns"],
];

export function unitOf(seconds) {
  return UNITS.find(([size]) => Math.abs(seconds) >= size) || UNITS[seconds === 0 ? 0 : 3];
}

export function time(seconds, digits = 4) {
  if (seconds === null || seconds === undefined) return "never";
  const [size, name] = unitOf(seconds);
  return `${Number((seconds / size).toPrecision(digits))} ${name}`;
}

// An instant, with enough digits to distinguish times `step` apart, in the unit of `like`.
export function instant(seconds, step, like = seconds) {
  const [size, name] = unitOf(Math.max(Math.abs(like), step));
  const digits = Math.max(0, Math.min(12, Math.ceil(-Math.log10(step / size)) + 1));
  return `${(seconds / size).toFixed(digits)} ${name}`;
}

export function bytes(count) {
  for (const [size, name] of [
    [1e12, "TB"],
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
  ]) {
    if (count >= size) return `${Number((count / size).toPrecision(4))} ${name}`;
  }
  return `${count} B`;
}

export function percent(share) {
  return share > 0 && share < 0.0005 ? "<0.1%" : `${(100 * share).toFixed(1)}%`;
}

export function whole(count) {
  return count.toLocaleString("en");
}

// Round values between two ends, at most `most` of them.
export function ticks(begin, end, most) {
  const raw = (end - begin) / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= raw) || raw;
  const values = [];
  for (let n = Math.ceil(begin / step - 1e-9); n * step <= end * (1 + 1e-12); n += 1)
    values.push(n * step);
  return { step, values };
}

// The name of a lane of one rank: GPU streams have names of their own.
export function laneName(run, rank) {
  return run.lanes ? run.lanes[rank] : `rank ${rank}`;
}

// The lanes from `first` to `last` whose names fit, at least `apart` lanes apart; lanes that
// start another host (a GPU above its streams) take precedence.
export function namedLanes(first, last, apart, hostAt) {
  const all = Array.from({ length: last - first + 1 }, (_, place) => first + place);
  const named = [];
  const add = (at) => named.every((other) => Math.abs(other - at) >= apart) && named.push(at);
  all.filter((at) => at === 0 || hostAt(at) !== hostAt(at - 1)).forEach(add);
  all.forEach(add);
  return named;
}
