// timeline: the canvas with all tracks, what moves it, and the panel that tells of the slice selected.
//
// The canvas stays where it is; beside it lie the headings of the tracks, ordinary buttons that scroll. Times are
// nanoseconds since the run's origin; [t0, t1) is what is seen of them.

import { colours, el, fit } from "./dom.js";
import { axisTime, bytes, clean, duration, number } from "./format.js";
import { bandAt, layOut, ROW } from "./timeline_layout.js";
import { axisStep, Painter, Palette } from "./timeline_paint.js";

const AXIS = 28; // pixels
const MIN_SPAN = 20; // ns
const MARGIN = 0.02; // of the whole, beside it
const MANY_PROCESSES = 8; // more are folded to begin with
const MOST_THREAD = 4194304; // number of a thread of Linux; those above were made up for viewers
const MOST_FLOWS = 40; // told of one slice

const HELP = [
  ["wheel, W S, + −", "zoom"],
  ["drag, Shift+wheel, A D, ← →", "move"],
  ["wheel over the names, ↑ ↓", "other tracks"],
  ["click;  ,  .", "select a slice; the one before, the next"],
  ["F", "zoom to the selected slice"],
  ["/  Enter  Shift+Enter", "search; next match; the one before"],
  ["0", "everything"],
  ["Esc", "select nothing"],
];

export class TimelineView {
  constructor(model) {
    this.model = model;
    this.folded = new Set();
    if (model.processes.length > MANY_PROCESSES)
      model.processes.slice(2).forEach((process) => this.folded.add(process.index));
    this.selected = -1;
    this.search = null;
    this.match = -1;
    this.width = 0;
    const margin = (model.lastNs - model.firstNs) * MARGIN;
    this.least = model.firstNs - margin;
    this.most = model.lastNs + margin;
    this.t0 = this.least;
    this.t1 = this.most;
    this.showSteps();
    this.frames = 0;
    this.element = this.build();
    this.layOut();
  }

  // --- elements ---------------------------------------------------------------------------------------

  build() {
    this.canvas = el("canvas", {
      tabindex: "0",
      role: "application",
      "aria-label": "Timeline. W and S zoom, A and D move, comma and full stop select slices, slash searches.",
      "aria-describedby": "selection",
    });
    this.names = el("div", { class: "track-names" });
    this.scroller = el("div", { class: "timeline-scroller", onscroll: () => this.redraw() }, this.names, this.canvas);
    this.panel = el("aside", { id: "selection", class: "selection", "aria-live": "polite", "aria-label": "Selected slice" });
    this.listen();
    this.showSelection();
    return el("div", { class: "timeline" }, this.buildBar(), el("div", { class: "timeline-body" }, this.scroller, this.panel));
  }

