// Two models, reports or runs side by side.

function drawCompare(report, data, go, view) {
  return [report.compare ? compareSides(report.compare, data.reports, view) : null, report.courses ? compareCourses(report.courses) : null,
    report.against ? compareRuns(report.against) : null];
}

// Loss and metrics of two runs, and whether the second is as good as the first.
function compareCourses({ titles, verdict, curves }) {
  const bad = verdict.type === 2, mark = verdict.parted === null ? [] : [{ step: verdict.parted, color: "near", text: "the curves part" }];
  const percent = (share) => `${digits(100 * number(share))} %`;
  const row = (each) => h("li", null, h("span", { class: "ask" }, shortened(each.name, 60)), h("span", { class: "say" },
    `${digits(number(each.reference))} and ${digits(number(each.run))}: ${each.outcome} (${percent(each.worse)} worse, noise ${percent(each.noise)})`));
  return [h("section", { class: `card verdict ${bad ? "bad" : "good"}`, "aria-label": "Verdict of the run" },
    h("ol", null, h("li", null, h("span", { class: "ask" }, verdict.type ? `Type ${verdict.type}` : "As good"), h("span", { class: "say" }, said(verdict.text, 400))),
      verdict.quantities.map(row))),
  h("div", { class: "grid plots" }, Object.entries(curves).map(([key, lines]) => lineChart({ title: shortened(key, 60), marks: mark,
    series: lines.map((points, index) => ({ name: titles[index], color: index ? "var(--past)" : "var(--accent)",
      points: points.map(([step, value]) => [step, number(value)]) })) })))];
}

// -- What one run saw, and what another did -----------------------------------------------------

const KIND_NAMES = { value: "Values", gradient: "Gradients", parameter: "Parameters", optimizer: "Optimizer's moments" };

function compareRuns(against) {
  const titles = against.titles || ["this run", "the other run"];
  const kinds = [...new Set([...against.differences, ...against.incomparable].map((each) => each.kind))];
  if (!kinds.length) return card("Two runs", h("p", { class: "empty" }, "They have no tensor in common."));
  return kinds.map((kind) => compareKind(kind, titles, against.differences.filter((each) => each.kind === kind),
    against.incomparable.filter((each) => each.kind === kind)));
}

function compareKind(kind, titles, tensors, incomparable) {
  const label = KIND_NAMES[kind] || kind;
  const first = tensors.find((each) => number(each.difference) > each.explained);
  const ask = (text) => h("span", { class: "ask" }, text), say = (...text) => h("span", { class: "say" }, text);
  const verdict = !tensors.length ? null : h("section", { class: `card verdict ${first ? "bad" : "good"}`, "aria-label": `${label}: verdict` }, h("ol", null,
    h("li", null, ask(label), first ? say("The first that differs by more than its format explains is ", name(first.tensor), ".") :
      say(`The runs differ by no more than their formats explain, in ${plural(tensors.length, "tensor")}.`)),
    first && first.message ? h("li", null, ask("MP512"), say(said(first.message, 600))) : null));
  // A log scale has no 0.
  const points = (key) => tensors.map((each, index) => [index, number(each[key])]);
  const floor = (list) => list.map(([index, value]) => [index, value === 0 ? 1e-12 : value]);
  const short = titles.map((title) => name(title, 30)), again = titles.map((title) => name(title, 30));
  const heads = ["tensor", ["dtype, ", short[0]], short[1], ["rms, ", again[0]], again[1], "apart by", "explained", ""];
  return [verdict, tensors.length > 1 ? lineChart({ title: `${label}: differences, in the order of the first run`, log: true, width: 1120, height: 240, along: "tensor", series: [
    { name: "difference", color: "var(--accent)", points: floor(points("difference")) }, { name: "explained by the formats", color: "var(--soft)", points: points("explained") }] }) : null,
  tensors.length ? card(label, pagedTable(heads, tensors.map((each) => {
    const difference = number(each.difference), fine = difference <= each.explained;
    return [name(each.tensor, 80), formatName(each.dtypes[0]), formatName(each.dtypes[1]), numeric(digits(number(each.rms[0]))), numeric(digits(number(each.rms[1]))),
      numeric(percent(difference)), numeric(percent(each.explained)), badge(fine ? "good" : "error", fine ? "explained" : "not explained")];
  }), 200)) : null,
  incomparable.length ? card(`${label} that are not compared`, pagedList(incomparable, (each) => h("div", { class: "small" }, name(each.tensor, 80), ": ", said(each.why, 200)), 50)) : null];
}

