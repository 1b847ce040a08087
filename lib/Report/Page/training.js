// A training: what came of it, its numbers by step, its layers by step; and what was predicted of one.

const RUN_KINDS = { value: "outputs of modules", gradient: "gradients (times the loss scale)", parameter: "parameters", optimizer: "states of the optimizer" };
const RUN_MEASURES = {
  largest: { label: "largest magnitude", at: 0, exponent: true },
  median: { label: "median magnitude", at: 1, exponent: true },
  zeros: { label: "share of zeros", at: 2 },
  lost: { label: "share that FP16 stores as 0", at: 3 },
  bad: { label: "NaN and Inf", at: 4 },
};
const ANSWERS = { yes: "yes", no: "no", unknown: "not known" };

function answerItem(answer) {
  return h("div", { class: `sign ${answer.answer}` }, h("div", null, h("span", { class: "answer" }, ANSWERS[answer.answer]), answer.question),
    h("div", { class: "small soft" }, said(answer.evidence, 400)));
}

function causeCard(cause, index) {
  return h("section", { class: `card diagnosis ${cause.certainty === "sure" ? "" : "unsure"}`, "aria-label": `Cause ${index + 1}` },
    h("h3", null, said(`${cause.name[0].toUpperCase()}${cause.name.slice(1)}`, 200), " ", badge(cause.severity), " ", badge("plain", cause.certainty)),
    cause.layer ? h("p", { class: "small" }, "Layer ", name(cause.layer, 90)) : null,
    h("div", { class: "grid" }, h("div", null, h("h4", null, "Signs"), cause.answers.map(answerItem)),
      h("div", null, h("h4", null, "What to do"), h("ol", null, cause.remedies.map((text) => h("li", null, said(text, 400)))))));
}

function diagnosisPart(run) {
  if (run.causes.length) return run.causes.map(causeCard);
  return [h("section", { class: "card diagnosis healthy", "aria-label": "Diagnosis" }, h("h3", null, "Nothing is wrong, as far as the record shows"),
    folded("What was asked", () => h("div", null, run.answers.map(answerItem))))];
}

function pointsOf(run, key) {
  const list = run.steps[key];
  if (!list) return [];
  return run.steps.step.map((step, index) => [step, list[index] === undefined ? null : list[index]]).filter(([, value]) => value !== null)
    .map(([step, value]) => [step, number(value)]);
}

function stepPlots(run) {
  const marks = run.alerts.filter((alert) => alert.severity !== "note").slice(0, 60).map((alert) => ({ step: alert.step,
    color: alert.severity === "error" ? "past" : "near", text: `${alert.rule}: ${shortened(alert.message, 200)}` }));
  const one = (key, title, more) => pointsOf(run, key).length ? lineChart({ title, series: [{ name: title.toLowerCase(), color: "var(--accent)", points: pointsOf(run, key) }], marks, ...more }) : null;
  const loss = pointsOf(run, "loss"), positive = loss.length && loss.every(([, value]) => !(value <= 0));
  const spread = d3.extent(loss.map(([, value]) => value).filter(Number.isFinite));
  const scale = pointsOf(run, "loss_scale"), rate = pointsOf(run, "learning_rate");
  const isConstant = rate.every(([, value]) => value === rate[0][1]);
  // Where healthy runs are, and the zone in which this one is now.
  const zones = (points, list) => {
    const last = points.length ? points[points.length - 1][1] : NaN;
    const zone = list.find((band) => last >= band.from && last <= band.to);
    return { bands: list, now: Number.isFinite(last) ? `now ${digits(last)}: ${zone ? zone.label : "outside of what is usual"}` : "now not finite" };
  };
  const scaleZone = zones(scale, [{ from: 32768, to: 65536, color: "var(--fair)", label: "usual for a loss scale" },
    { from: 10000, to: 32768, color: "var(--near)", label: "low, but in order" }]);
  const normZone = zones(pointsOf(run, "gradient_norm"), [{ from: .1, to: 10, color: "var(--fair)", label: "usual for a norm" }]);
  const scaleChart = scale.length ? lineChart({ title: `Loss scale (${scaleZone.now}), and the window in which FP16 holds the gradients`, log: 2, marks, bands: scaleZone.bands,
    series: [{ name: "loss scale", color: "var(--accent)", points: scale },
      ...(run.windows.length ? [{ name: "gradients overflow above", color: "var(--past)", points: run.windows.map(([step, , high]) => [step, 2 ** high]) },
        { name: "over 1 % of them is lost below", color: "var(--warning)", points: run.windows.map(([step, low]) => [step, 2 ** low]) }] : [])] }) : null;
  return h("div", { class: "grid plots" }, one("loss", "Loss", { log: positive && spread[1] / spread[0] > 30 }), scaleChart,
    one("gradient_norm", "Norm of the gradients", { log: true, bands: normZone.bands, title: `Norm of the gradients (${normZone.now})` }),
    run.skipped ? one("skipped", "Share of the last 100 steps that was skipped", {}) : null, isConstant ? null : one("learning_rate", "Learning rate", {}));
}

