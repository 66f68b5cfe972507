// steps_chart: where each step of each rank goes, a stacked bar each. In every bar, compute + exposed communication +
// wait + idle are the step's duration (docs/views.md).

import { colours, el, fit } from "./dom.js";
import { clean, number } from "./format.js";

const PARTS = [
  ["compute_ms", "compute", "compute"],
  ["exposed_communication_ms", "exposed communication", "exposed"],
  ["wait_ms", "waiting", "wait"],
  ["idle_ms", "idle", "idle"],
];
const HEIGHT = 240;
const MARGIN = { left: 52, right: 8, top: 10, bottom: 34 };
const MIN_BAR = 3; // pixels; more bars than fit scroll
const GAP = 0.5; // between groups, of a bar

function niceStep(most) {
  const rough = most / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough);
}

export class StepsChart {
  // `onPick(row)`: a bar was chosen.
  constructor(rows, onPick) {
    this.rows = rows;
    this.onPick = onPick;
    this.groupKey = "step";
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": this.summary() });
    this.tip = el("output", { class: "tip", "aria-live": "polite" });
    this.scroller = el("div", { class: "chart-scroller" }, this.canvas);
    this.element = el("figure", { class: "chart" }, el("div", { class: "bar" }, this.legend(), el("span", { class: "spring" }), this.order()), this.scroller, this.tip);
    this.chosen = -1;
    this.listen();
    this.arrange();
  }

  summary() {
    const sum = (key) => this.rows.reduce((total, row) => total + row[key], 0);
    const all = sum("duration_ms") || 1;
    return `Steps by rank: ${PARTS.map(([key, name]) => `${name} ${number((100 * sum(key)) / all, 0)} %`).join(", ")}. The step table has the figures.`;
  }

  legend() {
    return el("ul", { class: "legend" }, PARTS.map(([, name, colour]) => el("li", {}, el("span", { class: `swatch ${colour}`, "aria-hidden": "true" }), name)));
  }

  order() {
    const choose = (key) => el("label", { class: "choice" }, el("input", {
      type: "radio", name: "step-order", value: key, checked: key === this.groupKey,
      onchange: () => {
        this.groupKey = key;
        this.arrange();
      },
    }), `by ${key}`);
    return new Set(this.rows.map((row) => row.rank)).size > 1 ? el("span", {}, choose("step"), choose("rank")) : null;
  }

  listen() {
    this.canvas.addEventListener("pointermove", (event) => this.choose(this.barAt(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => this.choose(-1));
    this.canvas.addEventListener("click", (event) => this.pick(this.barAt(event.offsetX)));
    this.canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) this.choose(Math.min(Math.max(this.chosen + by, 0), this.bars.length - 1));
      else if (event.key === "Enter") this.pick(this.chosen);
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.arrange()).observe(this.scroller);
  }

  // Bars side by side, those of a step (or a rank) together.
  arrange() {
    const [first, second] = this.groupKey === "step" ? ["step", "rank"] : ["rank", "step"];
    const rows = [...this.rows].sort((a, b) => a[first] - b[first] || a[second] - b[second]);
    const nGroups = new Set(rows.map((row) => row[first])).size;
    const room = (this.scroller.clientWidth || 800) - MARGIN.left - MARGIN.right;
    const bar = Math.min(64, Math.max(MIN_BAR, Math.floor(room / (rows.length + nGroups * GAP)))); // whole pixels: no seams
    const gap = Math.max(1, Math.floor(bar * GAP));
    let x = MARGIN.left;
    let last = null;
    this.bars = rows.map((row) => {
      if (row[first] !== last) x += gap;
      const isFirst = row[first] !== last;
      last = row[first];
      x += bar;
      return { row, x: x - bar, width: bar, isFirst, label: row[first] };
    });
    this.width = Math.max(room + MARGIN.left + MARGIN.right, x + MARGIN.right);
    this.paint();
  }

  barAt(x) {
    return this.bars.findIndex((bar) => x >= bar.x && x < bar.x + bar.width);
  }

  choose(index) {
    if (index === this.chosen) return;
    this.chosen = index;
    const row = this.bars[index]?.row;
    this.tip.textContent = !row ? "" : `Step ${row.step}, rank ${row.rank}${row.state && row.state !== "steady" ? ` (${clean(row.state)})` : ""}: ${number(row.duration_ms, 2)} ms = ` +
      PARTS.map(([key, name]) => `${number(row[key], 2)} ${name}`).join(" + ");
    this.paint();
  }

  pick(index) {
    if (this.bars[index]) this.onPick(this.bars[index].row);
  }

  recolour() {
    this.paint();
  }

  paint() {
    const context = fit(this.canvas, this.width, HEIGHT);
    const paint = colours();
    const bottom = HEIGHT - MARGIN.bottom;
    const most = Math.max(...this.rows.map((row) => row.duration_ms), 1e-9);
    const y = (ms) => bottom - (ms / most) * (bottom - MARGIN.top);
    context.clearRect(0, 0, this.width, HEIGHT);
    this.paintAxis(context, paint, most, y);
    this.bars.forEach((bar, index) => this.paintBar(context, paint, bar, index, y));
    this.paintLabels(context, paint, bottom);
  }

  paintAxis(context, paint, most, y) {
    const step = niceStep(most);
    const decimals = Math.max(0, -Math.floor(Math.log10(step)));
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let ms = 0; ms <= most * 1.0001; ms += step) {
      context.fillStyle = paint.line;
      context.fillRect(MARGIN.left, Math.round(y(ms)), this.width, 1);
      context.fillStyle = paint.faint;
      context.fillText(number(ms, decimals), MARGIN.left - 6, y(ms));
    }
    context.fillText("ms", MARGIN.left - 6, HEIGHT - MARGIN.bottom + 16);
  }

  paintBar(context, paint, bar, index, y) {
    let sum = 0;
    const gap = bar.width > 6 ? 1 : 0;
    context.globalAlpha = this.chosen >= 0 && this.chosen !== index ? 0.45 : bar.row.state === "steady" || !bar.row.state ? 1 : 0.6;
    for (const [key, , colour] of PARTS) {
      const top = y(sum + bar.row[key]);
      context.fillStyle = paint[colour];
      context.fillRect(bar.x, top, bar.width - gap, y(sum) - top);
      sum += bar.row[key];
    }
    context.globalAlpha = 1;
  }

  paintLabels(context, paint, bottom) {
    let free = 0;
    context.fillStyle = paint.faint;
    context.textAlign = "left";
    for (const bar of this.bars) {
      const text = String(bar.label);
      if (!bar.isFirst || bar.x < free) continue;
      context.fillText(text, bar.x, bottom + 12);
      free = bar.x + text.length * 7 + 12;
    }
    context.textAlign = "center";
    context.fillText(this.groupKey, (MARGIN.left + this.bars.at(-1).x + this.bars.at(-1).width) / 2, HEIGHT - 8);
  }
}
