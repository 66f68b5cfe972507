// curves: what was counted, over time; drawn by uPlot. A value holds until the next one, so lines are steps.

import uPlot from "uplot";
import { colours, el } from "./dom.js";
import { axisTime, bytes, clean, number, short } from "./format.js";

const HEIGHT = 190;
const BYTE_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

export class Curve {
  // `track`: a counter of the model, or the like, with the `unit` of its values; `sync`: curves with the same key share their cursor.
  // [first, last]: the times of all of them, ns.
  constructor(track, title, sync, [first, last]) {
    this.track = track;
    this.range = [first, last];
    this.title = title;
    this.sync = sync;
    this.value = track.isBytes ? bytes : short;
    this.box = el("div", { class: "curve-box" });
    this.element = el("figure", { class: "chart curve" }, el("figcaption", {}, clean(title)),
      el("p", { class: "explain" }, `Highest ${this.exact(track.highest)}, lowest ${this.exact(track.lowest)}, ${number(track.counts)} values.`), this.box);
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  exact(value) {
    return this.track.isBytes ? `${bytes(value)} (${number(value)} bytes)` : [this.track.isWhole ? number(value) : short(value), this.track.unit].filter(Boolean).join(" ");
  }

  resize() {
    const width = this.box.clientWidth;
    if (!width) return;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT });
    else this.draw(width);
  }

  recolour() {
    if (!this.plot) return;
    this.plot.destroy();
    this.plot = null;
    this.resize();
  }

  draw(width) {
    const paint = colours();
    const font = "11px system-ui, sans-serif";
    const axis = { stroke: paint.faint, font, grid: { stroke: paint.line, width: 1 }, ticks: { stroke: paint.line, width: 1 } };
    this.plot = new uPlot({
      width,
      height: HEIGHT,
      cursor: { sync: { key: this.sync }, drag: { x: true, y: false } },
      scales: { x: { time: false, min: this.range[0], max: this.range[1] }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
      axes: [
        { ...axis, values: (_, splits) => splits.map((ns) => axisTime(ns, (splits[1] ?? 1) - (splits[0] ?? 0) || 1)), space: 90 },
        { ...axis, values: (_, splits) => splits.map((value) => this.value(value).replace(/\.0+$/, "")), size: 72, ...(this.track.isBytes ? { incrs: BYTE_STEPS } : {}) },
      ],
      series: [
        { label: "time", value: (_, ns) => (ns === null || ns === undefined ? "–" : axisTime(ns, 1000)) },
        {
          label: clean(this.track.name), stroke: paint.accent, fill: `${paint.accent}33`, width: 1.5, points: { show: false },
          paths: uPlot.paths.stepped({ align: 1 }), value: (_, value) => (value === null || value === undefined ? "–" : this.exact(value)),
        },
      ],
    }, [this.track.times, this.track.values], this.box);
    this.plot.ctx.canvas.setAttribute("role", "img");
    this.plot.ctx.canvas.setAttribute("aria-label", `${clean(this.title)}, over time`);
  }
}
