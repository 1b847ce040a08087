// The first page: the verdict, and what it stands on.

/** Effects whose size is known, the worst first, and the others. */
function sortEffects(report) {
  const all = (report.effects || []).map((effect) => ({ ...effect, error: number(effect.expected_error) }));
  return { known: all.filter((effect) => !Number.isNaN(effect.error)).sort((a, b) => b.error - a.error), unknown: all.filter((effect) => Number.isNaN(effect.error)) };
}

/** An estimate is believed so far from the threshold of warnings. */
const SURE = 2.5;

/** [kind of badge, words] of an expected error. */
function judgeError(error, report) {
  const least = number(report.effect_warning ?? .02);
  if (Number.isNaN(error)) return ["plain", "not known"];
  if (!Number.isFinite(error)) return ["error", "Inf or NaN"];
  if (error > .25) return ["error", "far off"];
  if (error > least) return ["warning", error > least * SURE ? "too much" : "probably too much"];
  return ["good", error * SURE <= least ? "fine" : "probably fine"];
}

function nameOutputs(effects) {
  return [effects.slice(0, 3).map((effect, index) => [index ? ", " : "", name(effect.output)]), effects.length > 3 ? ` and ${plural(effects.length - 3, "more output")}` : ""];
}

/** The three lines: what happens, what to do, what is open. Estimates decide, as in the text; what only bounds reach is open. */
function judge(report) {
  const counting = listCounting(report), precision = report.precision === "as-is" ? "storage in its own dtypes" : report.precision;
  const begin = report.precision === "as-is" ? "Storage in its own dtypes" : precision;
  const loud = counting.filter((finding) => finding.severity !== "note");
  const errors = loud.filter((finding) => finding.severity === "error"), warnings = loud.filter((finding) => finding.severity === "warning");
  if (report.confirmation) return judgeRun(report, errors, warnings);
  const sure = (list) => list.filter((finding) => finding.certainty !== "possible");
  const { known, unknown } = sortEffects(report), [worst] = known;
  const [badness, words] = worst ? judgeError(worst.error, report) : [""];
  const isHarmed = badness === "error" || badness === "warning";
  const happens = [];
  const open = ["The effect of ", precision, " on ", nameOutputs(unknown), " is not known. "];
  if (unknown.length && !isHarmed) happens.push(open);
  if (worst && !Number.isFinite(worst.error)) happens.push(`${begin} is expected to make Inf or NaN of `, name(worst.output), ". ");
  else if (worst) happens.push(`${begin} is expected to change `, name(worst.output), worst.error >= 1 ? " by more than its largest value" : ` by ${percent(worst.error)} of its largest value`, `: ${words}. `);
  if (unknown.length && isHarmed) happens.push(open);
  let level = badness === "error" ? "bad" : badness === "warning" || unknown.length || loud.length ? "unsure" : "good";
  if (!worst && sure(errors).length) {
    level = "bad";
    happens.push(`${plural(sure(errors).length, "error")} ${sure(errors).length === 1 ? "is" : "are"} certain or likely. `);
  }
  if (!happens.length) happens.push(loud.length ? `${begin} may cost this model accuracy: ${plural(loud.length, "finding")} above a note. ` : `${begin} is fine for this model as far as it is known. `);
  if (report.summary.possible && level === "good") level = "unsure";
  return { level, happens, todo: whatToDo(report, [...errors, ...warnings], unknown.length && !isHarmed), open: whatIsOpen(report) };
}

