// All findings, with filters. What a finding holds is made when it is opened.

const SEVERITIES = ["error", "warning", "note"];
const STATUSES = ["confirmed", "refuted", "not-exercised", "not-observable"];

const shownOf = new WeakMap();

/** The findings that no other one speaks for (Fold.h): a consequence is hidden behind its root, if that is listed and as severe. */
function listShown(report) {
  if (shownOf.has(report)) return shownOf.get(report);
  const findings = report.findings || [], present = new Map(findings.map((finding) => [finding.fingerprint, finding]));
  const rank = (finding) => SEVERITIES.indexOf(finding.severity), standing = (finding) => finding.standing || "counts";
  const shown = new Set(findings.filter((finding) => {
    const root = finding.root && present.get(finding.root);
    return !(root && root !== finding && !root.root && standing(root) === standing(finding) && rank(root) <= rank(finding));
  }));
  shownOf.set(report, shown);
  return shown;
}

/** Those of them that are part of the verdict: not known before, nor suppressed. */
const listCounting = (report) => [...listShown(report)].filter((finding) => !finding.standing || finding.standing === "counts");

/** Findings that differ in numbers of names alone, in one list. */
function groupFindings(list) {
  const groups = new Map();
  for (const finding of list) {
    const key = [finding.rule, finding.severity, finding.certainty, finding.status || "", finding.standing || "", foldDigits(finding.op.name),
      foldDigits(finding.op.scope), finding.fixes.map((fix) => fix.kind + fix.safe).join()].join("\u0001");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(finding);
  }
  return [...groups.values()];
}

/** A page of a rule: paragraphs and fenced blocks of Markdown. */
function prose(text) {
  const parts = [];
  String(text || "").split("```").forEach((part, index) => {
    if (index % 2) parts.push(h("pre", null, h("code", null, part.replace(/^\w*\n/, ""))));
    else for (const paragraph of part.split(/\n\s*\n/)) if (paragraph.trim()) {
      const lines = paragraph.trim().split("\n");
      if (lines.every((line) => /^([-*]|\s)/.test(line)) && /^[-*] /.test(lines[0])) {
        const items = paragraph.trim().split(/\n(?=[-*] )/).map((item) => h("li", null, coded(item.replace(/^[-*] /, ""))));
        parts.push(h("ul", null, items));
      } else parts.push(h("p", null, coded(paragraph.trim())));
    }
  });
  return parts;
}

/** Words between backquotes as code; links as their text. */
function coded(text) {
  const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\*\*/g, "").replace(/\s+/g, " ");
  return plain.split("`").map((part, index) => index % 2 ? h("code", null, part) : part);
}

function rulePage(rule) {
  if (!rule) return null;
  const body = h("div");
  const details = h("details", { class: "rule" }, h("summary", null, `About ${rule.id} ${rule.name}`), body);
  details.addEventListener("toggle", () => {
    if (!details.open || body.firstChild) return;
    for (const [title, key] of [["Definition", "what"], ["Why it matters", "why"], ["Example", "example"], ["Do instead", "instead"]]) {
      if (rule[key]) append(body, [h("h4", null, title), prose(rule[key])]);
    }
  });
  return details;
}

function seenFacts(observed, facts) {
  const fact = (title, ...value) => facts.push(h("dt", null, title), h("dd", null, ...value));
  if (!observed) return;
  fact("Seen in", name(observed.tensor, 90), ` as ${formatName(observed.dtype)}: ${observed.count.toLocaleString("en")} values in ${plural(observed.calls, "call")}`);
  if (observed.nan || observed.posinf || observed.neginf) fact("Not finite", `${observed.nan} NaN, ${observed.posinf} +Inf, ${observed.neginf} −Inf`);
  fact("Range seen", interval(observed.min, observed.max), observed.min_nonzero === null ? "" : `, least magnitude ${digits(number(observed.min_nonzero))}`);
  if (observed.bits_to_overflow !== null) fact("Room seen", `${digits(observed.bits_to_overflow, 3)} bits to overflow`,
    observed.bits_to_flush === null ? "" : `, ${digits(observed.bits_to_flush, 3)} to where numbers become 0`);
  if (observed.first_step !== null && observed.first_step !== undefined) fact("First in", `step ${observed.first_step}`);
}