class StepMap {
  constructor(run) {
    this.run = run;
    this.kind = run.samples.kinds.gradient ? "gradient" : Object.keys(run.samples.kinds)[0];
    this.measure = "largest";
    this.box = h("div");
    const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
    this.element = card("Layers by steps", h("div", { class: "controls" },
      h("label", null, "Of", h("select", { id: "run-kind", onchange: (event) => { this.kind = event.target.value; this.draw(); } },
        Object.keys(run.samples.kinds).map((kind) => option(kind, RUN_KINDS[kind], this.kind)))),
      h("label", null, "the", h("select", { id: "run-measure", onchange: (event) => { this.measure = event.target.value; this.draw(); } },
        Object.entries(RUN_MEASURES).map(([key, each]) => option(key, each.label, this.measure))))), this.box);
    this.draw();
  }

  draw() {
    const { names, dtypes, cells } = this.run.samples.kinds[this.kind], steps = this.run.samples.steps;
    const measure = RUN_MEASURES[this.measure];
    const value = (row, column) => { const cell = row.cells[column]; return cell && cell[measure.at] !== null ? cell[measure.at] : null; };
    const rows = names.map((label, index) => ({ label: shortened(label, 160), dtype: dtypes[index], cells: cells[index] }));
    const all = rows.flatMap((row) => row.cells.map((_, column) => value(row, column))).filter((each) => each !== null);
    if (!all.length) {
      this.box.replaceChildren(h("p", { class: "empty" }, "No finite value was recorded."));
      return;
    }
    const [low, high] = measure.exponent ? d3.extent(all) : [0, this.measure === "bad" ? Math.max(1, d3.max(all) || 0) : 1];
    const ramp = () => measure.exponent ? d3.scaleSequential([low, high === low ? low + 1 : high], d3.interpolateViridis) : null;
    const color = ramp(), shade = this.measure === "bad" ? (share) => share > 0 ? themeColor("past") : themeColor("heat-0") : null;
    const mixed = shadeOf("heat-0", "past"), empty = themeColor("heat-0");
    const made = heatMap({ label: `${RUN_KINDS[this.kind]}: ${measure.label} by step`, rows, columns: steps.length,
      paint: (row, column) => {
        const cell = row.cells[column];
        if (!cell) return null;
        if (measure.exponent && cell[4]) return themeColor("past");
        const each = value(row, column);
        if (each === null) return null;
        return color ? color(each) : shade ? shade(each) : mixed(each) || empty;
      },
      columnText: (column) => String(steps[column]), ticks: d3.range(steps.length).filter((column) => column % Math.max(1, Math.ceil(steps.length / 8)) === 0),
      cellText: (row, column) => {
        const cell = row.cells[column];
        if (!cell) return `${row.label}, step ${steps[column]}: not recorded`;
        return `${row.label} (${formatName(row.dtype)}), step ${steps[column]}: largest ${cell[0] === null ? "none" : `2^${digits(cell[0], 3)}`}, median 2^${cell[1] === null ? "?" : cell[1]}, ${percent(cell[2])} zeros, ${percent(cell[3])} lost in FP16${cell[4] ? `, ${cell[4]} NaN or Inf` : ""}`;
      } });
    const legend = measure.exponent ? h("ul", { class: "legend" }, [...new Set(d3.range(5).map((index) => Math.round(low + (high - low) * index / 4)))].map((each) =>
      h("li", null, h("i", { style: { background: color(each) } }), `2^${each}`)), h("li", null, h("i", { style: { background: "var(--past)" } }), "NaN or Inf")) : null;
    this.box.replaceChildren(...[legend, made.box, asTable(["layer", "dtype", ...d3.range(Math.min(8, steps.length)).map((index) => `step ${steps[Math.floor(index * steps.length / Math.min(8, steps.length))]}`)],
      () => rows.slice(0, 300).map((row) => [h("bdi", { class: "mono" }, row.label), formatName(row.dtype), ...d3.range(Math.min(8, steps.length)).map((index) => {
        const each = value(row, Math.floor(index * steps.length / Math.min(8, steps.length)));
        return numeric(each === null ? "" : measure.exponent ? `2^${digits(each, 3)}` : this.measure === "bad" ? String(each) : percent(each));
      })]))].filter(Boolean));
  }
}

function alertList(run, view) {
  if (!run.alerts.length) return card("Events", h("p", { class: "empty" }, "No rule was broken."));
  return card(`Events: ${plural(run.alerts.length, "alert")}`, pagedList(run.alerts, (alert) => h("div", { class: "alert" }, badge(alert.severity), ` step ${alert.step} `,
    h("b", null, alert.rule), " ", said(alert.message.replace(`step ${alert.step}: `, ""), 500), alert.rank ? h("span", { class: "soft" }, ` rank ${alert.rank}`) : "", rulePage(view.rule(alert.rule))), 40));
}

