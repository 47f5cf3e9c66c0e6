// Windows: a part of the time, and of the rows of a picture (ranks, or lanes of ranks) from the
// first to the last. `whole` has the end of the time, the number of rows and the least length.

// The window as far as there is anything; one that is too short grows on both sides.
export function fitted({ begin, end, first, last }, whole) {
  const length = Math.max(Math.min(end - begin, whole.end), whole.least);
  const from = Math.max(0, Math.min(begin + Math.min(end - begin - length, 0) / 2, whole.end - length));
  const count = Math.max(1, Math.min(Math.round(last - first + 1), whole.rows));
  const low = Math.max(0, Math.min(Math.round(first), whole.rows - count));
  return { begin: from, end: from + length, first: low, last: low + count - 1 };
}

// `factor` below 1 shows less; the instant `around` stays where it is.
export function zoomedInTime(shown, factor, around = (shown.begin + shown.end) / 2) {
  return { ...shown, begin: around - (around - shown.begin) * factor, end: around + (shown.end - around) * factor };
}

// The same for rows: at least one more or fewer.
export function zoomedInRows(shown, factor, around = (shown.first + shown.last + 1) / 2) {
  const rows = shown.last - shown.first + 1;
  const count = factor < 1 ? Math.floor(rows * factor) : Math.ceil(rows * factor);
  const first = around - ((around - shown.first) * count) / rows;
  return { ...shown, first, last: Math.round(first) + Math.max(count, 1) - 1 };
}

// Moved by shares of its length and of its rows.
export function moved(shown, share, shareOfRows = 0) {
  const by = (shown.end - shown.begin) * share;
  const rows = Math.sign(shareOfRows) * Math.ceil(Math.abs((shown.last - shown.first + 1) * shareOfRows));
  return { begin: shown.begin + by, end: shown.end + by, first: shown.first + rows, last: shown.last + rows };
}

// As addresses have it: t=<begin>..<end> in seconds and r=<first>..<last>.
export function toAddress({ begin, end, first, last }) {
  return [["t", `${begin}..${end}`], ["r", `${first}..${last}`]];
}

// What an address (URLSearchParams) says of a window; nothing of what is not there or makes no sense.
export function fromAddress(address) {
  const pair = (name) => {
    const text = address.get(name);
    return text ? text.split("..").map(Number) : [];
  };
  const [begin, end] = pair("t");
  const [first, last] = pair("r");
  return { ...(end > begin ? { begin, end } : {}), ...(last >= first ? { first, last } : {}) };
}
