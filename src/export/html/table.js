// table: rows that sort by any column and are filtered by a text; long ones are shown a part at a time.

import { el } from "./dom.js";
import { cell, number } from "./format.js";

const SHOWN = 100; // rows at first, and with every "more"
const LONG = 40; // letters from which on a text is broken into lines

// Numbers before texts before nothing; the larger number first.
function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b));
  return b - a;
}

// A tree's rows stand further right the deeper they are.
function indent(element, depth) {
  const by = Math.min(depth, 24) * 0.8;
  element.style.paddingLeft = `${by}rem`;
  element.style.minWidth = `${by + 14}rem`;
}

export class TableView {
  // `table` is a view of the page's data. `most`: rows at first; `onName`: what a name's button does; `isBrief`: rows
  // and nothing else; `keys`: only these columns.
  constructor(table, { caption, most = SHOWN, onName = null, isBrief = false, keys = null } = {}) {
    Object.assign(this, { table, caption, onName, isBrief, keys, shown: most, step: most });
    this.sortKey = null;
    this.isReversed = false;
    this.filter = "";
    this.withExtra = false;
    this.body = el("tbody", {});
    this.head = el("thead", {});
    this.count = el("output", { class: "count" });
    this.more = el("p", { class: "more" });
    this.element = el("div", { class: isBrief ? "table-view brief" : "table-view" }, isBrief ? null : this.buildBar(),
      el("div", { class: "table-scroller", tabindex: "0", role: "region", "aria-label": caption },
        el("table", {}, el("caption", {}, caption), this.head, this.body)),
      this.more, isBrief ? null : this.notes());
    this.fill();
  }

  buildBar() {
    const hasExtra = this.table.columns.some((column) => column.is_extra);
    return el("div", { class: "bar" },
      el("input", {
        type: "search", placeholder: "Filter rows", "aria-label": `Filter rows of ${this.caption}`, autocomplete: "off",
        oninput: (event) => {
          this.filter = event.target.value.toLowerCase();
          this.shown = this.step;
          this.fill();
        },
      }),
      this.count, el("span", { class: "spring" }),
      hasExtra ? el("label", { class: "choice" }, el("input", {
        type: "checkbox",
        onchange: (event) => {
          this.withExtra = event.target.checked;
          this.fill();
        },
      }), "All columns") : null);
  }

  notes() {
    const left = this.table.left_out_rows;
    const notes = [...this.table.notes];
    if (left) notes.push(`${number(left)} more rows are not in this page; 'tacho report --all' has them.`);
    return notes.length ? el("div", { class: "notes" }, notes.map((note) => el("p", {}, note))) : null;
  }

  columns() {
    const columns = this.table.columns.filter((column) => (this.keys ? this.keys.includes(column.key) : this.withExtra || !column.is_extra));
    return columns.filter((column) => this.withExtra || this.table.rows.some((row) => row[column.key] !== null && row[column.key] !== ""));
  }

  rows() {
    const { sortKey, filter } = this;
    const columns = this.table.columns;
    let rows = this.table.rows;
    if (filter)
      rows = rows.filter((row) => columns.some((column) => cell(column, row[column.key]).toLowerCase().includes(filter)));
    if (sortKey === null) return rows;
    const sign = this.isReversed ? -1 : 1;
    // Nothing comes last, whichever way.
    return [...rows].sort((a, b) => {
      const [x, y] = [a[sortKey], b[sortKey]];
      return x === null || y === null ? compare(x, y) : sign * compare(x, y);
    });
  }

  sortBy(key) {
    this.isReversed = this.sortKey === key ? !this.isReversed : false;
    this.sortKey = key;
    this.fill();
    this.head.querySelector('[aria-sort="ascending"] button, [aria-sort="descending"] button')?.focus();
  }

  heading(column) {
    const isSorted = this.sortKey === column.key;
    const isAscending = (column.type === "text") !== this.isReversed;
    return el("th", { scope: "col", class: column.type === "text" ? null : "figure", "aria-sort": isSorted ? (isAscending ? "ascending" : "descending") : null },
      this.isBrief ? column.label : el("button", { type: "button", onclick: () => this.sortBy(column.key) },
        column.label, el("span", { class: "sort", "aria-hidden": "true" }, isSorted ? (isAscending ? " ▲" : " ▼") : "")));
  }

  cell(column, row) {
    const value = row[column.key];
    const whole = cell(column, value);
    const names = this.table.short_names?.[column.key] ?? {};
    const text = Object.hasOwn(names, value) ? names[value] : whole;
    const isName = column.key === "name" && this.onName && text;
    const kind = column.type !== "text" ? "figure" : column.is_flexible || text.length > LONG ? "text" : "word";
    const element = el("td", { class: kind, "data-key": column.key, title: text !== whole || (this.isBrief && kind === "text") ? whole : null },
      isName ? el("button", { type: "button", class: "link", title: text === whole ? "Find it in the timeline" : `${whole}\nFind it in the timeline`, onclick: () => this.onName(value, row) }, text) : kind === "text" ? el("span", {}, text) : text);
    if (kind === "text" && this.sortKey === null && row.depth > 0) indent(element, row.depth);
    if (column.is_share && value > 0) {
      element.classList.add("share");
      element.style.setProperty("--share", `${Math.min(value, 100)}%`);
    }
    return element;
  }

  fill() {
    const columns = this.columns();
    const rows = this.rows();
    const shown = rows.slice(0, this.shown);
    this.head.replaceChildren(el("tr", {}, columns.map((column) => this.heading(column))));
    this.body.replaceChildren(...shown.map((row) => el("tr", {}, columns.map((column) => this.cell(column, row)))));
    this.count.textContent = this.filter ? `${number(rows.length)} of ${number(this.table.rows.length)} rows` : `${number(rows.length)} rows`;
    const left = rows.length - shown.length;
    this.more.replaceChildren(...(left > 0 && !this.isBrief ? [el("button", {
      type: "button",
      onclick: () => {
        this.shown += Math.max(this.step, 1000);
        this.fill();
      },
    }, `Show more (${number(left)} left)`)] : []));
    if (rows.length === 0)
      this.body.replaceChildren(el("tr", {}, el("td", { class: "empty", colspan: String(columns.length || 1) }, this.filter ? "Nothing matches." : "Nothing was recorded for this.")));
  }
}