function placeOf(location) {
  return location ? [name(location.file, 90), `:${location.line}`] : null;
}

function findingBody(group, view) {
  const finding = group[0], facts = [];
  const fact = (title, ...value) => facts.push(h("dt", null, title), h("dd", null, ...value));
  fact("Op", name(finding.op.name), finding.op.type ? ` (${visible(finding.op.type)})` : "", finding.op.scope ? [" in ", name(finding.op.scope, 90)] : "");
  if (finding.tensor) fact("Tensor", name(finding.tensor), finding.dtype ? ` as ${formatName(finding.dtype)}` : "");
  if (finding.location) fact("Source", placeOf(finding.location));
  if (finding.bound) fact("Bound", interval(finding.bound.lo, finding.bound.hi));
  if (finding.likely) fact("Expected", interval(finding.likely.lo, finding.likely.hi));
  const error = finding.effect && number(finding.effect.expected_error);
  if (finding.effect) fact("Effect", error === 0 ? ["does not change ", name(finding.effect.output, 60)] : Number.isFinite(error) ? ["changes ", name(finding.effect.output, 60), ` by ${percent(error)} of its largest value`] :
    ["makes Inf or NaN of ", name(finding.effect.output, 60)]);
  fact("Certainty", { certain: "certain: for every input, or a fact of the file", likely: "likely: the estimate reaches it",
    possible: "possible: only the sound bounds reach it" }[finding.certainty] || finding.certainty);
  if (finding.standing && finding.standing !== "counts") fact("Standing", badge("plain", finding.standing), finding.reason ? [" ", said(finding.reason, 600)] :
    finding.standing === "known" ? " the baseline has it: it does not count" : "");
  if (finding.status) fact("In the run", badge(finding.status, finding.status.replace("-", " ")), finding.status_why ? [" ", said(finding.status_why)] : "");
  seenFacts(finding.observed, facts);
  fact("Fingerprint", h("code", null, finding.fingerprint));
  const chain = finding.cause || [];
  const result = [h("p", null, said(finding.message, 4000)), h("dl", { class: "facts" }, facts)];
  if (chain.length) {
    result.push(h("h3", null, "From where it starts to where it breaks"), h("ol", { class: "path" },
      chain.map((cause) => h("li", null, name(cause.tensor || cause.op), cause.op && cause.op !== cause.tensor ? [" (", name(cause.op, 90), ")"] : "",
        ": ", said(cause.why), cause.location ? [" — ", placeOf(cause.location)] : "")),
      h("li", null, name(finding.op.name), ": ", visible(view.ruleName(finding)))));
  }
  if (view.canShow(finding)) result.push(h("p", null, h("button", { type: "button", onclick: () => view.show(finding) }, "Show on the map")));
  if (finding.fixes.length) {
    result.push(h("h3", null, "Fixes that were tried"), h("ul", { class: "fixes" }, finding.fixes.map((fix) =>
      h("li", null, badge(fix.safe ? "good" : "plain", fix.safe ? "helps" : "does not help"), " ", said(fix.text)))));
  }
  const after = view.consequences(group);
  if (after.length) {
    result.push(folded(`${plural(after.length, "finding follows", "findings follow")} from it`, () =>
      pagedList(after, (each) => h("div", { class: "small" }, badge(each.severity), ` ${each.rule} `, name(each.op.name), ": ", said(each.message, 300)), 50)));
  }
  if (group.length > 1) {
    result.push(folded(`${group.length - 1} more of the kind`, () => pagedList(group.slice(1), (each) =>
      h("div", { class: "small" }, name(each.op.name), " ", said(each.message, 300)), 50)));
  }
  result.push(rulePage(view.rule(finding.rule)));
  return result;
}

function folded(title, make) {
  const body = h("div");
  const details = h("details", { class: "rule" }, h("summary", null, title), body);
  details.addEventListener("toggle", () => { if (details.open && !body.firstChild) body.append(make()); });
  return details;
}

