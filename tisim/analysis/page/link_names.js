// Short names of links for tables: the ends of a link, with its own name as the tooltip.

import { texts } from "./tables.js";

// "switch 4 of level 1" is L1.4, "blade 1 of chassis 2 in group 3" is g3.c2.b1.
function short(text) {
  return text
    .replace(/switch (\d+) of level (\d+)/g, "L$2.$1")
    .replace(/blade (\d+) of chassis (\d+) in group (\d+)/g, "g$3.c$2.b$1")
    .replace(/^all that passes /, "all of ")
    .replace(/ to /, " \u2192 ")
    .replace(/ and /, " \u2194 ");
}

export const linkColumn = texts("link", (row) => row.words || row.link, {
  text: short,
  title: (row) => (row.words ? `${row.link}: ${row.words}` : row.link),
});