function judgeRun(report, errors, warnings) {
  const confirmed = listCounting(report).filter((finding) => finding.status === "confirmed");
  const bad = confirmed.filter((finding) => finding.severity !== "note");
  const first = report.first_bad;
  const happens = [];
  if (first) {
    happens.push(first.input ? "NaN or Inf came in by the input " : "NaN or Inf began at ", name(first.tensor),
      first.op ? [" (", name(first.op.name), ")"] : "", `, step ${first.step}.`);
  } else if (bad.length) {
    happens.push(`The run confirmed ${plural(bad.length, "finding")} above a note.`);
  } else {
    happens.push("The run confirmed nothing above a note.");
  }
  const counts = report.confirmation;
  const open = [`${counts["not-exercised"]} not exercised, ${counts["not-observable"]} not observable; ${counts.ran} of ${counts.probes} probes ran.`];
  if (report.exceeded.length) open.push(` ${plural(report.exceeded.length, "bound")} broken although all assumptions held: a fault of mpopt.`);
  if (report.outside_assumptions.length) open.push(` ${plural(report.outside_assumptions.length, "input was", "inputs were")} not as assumed.`);
  return { level: first || bad.some((finding) => finding.severity === "error") ? "bad" : bad.length ? "unsure" : "good",
    happens, todo: bad.length ? whatToDo(report, bad) : [errors.length + warnings.length ?
      `What was predicted did not come about: ${counts.refuted} refuted.` : "Nothing."], open };
}

function whatToDo(report, list, isUnknown) {
  // An unknown effect may be known for other inputs: those whose declaration was tried, else whole numbers without bounds.
  const free = [...new Set((report.effects || []).flatMap((each) => each.undeclared || []))];
  const tried = report.tried_inputs;
  const inputs = !isUnknown ? [] : tried ? tried.inputs.map((each) => each.input) : free;
  const declare = inputs.length ? ["Declare the values of the inputs (", h("code", null, tried ?
    tried.inputs.slice(0, 4).map((each) => `--input ${each.input}=${each.lo}:${each.hi}`).join(" ") : "--input NAME=LO:HI"), "): ",
    inputs.slice(0, 4).map((each, index) => [index ? ", " : "", name(each, 40)]), inputs.length > 4 ? ` and ${inputs.length - 4} more` : "",
    !tried ? " may be any whole number. " : [": tried, ", name(tried.output, 40), Number.isFinite(tried.expected_error) ?
      ` changes by ${percent(tried.expected_error)} then. ` : " becomes Inf or NaN then. "]] : [];
  if (!list.length) return declare.length ? declare : [isUnknown ? ["Run it with probes to know: ", h("code", null, "mpopt --instrument"), "."] :
    "Nothing. Notes are worth a look when accuracy is missed."];
  const safe = list.filter((finding) => finding.fixes.some((fix) => fix.safe));
  const kept = safe.filter((finding) => finding.fixes.find((fix) => fix.safe).kind === "keep-fp32");
  const others = safe.filter((finding) => finding.fixes.find((fix) => fix.safe).kind !== "keep-fp32");
  const lines = [...declare];
  if (kept.length) lines.push(`Keep in FP32 what ${plural(kept.length, "finding")} ${kept.length === 1 ? "asks" : "ask"} for (`,
    h("code", null, "--keep-fp32 keep.json"), " writes the list). ");
  if (others.length) {
    // The fix that helps most findings, of those that were tried.
    const texts = others.map((finding) => finding.fixes.find((each) => each.safe).text);
    const most = d3.nest().key(foldDigits).entries(texts).sort((a, b) => b.values.length - a.values.length)[0];
    const share = most.values.length < others.length ? `; ${most.values.length} of them with this one` : "";
    lines.push(`${plural(others.length, "finding")} ${others.length === 1 ? "has" : "have"} a fix of ${others.length === 1 ? "its" : "their"} own${share}: `,
      said(most.values[0], 240), ". ");
  }
  const rest = list.length - safe.length;
  if (rest) lines.push(`${plural(rest, "finding")} ${rest === 1 ? "has" : "have"} no fix that was tried and helps: see the rule's page below each.`);
  return lines;
}

