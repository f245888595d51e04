#include "observe/dashboard.h"

namespace sluice::observe {
namespace {

// Everything that comes from /progress enters the page through textContent or setAttribute, never as HTML.
constexpr std::string_view kPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>sluice</title>
<style>
:root {
  --paper: #f6f7f9; --card: #ffffff; --ink: #1c2330; --soft: #667085; --line: #d8dde6; --accent: #1f6feb;
  --good: #14804a; --warn: #9a6700; --warn-paper: #fff8e1; --bad: #b42318;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #11151c; --card: #1a202b; --ink: #e4e8ef; --soft: #98a2b3; --line: #303949; --accent: #6ea8fe;
    --good: #4ade80; --warn: #f5c451; --warn-paper: #2b2614; --bad: #ff7b72;
  }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem; background: var(--paper); color: var(--ink);
       font: 14px/1.45 system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif; }
main { max-width: 78rem; margin: 0 auto; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .75rem; }
h1 { font-size: 1.35rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: .8rem; margin: 1.6rem 0 .5rem; color: var(--soft); text-transform: uppercase; letter-spacing: .06em; }
.phase { padding: .1rem .6rem; border-radius: 1rem; border: 1px solid currentColor; font-size: .85rem; }
.running, .finished { color: var(--good); } .starting, .stopping, .lost { color: var(--warn); } .failed { color: var(--bad); }
.soft { color: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin-top: 1rem; }
.figure, .panel { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; }
.figure { padding: .7rem .9rem; }
.figure b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.figure span { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
.panel { overflow-x: auto; }
#waiting { margin: 1rem 0 0; padding: .7rem .9rem .7rem 2rem; background: var(--warn-paper); border: 1px solid var(--warn);
           border-radius: .6rem; color: var(--warn); overflow-wrap: anywhere; }
#waiting:empty { display: none; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .45rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th { font-weight: 600; color: var(--soft); font-size: .8rem; }
.text { text-align: left; } .wide { white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }
.bad { color: var(--bad); }
svg { display: block; margin: .5rem; }
svg .box { fill: var(--card); stroke: var(--accent); stroke-width: 1.3; }
svg .edge { fill: none; stroke: var(--soft); stroke-width: 1.4; }
svg .broadcast { stroke-dasharray: 5 4; }
svg text { fill: var(--ink); font: 600 12.5px system-ui, "Noto Sans CJK SC", sans-serif; }
svg .small { fill: var(--soft); font-weight: 400; font-size: 11.5px; }
footer { margin-top: 1.5rem; color: var(--soft); font-size: .85rem; }
a { color: var(--accent); }
</style>
</head>
<body>
<main>
  <header><h1 id="name">…</h1><span id="phase" class="phase lost">loading</span><span id="since" class="soft"></span></header>
  <ul id="waiting"></ul>
  <section class="figures" id="figures"></section>
  <h2>Flow</h2><div class="panel" id="flow"></div>
  <h2>Operators</h2><div class="panel"><table id="operators"></table></div>
  <h2>Splits</h2><div class="panel"><table id="splits"></table></div>
  <footer>Times are UTC. <a href="metrics">metrics</a> · <a href="health">health</a> · <a href="progress">progress</a></footer>
</main>
<script>
"use strict";
const REFRESH_MS = 2000, RATE_SAMPLES = 4;
const samples = [];   // the newest last; rates are taken over all of them
const $ = id => document.getElementById(id);

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined && text !== null) e.textContent = text;
  if (className) e.className = className;
  return e;
}
const count = n => Number(n).toLocaleString("en-US");
function rate(perSecond) {
  if (!(perSecond >= 0.05)) return "0/s";
  if (perSecond < 9.95) return perSecond.toFixed(1) + "/s";
  if (perSecond < 999.5) return perSecond.toFixed(0) + "/s";
  if (perSecond < 999950) return (perSecond / 1e3).toFixed(1) + "k/s";
  return (perSecond / 1e6).toFixed(1) + "M/s";
}
function duration(ms) {
  if (ms < 0) ms = 0;
  if (ms < 1000) return ms + "ms";
  const s = Math.floor(ms / 1000), two = n => String(n).padStart(2, "0");
  if (s < 60) return s + "s";
  if (s < 3600) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
  if (s < 86400) return Math.floor(s / 3600) + "h" + two(Math.floor(s / 60) % 60) + "m";
  return Math.floor(s / 86400) + "d" + two(Math.floor(s / 3600) % 24) + "h";
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return (i ? n.toFixed(1) : n) + " " + units[i];
}
function time(ms, ended) {
  if (ended) return "end";
  if (ms === null) return "–";
  const date = new Date(ms);
  return isNaN(date) ? ms + " ms" : date.toISOString().replace("T", " ").slice(0, 19);
}
function perSecond(now, value) {
  const old = samples.length > 1 ? samples[0] : null;
  if (!old || old.started_ms !== now.started_ms || now.now_ms <= old.now_ms) return null;
  return (value(now) - value(old)) * 1000 / (now.now_ms - old.now_ms);
}
const rateText = r => r === null ? "–" : rate(r);
const find = (progress, id) => progress.operators.find(op => op.id === id);
const read = op => op.source ? Math.max(op.rows_in, op.rows_out) : op.rows_in;
const rateOf = (now, id, value) => perSecond(now, p => { const op = find(p, id); return op ? value(op) : 0; });
const sum = (list, value) => list.reduce((total, item) => total + value(item), 0);

