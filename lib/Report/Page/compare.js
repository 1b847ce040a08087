// Two runs, or two reports, side by side.

function drawCompare(report) {
  return report.compare.tensors ? compareRuns(report.compare) : compareReports(report.compare);
}

function compareRuns(compare) {
  const [one, other] = compare.titles, tensors = compare.tensors;
  const first = tensors.findIndex((each) => number(each.difference) > each.explained);
  const points = (key) => tensors.map((each, index) => [index, number(each[key])]);
  const verdict = first < 0 ? h("section", { class: "card verdict good", "aria-label": "Verdict" }, h("span", { class: "ask" }, "Verdict"),
    h("span", { class: "say" }, `The runs differ by no more than their formats explain, in ${plural(tensors.length, "tensor")}.`)) :
    h("section", { class: "card verdict bad", "aria-label": "Verdict" }, h("span", { class: "ask" }, "Verdict"), h("span", { class: "say" }, "The first that differs by more than its format explains is ",
      name(tensors[first].tensor), "."), h("span", { class: "ask" }, "Rule"), h("span", { class: "say" }, compare.alert ? said(`${compare.alert.rule}: ${compare.alert.message}`, 600) : ""));
  const floor = (list) => list.map(([index, value]) => [index, value === 0 ? 1e-12 : value]);
  return [verdict, tensors.length ? lineChart({ title: "Differences, in the order of the first run", log: true, height: 230, series: [
    { name: "difference", color: "var(--accent)", points: floor(points("difference")) }, { name: "explained by the formats", color: "var(--soft)", points: points("explained") }] }) : null,
  card("Tensors", pagedTable(["tensor", `dtype of ${shortened(one, 30)}`, `of ${shortened(other, 30)}`, "root mean square", "", "apart by", "explained", ""], tensors.map((each) => {
    const difference = number(each.difference), fine = difference <= each.explained;
    return [name(each.tensor, 80), formatName(each.dtypes[0]), formatName(each.dtypes[1]), numeric(digits(number(each.rms[0]))), numeric(digits(number(each.rms[1]))),
      numeric(percent(difference)), numeric(percent(each.explained)), badge(fine ? "good" : "error", fine ? "explained" : "not explained")];
  }), 200)),
  compare.incomparable.length ? card("Not compared", pagedList(compare.incomparable, ([tensor, why]) => h("div", { class: "small" }, name(tensor, 80), ": ", said(why, 200)), 50)) : null];
}

function compareReports(compare) {
  const bySeverity = (findings) => [...findings].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
  const list = (title, findings) => card(`${title}: ${findings.length}`, findings.length ? pagedList(bySeverity(findings), (finding) => h("div", { class: "small" }, badge(finding.severity), " ",
    h("b", null, finding.rule), " ", name(finding.op.name, 80), ": ", said(finding.message, 300)), 60) : h("p", { class: "empty" }, "None."));
  const output = compare.effects.map((each) => [name(each.output, 60), numeric(percent(number(each.before))), numeric(percent(number(each.after)))]);
  const summary = ["error", "warning", "note", "certain", "likely", "possible", "proved"].map((key) => [key, numeric(String(compare.summaries[0][key])), numeric(String(compare.summaries[1][key]))]);
  const heads = compare.titles.map((each) => shortened(each, 60));
  return [h("div", { class: "grid" }, card("Counts", table(["", ...heads], summary)), output.length ? card("Expected error of the outputs", table(["output", ...heads], output)) : null),
    list("Came", compare.came), list("Went", compare.went),
    card("Ranges that moved", compare.moved.length ? pagedTable(["tensor", heads[0], heads[1], "bits"], compare.moved.map((each) => [name(each.tensor, 80),
      [formatName(each.dtypes[0]), " ", interval(...each.before)], [formatName(each.dtypes[1]), " ", interval(...each.after)], numeric(digits(each.bits, 2))]), 200) : h("p", { class: "empty" }, "None by a quarter of a bit or more."))];
}
