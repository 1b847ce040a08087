// The model by modules, coloured by how far its values are from the limits of a format.

const HEADROOMS = {
  "expected-overflow": { label: "to overflow, as expected", of: (map, at, format) => bitsTo(format.max, largest(map.likely[at])) },
  "proved-overflow": { label: "to overflow, as proved", of: (map, at, format) => bitsTo(format.max, largest([map.lo[at], map.hi[at]])) },
  "expected-flush": { label: "to zero, as expected (the smallest 1 %)", of: (map, at, format) => {
    const low = quantile(map.exponents[at], .01);
    return low === null ? NaN : low - format.flush;
  } },
  "proved-flush": { label: "to zero, as proved", of: (map, at, format) => map.least[at] > 0 ? Math.log2(map.least[at]) - format.flush : NaN },
  "seen-overflow": { label: "to overflow, as seen", of: (map, at, format) => {
    const seen = map.seen && map.seen[at];
    return !seen ? NaN : seen.inf || seen.nan ? -Infinity : bitsTo(format.max, seen.absmax);
  } },
  "seen-flush": { label: "to zero, as seen", of: (map, at, format) => {
    const seen = map.seen && map.seen[at];
    return seen && seen.min_nonzero > 0 ? Math.log2(seen.min_nonzero) - format.flush : NaN;
  } },
};

const largest = (pair) => pair ? Math.max(Math.abs(number(pair[0])), Math.abs(number(pair[1]))) : NaN;

/** Binary orders from a magnitude up to a limit. */
function bitsTo(limit, size) {
  return size === 0 ? Infinity : Math.log2(limit / size);
}

const bitsText = (bits) => Number.isNaN(bits) ? "not known" : !Number.isFinite(bits) ? bits > 0 ? "any number of bits" : "no bound" :
  bits < 0 ? `${digits(-bits, 2)} bits past the limit` : `${digits(bits, 2)} bits`;

const RUN = 32;

/** A leaf is called like its op; of an op with several tensors like the tensor, those without a name by their number. */
function leafLabel(map, at, named) {
  if (map.tensor[at] && named.get(map.op[at]) > 1) return lastOf(map.tensor[at], map.type[at]);
  return lastOf(map.op[at], map.type[at]) + (map.tensor[at] ? "" : placeNames(map)[at].slice(map.op[at].length));
}

/** The tree of modules. A leaf is {label, places}, with a place in the map for each layer that is folded into it. */
function moduleTree(map, fold) {
  const root = { label: "model", children: [], index: new Map() };
  const named = d3.rollup(map.op.filter((_, at) => map.tensor[at]), (ops) => ops.length, (op) => op);
  for (let at = 0; at < map.tensor.length; ++at) {
    if (map.role[at] & 1) continue;
    let node = root;
    for (const part of pathOf(map.op[at], map.scope[at], map.type[at])) {
      let child = node.index.get(part);
      if (!child) {
        child = { label: part, children: [], index: new Map() };
        node.index.set(part, child);
        node.children.push(child);
      }
      node = child;
    }
    node.children.push({ label: leafLabel(map, at, named), places: [at] });
  }
  inRuns(root);
  return joined(fold ? foldRepeated(root, map) : root, true);
}