function findingItem(group, view) {
  const finding = group[0], body = h("div");
  const rule = view.rule(finding.rule);
  const details = h("details", { class: "finding" }, h("summary", null, badge(finding.severity),
    h("span", null, h("b", null, finding.rule), h("br"), h("span", { class: "soft small" }, rule ? rule.name : finding.name)),
    h("span", { class: "place" }, name(finding.op.name || finding.tensor, 90), group.length > 1 ? ` and ${group.length - 1} more` : ""),
    h("span", null, finding.standing && finding.standing !== "counts" ? [badge("plain", finding.standing), " "] : null,
      finding.status ? badge(finding.status, finding.status.replace("-", " ")) : badge("plain", finding.certainty)),
    h("span", { class: "text" }, said(finding.message, 260))), body);
  details.dataset.fingerprint = finding.fingerprint;
  details.addEventListener("toggle", () => { if (details.open && !body.firstChild) append(body, [findingBody(group, view)]); });
  return details;
}

function drawFindings(report, page, go, view) {
  const findings = report.findings;
  if (!findings.length) return [h("p", { class: "empty" }, unlistedText(report))];
  const shown = listShown(report);
  const wanted = { severity: new Set(SEVERITIES), status: new Set(STATUSES), rule: "", text: "", follow: false };
  const list = h("div", { id: "finding-list" }), count = h("p", { class: "readout", role: "status" });
  function matches(finding) {
    return wanted.severity.has(finding.severity) && (!finding.status || wanted.status.has(finding.status)) &&
      (!wanted.rule || finding.rule === wanted.rule) && (wanted.follow || shown.has(finding)) &&
      (!wanted.text || `${finding.op.name}\n${finding.op.scope}\n${finding.tensor}\n${finding.op.type}`.toLowerCase().includes(wanted.text));
  }
  function refresh() {
    const order = (finding) => (finding.standing && finding.standing !== "counts" ? 100 : 0) + SEVERITIES.indexOf(finding.severity) * 10 + ["certain", "likely", "possible"].indexOf(finding.certainty);
    const kept = findings.filter(matches);
    const groups = groupFindings(kept).sort((a, b) => order(a[0]) - order(b[0]) || d3.ascending(a[0].rule, b[0].rule));
    count.textContent = `${plural(kept.length, "finding")} of ${findings.length} in ${plural(groups.length, "group")}`;
    list.replaceChildren(groups.length ? pagedList(groups, (group) => findingItem(group, view), 60) :
      h("p", { class: "empty" }, "No finding is like that."));
  }
  const boxes = (legend, values, set) => h("fieldset", null, h("legend", null, legend), values.map((value) => h("label", null,
    h("input", { type: "checkbox", checked: true, "data-filter": value, onchange: (event) => {
      if (event.target.checked) set.add(value); else set.delete(value);
      refresh();
    } }), value.replace("-", " "))));
  const rules = [...new Set(findings.map((finding) => finding.rule))].sort();
  const followers = findings.length - shown.size;
  const controls = h("div", { class: "controls", role: "group", "aria-label": "Filters" },
    boxes("Severity", SEVERITIES, wanted.severity), findings.some((finding) => finding.status) ? boxes("Status", STATUSES, wanted.status) : null,
    h("label", null, "Rule", h("select", { id: "filter-rule", onchange: (event) => { wanted.rule = event.target.value; refresh(); } },
      h("option", { value: "" }, "all"), rules.map((rule) => h("option", { value: rule }, `${rule} ${(view.rule(rule) || {}).name || ""}`)))),
    h("label", null, "Layer", h("input", { type: "search", id: "filter-text", placeholder: "part of a name", oninput: (event) => {
      wanted.text = event.target.value.toLowerCase();
      refresh();
    } })),
    followers ? h("label", null, h("input", { type: "checkbox", id: "filter-follow", onchange: (event) => { wanted.follow = event.target.checked; refresh(); } }),
      `also the ${followers} that follow from others`) : null);
  refresh();
  return [controls, count, list];
}
