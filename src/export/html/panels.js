// panels: what the tabs "communication" and "memory" show.

import { Curve } from "./curves.js";
import { el } from "./dom.js";
import { MatrixView } from "./matrix.js";
import { number } from "./format.js";
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

export class Memory {
  constructor(head, model) {
    this.model = model;
    this.curves = [];
    this.box = el("div", { class: "curves" });
    this.more = el("p", { class: "more" });
    // Memory first, then what the job counted.
    this.tracks = [...model.counters].sort((a, b) => b.isBytes - a.isBytes);
    this.element = el("div", { class: "overview" },
      el("section", { class: "card" }, el("h2", {}, "Over time"), this.tracks.length ? null : el("p", {}, "Neither memory nor counters were recorded."), this.box, this.more),
      tableCard(head, "memory", "Memory by operation"), tableCard(head, "counters", "Counters"));
    this.addCurves();
  }

  addCurves() {
    const range = [Math.min(...this.tracks.map((track) => track.times[0])), Math.max(...this.tracks.map((track) => track.times.at(-1)))];
    for (const track of this.tracks.slice(this.curves.length, this.curves.length + CURVES_AT_ONCE)) {
      const process = this.model.tracks[track.process];
      const curve = new Curve(track, `${track.name}, ${process.name}`, "time", range);
      this.curves.push(curve);
      this.box.append(curve.element);
    }
    const left = this.tracks.length - this.curves.length;
    this.more.replaceChildren(...(left > 0 ? [el("button", { type: "button", onclick: () => this.addCurves() }, `Show more (${number(left)} left)`)] : []));
  }

  recolour() {
    this.curves.forEach((curve) => curve.recolour());
  }
}