/** Modules that hold one module and nothing else are one with it. */
function joined(node, isRoot) {
  if (node.places) return node;
  node.children = node.children.map((child) => joined(child, false));
  const only = node.children.length === 1 && node.children[0].children ? node.children[0] : null;
  if (!only || node.repeats > 1) return node;
  const dot = /^[\w#.]+$/.test(only.folded || only.label) && !isRoot ? "." : "/";
  return { ...only, label: isRoot ? only.label : `${node.label}${dot}${only.label}`,
    folded: only.folded && (isRoot ? only.folded : `${node.label}${dot}${only.folded}`) };
}

/** Long lists of ops without a module, cut into runs. */
function inRuns(node) {
  if (!node.children) return node;
  node.children = node.children.map(inRuns);
  if (node.children.length <= 3 * RUN) return node;
  const runs = [];
  for (let begin = 0; begin < node.children.length; begin += RUN) {
    const part = node.children.slice(begin, begin + RUN);
    runs.push({ label: `${part[0].label} … ${part[part.length - 1].label}`, children: part, isRun: true });
  }
  node.children = runs;
  return inRuns(node);
}

/** Modules beside each other that have the same ops become one. */
function foldRepeated(node, map) {
  if (node.places) {
    node.shape = map.type[node.places[0]];
    return node;
  }
  node.children = node.children.map((child) => foldRepeated(child, map));
  const kept = [], byShape = new Map();
  for (const child of node.children) {
    const key = child.children && !child.isRun ? `${foldDigits(child.label)}\u0001${child.shape}` : null;
    const first = key && byShape.get(key);
    if (first) mergeInto(first, child);
    else {
      kept.push(child);
      if (key) byShape.set(key, child);
    }
  }
  node.children = kept;
  // A hash of the shape below: names of modules, types of ops.
  node.shape = String(hashOf(kept.map((child) => `${child.children ? foldDigits(child.label) : ""}(${child.shape})${child.repeats || 1}`).join(",")));
  return node;
}

function hashOf(text) {
  let low = 0x811c9dc5, high = 0x1234567;
  for (let index = 0; index < text.length; ++index) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(index), 0x85ebca6b) + (low >>> 13);
  }
  return `${(low >>> 0).toString(36)}${(high >>> 0).toString(36)}`;
}

function mergeInto(first, other) {
  first.repeats = (first.repeats || 1) + (other.repeats || 1);
  first.folded = foldDigits(first.label);
  const merge = (a, b) => {
    if (a.places) a.places.push(...b.places);
    else a.children.forEach((child, index) => merge(child, b.children[index]));
  };
  first.children.forEach((child, index) => merge(child, other.children[index]));
}

function labelOf(data) {
  return data.repeats > 1 ? `${data.folded} × ${data.repeats}` : data.label;
}

class MapView {
  constructor(report, page, view) {
    this.map = report.map;
    this.view = view;
    this.findingsOf = new Map();
    this.shown = listShown(report);
    report.findings.forEach((finding) => {
      const at = view.placeOf(finding);
      if (at === undefined) return;
      if (!this.findingsOf.has(at)) this.findingsOf.set(at, []);
      this.findingsOf.get(at).push(finding);
    });
    const seen = Boolean(this.map.seen);
    this.mode = seen ? "seen-overflow" : "expected-overflow";
    this.format = "judged";
    this.fold = true;
    this.chain = [];
    this.figure = h("div", { class: "plot" });
    this.panel = h("div", { class: "card panel", role: "region", "aria-label": "Selected", "aria-live": "polite" });
    this.crumbs = h("ol", { class: "crumbs", "aria-label": "Path" });
    this.users = null;
    const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
    this.element = [h("div", { class: "controls" },
      h("label", null, "Room", h("select", { id: "map-mode", onchange: (event) => { this.mode = event.target.value; this.measure(); } },
        Object.entries(HEADROOMS).filter(([key]) => seen || !key.startsWith("seen")).map(([key, each]) => option(key, each.label, this.mode)))),
      h("label", null, "in", h("select", { id: "map-format", onchange: (event) => { this.format = event.target.value; this.measure(); } },
        option("judged", "the dtype as judged"), SPANS.map((each) => option(each, FORMATS[each].label)))),
      h("label", null, h("input", { type: "checkbox", id: "map-fold", checked: true, onchange: (event) => {
        this.fold = event.target.checked;
        this.grow();
      } }), "fold repeated layers"),
      h("label", null, "Find", h("input", { type: "search", id: "map-find", placeholder: "op or tensor",
        onchange: (event) => this.find(event.target.value) }))),
    headroomLegend(), this.crumbs, h("div", { class: "split" }, h("div", { class: "card" }, this.figure), this.panel)];
    this.grow();
  }

