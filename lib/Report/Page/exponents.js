// Layers by binary exponents: where the magnitudes of each tensor lie, and which formats hold them.

const LEAST_EXPONENT = -60, MOST_EXPONENT = 40;

/** The rows of a report: {label, group, expected, seen, gradient, lo, hi}. */
function exponentRows(report) {
  const rows = { values: [], gradients: [] };
  const map = report.map;
  if (map) {
    placeNames(map).forEach((called, at) => {
      const label = shortened(called, 160);
      const seen = map.seen && map.seen[at];
      if (map.exponents[at] || seen && seen.exponents || map.likely[at]) {
        rows.values.push({ label, at, dtype: map.dtype[at], expected: map.exponents[at], seen: seen && seen.exponents,
          top: Math.log2(largest(map.likely[at])), bound: Math.log2(largest([map.lo[at], map.hi[at]])) });
      }
      const gradient = map.seen_gradient && map.seen_gradient[at];
      if (gradient && gradient.exponents) {
        rows.gradients.push({ label, at, dtype: gradient.dtype, expected: null, seen: gradient.exponents, count: gradient.count - gradient.zero, gradient: true });
      }
    });
  }
  for (const each of (report.training || {}).gradients || []) {
    if (!each.likely) continue;
    const exponents = Object.keys(each.likely.hist).map(Number).sort(d3.ascending);
    if (!exponents.length) continue;
    const list = [exponents[0]];
    for (let exponent = exponents[0]; exponent <= exponents[exponents.length - 1]; ++exponent) list.push(each.likely.hist[exponent] || 0);
    const size = (each.shape || []).reduce((product, dim) => product * Math.max(1, dim), 1);
    rows.gradients.push({ label: shortened(each.parameter, 160), dtype: each.dtype, expected: list, count: size * (1 - each.likely.zero), gradient: true });
  }
  const last = (report.run || {}).last || { gradient: [], value: [] };
  for (const each of last.gradient) rows.gradients.push({ label: shortened(each.name, 160), dtype: each.dtype, seen: each.exponents, count: each.count, gradient: true });
  for (const each of last.value) rows.values.push({ label: shortened(each.name, 160), dtype: each.dtype, seen: each.exponents });
  return rows;
}

const sumOf = (exponents) => exponents ? d3.sum(exponents.slice(1)) : 0;

function shareAt(exponents, exponent, sum) {
  const index = exponent - exponents[0] + 1;
  return index >= 1 && index < exponents.length && sum > 0 ? exponents[index] / sum : 0;
}

class ExponentView {
  constructor(report) {
    this.all = exponentRows(report);
    this.kind = this.all.gradients.length ? "gradients" : "values";
    this.shift = 0;
    this.source = "expected";
    this.text = "";
    const scale = (report.training || {}).scale;
    this.recommended = scale && scale.recommended ? Math.log2(number(scale.recommended)) : null;
    if (this.kind === "gradients") this.shift = 16;
    this.has = { seen: [...this.all.values, ...this.all.gradients].some((row) => row.seen), expected: [...this.all.values, ...this.all.gradients].some((row) => row.expected) };
    if (!this.has.expected) this.source = "seen";
    this.plot = h("div");
    this.summary = h("div", { "aria-live": "polite" });
    this.scaleText = h("output", { for: "loss-scale" });
    this.slider = h("input", { type: "range", id: "loss-scale", min: -8, max: 30, step: 1, value: this.shift, oninput: (event) => this.setShift(Number(event.target.value)) });
    this.sliderBox = h("label", null, "Loss scale", this.slider, this.scaleText);
    const radio = (group, value, text, chosen, set) => h("label", null, h("input", { type: "radio", name: group, value, checked: chosen, onchange: () => { set(value); this.refresh(); } }), text);
    this.element = [h("div", { class: "controls" },
      this.all.gradients.length ? h("fieldset", null, h("legend", { class: "skip" }, "Of"), radio("exponent-kind", "gradients", "gradients", true, (value) => this.kind = value),
        radio("exponent-kind", "values", "values", false, (value) => this.kind = value)) : null,
      this.has.seen && this.has.expected ? h("fieldset", null, h("legend", { class: "skip" }, "From"), radio("exponent-source", "expected", "predicted", true, (value) => this.source = value),
        radio("exponent-source", "seen", "seen", false, (value) => this.source = value)) : null,
      h("label", null, "Layer", h("input", { type: "search", id: "exponent-find", placeholder: "part of a name", oninput: (event) => { this.text = event.target.value.toLowerCase(); this.refresh(); } })),
      this.sliderBox, this.recommended !== null ? h("button", { type: "button", onclick: () => { this.slider.value = this.recommended; this.setShift(this.recommended); } }, `recommended: 2^${this.recommended}`) : null),
    h("ul", { class: "legend" }, h("li", null, this.all.values.length ? h("i", { style: { background: "var(--heat-1)" } }) : null, this.all.gradients.length ? h("i", { style: { background: "var(--grad-1)" } }) : null,
      `share of the non-zero ${[this.all.values.length && "values", this.all.gradients.length && "gradients"].filter(Boolean).join(" or ")} by exponent, the stronger the colour the larger`),
      this.all.values.some((row) => Number.isFinite(row.bound)) ? [h("li", null, "thick mark: largest expected"), h("li", null, "thin mark: bound")] : null, h("li", null, "lines: where formats begin and end, subnormal numbers below the dotted one")),
    this.summary, this.plot];
    this.refresh();
  }

