// overview: what the run is, how far it can be trusted, where its steps go, and what to change.

import { el } from "./dom.js";
import { clean, number, short } from "./format.js";
import { StepsChart } from "./steps_chart.js";
import { TableView } from "./table.js";

const BRIEF_ROWS = 10;
const BRIEF_KEYS = {
  op: ["name", "phase", "share_pct", "self_ms", "total_ms", "count", "mean_us"],
  plan: ["change", "predicted_step_ms", "gain_pct", "low_gain_pct", "high_gain_pct", "needs", "how"],
  kernel: ["name", "shape", "share_pct", "total_ms", "count", "mean_us"],
};

const WITHOUT_SLICES = new Set(["critical", "explanation", "plan"]); // whose names are no names of slices

function milliseconds(ms) {
  return ms >= 1000 ? `${number(ms / 1000, 3)} s` : `${number(ms, 2)} ms`;
}

function plural(count, word) {
  return `${number(count)} ${word}${count === 1 ? "" : "s"}`;
}

export class Overview {
  // `actions`: {findName(name), showStep(row), showTable(view)}
  constructor(head, actions) {
    Object.assign(this, { head, actions });
    this.charts = [];
    this.element = el("div", { class: "overview" }, this.facts(), this.problems(), this.brief("explanation", "Where the predicted step comes from"), this.steps(), this.advice(), this.brief("plan", "The change that shortens the step most"),
      el("div", { class: "pair" }, this.brief("op", "Operations"), this.brief("kernel", "Kernels")),
      this.brief("critical", "Critical path"));
  }

  fact(name, value, note, key) {
    return el("div", { class: "fact", "data-fact": key }, el("dt", {}, name), el("dd", {}, value, note ? el("small", {}, note) : null));
  }

  facts() {
    const { info } = this.head;
    const missing = info.expected_ranks > info.ranks ? `${number(info.expected_ranks - info.ranks)} of ${number(info.expected_ranks)} missing` : null;
    const level = info.trust_score >= 90 ? "good" : info.trust_score >= 60 ? "fair" : "bad";
    const trust = this.fact("Trust", el("span", { class: `trust ${level}` }, `${info.trust_score} of 100`),
      this.head.tables.problems.rows.length ? plural(this.head.tables.problems.rows.length, "problem") : "no problems", "trust_score");
    return el("section", { class: "card", "aria-label": "The run" }, this.scope(), el("dl", { class: "facts" },
      this.fact("Median step", info.step_median_ms === null ? "–" : milliseconds(info.step_median_ms), "over ranks, without warm-up", "step_median_ms"),
      this.fact("Steps", number(info.steps), { annotated: "as annotated", optimizer: "found by the optimizer", period: "found by what repeats", none: "none found" }[info.steps_found] ?? info.steps_found, "steps"),
      this.fact("Ranks", number(info.ranks), missing ?? `on ${plural(info.n_hosts, "host")}`, "ranks"),
      this.fact("Duration", milliseconds(info.duration_ms), new Date(info.start_unix_ms).toISOString().slice(0, 19).replace("T", " ") + " UTC", "duration_ms"),
      this.fact("Events", number(info.events), info.dropped_events ? `${number(info.dropped_events)} dropped` : "none dropped", "events"),
      info.record_cost_pct > 0 ? this.fact("Recording cost", `${short(info.record_cost_pct)} %`, info.record_cost_step_pct === null ? null : `${short(info.record_cost_step_pct)} % of a step`, "record_cost_pct") : null,
      trust));
  }

  // What of the run this page has, where that is not all.
  scope() {
    const { head } = this;
    const parts = [];
    if (head.rank >= 0) parts.push(`Only rank ${head.rank}.`);
    if (head.first_step >= 0 || head.last_step >= 0) parts.push(`Only steps ${Math.max(head.first_step, 0)} to ${head.last_step >= 0 ? head.last_step : "the last"}.`);
    if (head.timeline.left_out_slices)
      parts.push(`The timeline has the longest slices; ${number(head.timeline.left_out_slices)} shorter than ${number(head.timeline.shortest_ns / 1000, 3)} µs are not in it (--steps and --rank choose a part with all of them).`);
    if (head.timeline.thinned_counters) parts.push(`Of ${plural(head.timeline.thinned_counters, "counter")} the lowest and highest values of what lies near to each other are shown.`);
    return parts.length ? el("p", { class: "scope" }, parts.join(" ")) : null;
  }

  problems() {
    const { problems } = this.head.tables;
    if (!problems.rows.length) return null;
    return el("section", { class: "card", "aria-label": "Problems" },
      el("details", { open: problems.rows.length <= 5 }, el("summary", {}, el("h2", {}, `Trusted less because of ${plural(problems.rows.length, "problem")}`)),
        new TableView(problems, { caption: "Problems", isBrief: true, most: 200 }).element));
  }

  steps() {
    const { step, step_summary: summary } = this.head.views;
    if (!step.rows.length)
      return el("section", { class: "card" }, el("h2", {}, "Steps"), el("p", {}, step.notes.join(" ") || "No steps were found in the run."));
    const chart = new StepsChart(step.rows, (row) => this.actions.showStep(row));
    this.charts.push(chart);
    return el("section", { class: "card", id: "steps" }, el("h2", {}, "Where each step goes"), chart.element,
      step.left_out_rows ? el("p", { class: "explain" }, `The first ${number(step.rows.length)} of ${number(step.rows.length + step.left_out_rows)}; --steps and --rank choose others.`) : null,
      new TableView(summary, { caption: "Each rank's steps: medians and means", isBrief: true, most: 16 }).element,
      el("div", { class: "notes" }, summary.notes.map((note) => el("p", {}, note))), this.link("step"));
  }

  advice() {
    const { advise } = this.head.views;
    if (!advise.rows.length)
      return el("section", { class: "card", id: "advice" }, el("h2", {}, "Advice"), el("p", {}, advise.notes.join(" ") || "Nothing was found that would help."));
    return el("section", { class: "card", id: "advice" }, el("h2", {}, "Advice"), el("ol", { class: "advice" }, advise.rows.map((row) => this.oneAdvice(row))));
  }

  oneAdvice(row) {
    const gain = row.gain_ms > 0 ? `saves at most ${number(row.gain_ms, 2)} ms a step${row.gain_pct > 0 ? ` (${number(row.gain_pct, 1)} %)` : ""}` :
      row.gain_bytes > 0 ? `saves at most ${number(row.gain_bytes)} bytes` : null;
    const title = String(row.checker ?? "").replaceAll("_", " ");
    return el("li", {}, el("h3", {}, title, row.where ? el("span", { class: "where-of" }, clean(row.where)) : null),
      gain ? el("p", { class: "gain" }, gain) : null, row.evidence ? el("p", {}, clean(row.evidence)) : null,
      row.action ? el("p", { class: "action" }, clean(row.action)) : null);
  }

  brief(name, title) {
    const view = this.head.views[name];
    if (!view?.rows.length) return null; // a page of a recording has no prediction
    const rows = new TableView(view, {
      caption: `${title}: ${view.description}`, most: BRIEF_ROWS, isBrief: true, keys: BRIEF_KEYS[name],
      onName: WITHOUT_SLICES.has(name) ? null : this.actions.findName,
    });
    return el("section", { class: "card" }, el("h2", {}, title), rows.element, this.link(name));
  }

  link(name) {
    return el("p", { class: "more" }, el("button", { type: "button", class: "link", onclick: () => this.actions.showTable(name) }, `All of it: ${name}`));
  }

  recolour() {
    this.charts.forEach((chart) => chart.recolour());
  }
}
