// tables: every view of the report, one at a time.

import { el } from "./dom.js";
import { number } from "./format.js";
import { TableView } from "./table.js";

const WITH_SLICES = new Set(["op", "kernel", "comm", "scope", "graph", "code"]); // whose names are names of slices

export class Tables {
  constructor(head, findName) {
    this.findName = findName;
    this.tables = { ...head.views, ...head.tables };
    this.shown = {};
    this.content = el("div", { class: "table-content" });
    this.choice = el("nav", { class: "view-choice", "aria-label": "Views" }, Object.entries(this.tables).map(([name, table]) => el("button", {
      type: "button", "data-view": name, title: table.description, onclick: () => this.show(name),
    }, name.replaceAll("_", " "), el("small", {}, table.rows.length ? number(table.rows.length + table.left_out_rows) : "–"))));
    this.element = el("div", { class: "tables" }, this.choice, this.content);
    this.show("op");
  }

  show(name) {
    const table = this.tables[name];
    this.shown[name] ??= el("section", { class: "card" }, el("h2", {}, name.replaceAll("_", " ")), el("p", { class: "explain" }, table.description),
      new TableView(table, { caption: table.description, onName: WITH_SLICES.has(name) ? this.findName : null }).element);
    this.content.replaceChildren(this.shown[name]);
    for (const button of this.choice.querySelectorAll("button")) button.setAttribute("aria-current", String(button.dataset.view === name));
  }

  recolour() {}
}