// -- What changed from one side to the other ----------------------------------------------------

const DIFF_WORDS = {
  model: { ops: "ops", ranges: "Ranges that changed", gone: "Ops that are gone", fresh: "New ops", none: "No end of a bound changed by a factor of two." },
  report: { ops: "tensors with findings", ranges: "Ranges that changed", gone: "Gone", fresh: "New", none: "No end of a bound changed by a factor of two." },
  record: { ops: "recorded tensors", ranges: "Seen ranges that changed", gone: "No longer recorded", fresh: "Newly recorded", none: "No range changed by a factor of two." },
};

function compareSides(diff, reports, view) {
  const words = DIFF_WORDS[diff.a.kind === diff.b.kind ? diff.a.kind : "report"], heads = sideTitles(diff);
  return [verdictOfSides(diff, words, heads),
    changedFindings("Findings that came", diff.came, view), changedFindings("Findings that went", diff.went),
    changedDtypes("Narrowed, and should have stayed in FP32", diff.narrowed), changedDtypes("Kept in FP32 needlessly", diff.wide),
    changedConstants(diff.constants),
    changedDtypes("Other dtypes", diff.dtypes), changedRanges(words, diff.ranges, heads),
    listOfOps(words.gone, diff.only_a), listOfOps(words.fresh, diff.only_b),
    h("div", { class: "grid" }, countsOfSides(diff, reports, heads), outputsOfSides(reports, heads))];
}

/** What tells the sides apart: the names of their files or folders, or, where those are equal, more of the path. */
function sideTitles(diff) {
  const paths = [diff.a, diff.b].map((side) => String(side.path).replace(/(?<=.)\/+$/, "").split("/"));
  let parts = 1;
  while (parts < 4 && paths[0].slice(-parts).join("/") === paths[1].slice(-parts).join("/")) ++parts;
  const names = paths.map((path) => path.slice(-parts).join("/"));
  const more = (side) => (side.records && side.records.length > 1 ? ` (${side.records.length} records)` : "");
  return [diff.a, diff.b].map((side, index) => `${names[index]}${more(side)}${side.precision && diff.a.kind !== "record" ? ` (${side.precision})` : ""}`);
}

function verdictOfSides(diff, words, heads) {
  const severe = (list) => list.filter((finding) => finding.severity !== "note").length;
  const line = (ask, ...say) => h("li", null, h("span", { class: "ask" }, ask), h("span", { class: "say" }, say));
  const came = severe(diff.came), went = severe(diff.went);
  const confirmed = diff.a.kind === "record" ? "confirmed " : "";
  const count = (list, above) => `${plural(list.length, `${confirmed}finding`)}${list.length ? ` (${above} above a note)` : ""}`;
  const changes = [`${diff.matched.toLocaleString("en")} of ${diff.a.ops.toLocaleString("en")} ${words.ops} matched`, `${plural(diff.dtypes.length, "other dtype")}`,
    `${plural(diff.ranges.length, "range")} changed`, `${diff.only_a.length.toLocaleString("en")} gone, ${diff.only_b.length.toLocaleString("en")} new`];
  if (diff.a.casts !== diff.b.casts || diff.a.casts) changes.push(`casts between floats: ${diff.a.casts} before, ${diff.b.casts} now`);
  return h("section", { class: `card verdict ${came ? "bad" : went || !diff.came.length ? "good" : "unsure"}`, "aria-label": "In three lines" }, h("ol", null,
    line("Findings", `${count(diff.came, came)} came, ${count(diff.went, went)} went, ${diff.stayed.toLocaleString("en")} stayed.`),
    line("Changes", `${changes.join("; ")}.`),
    line("From", name(heads[0], 80), " to ", name(heads[1], 80)),
    diff.narrowed.length || diff.wide.length ? line("Converter", `${plural(diff.narrowed.length, "op")} narrowed that should have stayed in FP32, ${diff.wide.length.toLocaleString("en")} kept in FP32 needlessly.`) : null));
}

function countsOfSides(diff, reports, heads) {
  const [one, other] = reports;
  if (!one.summary || !other || !other.summary) return null;
  const rows = ["error", "warning", "note", "certain", "likely", "possible", "proved"].map((key) =>
    [key, numeric(String(one.summary[key])), numeric(String(other.summary[key]))]);
  if (one.confirmation && other.confirmation) {
    for (const key of ["ran", "confirmed", "refuted", "not-exercised", "not-observable"]) {
      rows.push([key.replace("-", " "), numeric(String(one.confirmation[key])), numeric(String(other.confirmation[key]))]);
    }
  }
  return card("Counts", table(["", ...heads.map((each) => name(each, 40))], rows));
}

