// panels: what the tabs "communication", "memory" and "device" show.

import { Curve } from "./curves.js";
import { el } from "./dom.js";
import { MatrixView } from "./matrix.js";
import { clean, number } from "./format.js";
import { TableView } from "./table.js";

const CURVES_AT_ONCE = 8;

function tableCard(head, name, title, onName = null) {
  const view = head.views[name];
  return el("section", { class: "card" }, el("h2", {}, title), el("p", { class: "explain" }, view.description), new TableView(view, { caption: title, onName }).element);
}

export class Communication {
  constructor(head, findName) {
    const hasMatrix = head.comm_matrix.source !== "nothing";
    this.matrix = hasMatrix ? new MatrixView(head.comm_matrix) : null;
    this.element = el("div", { class: "overview" },
      el("section", { class: "card" }, el("h2", {}, "From rank to rank"),
        hasMatrix ? this.matrix.element : el("p", {}, head.info.ranks > 1 ? "Neither messages nor collectives of several ranks were recorded." : "The run has one rank.")),
      tableCard(head, "comm", "Collectives", findName), tableCard(head, "overlap", "Hidden behind computation"),
      tableCard(head, "straggler", "Which rank the others wait for"), tableCard(head, "message", "Messages"));
  }

  recolour() {
    this.matrix?.recolour();
  }
}

// Curves one below another, some at first. `tracks` have a title each.
class Curves {
  constructor(tracks, ifNone) {
    this.tracks = tracks;
    this.curves = [];
    this.box = el("div", { class: "curves" });
    this.more = el("p", { class: "more" });
    this.elements = [tracks.length ? null : el("p", {}, ifNone), this.box, this.more];
    this.add();
  }

  add() {
    const range = [Math.min(...this.tracks.map((track) => track.times[0])), Math.max(...this.tracks.map((track) => track.times.at(-1)))];
    for (const track of this.tracks.slice(this.curves.length, this.curves.length + CURVES_AT_ONCE)) {
      const curve = new Curve(track, track.title, "time", range);
      this.curves.push(curve);
      this.box.append(curve.element);
    }
    const left = this.tracks.length - this.curves.length;
    this.more.replaceChildren(...(left > 0 ? [el("button", { type: "button", onclick: () => this.add() }, `Show more (${number(left)} left)`)] : []));
  }

  recolour() {
    this.curves.forEach((curve) => curve.recolour());
  }
}

export class Memory {
  constructor(head, model) {
    // Memory first, then what the job counted.
    const tracks = [...model.counters].sort((a, b) => b.isBytes - a.isBytes);
    this.curves = new Curves(tracks.map((track) => ({ ...track, title: `${track.name}, ${model.tracks[track.process].name}` })), "Neither memory nor counters were recorded.");
    this.element = el("div", { class: "overview" },
      el("section", { class: "card" }, el("h2", {}, "Over time"), this.curves.elements),
      tableCard(head, "memory_layers", "Memory in each form"), tableCard(head, "memory", "Memory by operation"), tableCard(head, "counters", "Counters"));
  }

  recolour() {
    this.curves.recolour();
  }
}

// The rows of a view that has curves, each told from others by its texts: what `value` is at `at_ms`.
function tracksOf(view, value, name, unit) {
  const rowsOf = new Map();
  for (const row of view.rows) {
    const title = view.columns.filter((column) => column.type === "text").map((column) => row[column.key]).concat(`rank ${row.rank}`).join(", ");
    if (!rowsOf.has(title)) rowsOf.set(title, []);
    rowsOf.get(title).push(row);
  }
  return [...rowsOf].map(([title, rows]) => {
    const values = rows.map((row) => row[value]);
    const isWhole = view.columns.find((column) => column.key === value).type === "integer";
    return { title, name, unit, isWhole, times: rows.map((row) => row.at_ms * 1e6), values, counts: rows.length, highest: Math.max(...values), lowest: Math.min(...values) };
  });
}

export class Device {
  constructor(head) {
    this.curves = [];
    this.element = el("div", { class: "overview" },
      this.curveCard(head.views.queue_curve, "Queued work over time", "depth", "queued", ""),
      this.curveCard(head.views.bandwidth_curve, "Copies and fills over time", "gb_per_s", "bandwidth", "GB/s"),
      tableCard(head, "device", "What devices do"), tableCard(head, "launch", "Before, in and after the device, by name"),
      tableCard(head, "offload", "Before, in and after the device, by kind and size"), tableCard(head, "idle", "Why they wait"),
      tableCard(head, "queue", "Queued work"), tableCard(head, "bandwidth", "Copies and fills"), tableCard(head, "kernel_counters", "Hardware counters of kernels"));
  }

  curveCard(view, title, value, name, unit) {
    const curves = new Curves(tracksOf(view, value, name, unit), "None were recorded.");
    this.curves.push(curves);
    return el("section", { class: "card" }, el("h2", {}, title), el("p", { class: "explain" }, view.description), curves.elements,
      view.notes.map((note) => el("p", { class: "explain" }, clean(note))),
      view.left_out_rows ? el("p", { class: "explain" }, `${number(view.left_out_rows)} more points are not in this page: 'tacho report --all' has them.`) : null);
  }

  recolour() {
    this.curves.forEach((curves) => curves.recolour());
  }
}
