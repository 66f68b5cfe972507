// matrix: bytes from each rank (down) to each other one (across), the more the darker.

import { colours, el, fit } from "./dom.js";
import { bytes, number } from "./format.js";

const LABEL = 46; // pixels beside and above
const MOST = 560; // pixels of the square
const ROOM_FOR_TEXT = 58; // pixels of a field from which on it says its bytes

export class MatrixView {
  constructor(matrix) {
    this.matrix = matrix;
    this.most = 1;
    let total = 0;
    for (const value of matrix.bytes.flat()) {
      total += value;
      if (value > this.most) this.most = value;
    }
    this.fields = document.createElement("canvas"); // all fields as they are, whichever is told of
    this.canvas = el("canvas", {
      tabindex: "0", role: "img",
      "aria-label": `Bytes between ${matrix.ranks.length} ranks, ${bytes(total)} in all; arrow keys tell each field.`,
    });
    this.tip = el("output", { class: "tip", "aria-live": "polite" });
    this.at = null;
    this.box = el("div", { class: "matrix-box" }, this.canvas);
    this.element = el("figure", { class: "chart matrix" }, el("p", { class: "explain" }, this.explanation()), this.box, this.tip);
    this.listen();
  }

  explanation() {
    const { source, outside } = this.matrix;
    if (source === "collectives")
      return "No messages were recorded. Between two ranks stand the bytes of the collectives that both took part in, of one rank's input each; which way they went is not known.";
    return `Bytes of the messages that each rank (down) sent to each other (across).${outside ? ` ${number(outside)} messages went to nobody in the run and are not here.` : ""}`;
  }

  listen() {
    this.canvas.addEventListener("pointermove", (event) => this.tell(this.fieldAt(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("pointerleave", () => this.tell(null));
    this.canvas.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!by) return;
      event.preventDefault();
      const n = this.matrix.ranks.length;
      const [from, to] = this.at ?? [0, -1];
      this.tell([Math.min(Math.max(from + by[0], 0), n - 1), Math.min(Math.max(to + by[1], 0), n - 1)]);
    });
    new ResizeObserver(() => this.paint()).observe(this.box);
  }

  fieldAt(x, y) {
    const n = this.matrix.ranks.length;
    const to = Math.floor((x - LABEL) / this.size);
    const from = Math.floor((y - LABEL) / this.size);
    return from >= 0 && to >= 0 && from < n && to < n ? [from, to] : null;
  }

  tell(field) {
    if (String(field) === String(this.at)) return;
    this.at = field;
    const { ranks, source } = this.matrix;
    const value = field ? this.matrix.bytes[field[0]][field[1]] : 0;
    this.tip.textContent = !field ? "" : source === "messages" ? `Rank ${ranks[field[0]]} to rank ${ranks[field[1]]}: ${bytes(value)} (${number(value)} bytes)` :
      `Ranks ${ranks[field[0]]} and ${ranks[field[1]]}: ${bytes(value)} (${number(value)} bytes)`;
    this.paint();
  }

  recolour() {
    this.size = 0;
    this.paint();
  }

  paintFields(size) {
    const n = this.matrix.ranks.length;
    const paint = colours();
    this.size = size;
    this.side = LABEL + size * n + 2;
    const context = fit(this.fields, this.side, this.side);
    context.clearRect(0, 0, this.side, this.side);
    for (let from = 0; from < n; from++) for (let to = 0; to < n; to++) this.paintField(context, paint, from, to);
    this.paintLabels(context, paint, n);
  }

  paint() {
    const room = Math.min(MOST, this.box.clientWidth || MOST) - LABEL - 4;
    const paint = colours();
    const size = Math.max(1, Math.min(90, room / this.matrix.ranks.length));
    if (size !== this.size) this.paintFields(size);
    const context = fit(this.canvas, this.side, this.side);
    context.clearRect(0, 0, this.side, this.side);
    context.drawImage(this.fields, 0, 0, this.side, this.side);
    if (this.at) {
      context.strokeStyle = paint.text;
      context.lineWidth = 2;
      context.strokeRect(LABEL + this.at[1] * this.size, LABEL + this.at[0] * this.size, this.size, this.size);
    }
  }

  paintField(context, paint, from, to) {
    const value = this.matrix.bytes[from][to];
    const share = Math.sqrt(value / this.most);
    const gap = this.size > 8 ? 1 : 0;
    context.fillStyle = value === 0 ? paint.card : paint.isDark ? `hsl(22 75% ${16 + 44 * share}%)` : `hsl(22 80% ${94 - 48 * share}%)`;
    context.fillRect(LABEL + to * this.size, LABEL + from * this.size, this.size - gap, this.size - gap);
    if (this.size < ROOM_FOR_TEXT || value === 0) return;
    context.fillStyle = share > 0.6 ? "#fff" : paint.text;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(bytes(value), LABEL + (to + 0.5) * this.size, LABEL + (from + 0.5) * this.size);
  }

  paintLabels(context, paint, n) {
    const every = Math.ceil(26 / this.size);
    context.fillStyle = paint.faint;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let i = 0; i < n; i += every) {
      context.textAlign = "right";
      context.fillText(this.matrix.ranks[i], LABEL - 6, LABEL + (i + 0.5) * this.size);
      context.textAlign = "center";
      context.fillText(this.matrix.ranks[i], LABEL + (i + 0.5) * this.size, LABEL - 10);
    }
    context.textAlign = "left";
    const isDirected = this.matrix.source === "messages";
    context.fillText(isDirected ? "to rank" : "rank", LABEL, 10);
    context.fillText(isDirected ? "from" : "rank", 2, LABEL - 10);
  }
}