function figure(value, label, detail, bad) {
  const box = element("div", null, "figure");
  box.append(element("b", value, bad ? "bad" : ""), element("span", label));
  if (detail) box.append(element("br"), element("span", detail));
  return box;
}
function figures(p) {
  const rowsIn = q => sum(q.operators.filter(op => op.source), read);
  const rowsOut = q => sum(q.operators.filter(op => op.sink), op => op.rows_in);
  const known = p.splits.filter(s => s.lag !== null);
  const c = p.checkpoint;
  const held = p.operators.filter(op => op.watermark_holder !== null)
      .map(op => ({op, split: p.splits.find(s => s.source === op.id && s.split === op.watermark_holder)}))
      .filter(h => h.split)
      .sort((a, b) => (a.split.watermark_ms ?? -Infinity) - (b.split.watermark_ms ?? -Infinity))[0];
  const list = [
    figure(count(rowsIn(p)), "rows in", rateText(perSecond(p, rowsIn))),
    figure(count(rowsOut(p)), "rows out", rateText(perSecond(p, rowsOut))),
    figure(known.length ? count(sum(known, s => s.lag)) : "–", "rows behind"),
    figure(c.last_number === null ? "none yet" : "no. " + c.last_number, "checkpoint",
           (c.last_number === null ? "" : duration(p.now_ms - c.last_completed_ms) + " ago, took " +
            duration(c.last_duration_ms) + ", " + bytes(c.last_bytes) + " new") +
           (c.running_since_ms === null ? "" : " · writing one for " + duration(p.now_ms - c.running_since_ms)) +
           (c.failed ? " · " + c.failed + " failed" : "") + (c.last_error ? " · " + c.last_error : ""), !!c.last_error),
    figure(count(p.dead_letters), "dead letters", p.dead_letters ? p.dead_letters_dir : "", p.dead_letters > 0),
  ];
  if (held) list.push(figure(time(held.split.watermark_ms), "watermark", "held by " + held.split.split + " of " + held.op.id));
  $("figures").replaceChildren(...list);
}

function row(cells, tag) {
  const tr = element("tr");
  for (const [text, className] of cells) tr.append(element(tag || "td", text, className));
  return tr;
}
function operators(p) {
  const rows = [row([["operator", "text"], ["type", "text"], ["lanes"], ["in"], ["in/s"], ["out"], ["out/s"], ["rejected"],
                     ["watermark", "text"], ["busy"], ["state"], ["counters, notes", "text"]], "th")];
  for (const op of p.operators) {
    const notes = Object.entries(op.counters).filter(([, v]) => v !== 0).map(([k, v]) => k + " " + count(v));
    if (op.note) notes.push(op.note);
    if (op.last_error) notes.push("last error: " + op.last_error);
    const busy = rateOf(p, op.id, o => o.busy_ns);
    rows.push(row([
      [op.id, "text"], [op.type, "text soft"], [op.lanes], [count(read(op))], [rateText(rateOf(p, op.id, read))],
      [op.sink ? "" : count(op.rows_out)], [op.sink ? "" : rateText(rateOf(p, op.id, o => o.rows_out))],
      [op.rejected ? count(op.rejected) : "", "bad"], [time(op.watermark_ms, op.input_ended), "text"],
      [busy === null ? "–" : (busy / 1e7 / Math.max(1, op.lanes)).toFixed(0) + " %"],
      [op.state_entries ? count(op.state_entries) + " · " + bytes(op.state_bytes) : ""],
      [notes.join(" · "), "text wide soft"]]));
  }
  $("operators").replaceChildren(...rows);
}
function splits(p) {
  const rows = [row([["split", "text"], ["of", "text"], ["lane"], ["position", "text"], ["behind"], ["watermark", "text"],
                     ["state", "text"]], "th")];
  for (const s of p.splits) {
    const owner = find(p, s.source);
    const states = [s.gated && "waits for the snapshot", s.ended ? "ended" : s.caught_up && "caught up", s.idle && "idle",
                    owner && owner.watermark_holder === s.split && "holds the watermark"].filter(Boolean);
    rows.push(row([[s.split, "text"], [s.source, "text soft"], [s.lane], [s.position, "text wide"],
                   [s.lag === null ? "–" : count(s.lag)], [time(s.watermark_ms), "text"], [states.join(", "), "text"]]));
  }
  $("splits").replaceChildren(...rows);
}

