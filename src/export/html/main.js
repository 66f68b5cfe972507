// main: opens what the page carries, and shows it in tabs. A tab is built when it is first looked at.

import "uplot/dist/uPlot.min.css";
import "./page.css";

import { readData } from "./data.js";
import { el } from "./dom.js";
import { Flame } from "./flame.js";
import { clean, number } from "./format.js";
import { Model } from "./model.js";
import { Overview } from "./overview.js";
import { Communication, Device, Memory } from "./panels.js";
import { Tables } from "./tables.js";
import { TimelineView } from "./timeline.js";

const TABS = [["overview", "Overview"], ["timeline", "Timeline"], ["flame", "Flame graph"], ["communication", "Communication"], ["memory", "Memory"], ["device", "Device"], ["tables", "Tables"]];

class Page {
  constructor(head, model) {
    const tabs = TABS.filter(([name]) => name !== "device" || head.views.device.rows.length > 0);
    Object.assign(this, { head, model, titles: tabs });
    this.views = {};
    this.panels = Object.fromEntries(tabs.map(([name]) => [name, el("section", { id: name, class: "panel", role: "tabpanel", "aria-labelledby": `tab-${name}`, hidden: true, tabindex: "-1" })]));
    this.tabs = tabs.map(([name, title]) => el("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": name, "aria-selected": "false", tabindex: "-1",
      onclick: () => this.show(name),
    }, title));
    this.element = el("div", { class: "page" }, this.header(), el("main", {}, Object.values(this.panels)));
  }

  header() {
    const { info } = this.head;
    const isNamed = info.hosts && !/^unknown(, unknown-\d+)*$/.test(info.hosts); // else the trace does not tell
    const hosts = isNamed ? ` on ${clean(info.hosts)}` : info.n_hosts > 1 ? ` on ${number(info.n_hosts)} hosts` : "";
    const path = this.head.tables.processes.rows[0]?.path ?? "";
    const command = clean(info.command || info.job || path.split("/").filter(Boolean).at(-1) || "a run");
    document.title = `tacho: ${command}`;
    return el("header", {},
      el("div", { class: "brand" }, "tacho"),
      el("div", { class: "run" }, el("h1", { title: command }, command),
        el("p", {}, `${number(info.ranks)} rank${info.ranks === 1 ? "" : "s"}${hosts}${info.job ? `, job ${clean(info.job)}` : ""}`)),
      el("div", { role: "tablist", class: "tabs", "aria-label": "Views", onkeydown: (event) => this.onTabKey(event) }, this.tabs),
      el("button", { type: "button", class: "scheme", "aria-label": "Light or dark", title: "Light or dark", onclick: () => this.toggleScheme() }, "◐"));
  }

  onTabKey(event) {
    const at = this.tabs.indexOf(document.activeElement);
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (at < 0 || !by) return;
    const tab = this.tabs[(at + by + this.tabs.length) % this.tabs.length];
    tab.focus();
    tab.click();
  }

  toggleScheme() {
    const root = document.documentElement;
    const isDark = getComputedStyle(root).getPropertyValue("--scheme").trim() === "dark";
    root.dataset.scheme = isDark ? "light" : "dark";
    this.recolour();
  }

  recolour() {
    Object.values(this.views).forEach((view) => view.recolour());
  }

  build(name) {
    const findName = (text) => {
      this.show("timeline");
      this.views.timeline.findText(text);
    };
    const actions = { findName, showStep: (row) => this.showStep(row), showTable: (view) => this.showTable(view) };
    switch (name) {
      case "overview":
        return new Overview(this.head, actions);
      case "timeline":
        return new TimelineView(this.model);
      case "flame":
        return new Flame(this.head.flame);
      case "communication":
        return new Communication(this.head, findName);
      case "memory":
        return new Memory(this.head, this.model);
      case "device":
        return new Device(this.head);
      default:
        return new Tables(this.head, findName);
    }
  }

  show(name) {
    if (!this.panels[name]) name = "overview";
    this.titles.forEach(([tab], index) => {
      this.panels[tab].hidden = tab !== name;
      this.tabs[index].setAttribute("aria-selected", String(tab === name));
      this.tabs[index].tabIndex = tab === name ? 0 : -1;
    });
    if (!this.views[name]) {
      this.views[name] = this.build(name);
      this.panels[name].append(this.views[name].element);
    }
    document.body.dataset.tab = name;
    if (location.hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
  }

  showTable(view) {
    this.show("tables");
    this.views.tables.show(view);
    window.scrollTo(0, 0);
  }

  // The timeline where that step of that rank was.
  showStep(row) {
    this.show("timeline");
    const start = row.start_ms * 1e6;
    const length = row.duration_ms * 1e6;
    this.views.timeline.show(start - length * 0.03, start + length * 1.03);
  }
}

async function open() {
  const app = document.getElementById("app");
  const began = performance.now();
  try {
    if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old: it cannot decompress (DecompressionStream)");
    const holder = document.getElementById("data");
    const { head, columns } = await readData(holder.textContent);
    holder.remove();
    const page = new Page(head, new Model(head.timeline, columns));
    app.replaceChildren(page.element);
    page.show(location.hash.slice(1) || "overview");
    window.addEventListener("hashchange", () => page.show(location.hash.slice(1)));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.recolour());
    window.tacho = page; // for tests, and for who is curious at the console
    page.openMs = performance.now() - began;
  } catch (error) {
    app.replaceChildren(el("p", { class: "loading", role: "alert" }, `The run cannot be shown: ${error.message}`));
    console.error(error);
  }
  app.removeAttribute("aria-busy");
}

open();
