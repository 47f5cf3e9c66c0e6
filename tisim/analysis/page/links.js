// The load of the links in the window: by level, on the drawn platform, and individually.

import { prepared } from "./canvas.js";
import { bytes, percent, whole } from "./format.js";
import { shade } from "./heatmaps.js";
import { linkColumn } from "./link_names.js";
import { ask } from "./server.js";
import { counts, element, note, numbers, table, title } from "./tables.js";

const STRIP = 18; // pixels

// One row per level: its links from left to right, darker for higher loads.
function strip({ name, links, used, mean, most, loads }, fullest) {
  const canvas = element("canvas", { class: "strip" });
  const paint = () => {
    if (!canvas.clientWidth) return;
    const { context, width } = prepared(canvas, STRIP);
    loads.forEach((load, place) => {
      if (!load) return;
      const [from, to] = [place, place + 1].map((one) => (one / loads.length) * width);
      context.fillStyle = shade(load / fullest);
      context.fillRect(from, 0, Math.max(to - from - (to - from > 4 ? 1 : 0), 1), STRIP);
    });
  };
  new ResizeObserver(paint).observe(canvas);
  const label = used < links ? `${whole(used)} of ${whole(links)}` : whole(links);
  return element(
    "div",
    { class: "level", title: "Links from left to right; of many, the fullest of each few" },
    element("span", {}, element("b", {}, name), ` (${label})`),
    element("span", {}, `mean ${percent(mean)}, most ${percent(most)}`),
    canvas,
  );
}

function drawing(picture) {
  return element("img", {
    class: "platform",
    title: "Larger, and smaller again",
    alt: "The platform; links are coloured by their mean load in the window",
    src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture)}`,
    onclick: (event) => event.target.classList.toggle("large"),
  });
}

// A large platform is drawn only on demand, across the page.
function drawButton({ view, say }) {
  const draw = async ({ target }) => {
    const { begin, end } = view;
    try {
      const { picture } = await ask("links", { begin, end, picture: 1 });
      const image = drawing(picture);
      image.classList.add("large");
      target.replaceWith(image);
    } catch (error) {
      say(error);
    }
  };
  return element("button", { type: "button", onclick: draw }, "Draw the platform");
}

export function links({ all, levels, picture, rows }, panels) {
  const columns = [
    linkColumn,
    numbers("load", "load", percent),
    numbers("carried", "bytes", (value) => bytes(Math.round(value))),
    counts("messages", "messages"),
    numbers("bandwidth", "bandwidth", (value) => `${bytes(value)}/s`),
  ];
  return [
    title(`Links used in this window: ${whole(all)}`),
    ...levels.map((level) => strip(level, levels[0].most)),
    picture ? drawing(picture) : drawButton(panels),
    table(columns, rows, {
      sorted: 1,
      most: 100,
      empty: "No message crosses a link in this window.",
    }),
    note(
      "Load: mean share of the bandwidth used in the window, by messages of all ranks. " +
        "In the strips, the fullest link is the darkest.",
    ),
  ];
}
