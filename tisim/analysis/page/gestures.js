// Mouse and keyboard input on a picture of ranks over time: the wheel zooms in time, or in ranks
// with Shift; a drag moves, or selects a window with Shift; a click selects a point.

const STILL = 4; // maximum movement of a click, in pixels

// `picture`: `at(event)`, the point under the mouse; `room()`, its width and height in pixels;
// `pointed(event, point)`; `clickedBeside(point)`, a click on the name of a lane;
// `select(frame)`, the frame of the window being selected, or null.
export function listenToMouse(canvas, view, picture) {
  const zoom = (event) => {
    event.preventDefault();
    const { time, exactPosition } = picture.at(event);
    const factor = Math.exp(Math.max(-1, Math.min((event.deltaY || event.deltaX) / 300, 1)));
    if (event.shiftKey) view.zoomRanks(factor, exactPosition, false);
    else view.zoomTime(factor, time, false);
  };
  canvas.addEventListener("wheel", zoom, { passive: false });
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const { clientX: x, clientY: y } = event;
    from = { x, y, point: picture.at(event), span: view.span(), isMoved: false, isFramed: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) {
      picture.pointed(event, picture.at(event));
      return;
    }
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.hypot(x, y) > STILL) from.isMoved = true;
    if (!from.isMoved) return;
    if (from.isFramed && !event.shiftKey) picture.select(null);
    from.isFramed = event.shiftKey;
    if (from.isFramed) {
      const box = canvas.getBoundingClientRect();
      picture.select([from.x - box.left, from.y - box.top, x, y]);
    } else view.show(dragged(from.span, picture.room(), x, y), false);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [start, point] = [from, picture.at(event)];
    from = null;
    if (start.isFramed) {
      picture.select(null);
      view.show(between(start.point, point));
    } else if (start.isMoved) view.remember(start.span);
    else if (point.isInside) view.select({ rank: point.rank, time: point.time });
    else if (point.isBeside) picture.clickedBeside(point);
  });
  canvas.addEventListener("pointercancel", () => {
    from = null;
    picture.select(null);
  });
}

function dragged({ begin, end, first, last }, { width, height }, x, y) {
  const time = (-x / width) * (end - begin);
  const ranks = Math.round((-y / height) * (last - first + 1));
  return { begin: begin + time, end: end + time, first: first + ranks, last: last + ranks };
}

function between(a, b) {
  const [first, last] = [a.position, b.position].sort((one, other) => one - other);
  return { begin: Math.min(a.time, b.time), end: Math.max(a.time, b.time), first, last };
}

// Calls the action of a key by name, except while typing and for the browser's own shortcuts.
export function listenToKeys(target, actions) {
  target.addEventListener("keydown", (event) => {
    const isWriting = /^(INPUT|SELECT)$/.test(event.target.tagName);
    if (isWriting || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key](event);
  });
}

// Keys that change the window.
export function windowKeys(view) {
  const nearer = () => view.zoomTime(0.5);
  const farther = () => view.zoomTime(2);
  return {
    w: nearer,
    "+": nearer,
    "=": nearer,
    s: farther,
    "-": farther,
    a: () => view.move(-0.25),
    d: () => view.move(0.25),
    W: () => view.zoomRanks(0.5),
    S: () => view.zoomRanks(2),
    A: () => view.move(0, -0.25),
    D: () => view.move(0, 0.25),
    ArrowLeft: () => view.move(-0.1),
    ArrowRight: () => view.move(0.1),
    ArrowUp: () => view.move(0, -0.1),
    ArrowDown: () => view.move(0, 0.1),
    0: () => view.all(),
  };
}
