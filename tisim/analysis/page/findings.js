// Findings about the run, shown first: sentences that link to the corresponding view.

import { element, note, title } from "./tables.js";

// A sentence with ** around its emphasised parts.
function withEmphasis(text) {
  return text.split("**").map((part, place) => (place % 2 ? element("b", {}, part) : part));
}

// The items of a list; a click shows the window and the tab that belong to the sentence.
export function findings({ findings: found }, { view }) {
  const items = found.map((one) => {
    const { begin, end, first, last, tab, point } = one;
    const go = () => {
      view.remember(view.span());
      view.toRankOrder();
      Object.assign(view, { begin, end, first, last, tab, path: tab === "path" || view.path });
      view.selected = point && { rank: point[0], time: point[1], of: "a" };
      view.changed("all");
    };
    const button = element("button", { type: "button", onclick: go }, ...withEmphasis(one.text));
    return element("li", {}, button);
  });
  return [
    title("Findings"),
    element("ol", { class: "findings" }, ...items),
    note(
      "The same findings as in the report. Click a sentence to show its part of the run and " +
        "details here; Back (Backspace) returns to the previous window.",
    ),
  ];
}