/** Outputs by name, or by place where all have other names. */
function outputsOfSides(reports, heads) {
  const [before, after] = reports.map((report) => report.effects || []);
  if (!after || !after.length) return null;
  const byName = new Map(before.map((effect) => [effect.output, effect]));
  const renamed = before.length === after.length && !after.some((effect) => byName.has(effect.output));
  const rows = after.slice(0, 40).map((effect, index) => {
    const old = renamed ? before[index] : byName.get(effect.output);
    return [name(effect.output, 60), numeric(old ? percent(number(old.expected_error)) : ""), numeric(percent(number(effect.expected_error)))];
  });
  return card("Expected error of the outputs", table(["output", ...heads.map((each) => name(each, 40))], rows));
}

function changedFindings(title, findings, view) {
  const sorted = [...findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
  const line = (finding) => h("div", { class: "small change" }, badge(finding.severity), " ", h("b", null, finding.rule), " ", name(finding.op || finding.tensor || "", 80),
    finding.elsewhere ? [" ", badge(finding.elsewhere, `${finding.elsewhere.replace("-", " ")} by the other`)] : null, ": ", said(finding.message, 300), " ",
    view ? h("button", { class: "link", type: "button", "aria-label": `Look at ${finding.rule} at ${shortened(finding.op || finding.tensor || "", 80)}`, onclick: () => view.open(finding) }, "look") : null);
  return card(`${title}: ${findings.length.toLocaleString("en")}`, findings.length ? pagedList(sorted, line, 60) : h("p", { class: "empty" }, "None."));
}

const opName = (op) => [op.gradient ? "gradient of " : "", name(op.name, 80)];

/** Ops of a pair: under both names, if they are two. */
const pairName = ({ a, b }) => [opName(a), a.name === b.name ? null : [h("span", { class: "soft" }, " now "), name(b.name, 80)]];

function changedDtypes(title, pairs) {
  if (!pairs.length) return null;
  const counts = d3.nest().key(({ a, b }) => `${formatName(a.dtype)} to ${formatName(b.dtype)}`).entries(pairs);
  return card(`${title}: ${pairs.length.toLocaleString("en")}`,
    h("p", { class: "small" }, counts.map((each, index) => [index ? "; " : "", `${each.key}: ${plural(each.values.length, "op")}`])),
    pagedTable(["op", "type", "before", "now"], pairs.map((pair) => [pairName(pair), name(pair.b.type, 40), formatName(pair.a.dtype), formatName(pair.b.dtype)]), 50));
}

function changedConstants(pairs) {
  return pairs && pairs.length ? card(`Constants that the converter wrote otherwise: ${pairs.length.toLocaleString("en")}`,
    pagedTable(["constant", "read by", "largest before", "now"], pairs.map(({ a, b }) => [name(a.name, 60), name(a.op, 60), numeric(digits(number(a.most), 4)), numeric(digits(number(b.most), 4))]), 50)) : null;
}

function changedRanges(words, pairs, heads) {
  const range = (op) => op.seen || op.bound;
  const largest = (op) => Math.max(Math.abs(number(range(op).lo)), Math.abs(number(range(op).hi)));
  const moved = pairs.map((pair) => ({ pair, bits: Math.log2(largest(pair.b) / largest(pair.a)) }));
  const bits = ({ bits: each }) => Number.isNaN(each) ? "" : `${each > 0 ? "+" : ""}${digits(each, 2)}`;
  return card(`${words.ranges}: ${pairs.length.toLocaleString("en")}`, pairs.length ? pagedTable(["op", ...heads.map((each) => name(each, 40)), "bits at the top"],
    moved.map((each) => [pairName(each.pair), [formatName(each.pair.a.dtype), " ", interval(range(each.pair.a).lo, range(each.pair.a).hi)],
      [formatName(each.pair.b.dtype), " ", interval(range(each.pair.b).lo, range(each.pair.b).hi)], numeric(bits(each))]), 100) : h("p", { class: "empty" }, words.none));
}

function listOfOps(title, ops) {
  return ops.length ? card(`${title}: ${ops.length.toLocaleString("en")}`, pagedList(ops, (op) =>
    h("div", { class: "small" }, opName(op), h("span", { class: "soft" }, " ", op.type ? [name(op.type, 40), ", "] : "", formatName(op.dtype))), 60)) : null;
}
