// timeline_paint: one frame of the timeline on its canvas.
//
// Levels of detail: a slice of two pixels or more is drawn as it is. Narrower ones are drawn a pixel column at a time:
// as high a bar as they keep the row busy in that column, in the colour of the longest of them. What a column holds is
// found by bisection, so that a frame costs as many steps as there are pixels, not slices.

import { axisTime, bytes, clean, short } from "./format.js";
import { bandAt, ROW } from "./timeline_layout.js";

const CHARACTER = 6.1; // mean width of a letter, pixels
const WIDE = 2; // pixels from which on a slice is drawn by itself
const KIND_HUES = {
  op: 212, annotation: 172, module: 142, wait: 46, kernel: 262, collective: 22, step: 205, message: 322, runtime: 192,
  memcpy: 34, memset: 28, sync: 2, function: 88, event: 225, mark: 340, process: 0,
};

function hash(text) {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return value >>> 0;
}

// The hue says the kind, its shade the name.
export class Palette {
  constructor(model, isDark) {
    this.model = model;
    this.isDark = isDark;
    this.known = new Map();
  }

  of(slice) {
    const key = this.model.name[slice] * 64 + this.model.kind[slice];
    let colour = this.known.get(key);
    if (!colour) {
      const kind = this.model.strings[this.model.kind[slice]];
      const mix = hash(this.model.strings[this.model.name[slice]]);
      const hue = (KIND_HUES[kind] ?? mix % 360) + (mix % 25) - 12;
      const light = (this.isDark ? 42 : 70) + ((mix >> 8) % 11) - 5;
      const strength = kind === "step" ? 18 : 44 + ((mix >> 16) % 14);
      colour = `hsl(${hue} ${strength}% ${light}%)`;
      this.known.set(key, colour);
    }
    return colour;
  }

  kind(name) {
    return `hsl(${KIND_HUES[name] ?? 225} ${name === "step" ? 18 : 58}% ${this.isDark ? 42 : 66}%)`;
  }
}

// Round distances between marks of the axis: 1, 2 or 5 times a power of ten.
export function axisStep(span, width) {
  const rough = (span / width) * 130;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough) ?? 10 * power;
}

export class Painter {
  constructor(context, view, colours, palette) {
    Object.assign(this, { context, colours, palette });
    this.model = view.model;
    this.t0 = view.t0;
    this.t1 = view.t1;
    this.width = view.width;
    this.scale = view.width / (view.t1 - view.t0); // pixels a nanosecond
    this.search = view.search;
    this.selected = view.selected;
  }

  x(time) {
    return (time - this.t0) * this.scale;
  }

  // --- the axis -------------------------------------------------------------------------------------

  drawAxis(height, axisHeight) {
    const { context } = this;
    const step = axisStep(this.t1 - this.t0, this.width);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = this.colours.line;
    for (let time = Math.ceil(this.t0 / step) * step; time < this.t1; time += step)
      context.fillRect(Math.round(this.x(time)), axisHeight - 6, 1, height);
    context.fillStyle = this.colours.faint;
    for (let time = Math.ceil(this.t0 / step) * step; time < this.t1; time += step)
      context.fillText(axisTime(time, step), Math.round(this.x(time)) + 4, axisHeight / 2);
  }

  // --- slices ---------------------------------------------------------------------------------------

  drawRow(row, y) {
    const { model, search } = this;
    const matches = search ? model.matchesOf(row, search) : null;
    let p = model.endingAfter(row, this.t0);
    while (p < row.end) {
      const slice = model.order[p];
      const start = model.start[slice];
      if (start >= this.t1) break;
      const left = this.x(start);
      const right = this.x(start + model.duration[slice]);
      if (right - left >= WIDE) {
        this.drawSlice(slice, left, right, y);
        p++;
      } else p = this.drawColumn(row, p, left, y, matches);
    }
    this.flush();
  }

  // Slices of one pixel column, from place `p` on; returns the first place after them.
  drawColumn(row, p, left, y, matches) {
    const { model } = this;
    const column = Math.max(0, Math.floor(left));
    const last = this.t0 + (column + 1) / this.scale;
    let end = model.beginningAt(row, last, p + 1);
    if (end > p + 1 && model.duration[model.order[end - 1]] * this.scale >= WIDE) end--; // it is drawn by itself
    const longest = model.order[end === p + 1 ? p : model.longest(row, p, end)];
    const busy = (model.busyNs[end] - model.busyNs[p]) * this.scale;
    const share = Math.min(1, Math.max(0.25, busy));
    const isMatch = matches ? matches[end - row.first] > matches[p - row.first] : false;
    if (end === p + 1 && model.isMoment(longest)) this.drawMoment(longest, left, y, !matches || isMatch);
    else this.addColumn(column, y, share, this.colour(longest, !matches || isMatch, isMatch));
    return end;
  }

  // Columns of one colour and height that lie side by side are one rectangle.
  addColumn(column, y, share, colour) {
    const height = Math.max(2, Math.round((ROW - 2) * share));
    const pending = this.pending;
    if (pending && pending.colour === colour && pending.height === height && pending.y === y && pending.right === column) {
      pending.right++;
      return;
    }
    this.flush();
    this.pending = { colour, height, y, left: column, right: column + 1 };
  }

  flush() {
    const pending = this.pending;
    if (!pending) return;
    this.context.fillStyle = pending.colour;
    this.context.fillRect(pending.left, pending.y + ROW - 1 - pending.height, pending.right - pending.left, pending.height);
    this.pending = null;
  }

