// live: asks the server each second and shows what it answers. All text comes in as text, never as markup.
"use strict";

const GOOD = new Set(["running", "over", "exited"]);
let chosen = null; // id of the job shown

const byId = (id) => document.getElementById(id);
const show = (value, column) => {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toFixed(1);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return column === "run" ? value.replace(/\/+$/, "").split("/").pop() : value;
};

function cell(text, classes) {
  const made = document.createElement("td");
  made.textContent = text;
  made.className = classes;
  return made;
}

// columns: [key, title]; onChoose: called with the row, or null.
function fill(table, columns, rows, onChoose, isChosen) {
  const head = document.createElement("tr");
  for (const [, title] of columns) {
    const made = document.createElement("th");
    made.textContent = title;
    head.append(made);
  }
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    columns.forEach(([key], i) => {
      const isBad = key === "state" && !GOOD.has(row[key]);
      const made = cell(show(row[key], key), (typeof row[key] === "number" ? "number" : "") + (isBad ? " bad" : ""));
      if (i === 0 && onChoose) {
        const button = document.createElement("button");
        button.className = "link";
        button.textContent = made.textContent;
        button.addEventListener("click", () => onChoose(row));
        made.replaceChildren(button);
      }
      line.append(made);
    });
    if (isChosen && isChosen(row)) line.className = "chosen";
    return line;
  }));
}

const JOBS = [["run", "job"], ["state", "state"], ["ranks", "ranks"], ["steps", "steps"], ["step_ms", "step ms"],
  ["trend_pct", "trend %"], ["compute_pct", "comp %"], ["exposed_communication_pct", "comm %"], ["wait_pct", "wait %"],
  ["idle_pct", "idle %"], ["data_wait_pct", "load %"], ["memory_mb", "MB"], ["slowest_rank", "slowest"], ["why", "why"]];
const HOSTS = [["host", "host"], ["state", "state"], ["since", "since"], ["jobs", "jobs"], ["jobs_left_out", "left out"], ["error", "why"]];
const RANKS = [["rank", "rank"], ["state", "state"], ["steps", "steps"], ["step_ms", "step ms"], ["compute_ms", "compute"],
  ["exposed_communication_ms", "exposed"], ["wait_ms", "wait"], ["idle_ms", "idle"], ["data_wait_ms", "loading"],
  ["allocated_mb", "alloc MB"], ["memory_mb", "MB"], ["delayed_pct", "no core %"], ["doing", "is in"]];
const FINDINGS = [["kind", "finding"], ["rank", "rank"], ["step", "step"], ["is_over", "over"], ["what", "what"],
  ["evidence", "evidence"], ["command", "next"]];

// Bars, one a step, the longest rank's, stacked by part.
function draw(steps) {
  const canvas = byId("chart");
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = 160;
  const paint = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  canvas.width = width * scale;
  canvas.height = height * scale;
  paint.scale(scale, scale);
  const most = Math.max(...steps.map((s) => s.duration_ms), 1e-9);
  const bar = Math.max(width / Math.max(steps.length, 1), 1);
  steps.forEach((step, i) => {
    let y = height;
    for (const [key, colour] of [["compute_ms", "--compute"], ["exposed_communication_ms", "--exposed"],
      ["wait_ms", "--wait"], ["idle_ms", "--idle"]]) {
      const size = (step[key] || 0) / most * (height - 14);
      paint.fillStyle = style.getPropertyValue(colour);
      paint.fillRect(i * bar, y - size, Math.max(bar - 1, 1), size);
      y -= size;
    }
  });
  paint.fillStyle = style.getPropertyValue("--faint");
  paint.fillText(`${most.toFixed(1)} ms`, 2, 10);
}

// soon: what to show while the server itself waits for an answer.
async function ask(path, soon) {
  const answer = await fetch(path, { cache: "no-store" });
  if (answer.status === 503 && soon) return soon;
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return answer.json();
}

async function look() {
  try {
    const jobs = await ask("api/jobs");
    const hosts = await ask("api/hosts");
    byId("hosts").hidden = !hosts.length;
    fill(byId("hosts"), HOSTS, hosts.map((row) => ({ ...row, since: new Date(row.since_unix_ns / 1e6).toLocaleString() })), null, null);
    fill(byId("jobs"), hosts.length ? [JOBS[0], ["host", "host"], ...JOBS.slice(1)] : JOBS, jobs, (row) => { chosen = row.id; look(); }, (row) => row.id === chosen);
    if (chosen === null && jobs.length) chosen = jobs[0].id;
    const job = jobs.find((row) => row.id === chosen);
    byId("job").hidden = !job;
    if (job) {
      const more = await ask(`api/jobs/${chosen}`, { ranks: [], findings: [], steps: [] });
      byId("name").textContent = job.run;
      byId("command").textContent = job.command || "";
      fill(byId("ranks"), RANKS, more.ranks, null, null);
      fill(byId("findings"), FINDINGS, more.findings, null, null);
      draw(more.steps);
    }
    byId("state").textContent = `${jobs.length} ${jobs.length === 1 ? "job" : "jobs"}, ${new Date().toLocaleTimeString()}`;
  } catch (failure) {
    byId("state").textContent = `No answer: ${failure.message}`;
  }
}

look();
setInterval(look, 1000);