  buildBar() {
    this.input = el("input", {
      type: "search", id: "search", placeholder: "Search names  ( / )", "aria-label": "Search names of slices", autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.find(this.input.value),
      onkeydown: (event) => this.onSearchKey(event),
    });
    this.found = el("output", { for: "search", class: "found" });
    this.where = el("output", { class: "where", "aria-label": "What is seen" });
    const button = (label, title, action) => el("button", { type: "button", title, "aria-label": title, onclick: action }, label);
    return el("div", { class: "bar", role: "toolbar", "aria-label": "Timeline" },
      this.input, button("‹", "Match before", () => this.nextMatch(-1)), button("›", "Next match", () => this.nextMatch(1)), this.found,
      el("span", { class: "spring" }), this.where,
      button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)),
      button("All", "Show everything", () => this.showAll()),
      el("details", { class: "help" }, el("summary", {}, "Keys"),
        el("dl", {}, HELP.map(([keys, what]) => [el("dt", {}, keys), el("dd", {}, what)]))));
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.onPointerDown(event));
    canvas.addEventListener("pointermove", (event) => this.onPointerMove(event));
    canvas.addEventListener("pointerup", (event) => this.onPointerUp(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("dblclick", () => this.zoomToSelected());
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.pointers = new Map();
    new ResizeObserver(() => this.resize()).observe(this.scroller);
  }

  // The headings; a process folds all its tracks, a track its depths.
  layOut() {
    const { bands, height } = layOut(this.model, this.folded);
    this.bands = bands;
    this.names.style.height = `${height + AXIS}px`;
    this.names.replaceChildren(el("div", { class: "corner" }), ...bands.map((band) => {
      const track = band.track;
      const heading = el("button", {
        type: "button",
        class: band.kind === "process" ? "track-name process-name" : "track-name",
        "aria-expanded": String(!band.isFolded),
        title: band.kind === "process" ? clean(track.name) : trackTitle(track),
        onclick: () => this.fold(track.index),
      }, el("span", { class: "fold", "aria-hidden": "true" }, band.isFolded ? "▸" : "▾"), band.kind === "process" ? clean(track.name) : trackTitle(track));
      heading.style.top = `${band.y + AXIS}px`;
      heading.style.height = `${band.kind === "process" ? band.height : ROW + 4}px`;
      return heading;
    }));
    this.redraw();
  }

  fold(track) {
    if (!this.folded.delete(track)) this.folded.add(track);
    this.layOut();
    this.names.querySelectorAll("button")[this.bands.findIndex((band) => band.track.index === track)]?.focus();
  }

  resize() {
    this.height = this.scroller.clientHeight;
    this.width = Math.max(50, this.scroller.clientWidth - this.names.offsetWidth);
    if (!this.height) return;
    if (!this.isSeen) this.scrollToSteps();
    this.isSeen = true;
    this.redraw();
  }

  // --- drawing ----------------------------------------------------------------------------------------

  redraw() {
    if (this.isWaiting || !this.width) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.paint();
    });
  }

  recolour() {
    this.palette = null;
    this.redraw();
  }

  paint() {
    const began = performance.now();
    if (!this.palette) {
      this.colours = colours();
      this.palette = new Palette(this.model, this.colours.isDark);
    }
    const context = fit(this.canvas, this.width, this.height);
    const scroll = this.scroller.scrollTop;
    const painter = new Painter(context, this, this.colours, this.palette);
    context.fillStyle = this.colours.card;
    context.fillRect(0, 0, this.width, this.height);
    painter.drawAxis(this.height, AXIS);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, this.width, this.height - AXIS);
    context.clip();
    painter.drawBands(this.bands, scroll, AXIS, this.height);
    if (this.selected >= 0) this.paintSelected(painter, scroll);
    context.restore();
    const step = axisStep(this.t1 - this.t0, this.width);
    this.where.textContent = `${axisTime(this.t0, step / 10)} + ${duration(this.t1 - this.t0)}`;
    this.frames++;
    this.frameMs = performance.now() - began;
  }

  // The canvas's y of a slice's row; null where its tracks are folded away.
  yOf(slice) {
    const track = this.model.tracks[this.model.track[slice]];
    const band = this.bands.find((one) => one.track === track && one.kind !== "process") ??
      this.bands.find((one) => one.track === track);
    if (!band || (band.isFolded && this.model.depth[slice] > 0)) return null;
    return band.y + 2 + this.model.depth[slice] * ROW + AXIS - this.scroller.scrollTop;
  }

  paintSelected(painter) {
    const y = this.yOf(this.selected);
    const { model } = this;
    for (const flow of model.flows(this.selected).slice(0, MOST_FLOWS)) {
      const [from, to] = flow.isOut ? [this.selected, flow.slice] : [flow.slice, this.selected];
      const fromY = this.yOf(from);
      const toY = this.yOf(to);
      if (fromY !== null && toY !== null)
        painter.arrow(Math.min(model.end(from), Math.max(model.start[from], model.start[to])), fromY + ROW / 2, model.start[to], toY + ROW / 2);
    }
    if (y !== null) painter.outline(this.selected, y);
  }

  // --- moving -----------------------------------------------------------------------------------------

  show(t0, t1) {
    const span = Math.min(Math.max(t1 - t0, MIN_SPAN), this.most - this.least);
    const start = Math.min(Math.max((t0 + t1 - span) / 2, this.least), this.most - span);
    this.t0 = start;
    this.t1 = start + span;
    this.redraw();
  }

  // What a run is opened for; before them lies what starts it.
  showSteps() {
    let first = Infinity;
    let last = -Infinity;
    for (const track of this.model.tracks) {
      for (const row of track.kind === "steps" ? track.rows : []) {
        first = Math.min(first, this.model.start[this.model.order[row.first]]);
        last = Math.max(last, this.model.end(this.model.order[row.end - 1]));
      }
    }
    if (first < last) this.show(first - (last - first) * MARGIN, last + (last - first) * MARGIN);
  }

  // To the first process that has steps, where it is not in sight anyhow.
  scrollToSteps() {
    const process = this.bands.find((band) => band.kind !== "process" && band.track.kind === "steps")?.process;
    const band = this.bands.find((one) => one.track === process);
    if (band && band.y > this.height / 2) this.scroller.scrollTop = band.y;
  }

  showAll() {
    this.show(this.least, this.most);
  }

  // Times `factor` as much is seen; what is at `share` of the width stays there.
  zoom(factor, share = 0.5) {
    const span = this.t1 - this.t0;
    const wanted = Math.min(Math.max(span * factor, MIN_SPAN), this.most - this.least);
    const fixed = this.t0 + span * share;
    this.show(fixed - wanted * share, fixed + wanted * (1 - share));
  }

  move(share) {
    const by = (this.t1 - this.t0) * share;
    this.show(this.t0 + by, this.t1 + by);
  }

  zoomToSelected() {
    if (this.selected < 0) return;
    const span = Math.max(this.model.duration[this.selected], 200) * 1.6;
    const middle = this.model.start[this.selected] + this.model.duration[this.selected] / 2;
    this.show(middle - span / 2, middle + span / 2);
  }

  onWheel(event) {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const dx = event.deltaX * lines;
    const dy = event.deltaY * lines;
    if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) this.move((dx || dy) / this.width);
    else this.zoom(Math.exp(Math.max(-1, Math.min(1, dy / 240))), event.offsetX / this.width);
  }

  onPointerDown(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.dragged = 0;
  }

  onPointerMove(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      this.canvas.style.cursor = this.sliceAt(event.offsetX, event.offsetY) >= 0 ? "pointer" : "grab";
      return;
    }
    const dx = event.offsetX - last.x;
    const dy = event.offsetY - last.y;
    if (this.pointers.size === 2) this.pinch(event, last);
    else {
      this.dragged += Math.abs(dx) + Math.abs(dy);
      if (this.dragged > 3) {
        this.canvas.style.cursor = "grabbing";
        this.move(-dx / this.width);
        this.scroller.scrollTop -= dy;
      }
    }
    last.x = event.offsetX;
    last.y = event.offsetY;
  }

  pinch(event, last) {
    const [other] = [...this.pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    const before = Math.max(20, Math.abs(last.x - other.x));
    const after = Math.max(20, Math.abs(event.offsetX - other.x));
    this.dragged = 100;
    this.zoom(before / after, (event.offsetX + other.x) / 2 / this.width);
  }

  onPointerUp(event) {
    if (this.pointers.delete(event.pointerId) && this.dragged <= 3) this.select(this.sliceAt(event.offsetX, event.offsetY));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7), "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1 / 0.7),
      a: () => this.move(-0.15), d: () => this.move(0.15), arrowleft: () => this.move(-0.15), arrowright: () => this.move(0.15),
      arrowup: () => (this.scroller.scrollTop -= 3 * ROW), arrowdown: () => (this.scroller.scrollTop += 3 * ROW),
      pageup: () => (this.scroller.scrollTop -= this.height - 2 * AXIS), pagedown: () => (this.scroller.scrollTop += this.height - 2 * AXIS),
      ",": () => this.selectNeighbour(-1), ".": () => this.selectNeighbour(1), f: () => this.zoomToSelected(),
      0: () => this.showAll(), home: () => this.showAll(), escape: () => this.select(-1), "/": () => this.input.focus(),
    };
    const action = actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // --- selecting --------------------------------------------------------------------------------------

  sliceAt(x, y) {
    const top = y - AXIS + this.scroller.scrollTop;
    const band = this.bands[bandAt(this.bands, top)];
    if (!band || y < AXIS || band.kind === "counter") return -1;
    const row = band.kind === "process" ? null : band.track.rows[Math.floor((top - band.y - 2) / ROW)];
    if (!row || (band.isFolded && row !== band.track.rows[0])) return -1;
    return this.sliceNear(row, this.t0 + (x / this.width) * (this.t1 - this.t0));
  }

  // The slice of `row` at `time`, or the longest within two pixels.
  sliceNear(row, time) {
    const { model } = this;
    const reach = (2 * (this.t1 - this.t0)) / this.width;
    const p = model.endingAfter(row, time);
    if (p < row.end && model.start[model.order[p]] <= time) return model.order[p];
    const first = model.endingAfter(row, time - reach);
    const end = model.beginningAt(row, time + reach, first);
    return end > first ? model.order[model.longest(row, first, end)] : -1;
  }

  selectNeighbour(by) {
    const { model } = this;
    if (this.selected < 0) {
      const band = this.bands.find((one) => one.kind === "track");
      if (band) this.select(this.sliceNear(band.track.rows[0], (this.t0 + this.t1) / 2));
      if (band && this.selected < 0) this.reveal(model.order[band.track.rows[0].first]);
      return;
    }
    const row = model.tracks[model.track[this.selected]].rows[model.depth[this.selected]];
    const place = model.order.indexOf(this.selected, row.first) + by;
    if (place >= row.first && place < row.end) this.reveal(model.order[place]);
  }

  select(slice) {
    this.selected = slice;
    this.showSelection();
    this.redraw();
  }

  // Select, and bring into sight: unfold its tracks, move, and zoom in where it would be a speck.
  reveal(slice) {
    const { model } = this;
    const track = model.tracks[model.track[slice]];
    if ([track.process, track.index].filter((one) => this.folded.delete(one)).length) this.layOut();
    this.select(slice);
    const y = this.yOf(slice);
    if (y < AXIS || y > this.height - 2 * ROW) this.scroller.scrollTop += y - this.height / 2;
    const start = model.start[slice];
    const end = model.end(slice);
    const width = ((end - start) / (this.t1 - this.t0)) * this.width;
    if (width < 3) {
      const span = Math.max((end - start) * 40, 2000);
      this.show((start + end - span) / 2, (start + end + span) / 2);
    } else if (start < this.t0 || end > this.t1) {
      const span = Math.max(this.t1 - this.t0, (end - start) * 1.4);
      this.show((start + end - span) / 2, (start + end + span) / 2);
    }
  }

  showSelection() {
    if (this.selected < 0) {
      this.panel.replaceChildren(el("p", { class: "empty" }, "Click a slice to see what it is."));
      return;
    }
    const { model, selected } = this;
    const track = model.tracks[model.track[selected]];
    const process = model.tracks[track.process];
    const facts = [
      ["kind", model.strings[model.kind[selected]]],
      ["start", `${number(model.start[selected] / 1e6, 6)} ms`],
      model.isMoment(selected) ? null : ["duration", duration(model.duration[selected]) + (model.isOpen(selected) ? " (still open)" : "")],
      ["on", track === process ? process.name : `${process.name}, ${trackTitle(track)}`],
      ...model.args(selected).map(([key, value]) => [key, argText(key, value)]),
    ].filter(Boolean);
    this.panel.replaceChildren(
      el("h3", {}, clean(model.strings[model.name[selected]])),
      el("dl", {}, facts.map(([key, value]) => [el("dt", {}, clean(key)), el("dd", {}, clean(value))])),
      ...this.flowList(), this.nameTotals(),
      el("p", { class: "actions" },
        el("button", { type: "button", onclick: () => this.zoomToSelected() }, "Zoom to it"),
        el("button", { type: "button", onclick: () => this.findText(model.strings[model.name[selected]]) }, "Find all of its name")));
  }

  flowList() {
    const flows = this.model.flows(this.selected);
    if (!flows.length) return [];
    const rows = flows.slice(0, MOST_FLOWS).map((flow) => el("li", {},
      el("span", { class: "flow" }, `${flow.isOut ? "→" : "←"} ${flow.kind.replaceAll("_", " ")} `),
      el("button", { type: "button", class: "link", onclick: () => this.reveal(flow.slice) }, clean(this.model.strings[this.model.name[flow.slice]]))));
    const more = flows.length - rows.length;
    return [el("h4", {}, "Linked"), el("ul", {}, rows, more > 0 ? el("li", {}, `and ${number(more)} more`) : null)];
  }

  nameTotals() {
    const { count, total, least, most } = this.model.nameTotals(this.model.name[this.selected]);
    return el("p", { class: "totals" }, count === 1 ? "The only one of its name here." :
      `${number(count)} of this name here: ${duration(total)} together, ${duration(total / count)} on average, ${duration(least)} to ${duration(most)}.`);
  }

  // --- searching --------------------------------------------------------------------------------------

  findText(text) {
    this.input.value = clean(text);
    this.find(text);
    this.nextMatch(1);
  }

  find(text) {
    this.search = text ? this.model.search(text) : null;
    this.match = -1;
    this.found.textContent = !text ? "" : this.search.count ? number(this.search.count) : "nothing";
    this.redraw();
  }

  nextMatch(by) {
    const slices = this.search?.slices;
    if (!slices?.length) return;
    this.match = this.match < 0 ? (by > 0 ? this.firstMatchInSight(slices) : slices.length - 1) : (this.match + by + slices.length) % slices.length;
    this.reveal(slices[this.match]);
    this.found.textContent = `${number(this.match + 1)} of ${number(this.search.count)}`;
  }

  firstMatchInSight(slices) {
    const place = slices.findIndex((slice) => this.model.start[slice] >= this.t0);
    return place < 0 ? 0 : place;
  }

  onSearchKey(event) {
    if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.find("");
      this.canvas.focus();
    } else return;
    event.preventDefault();
  }
}

// Threads of one name are told apart by their numbers.
function trackTitle(track) {
  const name = track.kind === "process" ? "process" : clean(track.name);
  return track.tid && track.tid <= MOST_THREAD && !name.includes(String(track.tid)) ? `${name} ${track.tid}` : name;
}

function argText(key, value) {
  if (value === true) return "yes";
  if (key === "bytes") return `${value} (${bytes(Number(value))})`;
  if (key.endsWith("_ns")) return duration(Number(value));
  return String(value);
}