/** Which tensors one scale of FP8 holds, those that it does not first. */
function scalesCard(fits) {
  const foreseen = fits.some((fit) => fit.foreseen !== null && fit.foreseen !== undefined);
  const rows = fits.map((fit) => [h("bdi", { class: "mono" }, shortened(fit.name, 160)), RUN_KINDS[fit.kind] || fit.kind, fit.format,
    fit.recipes.join(", ") || "scales of rows or blocks", numeric(`${digits(number(fit.snr_db), 3)} dB`), numeric(percent(fit.flushed)),
    ...(foreseen ? [numeric(fit.agrees === null ? "" : `${percent(fit.foreseen)}${fit.agrees ? "" : " (unlike)"}`)] : []),
    numeric(fit.growth > 0 ? `2^${digits(fit.growth, 2)}, ${percent(fit.delayed_clipped)} clipped` : "")]);
  return card("Scales of FP8", pagedTable(["tensor", "of", "format", "held by", "signal to noise", "read as 0", ...(foreseen ? ["as foreseen"] : []), "past its history"], rows, 100));
}

function drawRun(report, view) {
  const run = report.run;
  const line = h("p", { class: "soft" }, `${plural(run.count, "step")} of ${plural(run.ranks.length, "rank")}, ${run.skipped} skipped, ${plural(run.samples.steps.length, "sample")} of distributions.`);
  return [line, diagnosisPart(run), stepPlots(run), Object.keys(run.samples.kinds).length ? new StepMap(run).element : null,
    run.fp8 && run.fp8.length ? scalesCard(run.fp8) : null, alertList(run, view)];
}

/** What the analysis predicts of a training step. */
function drawStep(report) {
  const training = report.training, scale = training.scale;
  const low = scale.lo, high = scale.hi;
  const words = low === null && high === null ? "nothing is known of gradients" : `from ${low === null ? "any" : `2^${low}`} to ${high === null ? "any" : `2^${high}`}`;
  const width = drawingWidth(760), height = 74, x = d3.scaleLinear().domain([-10, 34]).range([30, width - 30]);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", style: { maxWidth: "820px" }, role: "img", "aria-label": `Window of loss scales: ${words}` });
  if (low !== null || high !== null) {
    const from = Math.max(-10, low === null ? -10 : low), to = Math.min(34, high === null ? 34 : high);
    if (to >= from) svg.append(s("rect", { x: x(from), width: Math.max(3, x(to) - x(from)), y: 12, height: 22, rx: 4, fill: "var(--wide)" }));
    const start = 16;
    svg.append(s("line", { x1: x(start), x2: x(start), y1: 6, y2: 40, stroke: "var(--ink)", "stroke-dasharray": "3 2" }), s("text", { x: x(start) + 5, y: 9 }, "where GradScaler starts"));
    if (scale.recommended) {
      const at = Math.log2(number(scale.recommended));
      svg.append(s("path", { d: d3.symbol().type(d3.symbolTriangle).size(70)(), transform: `translate(${x(at)},40)`, fill: "var(--accent)" }), s("text", { x: x(at) + 8, y: 46 }, "recommended"));
    }
  }
  svg.append(axis(s("g", { transform: `translate(0,${height - 22})` }), d3.axisBottom(x).ticks(width / 70).tickFormat((each) => `2^${each}`).tickSizeOuter(0)));
  const limits = scale.limited_by || [];
  const updates = new Map((training.updates || []).map((each) => [each.parameter, each]));
  const gradients = training.gradients.map((each) => {
    const update = updates.get(each.parameter), known = each.likely;
    return [name(each.parameter, 80), formatName(each.dtype), numeric(known ? digits(number(known.rms), 3) : "?"), numeric(known ? digits(number(known.absmax), 3) : "?"),
      numeric(known ? percent(known.zero) : ""), numeric(known ? percent(each.flushed["1"]) : ""), numeric(known ? percent(each.flushed["65536"]) : ""),
      numeric(known && each.expected_error !== null ? percent(number(each.expected_error)) : ""), numeric(update ? percent(update.lost.bf16) : "")];
  });
  return [h("figure", { class: "card" }, h("h3", null, "Window of loss scales"), svg, h("p", null, words, ".",
    limits[0] || limits[1] ? [" ", limits[0] ? [name(limits[0], 80), " overflows above"] : "", limits[0] && limits[1] ? "; " : "",
      limits[1] ? [name(limits[1], 80), " loses most below"] : "", "."] : ""),
  scale.lost_at_any > 0 ? h("p", { class: "small soft" }, `${percent(scale.lost_at_any)} of all elements is lost at any scale.`) : null),
  training.loss.length ? card("Loss", h("ul", null, training.loss.map((each) => h("li", null, said(each, 200))))) : null,
  card("Gradients", pagedTable(["parameter", "dtype", "root mean square", "largest", "zeros", "lost at scale 1", "at 2^16", "off by", "BF16 weights that stay"], gradients, 100))];
}

/** A table with a hundred rows, and more on demand. */
function pagedTable(heads, rows, step) {
  const box = h("div", null, table(heads, rows.slice(0, step)));
  if (rows.length > step) {
    const more = h("button", { type: "button", onclick: () => box.replaceChildren(table(heads, rows)) }, `Show all ${rows.length}`);
    box.append(more);
  }
  return box;
}

function drawTraining(report, page, go, view) {
  return report.run ? drawRun(report, view) : drawStep(report);
}