const SVG = "http://www.w3.org/2000/svg";
function shape(tag, attributes, text) {
  const e = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text !== undefined) e.textContent = text;
  return e;
}
const cut = (text, length) => { const c = [...text]; return c.length > length ? c.slice(0, length - 1).join("") + "…" : text; };
function flow(p) {
  const depth = new Map(p.operators.map(op => [op.id, 0]));
  // Longest way from a source; there are no cycles, and as many rounds as operators are always enough.
  for (let round = 0; round < p.operators.length; round++)
    for (const link of p.links) depth.set(link.to, Math.max(depth.get(link.to) ?? 0, (depth.get(link.from) ?? 0) + 1));
  const W = 190, H = 62, GAP_X = 84, GAP_Y = 18, at = new Map(), used = [];
  for (const op of p.operators) {
    const column = Math.min(depth.get(op.id), p.operators.length);
    used[column] = (used[column] ?? 0) + 1;
    at.set(op.id, {x: 8 + column * (W + GAP_X), y: 8 + (used[column] - 1) * (H + GAP_Y)});
  }
  const right = Math.max(0, ...[...at.values()].map(a => a.x)) + W + 8;
  const bottom = Math.max(0, ...[...at.values()].map(a => a.y)) + H + 8;
  const svg = shape("svg", {width: right, height: bottom, viewBox: `0 0 ${right} ${bottom}`, role: "img", "aria-label": "flow of rows"});
  for (const link of p.links) {
    const a = at.get(link.from), b = at.get(link.to);
    if (!a || !b) continue;
    const x1 = a.x + W, y1 = a.y + H / 2, x2 = b.x, y2 = b.y + H / 2, m = (x1 + x2) / 2;
    svg.append(shape("path", {class: link.broadcast ? "edge broadcast" : "edge", d: `M${x1},${y1} C${m},${y1} ${m},${y2} ${x2},${y2}`}));
    const label = link.port || (link.broadcast ? "broadcast" : "");
    if (label) svg.append(shape("text", {class: "small", x: m, y: (y1 + y2) / 2 - 5, "text-anchor": "middle"}, cut(label, 12)));
  }
  for (const op of p.operators) {
    const {x, y} = at.get(op.id);
    svg.append(shape("rect", {class: "box", x, y, width: W, height: H, rx: 8}),
               shape("text", {x: x + 10, y: y + 19}, cut(op.id, 22)),
               shape("text", {class: "small", x: x + 10, y: y + 35}, cut(op.type, 26)),
               shape("text", {class: "small", x: x + 10, y: y + 52}, count(read(op)) + " in · " + rateText(rateOf(p, op.id, read))));
  }
  $("flow").replaceChildren(svg);
}

function show(p) {
  document.title = p.pipeline + " – " + p.phase;
  $("name").textContent = p.pipeline;
  $("phase").textContent = p.phase;
  $("phase").className = "phase " + (/^[a-z]+$/.test(p.phase) ? p.phase : "");
  $("since").textContent = "for " + duration(p.now_ms - p.started_ms) +
      (p.checkpoint.restored_from ? ", from " + p.checkpoint.restored_from : "");
  $("waiting").replaceChildren(...p.waiting_for.map(reason => element("li", reason)));
  figures(p);
  flow(p);
  operators(p);
  splits(p);
}
async function refresh() {
  try {
    const response = await fetch("progress", {cache: "no-store"});
    if (!response.ok) throw new Error("HTTP " + response.status);
    const p = await response.json();
    if (samples.length && samples[0].started_ms !== p.started_ms) samples.length = 0;
    samples.push(p);
    if (samples.length > RATE_SAMPLES) samples.shift();
    show(p);
  } catch (error) {
    $("phase").textContent = "no answer (" + error.message + ")";
    $("phase").className = "phase lost";
  }
  setTimeout(refresh, REFRESH_MS);
}
refresh();
</script>
</body>
</html>
)html";

}  // namespace

std::string_view dashboard_html() { return kPage; }

}  // namespace sluice::observe