  setShift(shift) {
    this.shift = shift;
    this.tell();
    this.map.draw();
  }

  exponentsOf(row) {
    return this.source === "seen" ? row.seen : row.expected;
  }

  refresh() {
    this.rows = this.all[this.kind].filter((row) => (!this.text || row.label.toLowerCase().includes(this.text)));
    for (const row of this.rows) row.sum = sumOf(this.exponentsOf(row));
    this.sliderBox.hidden = this.kind !== "gradients";
    const shown = this.rows.map((row) => this.exponentsOf(row)).filter(Boolean);
    const low = d3.min(shown, (list) => list[0]), high = d3.max(shown, (list) => list[0] + list.length - 2);
    this.first = Math.max(LEAST_EXPONENT, Math.min(-30, low === undefined ? -30 : low - 2));
    this.last = Math.min(MOST_EXPONENT, Math.max(18, high === undefined ? 18 : high + 2));
    if (this.kind === "gradients") this.last = Math.max(this.last, 18);
    const columns = this.last - this.first + 1;
    const shade = () => this.kind === "gradients" ? shadeOf("grad-0", "grad-1") : shadeOf("heat-0", "heat-1");
    let colors = shade(), theme = document.documentElement.dataset.theme;
    const offset = () => this.kind === "gradients" ? this.shift : 0;
    this.map = heatMap({
      label: `${this.kind} by binary exponent`, rows: this.rows, columns,
      paint: (row, column) => {
        if (theme !== document.documentElement.dataset.theme) { theme = document.documentElement.dataset.theme; colors = shade(); }
        const list = this.exponentsOf(row);
        return list ? colors(shareAt(list, this.first + column - offset(), row.sum) / .35) : null;
      },
      columnText: (column) => `2^${this.first + column}`,
      ticks: d3.range(columns).filter((column) => (this.first + column) % 8 === 0),
      cellText: (row, column) => this.cellText(row, column, offset()),
      over: (context, x, top, height) => this.drawSpans(context, x, top, height),
    });
    this.plot.replaceChildren(this.rows.length ? this.map.box : h("p", { class: "empty" }, "Nothing is known of these."),
      this.rows.length ? asTable(["layer", "dtype", "least 1 %", "median", "largest", "becomes 0 in FP16", "in BF16", "in E4M3", "in E5M2"], () => this.tableRows(offset())) : "");
    this.tell();
  }

  cellText(row, column, offset) {
    const exponent = this.first + column, list = this.exponentsOf(row);
    if (!list) return `${row.label}: nothing is ${this.source === "seen" ? "seen" : "known"}`;
    const share = shareAt(list, exponent - offset, row.sum), parts = tally(list, "f16", offset);
    return `${row.label}: ${percent(share)} in [2^${exponent}, 2^${exponent + 1}); in FP16 ${percent(parts.flushed / parts.all)} become 0, ${percent(parts.subnormal / parts.all)} are subnormal, ${percent(parts.over / parts.all)} overflow`;
  }

  tableRows(offset) {
    return this.rows.slice(0, 500).map((row) => {
      const list = this.exponentsOf(row);
      const power = (exponent) => numeric(exponent === null ? "?" : `2^${exponent + offset}`);
      return [h("bdi", { class: "mono" }, row.label), formatName(row.dtype), power(quantile(list, .01)), power(quantile(list, .5)), power(quantile(list, 1)),
        ...SPANS.map((key) => { const parts = tally(list, key, offset); return numeric(parts.all ? percent(parts.flushed / parts.all) : "?"); })];
    });
  }

