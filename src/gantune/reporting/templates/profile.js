"use strict";
(() => {
  const source = document.getElementById("events");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const unpack = (text, Type) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    return new Type(bytes.buffer);
  };
  const start = unpack(data.start, Float64Array), duration = unpack(data.duration, Float32Array);
  const lane = unpack(data.lane, Uint16Array), name = unpack(data.name, Uint32Array), group = unpack(data.group, Uint8Array);
  const bounds = new Uint32Array(data.lanes.length + 1);
  for (let i = 0; i < lane.length; i += 1) bounds[lane[i] + 1] += 1;
  for (let i = 0; i < data.lanes.length; i += 1) bounds[i + 1] += bounds[i];
  let first = Infinity, last = -Infinity;
  for (let i = 0; i < start.length; i += 1) {
    if (start[i] < first) first = start[i];
    if (start[i] + duration[i] > last) last = start[i] + duration[i];
  }
  if (!(last > first)) last = first + 1;

  const LANE = 18, LABEL = 16, RULER = 22;
  const canvas = document.querySelector(".timeline canvas"), pen = canvas.getContext("2d");
  const range = document.querySelector(".timeline-tools .range"), under = document.querySelector(".under");
  const tops = [];
  let height = RULER;
  data.lanes.forEach((label) => { if (label) height += LABEL; tops.push(height); height += LANE; });
  height += 6;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const palette = () => dark.matches
    ? ["#6fcbb4", "#8fb6ee", "#d9a15b", "#c58be0", "#9aa55f", "#7f8a96", "#4a4c48", "#66645e"]
    : ["#3d9483", "#4f7fc4", "#c07a2c", "#8a55ab", "#7a8b3a", "#8b96a3", "#cfcabf", "#a9a59c"];
  let low = first, high = last, width = 0, colors = palette(), isQueued = false;

  const write = (us) => us < 1000 ? `${us.toFixed(us < 10 ? 2 : 1)} µs` : us < 1e6 ? `${(us / 1e3).toFixed(us < 1e5 ? 2 : 0)} ms` : `${(us / 1e6).toFixed(2)} s`;
  // The first event of [from, to) that ends after `time`: in one lane events do not overlap.
  const seek = (from, to, time) => {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (start[middle] + duration[middle] <= time) from = middle + 1; else to = middle;
    }
    return from;
  };
  const resize = () => {
    width = canvas.clientWidth;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
  };
  const drawLane = (index, perPixel) => {
    const top = tops[index], to = bounds[index + 1];
    let at = seek(bounds[index], to, low);
    while (at < to && start[at] < high) {
      const left = Math.max(0, (start[at] - low) / perPixel), right = (start[at] + duration[at] - low) / perPixel;
      const wide = Math.max(1, Math.min(right, width) - left);
      pen.fillStyle = colors[group[at]];
      pen.fillRect(left, top, wide > 3 ? wide - 0.5 : wide, LANE - 2);
      if (wide > 46) {
        pen.fillStyle = dark.matches ? "#161715" : "#ffffff";
        // Some six pixels a character: what would not fit is not drawn.
        pen.fillText(data.names[name[at]].slice(0, Math.floor((wide - 8) / 6)), left + 4, top + 12);
      }
      // Level of detail: nothing more is drawn into a pixel that is taken.
      at = Math.max(at + 1, wide <= 1 ? seek(at + 1, to, low + (left + 1) * perPixel) : at + 1);
    }
  };
  const draw = () => {
    isQueued = false;
    const perPixel = (high - low) / width, style = getComputedStyle(document.documentElement);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    const step = 10 ** Math.ceil(Math.log10(perPixel * 90));
    for (let time = Math.ceil(low / step) * step; time < high; time += step) {
      const x = (time - low) / perPixel;
      pen.fillStyle = style.getPropertyValue("--line");
      pen.fillRect(x, 0, 1, height);
      pen.fillStyle = style.getPropertyValue("--soft");
      pen.fillText(write(time), x + 4, 13);
    }
    data.lanes.forEach((label, index) => {
      if (label) {
        pen.fillStyle = style.getPropertyValue("--raised");
        pen.fillRect(0, tops[index] - LABEL, width, LABEL - 1);
        pen.fillStyle = style.getPropertyValue("--ink");
        pen.fillText(label, 4, tops[index] - 4);
      }
      drawLane(index, perPixel);
    });
    range.textContent = `${write(Math.max(0, low - first))} to ${write(high - first)}, ${write(high - low)} shown`;
  };
  const queue = () => { if (!isQueued) { isQueued = true; requestAnimationFrame(draw); } };
  const show = (from, to) => {
    const span = Math.min(Math.max(to - from, 0.5), last - first);
    low = Math.min(Math.max(from, first), last - span);
    high = low + span;
    queue();
  };
  const zoom = (factor, anchor = 0.5) => {
    const at = low + (high - low) * anchor, span = (high - low) * factor;
    show(at - span * anchor, at - span * anchor + span);
  };
  const pan = (part) => show(low + (high - low) * part, high + (high - low) * part);
  const find = (event) => {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const index = tops.findIndex((top) => y >= top && y < top + LANE);
    if (index < 0) return -1;
    const time = low + (x / width) * (high - low), at = seek(bounds[index], bounds[index + 1], time);
    return at < bounds[index + 1] && start[at] <= time + (high - low) / width ? at : -1;
  };

  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - canvas.getBoundingClientRect().left) / width);
  }, { passive: false });
  let grabbed = null;
  canvas.addEventListener("pointerdown", (event) => { grabbed = { x: event.clientX, low, high }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { grabbed = null; });
  canvas.addEventListener("pointercancel", () => { grabbed = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (grabbed) {
      const moved = ((grabbed.x - event.clientX) / width) * (grabbed.high - grabbed.low);
      show(grabbed.low + moved, grabbed.high + moved);
      return;
    }
    const at = find(event);
    under.textContent = at < 0 ? "" : `${data.names[name[at]]}: ${write(duration[at])}, at ${write(start[at] - first)}`;
  });
  canvas.addEventListener("dblclick", (event) => {
    const at = find(event);
    if (at >= 0) show(start[at] - duration[at] * 0.1, start[at] + duration[at] * 1.1);
  });
  const actions = { in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.3), right: () => pan(0.3), all: () => show(first, last) };
  document.querySelectorAll(".timeline-tools button").forEach((button) => button.addEventListener("click", actions[button.dataset.action]));
  const keys = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", 0: "all" };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    actions[keys[event.key]]();
  });
  dark.addEventListener("change", () => { colors = palette(); queue(); });
  new ResizeObserver(() => { resize(); draw(); }).observe(canvas.parentElement);
  resize();
  draw();
})();
