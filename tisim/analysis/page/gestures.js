// The mouse and the keyboard on a picture of ranks over time: the wheel zooms in time, with Shift in
// ranks; a drag moves, with Shift it selects a window; a click selects a point.

const STILL = 4; // pixels that a click may move

// `picture`: `at(event)`: what is under the mouse, { time, position, exactPosition };
// `room()`: width and height of what is drawn, in pixels of the page;
// `window()`, `show(window, remember)`, `zoomTime` and `zoomRanks(factor, around, remember)`;
// `pointed(event, point)`, `clicked(point)`, `frame(box or null)`, `remember(window)`.
export function listenToMouse(canvas, picture) {
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const point = picture.at(event);
    const factor = Math.exp(Math.max(-1, Math.min((event.deltaY || event.deltaX) / 300, 1)));
    if (event.shiftKey) picture.zoomRanks(factor, point.exactPosition, false);
    else picture.zoomTime(factor, point.time, false);
  }, { passive: false });
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    from = { x: event.clientX, y: event.clientY, point: picture.at(event), window: picture.window(), moved: false, framed: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) {
      picture.pointed(event, picture.at(event));
      return;
    }
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.hypot(x, y) > STILL) from.moved = true;
    if (!from.moved) return;
    if (from.framed && !event.shiftKey) picture.frame(null);
    from.framed = event.shiftKey;
    if (from.framed) picture.frame(frameOf(canvas, from, x, y));
    else picture.show(dragged(from.window, picture.room(), x, y), false);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [start, point] = [from, picture.at(event)];
    from = null;
    if (!start.moved) picture.clicked(point);
    else if (start.framed) {
      picture.frame(null);
      picture.show(between(start.point, point), true);
    } else picture.remember(start.window);
  });
  canvas.addEventListener("pointercancel", () => {
    from = null;
    picture.frame(null);
  });
}

function frameOf(canvas, from, x, y) {
  const box = canvas.getBoundingClientRect();
  return [from.x - box.left, from.y - box.top, x, y];
}

function dragged({ begin, end, first, last }, { width, height }, x, y) {
  const time = (-x / width) * (end - begin);
  const ranks = Math.round((-y / height) * (last - first + 1));
  return { begin: begin + time, end: end + time, first: first + ranks, last: last + ranks };
}

function between(a, b) {
  return {
    begin: Math.min(a.time, b.time), end: Math.max(a.time, b.time),
    first: Math.min(a.position, b.position), last: Math.max(a.position, b.position),
  };
}

// Keys that change the window, by their names; `picture` as above, with `move(share, shareOfRanks)`
// and `all()`.
export function windowKeys(picture) {
  const keys = {
    w: () => picture.zoomTime(0.5), s: () => picture.zoomTime(2), a: () => picture.move(-0.25), d: () => picture.move(0.25),
    W: () => picture.zoomRanks(0.5), S: () => picture.zoomRanks(2), A: () => picture.move(0, -0.25), D: () => picture.move(0, 0.25),
    ArrowLeft: () => picture.move(-0.1), ArrowRight: () => picture.move(0.1),
    ArrowUp: () => picture.move(0, -0.1), ArrowDown: () => picture.move(0, 0.1),
    0: () => picture.all(),
  };
  return { ...keys, "+": keys.w, "=": keys.w, "-": keys.s };
}
