// flame: stacks by the time they took, the outermost at the top: of one thread, or of what was clicked.

import { colours, el, fit } from "./dom.js";
import { clean, duration, number } from "./format.js";

const ROW = 18; // pixels
const LEAST_WIDTH = 0.5;
const LEAST_TEXT = 30;
const MOST_ROWS = 120;

// Alike names have alike colours; warm for the program's own files, cool for what is in libraries, grey where it waits.
function colourOf(name, isOwn, isDark) {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  const spread = Math.abs(hash) % 40;
  const light = isDark ? 38 : 72;
  if (name.startsWith("[")) return `hsl(210 6% ${light}%)`;
  return isOwn ? `hsl(${15 + spread} 75% ${light}%)` : `hsl(${190 + spread} 45% ${light}%)`;
}

export class Flame {
  constructor(flame) {
    this.flame = flame;
    this.children = flame.parent.map(() => []);
    this.threads = [];
    flame.parent.forEach((parent, at) => (parent < 0 ? this.threads : this.children[parent]).push(at));
    for (const list of this.children) list.sort((a, b) => flame.total_ns[b] - flame.total_ns[a]);
    this.root = this.threads[0];
    this.hovered = -1;
    this.boxes = [];
    this.canvas = el("canvas", { class: "flame", tabindex: "0", role: "img", "aria-label": "Flame graph; the table 'code' has the same as rows",
      onclick: (event) => this.onClick(event), onmousemove: (event) => this.onMove(event), onmouseleave: () => this.hover(-1),
      onkeydown: (event) => event.key === "Escape" && this.show(this.threadOf(this.root)) });
    this.where = el("p", { class: "where", "aria-live": "polite" });
    this.found = el("span", { class: "found" });
    this.search = el("input", { type: "search", placeholder: "Mark names with …", "aria-label": "Mark names", oninput: () => this.paint() });
    const choice = el("select", { "aria-label": "Thread", onchange: (event) => this.show(Number(event.target.value)) },
      this.threads.map((at) => el("option", { value: String(at) }, `${this.nameOf(at)} (${duration(flame.total_ns[at])})`)));
    this.choice = choice;
    this.element = el("div", { class: "overview" }, el("section", { class: "card" }, el("h2", {}, "Where the time went"),
      el("p", { class: "explain" }, "Each box is a function, in the line that ran, as wide as the time that it took; what it called is below it. Click a box to look at it alone, Escape to go back."),
      this.threads.length
        ? [el("div", { class: "bar" }, choice, this.search, this.found, el("button", { type: "button", onclick: () => this.show(this.threadOf(this.root)) }, "Whole thread")), this.where, this.canvas]
        : el("p", {}, "Nothing was recorded that has a duration.")));
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  nameOf(at) {
    return clean(this.flame.names[this.flame.name[at]]);
  }

  threadOf(at) {
    while (this.flame.parent[at] >= 0) at = this.flame.parent[at];
    return at;
  }

  show(at) {
    this.root = at;
    this.choice.value = String(this.threadOf(at));
    this.hover(-1);
    this.paint();
  }

  // Boxes of what can be seen: [node, left, width, row].
  layOut(width) {
    const { total_ns } = this.flame;
    const path = [];
    for (let at = this.flame.parent[this.root]; at >= 0; at = this.flame.parent[at]) path.unshift(at);
    const boxes = path.map((at, row) => [at, 0, width, row]);
    const scale = width / Math.max(total_ns[this.root], 1);
    const waiting = [[this.root, 0, path.length]];
    while (waiting.length) {
      const [at, left, row] = waiting.pop();
      boxes.push([at, left, total_ns[at] * scale, row]);
      let next = left;
      for (const child of this.children[at]) {
        const wide = total_ns[child] * scale;
        if (wide >= LEAST_WIDTH && row + 1 < MOST_ROWS) waiting.push([child, next, row + 1]);
        next += wide;
      }
    }
    return boxes;
  }

  paint() {
    const width = this.canvas.parentElement?.clientWidth - 36;
    if (!(width > 0)) return;
    this.boxes = this.layOut(width);
    const height = ROW * (1 + Math.max(...this.boxes.map((box) => box[3])));
    const context = fit(this.canvas, width, height);
    const look = colours();
    const wanted = this.search.value.toLowerCase();
    let found_ns = 0;
    const isMarked = new Set();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const [at, left, wide, row] of this.boxes) {
      const name = this.nameOf(at);
      const matches = wanted && name.toLowerCase().includes(wanted);
      if (matches) {
        isMarked.add(at);
        if (!this.hasMarkedAbove(at, isMarked)) found_ns += this.flame.total_ns[at];
      }
      context.fillStyle = matches ? look.match : this.flame.parent[at] < 0 ? look.line : colourOf(name, this.flame.is_own[this.flame.name[at]], look.isDark);
      context.fillRect(left, row * ROW, Math.max(wide - 0.5, 0.5), ROW - 1);
      if (at === this.hovered) {
        context.strokeStyle = look.text;
        context.strokeRect(left + 0.5, row * ROW + 0.5, Math.max(wide - 1, 1), ROW - 2);
      }
      if (wide < LEAST_TEXT) continue;
      context.save();
      context.beginPath();
      context.rect(left, row * ROW, wide - 3, ROW);
      context.clip();
      context.fillStyle = matches ? "#000" : look.text;
      context.fillText(name, left + 3, row * ROW + ROW / 2);
      context.restore();
    }
    this.found.textContent = wanted ? `${duration(found_ns)}, ${number((100 * found_ns) / Math.max(this.flame.total_ns[this.root], 1), 1)} %` : "";
    if (this.hovered < 0) this.tell(this.root);
  }

  hasMarkedAbove(at, isMarked) {
    for (at = this.flame.parent[at]; at >= 0; at = this.flame.parent[at]) if (isMarked.has(at)) return true;
    return false;
  }

  boxAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const x = event.clientX - left;
    const row = Math.floor((event.clientY - top) / ROW);
    return this.boxes.find((box) => box[3] === row && x >= box[1] && x < box[1] + box[2])?.[0] ?? -1;
  }

  tell(at) {
    const { total_ns, self_ns } = this.flame;
    const whole = total_ns[this.threadOf(at)];
    this.where.textContent = `${this.nameOf(at)}: ${duration(total_ns[at])}, ${number((100 * total_ns[at]) / Math.max(whole, 1), 1)} % of the thread; ${duration(self_ns[at])} by itself`;
  }

  hover(at) {
    if (at === this.hovered) return;
    this.hovered = at;
    if (at >= 0) this.tell(at);
    this.paint();
  }

  onMove(event) {
    this.hover(this.boxAt(event));
  }

  onClick(event) {
    const at = this.boxAt(event);
    if (at >= 0) this.show(at);
  }

  recolour() {
    this.paint();
  }
}