  colour(slice, isShown, isMatch) {
    return isMatch ? this.colours.match : isShown ? this.palette.of(slice) : this.colours.line;
  }

  drawSlice(slice, left, right, y) {
    const { context, model, search } = this;
    const x = Math.max(-2, left);
    const width = Math.min(this.width + 2, right) - x;
    const isMatch = search ? search.names[model.name[slice]] === 1 : false;
    this.flush();
    context.fillStyle = this.colour(slice, !search || isMatch, isMatch);
    context.fillRect(x, y, Math.max(width - 0.6, 1), ROW - 1);
    if (model.isOpen(slice)) this.drawOpenEnd(x + width, y);
    if (width > 28) this.drawName(slice, Math.max(x, 0), Math.min(width, x + width), y, isMatch);
  }

  // Zigzag: it went on when the recording ended.
  drawOpenEnd(x, y) {
    this.context.fillStyle = this.colours.exposed;
    for (let i = 0; i < 4; i++) this.context.fillRect(x - 3 + (i % 2) * 2, y + i * 4, 2, 4);
  }

  drawName(slice, x, width, y, isMatch) {
    const { context } = this;
    const room = Math.floor((width - 7) / CHARACTER);
    if (room < 3) return;
    const name = clean(this.model.strings[this.model.name[slice]]);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = isMatch ? "#1c1a00" : this.search ? this.colours.faint : this.palette.isDark ? "#f3f6fa" : "#10202f";
    context.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, x + 4, y + ROW / 2);
  }

  drawMoment(slice, x, y, isShown) {
    const { context } = this;
    this.flush();
    context.fillStyle = isShown ? this.palette.of(slice) : this.colours.line;
    context.beginPath();
    context.moveTo(x, y + 1);
    context.lineTo(x + 4, y + ROW / 2);
    context.lineTo(x, y + ROW - 2);
    context.lineTo(x - 4, y + ROW / 2);
    context.fill();
  }

  // --- counters -------------------------------------------------------------------------------------

  // Lowest and highest of each pixel column, as steps: a value holds until the next one.
  drawCounter(track, y, height) {
    const { context } = this;
    const { times, values } = track;
    const low = Math.min(0, track.lowest);
    const span = track.highest - low || 1;
    const at = (value) => y + height - 2 - ((value - low) / span) * (height - 6);
    let i = firstAfter(times, this.t0) - 1;
    let x = 0;
    let value = i >= 0 ? values[i] : values[0];
    context.fillStyle = this.palette.isDark ? "hsl(205 45% 38%)" : "hsl(205 55% 72%)";
    if (i < 0) x = Math.max(0, this.x(times[0]));
    for (i = Math.max(i + 1, 0); i < times.length && times[i] < this.t1; ) {
      const next = this.x(times[i]);
      context.fillRect(x, at(value), next - x, y + height - 2 - at(value));
      let highest = values[i];
      const columnEnd = this.t0 + (Math.floor(next) + 1) / this.scale;
      for (; i < times.length && times[i] < columnEnd; i++) {
        value = values[i];
        if (value > highest) highest = value;
      }
      context.fillRect(Math.floor(next), at(highest), 1, y + height - 2 - at(highest));
      x = next;
    }
    const right = Math.min(this.width, i >= times.length ? this.x(times[times.length - 1]) + 1 : this.width);
    if (right > x) context.fillRect(x, at(value), right - x, y + height - 2 - at(value));
    context.fillStyle = this.colours.faint;
    context.font = "10px system-ui, sans-serif";
    context.textBaseline = "top";
    context.fillText(track.isBytes ? bytes(track.highest) : short(track.highest), 4, y + 2);
  }

  // --- what is selected -------------------------------------------------------------------------------

  outline(slice, y) {
    const { context } = this;
    const left = Math.max(-4, this.x(this.model.start[slice]));
    const right = Math.min(this.width + 4, this.x(this.model.end(slice)));
    context.strokeStyle = this.colours.text;
    context.lineWidth = 2;
    context.strokeRect(left, y - 0.5, Math.max(right - left, 3), ROW);
  }

  arrow(fromTime, fromY, toTime, toY) {
    const { context } = this;
    const x0 = this.x(fromTime);
    const x1 = this.x(toTime);
    const bend = Math.max(24, Math.min(120, Math.abs(x1 - x0) / 2));
    context.strokeStyle = this.colours.accent;
    context.fillStyle = this.colours.accent;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x0, fromY);
    context.bezierCurveTo(x0 + bend, fromY, x1 - bend, toY, x1, toY);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, toY);
    context.lineTo(x1 - 7, toY - 4);
    context.lineTo(x1 - 7, toY + 4);
    context.fill();
  }

  // --- all --------------------------------------------------------------------------------------------

  drawBand(band, y) {
    const { context } = this;
    if (band.kind === "process") {
      context.fillStyle = this.colours.back;
      context.fillRect(0, y, this.width, band.height);
    } else if (band.kind === "counter") this.drawCounter(band.track, y, band.height);
    else {
      const rows = band.isFolded ? band.track.rows.slice(0, 1) : band.track.rows;
      rows.forEach((row, depth) => this.drawRow(row, y + 2 + depth * ROW));
    }
  }

  drawBands(bands, scrollY, top, height) {
    for (let i = bandAt(bands, scrollY); i < bands.length && bands[i].y < scrollY + height - top; i++)
      this.drawBand(bands[i], bands[i].y - scrollY + top);
  }
}

function firstAfter(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