  bits(at) {
    const format = FORMATS[this.format === "judged" ? this.map.dtype[at] : this.format];
    return format ? HEADROOMS[this.mode].of(this.map, at, format) : NaN;
  }

  /** Makes the tree, and shows all of it. */
  grow() {
    const tree = moduleTree(this.map, this.fold);
    this.root = d3.hierarchy(tree, (node) => node.children).sum((node) => node.places ? 1 : 0);
    d3.partition()(this.root);
    this.leaves = new Map();
    this.root.each((node) => { if (node.data.places) node.data.places.forEach((at) => this.leaves.set(at, node)); });
    this.focus = this.selected = this.root;
    this.place = null;
    this.measure();
  }

  /** Sets the worst headroom of each module. */
  measure() {
    this.root.eachAfter((node) => {
      node.bits = NaN;
      const take = (bits) => { if (!Number.isNaN(bits) && !(bits >= node.bits)) node.bits = bits; };
      node.total = node.data.places ? node.data.places.length : d3.sum(node.children, (child) => child.total);
      if (node.data.places) node.data.places.forEach((at) => take(this.bits(at)));
      else node.children.forEach((child) => take(child.bits));
    });
    this.draw();
    this.describe();
  }

  draw() {
    const width = drawingWidth(760), height = Math.max(580, .7 * window.innerHeight), strip = 7;
    const { x0, x1, depth } = this.focus;
    // Modules have columns to the left; ops go on from there to the right end.
    const levels = Math.max(1, Math.min(Math.floor(width / 170), this.focus.height));
    const columns = d3.scaleLinear().domain([depth, depth + levels]).range([0, .75 * width]);
    const y = d3.scaleLinear().domain([x0, x1]).range([0, height]);
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "tree", "aria-label": "Modules of the model" });
    this.drawn = new Map();
    this.figure.replaceChildren(svg);
    this.tip = makeTip(this.figure);
    const chained = new Set(this.chain.map((at) => this.leaves.get(at)).filter(Boolean));
    let few = null;
    const flush = () => {
      if (!few) return;
      svg.append(s("rect", { x: few.left, width: width - few.left, y: few.top, height: Math.max(.9, few.end - few.top), fill: headroomColor(few.bits), "aria-hidden": "true" }));
      few = null;
    };
    const visit = (node) => {
      const top = y(node.x0), end = y(node.x1), size = end - top;
      if (!node.data.places) {
        if (node.depth < depth + levels && size >= 2) this.drawModule(svg, node, columns(node.depth), top, columns(node.depth + 1) - columns(node.depth), size, strip);
        node.children.forEach(visit);
        return;
      }
      const left = columns(Math.min(node.depth, depth + levels));
      if (size >= 2) {
        flush();
        this.drawLeaf(svg, node, left, top, width - left, size, chained.has(node));
        return;
      }
      // Ops that are too small to be told apart: the worst of each pixel.
      if (few && (end - few.top > 1.5 || few.left !== left)) flush();
      if (!few) few = { left, top, bits: NaN };
      few.end = end;
      if (!(node.bits >= few.bits) && !Number.isNaN(node.bits)) few.bits = node.bits;
    };
    visit(this.focus);
    flush();
    this.drawChain(svg);
    svg.addEventListener("keydown", (event) => this.key(event));
    const chain = this.focus.ancestors().reverse();
    this.crumbs.replaceChildren(...chain.map((node) => h("li", null, node === this.focus ? h("span", null, visible(shortened(labelOf(node.data), 60))) :
      h("button", { class: "link", type: "button", onclick: () => this.zoom(node) }, visible(shortened(labelOf(node.data), 60))))));
  }

  makeNode(svg, node, left, top, wide, size, kind) {
    const words = `${visible(shortened(labelOf(node.data), 120))}: ${node.data.places ? "" : `${plural(node.total, "tensor")}, least `}${bitsText(node.bits)}`;
    const group = s("g", { class: `node ${kind}`, role: "treeitem", "aria-level": node.depth - this.focus.depth + 1, "aria-label": words,
      "aria-selected": String(node === this.selected), "aria-expanded": node.children ? "true" : null, tabindex: node === this.selected ? "0" : "-1",
      transform: `translate(${left},${top})` });
    group.addEventListener("click", () => this.pick(node));
    group.addEventListener("pointermove", (event) => this.tip.show(words, event));
    group.addEventListener("pointerleave", () => this.tip.hide());
    this.drawn.set(node, { group, x: left + (node.data.places ? Math.min(wide - 16, wide * .8) : wide / 2), y: top + size / 2 });
    svg.append(group);
    return group;
  }

  drawModule(svg, node, left, top, wide, size, strip) {
    const group = this.makeNode(svg, node, left, top, wide, size, "module");
    const high = Math.max(1, size - 1);
    group.append(s("rect", { class: "body", width: wide - 3, height: high, rx: size > 8 ? 3 : 0 }),
      s("rect", { width: strip, height: high, fill: headroomColor(node.bits), rx: size > 8 ? 2 : 0 }));
    if (size > 13) group.append(s("text", { x: strip + 6, y: Math.min(size / 2, 13) + 4 }, fittedSvg(labelOf(node.data), wide - strip - 14)));
    const past = node.bits < 0 ? d3.sum(node.leaves(), (leaf) => leaf.data.places.filter((at) => this.bits(at) < 0).length) : 0;
    if (size > 32) group.append(s("text", { class: "more", x: strip + 6, y: 31 }, fittedSvg(`${plural(node.total, "tensor")}${past ? `, ${past} past` : ""}`, wide - strip - 14)));
  }

  drawLeaf(svg, node, left, top, wide, size, isChain) {
    const group = this.makeNode(svg, node, left, top, wide, size, isChain ? "leaf chain" : "leaf");
    group.append(s("rect", { width: wide, height: Math.max(.9, size - (size > 3 ? .8 : 0)), fill: headroomColor(node.bits), rx: size > 8 ? 2 : 0 }));
    if (size > 10.5) group.append(s("text", { x: 7, y: Math.min(size / 2, 14) + 4, style: { fill: headroomInk(node.bits) } },
      fittedSvg(`${labelOf(node.data)}${node.data.places.length > 1 ? ` × ${node.data.places.length}` : ""}`, wide - 30)));
    if (this.hasFindings(node) && size > 5) group.append(s("circle", { cx: wide - 10, cy: size / 2, r: Math.min(3.5, size / 2.5), fill: headroomInk(node.bits) }));
  }

  /** The way of a cause through what is drawn. */
  drawChain(svg) {
    const points = [];
    for (const at of this.chain) {
      const leaf = this.leaves.get(at);
      const shown = leaf && leaf.ancestors().find((node) => this.drawn.has(node));
      if (shown) points.push(this.drawn.get(shown));
    }
    if (points.length < 2) return;
    const line = d3.line().x((point) => point.x).y((point) => point.y).curve(d3.curveMonotoneY);
    svg.append(s("path", { d: line(points), fill: "none", stroke: "var(--ink)", "stroke-width": 2.5, "stroke-linecap": "round", opacity: .75, "pointer-events": "none", class: "chain-line" }));
    points.forEach((point, index) => svg.append(s("circle", { cx: point.x, cy: point.y, r: index + 1 === points.length ? 6 : 4, "pointer-events": "none",
      fill: index + 1 === points.length ? "var(--past)" : "var(--card)", stroke: "var(--ink)", "stroke-width": 2 })));
  }

  hasFindings(node) {
    return node.data.places && node.data.places.some((at) => this.findingsOf.has(at));
  }

  pick(node, place) {
    this.selected = node;
    this.place = place !== undefined ? place : null;
    if (node.children && node !== this.focus) this.focus = node;
    this.refocus();
  }

  zoom(node) {
    this.focus = this.selected = node;
    this.place = null;
    this.refocus();
  }

  refocus() {
    const held = this.figure.contains(document.activeElement);
    this.draw();
    this.describe();
    const at = this.drawn.get(this.selected);
    if (held && at) at.group.focus();
  }

  key(event) {
    const node = this.selected;
    const among = node.parent && node !== this.focus ? node.parent.children : [node];
    const index = among.indexOf(node);
    const to = { ArrowUp: () => among[index - 1], ArrowDown: () => among[index + 1], ArrowRight: () => node.children && node.children[0],
      ArrowLeft: () => node === this.focus ? (node.parent && (this.focus = node.parent)) : node.parent, Home: () => among[0], End: () => among[among.length - 1],
      Enter: () => { if (node.children) this.focus = node; return node; }, " ": () => node, Escape: () => this.focus = this.root }[event.key];
    if (!to) return;
    event.preventDefault();
    const next = to();
    if (!next) return;
    this.selected = next;
    this.place = null;
    if (!this.isInside(next, this.focus)) this.focus = next.parent || next;
    this.draw();
    if (!this.drawn.has(next)) { this.focus = next.parent || next; this.draw(); }
    this.describe();
    const at = this.drawn.get(next);
    if (at) at.group.focus();
  }

  isInside(node, top) {
    return node.ancestors().includes(top);
  }

  find(text) {
    const wanted = text.toLowerCase();
    if (!wanted) return;
    const at = this.map.tensor.findIndex((tensor, index) => !(this.map.role[index] & 1) &&
      (tensor.toLowerCase().includes(wanted) || this.map.op[index].toLowerCase().includes(wanted)));
    if (at >= 0) this.showPlace(at);
  }

  /** Selects a tensor's op, in the smallest module that shows it. */
  showPlace(at) {
    const leaf = this.leaves.get(at);
    if (!leaf) return;
    this.focus = leaf.parent || leaf;
    this.selected = leaf;
    this.place = at;
    this.refocus();
  }

  showChain(places) {
    const known = places.filter((at) => this.leaves.has(at));
    this.chain = known;
    if (!known.length) return;
    let top = this.leaves.get(known[0]);
    for (const at of known) while (!this.isInside(this.leaves.get(at), top)) top = top.parent;
    if (top.data.places) top = top.parent || top;
    this.focus = top;
    this.selected = this.leaves.get(known[known.length - 1]);
    this.place = known[known.length - 1];
    this.draw();
    this.describe();
  }

  describe() {
    const node = this.selected;
    this.panel.replaceChildren(...[node.data.places ? this.describeOp(node) : this.describeModule(node)].flat(9).filter(Boolean));
  }

  link(at) {
    return h("button", { class: "link", type: "button", onclick: () => this.showPlace(at) }, name(placeNames(this.map)[at], 60));
  }

  describeModule(node) {
    const places = node.leaves().flatMap((leaf) => leaf.data.places || []);
    const worst = places.map((at) => [at, this.bits(at)]).filter(([, bits]) => !Number.isNaN(bits)).sort((a, b) => a[1] - b[1]).slice(0, 10);
    const findings = places.flatMap((at) => this.findingsOf.get(at) || []).filter((finding) => this.shown.has(finding));
    const counts = SEVERITIES.map((severity) => [severity, findings.filter((finding) => finding.severity === severity).length]).filter(([, count]) => count);
    return [h("h3", null, name(labelOf(node.data), 80)), h("p", { class: "soft small" }, plural(places.length, "tensor"), node.data.repeats > 1 ? ` in ${node.data.repeats} layers that are alike` : ""),
      counts.length ? h("p", null, counts.map(([severity, count]) => [badge(severity, plural(count, severity)), " "])) : null,
      h("h4", null, `Least room ${HEADROOMS[this.mode].label}`),
      worst.length ? table(["tensor", "bits"], worst.map(([at, bits]) => [h("span", { class: "named" }, h("i", { class: "swatch", style: { background: headroomColor(bits) } }), this.link(at)),
        numeric(Number.isFinite(bits) ? digits(bits, 3) : bits > 0 ? "∞" : "−∞")])) : h("p", { class: "empty" }, "Nothing is known.")];
  }

  describeOp(node) {
    const { map } = this, places = node.data.places;
    const at = this.place !== null && places.includes(this.place) ? this.place :
      places.reduce((least, each) => this.bits(each) < this.bits(least) ? each : least, places[0]);
    const findings = this.findingsOf.get(at) || [];
    const facts = [];
    const fact = (title, ...value) => facts.push(h("dt", null, title), h("dd", null, ...value));
    fact("Op", name(map.op[at]), map.type[at] ? ` (${visible(shortened(map.type[at], 60))})` : "");
    if (map.scope[at]) fact("Module", name(map.scope[at], 90));
    fact("Dtype", formatName(map.dtype[at]));
    if (map.file[at]) fact("Source", placeOf({ file: map.file[at], line: map.line[at] }));
    fact("Bound", interval(map.lo[at], map.hi[at]), map.nonfinite[at] ? `; may be ${["NaN", "+Inf", "−Inf"].filter((_, bit) => map.nonfinite[at] >> bit & 1).join(", ")}` : "");
    if (map.likely[at]) fact("Expected", interval(...map.likely[at]));
    if (number(map.least[at]) > 0) fact("Least magnitude", digits(number(map.least[at])));
    const seen = map.seen && map.seen[at];
    if (seen) fact("Seen", `largest ${digits(number(seen.absmax))}, smallest ${digits(number(seen.min_nonzero))}, ${percent(seen.zero / Math.max(1, seen.count))} zeros`,
      seen.nan || seen.inf ? `, ${seen.nan} NaN, ${seen.inf} Inf` : "");
    const rows = SPANS.map((key) => [FORMATS[key].label, ...["expected-overflow", "proved-overflow", "expected-flush"].map((mode) => {
      const bits = HEADROOMS[mode].of(map, at, FORMATS[key]);
      return numeric(Number.isNaN(bits) ? "?" : Number.isFinite(bits) ? digits(bits, 3) : bits > 0 ? "∞" : "−∞");
    })]);
    const others = places.length > 1 ? folded(`The same in ${places.length} layers`, () => h("ul", null, places.slice(0, 200).map((each) =>
      h("li", null, this.link(each), ` ${bitsText(this.bits(each))}`)))) : null;
    return [h("h3", null, name(placeNames(map)[at], 90)), h("dl", { class: "facts" }, facts),
      h("h4", null, "Room in bits"), table(["", "overflow", "proved", "zero"], rows),
      findings.map((finding) => h("p", null, badge(finding.severity), ` ${finding.rule} `, h("button", { class: "link", type: "button", onclick: () => this.view.open(finding) },
        said(finding.message, 140)), " ", (finding.cause || []).length ? h("button", { type: "button", class: "small", onclick: () => this.view.show(finding) }, "path") : null)),
      map.operands[at].length ? h("p", { class: "small" }, "Reads ", map.operands[at].map((each, index) => [index ? ", " : "", this.link(each)])) : null,
      this.usersOf(at).length ? h("p", { class: "small" }, "Read by ", this.usersOf(at).slice(0, 20).map((each, index) => [index ? ", " : "", this.link(each)])) : null, others];
  }

  usersOf(at) {
    if (!this.users) {
      this.users = this.map.tensor.map(() => []);
      this.map.operands.forEach((operands, user) => operands.forEach((operand) => this.users[operand].push(user)));
    }
    return this.users[at];
  }
}

function fittedSvg(text, width) {
  return abbreviated(visible(shortened(text, 200)), Math.max(1, Math.floor(width / 7)));
}

function drawMap(report, page, go, view) {
  if (!report.map || !report.map.tensor.some((_, at) => !(report.map.role[at] & 1))) return [h("p", { class: "empty" }, "The report holds no tensors.")];
  view.mapView = new MapView(report, page, view);
  return view.mapView.element;
}