  /** Brackets of formats, and in rows the ends that are expected and proved. */
  drawSpans(context, x, top, height) {
    const at = (exponent) => x.range()[0] + (exponent - this.first) * x.step();
    const clamp = (value) => Math.max(x.range()[0], Math.min(x.range()[1], value));
    const ink = themeColor("ink"), colors = { f16: themeColor("past"), bf16: themeColor("soft"), f8E4M3FN: themeColor("good"), f8E5M2: themeColor("warning") };
    context.save();
    for (const key of ["f16", "f8E4M3FN", "f8E5M2", "bf16"]) {
      const format = FORMATS[key];
      context.strokeStyle = colors[key];
      context.fillStyle = colors[key];
      for (const [exponent, dashes, label] of [[format.flush, [], `0 in ${format.label}`], [format.normal, [2, 3], ""], [format.top + 1, [], `${format.label} ends`]]) {
        if (exponent < this.first || exponent > this.last + 1 || key === "f8E5M2" && label.endsWith("ends")) continue;
        context.setLineDash(dashes);
        context.lineWidth = dashes.length ? 1 : 1.6;
        context.beginPath();
        context.moveTo(clamp(at(exponent)), top);
        context.lineTo(clamp(at(exponent)), height);
        context.stroke();
        if (!label) continue;
        context.save();
        context.translate(clamp(at(exponent)) + (label.endsWith("ends") ? 11 : -4), height - 8);
        context.rotate(-Math.PI / 2);
        context.font = "10px system-ui, 'DejaVu Sans', sans-serif";
        const shown = label === "FP16 ends" ? "FP16, E5M2 end" : label;
        const wide = context.measureText(shown).width;
        context.globalAlpha = .82;
        context.fillStyle = themeColor("card");
        context.fillRect(-2, -8, wide + 4, 11);
        context.globalAlpha = 1;
        context.fillStyle = colors[key];
        context.fillText(shown, 0, -2);
        context.restore();
      }
    }
    context.setLineDash([]);
    if (this.kind === "values") this.drawEnds(context, at, clamp, top, height, ink);
    context.restore();
  }

  drawEnds(context, at, clamp, top, height, ink) {
    const box = this.map && this.map.box.querySelector(".rows");
    if (!box) return;
    const rowHeight = 17, first = Math.floor(box.scrollTop / rowHeight), offset = top - box.scrollTop % rowHeight;
    context.fillStyle = ink;
    for (let index = first; index < Math.min(this.rows.length, first + Math.ceil(height / rowHeight)); ++index) {
      const row = this.rows[index], y = offset + (index - first) * rowHeight;
      if (Number.isFinite(row.top)) context.fillRect(clamp(at(row.top)) - 1, y + 2, 2, rowHeight - 4);
      if (Number.isFinite(row.bound)) context.fillRect(clamp(at(row.bound)) - .5, y + 5, 1, rowHeight - 10);
    }
  }

  /** What is lost at the scale, of all rows together. */
  tell() {
    const gradients = this.kind === "gradients", offset = gradients ? this.shift : 0;
    this.scaleText.textContent = `2^${this.shift} = ${digits(2 ** this.shift, 6)}`;
    const rows = this.rows.filter((row) => this.exponentsOf(row));
    if (!rows.length) { this.summary.replaceChildren(); return; }
    const parts = SPANS.map((key) => {
      let flushed = 0, over = 0, all = 0;
      for (const row of rows) {
        const part = tally(this.exponentsOf(row), key, offset), weight = (row.count || 1) / (part.all || 1);
        flushed += part.flushed * weight;
        over += part.over * weight;
        all += part.all * weight;
      }
      return h("div", { class: "tile", "data-format": key }, h("b", null, percent(flushed / all)), h("span", null, `become 0 in ${FORMATS[key].label}`,
        over / all > 1e-9 ? `, ${percent(over / all)} overflow` : ""));
    });
    this.summary.replaceChildren(h("div", { class: "card tiles" }, parts));
  }
}

function drawExponents(report, page, go, view) {
  const made = new ExponentView(report);
  if (!made.all.values.length && !made.all.gradients.length) return [h("p", { class: "empty" }, "Nothing is known of magnitudes.")];
  view.exponents = made;
  return made.element;
}