function whatIsOpen(report) {
  const summary = report.summary, open = [];
  if (summary.possible) open.push(`${plural(summary.possible, "finding")} only possible: estimates do not reach ${summary.possible === 1 ? "it" : "them"}, bounds do. A run decides: `,
    h("code", null, "mpopt --instrument"), ".");
  const opaque = report.coverage.ops - report.coverage.modelled;
  if (opaque) open.push(` ${plural(opaque, "op is", "ops are")} not modelled.`);
  if (!open.length) open.push("Nothing, under the assumptions below.");
  return open;
}

function outputsCard(report) {
  const effects = report.effects || [];
  if (!effects.length) return null;
  const row = (effect) => {
    const error = number(effect.expected_error);
    return [name(effect.output, 60), badge(...judgeError(error, report)), numeric(percent(error)), numeric(percent(number(effect.expected_rms))),
      h("span", { class: "small" }, effect.tensors.filter((tensor) => tensor.tensor && tensor.share >= .1).slice(0, 3).map((tensor, index) =>
        [index ? ", " : "", name(tensor.tensor, 48), ` ${percent(tensor.share)}`]))];
  };
  return card("Expected error of the outputs", table(["output", "", "largest error", "root mean square", "most of it from"],
    effects.slice(0, 40).map(row)), h("p", { class: "small soft" },
    "The largest error is a share of the largest magnitude of an output, the root mean square one of that of its elements. Both are estimates: off by up to a factor of 4."));
}

const SOURCES = { default: "default: not declared", option: "said by an option", config: "said by the training configuration",
  model: "found in the model", data: "taken from data" };

function assumptionChips(report) {
  const list = (report.assumptions || []).map((each) => {
    const mean = number(each.mean), deviation = number(each.std);
    return h("li", { class: `chip ${each.source}`, title: SOURCES[each.source] || each.source }, name(each.input, 40), ` in ${interval(each.lo, each.hi)}`,
      Number.isNaN(mean) ? "" : `, mean ${digits(mean)}, std ${digits(deviation)}`, each.by_element ? " (by element)" : "",
      h("span", { class: "from" }, each.why ? said(each.why, 120) : SOURCES[each.source] || each.source));
  });
  return list.length ? h("ul", { class: "chips" }, list) : h("p", { class: "soft" }, "None.");
}

function coverageCard(report) {
  const { ops, modelled, unmodelled, unknown_ranges: unknown } = report.coverage;
  const summary = report.summary;
  const meter = (text, part, all) => h("div", null, text, h("div", { class: "meter" },
    h("i", { style: { width: `${all ? Math.min(100, 100 * part / all) : 0}%` } })));
  const types = (title, counts) => Object.keys(counts || {}).length ? h("p", { class: "small" }, `${title}: `,
    Object.entries(counts).sort((a, b) => b[1] - a[1]).slice(0, 12).map(([type, count], index) =>
      [index ? ", " : "", name(type, 60), count > 1 ? ` × ${count}` : ""])) : null;
  return card("Coverage", meter(`${modelled.toLocaleString("en")} of ${ops.toLocaleString("en")} ops modelled`, modelled, ops),
    summary.tensors ? meter(`${summary.proved.toLocaleString("en")} of ${summary.tensors.toLocaleString("en")} float tensors proved to stay in range`, summary.proved, summary.tensors) : null,
    types("Not modelled", unmodelled), types("Bounds lost at", unknown),
    report.target ? h("p", { class: "small soft" }, "Target ", name(report.target.name), ": ", said(report.target.summary, 400)) : null,
    report.policy ? h("p", { class: "small soft" }, "Policy ", name(report.policy)) : null);
}

/** Why none is listed. */
function unlistedText(report) {
  const count = report.summary ? report.summary.certain + report.summary.likely + report.summary.possible : 0;
  return count ? `None is listed: ${plural(count, "finding")} ${count === 1 ? "is" : "are"} less certain than asked for (--min-certainty possible lists all).` : "None is listed.";
}

function countsCard(report, go) {
  const summary = report.summary, counting = listCounting(report);
  const of = (severity) => counting.filter((finding) => finding.severity === severity).length;
  const aside = ["known", "suppressed"].map((standing) => [standing, report.findings.filter((finding) => finding.standing === standing).length]).filter((each) => each[1]);
  const tile = (kind, count, noun) => h("div", { class: `tile ${count ? kind : ""}` }, h("b", null, count.toLocaleString("en")), h("span", null, noun));
  const counts = report.confirmation;
  const listed = report.findings.length, more = listed - listShown(report).size;
  const beside = [...(more ? [`${more.toLocaleString("en")} more follow${more === 1 ? "s" : ""} from these`] : []), ...aside.map(([standing, count]) => `${count} ${standing}`)];
  return card("Findings", h("div", { class: "tiles" }, tile("error", of("error"), "errors"), tile("warning", of("warning"), "warnings"),
    tile("", of("note"), "notes")), h("p", { class: "small soft" },
    `${beside.length ? `${beside.join(", ")}. ` : ""}All ${summary.certain + summary.likely + summary.possible}: ${summary.certain} certain, ${summary.likely} likely, ${summary.possible} only possible.`),
    counts ? h("p", null, ["confirmed", "refuted", "not-exercised", "not-observable"].map((status) =>
      [badge(status, `${counts[status]} ${status.replace("-", " ")}`), " "])) : null,
    listed ? h("button", { class: "link", type: "button", onclick: () => go("findings") }, "Look at them") : h("p", { class: "small soft" }, unlistedText(report)));
}

function drawVerdict(report, page, go) {
  const { level, happens, todo, open } = judge(report);
  const line = (ask, say) => h("li", null, h("span", { class: "ask" }, ask), h("span", { class: "say" }, say));
  return [h("section", { class: `card verdict ${level}`, "aria-label": "In three lines" },
    h("ol", null, line("Verdict", happens), line("To do", todo), line("Open", open))),
  h("div", { class: "grid" }, countsCard(report, go), coverageCard(report)), outputsCard(report),
  card("Assumed of the inputs", assumptionChips(report)), safeCard(report), codesCard(report),
  (report.warnings || []).length ? card("Warnings about the check", h("ul", null, report.warnings.map((warning) => h("li", null, said(warning, 600))))) : null];
}

function safeCard(report) {
  if (!report.safe_input) return null;
  const most = 1048576, text = (scale) => scale === 0 ? "none" : scale >= most ? "any" : digits(scale);
  return card("Safe scales of inputs", table(["input", "no overflow is possible up to", "none is likely up to"],
    report.safe_input.map((each) => [name(each.input), numeric(text(each.proved)), numeric(text(each.likely))])));
}

/** The codes that a run made of each tensor beside those that were expected, what differs most first. */
function codesCard(report) {
  if (!(report.codes || []).length) return null;
  const differs = ({ expected, observed }) => d3.max(["used", "at_ends", "at_zero"], (key) => Math.abs(expected[key] - observed[key]) / (key === "used" ? 256 : 1));
  const bars = ({ tensor, histogram }) => {
    const most = d3.max(histogram), height = 32;
    return s("svg", { viewBox: `0 0 ${histogram.length} ${height}`, width: 256, height, role: "img", "aria-label": `Counts of the codes of ${shortened(tensor, 160)}` },
      histogram.map((count, code) => count ? s("rect", { x: code, width: 1, y: height * (1 - Math.sqrt(count / most)), height: height * Math.sqrt(count / most), fill: "var(--heat-1)" }) : null));
  };
  const both = (codes, key, text) => numeric(`${text(codes.observed[key])} (${text(codes.expected[key])})`);
  return card("Codes of the run, in brackets those expected", pagedTable(["tensor", "in use", "at the ends", "of 0", "counts, least code first (roots)"],
    [...report.codes].sort((one, other) => differs(other) - differs(one)).map((codes) => [h("bdi", { class: "mono" }, shortened(codes.tensor, 160)),
      both(codes, "used", digits), both(codes, "at_ends", percent), both(codes, "at_zero", percent), bars(codes)]), 40));
}
