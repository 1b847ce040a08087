// The pages of the document, which are drawn when they are first looked at.

const PAGES = [
  { id: "verdict", title: "Verdict", draw: drawVerdict, has: (report) => Boolean(report.summary) },
  { id: "findings", title: "Findings", draw: drawFindings, has: (report) => Boolean(report.findings), count: (report) => listShown(report).size },
  { id: "map", title: "Map", draw: drawMap, has: (report) => Boolean(report.map) },
  { id: "exponents", title: "Exponents", draw: drawExponents, has: (report) => Boolean(report.map || report.training || report.run) },
  { id: "training", title: "Training", draw: drawTraining, has: (report) => Boolean(report.run || report.training), count: (report) => report.run && report.run.alerts.length },
  { id: "memory", title: "Memory", draw: drawMemory, has: (report) => Boolean(report.training && report.training.memory) },
  { id: "compare", title: "Compare", draw: drawCompare, has: (report) => Boolean(report.compare || report.against) },
];

/** What pages share about a report. */
function makeView(document_, report, go) {
  const rules = new Map((document_.rules || []).map((rule) => [rule.id, rule]));
  const places = new Map();
  if (report.map) {
    report.map.op.forEach((op, at) => { if (op && !places.has(op)) places.set(op, at); });
    report.map.tensor.forEach((tensor, at) => { if (tensor) places.set(tensor, at); });
  }
  const roots = new Map();
  for (const finding of report.findings || []) {
    if (!finding.root) continue;
    if (!roots.has(finding.root)) roots.set(finding.root, []);
    roots.get(finding.root).push(finding);
  }
  const view = {
    rule: (id) => rules.get(id),
    ruleName: (finding) => `${finding.rule} ${(rules.get(finding.rule) || finding).name}`,
    placeOf: (finding) => places.has(finding.tensor) ? places.get(finding.tensor) : places.get(finding.op.name),
    consequences: (group) => group.flatMap((finding) => roots.get(finding.fingerprint) || []),
    canShow: (finding) => view.placeOf(finding) !== undefined,
    show(finding) {
      go("map");
      const chain = (finding.cause || []).map((cause) => places.has(cause.tensor) ? places.get(cause.tensor) : places.get(cause.op));
      const path = [...chain, view.placeOf(finding)].filter((at, index, all) => at !== undefined && all.indexOf(at) === index);
      view.mapView.showChain(path.sort(d3.ascending));
    },
    open(finding) {
      go("findings");
      const items = [...document.querySelectorAll("details.finding")];
      const item = items.find((each) => each.dataset.fingerprint === finding.fingerprint);
      if (item) { item.open = true; item.scrollIntoView({ block: "start" }); item.querySelector("summary").focus(); }
    },
  };
  return view;
}

class Document {
  constructor(data) {
    this.data = data;
    this.reports = data.reports || [];
    this.at = Math.max(0, this.reports.findIndex((report) => report.compare || report.against));
    this.main = document.getElementById("main");
    this.tools();
    this.open();
    window.addEventListener("hashchange", () => this.show(location.hash.slice(1)));
    // Everything goes to paper.
    window.addEventListener("beforeprint", () => { document.body.dataset.printing = "1"; this.pages.forEach((page) => this.draw(page, true)); redrawers.forEach((draw) => draw()); });
    window.addEventListener("afterprint", () => { delete document.body.dataset.printing; this.show(this.current); redrawers.forEach((draw) => draw()); });
  }

  get report() {
    return this.reports[this.at];
  }

  tools() {
    const button = h("button", { type: "button", id: "theme", "aria-label": "Dark or light colours", onclick: () => {
      setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    } }, "◐");
    const choice = this.reports.length > 1 ? h("select", { id: "model", "aria-label": "Model", onchange: (event) => { this.at = Number(event.target.value); this.open(); } },
      this.reports.map((report, index) => h("option", { value: index, selected: index === this.at }, shortened(`${titleOf(report)} ${report.precision || ""}`, 60)))) : null;
    append(document.getElementById("tools"), [choice, button]);
  }

  /** New data of the same files: the page in view is drawn anew where it was. */
  renew(data) {
    const { scrollX, scrollY } = window, focused = document.activeElement && document.activeElement.id;
    this.data = data;
    this.reports = data.reports;
    this.at = Math.min(this.at, this.reports.length - 1);
    const chosen = new Map([...this.main.querySelectorAll("select[id]")].map((each) => [each.id, each.value]));
    const id = this.current;
    this.open(id);
    for (const [key, value] of chosen) {
      const select = document.getElementById(key);
      if (select && select.value !== value && [...select.options].some((each) => each.value === value)) {
        select.value = value;
        select.dispatchEvent(new Event("change"));
      }
    }
    window.scrollTo(scrollX, scrollY);
    if (focused && document.getElementById(focused)) document.getElementById(focused).focus({ preventScroll: true });
  }

  /** The pages of the report in view. */
  open(id) {
    redrawers.clear();
    const title = titleOf(this.report);
    document.title = `${shortened(title, 80)}: mpopt`;
    document.getElementById("title").replaceChildren(name(title, 80), h("small", null, subtitleOf(this.report, this.data)));
    // The page of the report's main subject comes first.
    const first = this.report.run ? "training" : this.report.compare || this.report.against ? "compare" : "verdict";
    this.pages = PAGES.filter((page) => page.has(this.report)).sort((a, b) => (b.id === first) - (a.id === first));
    this.sections = new Map();
    this.drawn = new Set();
    this.main.replaceChildren(...passedOver(this.data.passed || []), ...this.pages.map((page) => {
      const section = h("section", { id: `page-${page.id}`, "aria-labelledby": `head-${page.id}`, hidden: true });
      this.sections.set(page.id, section);
      return section;
    }));
    document.getElementById("pages").replaceChildren(...this.pages.map((page) => h("a", { href: `#${page.id}`, id: `to-${page.id}` }, page.title,
      page.count && page.count(this.report) > 0 && h("span", { class: "count" }, String(page.count(this.report))))));
    this.view = makeView(this.data, this.report, (to) => this.go(to));
    this.show(id || location.hash.slice(1));
  }

  go(id) {
    if (location.hash !== `#${id}`) history.replaceState(null, "", `#${id}`);
    this.show(id);
  }

  show(id) {
    const page = this.pages.find((each) => each.id === id) || this.pages[0];
    this.current = page.id;
    for (const [key, section] of this.sections) section.hidden = key !== page.id;
    for (const link of document.querySelectorAll("#pages a")) {
      if (link.id !== `to-${page.id}`) { link.removeAttribute("aria-current"); continue; }
      link.setAttribute("aria-current", "page");
      link.parentElement.scrollLeft = link.offsetLeft - (link.parentElement.clientWidth - link.offsetWidth) / 2;
    }
    this.draw(page);
  }

  draw(page, also) {
    const section = this.sections.get(page.id);
    if (also) section.hidden = false;
    if (this.drawn.has(page.id)) return;
    this.drawn.add(page.id);
    const begin = performance.now();
    append(section, [h("h2", { id: `head-${page.id}` }, page.title), page.draw(this.report, this.data, (id) => this.go(id), this.view)]);
    section.dataset.milliseconds = (performance.now() - begin).toFixed(1);
  }
}

/** The files that are not shown, and why. */
function passedOver(lines) {
  if (!lines.length) return [];
  return [h("section", { class: "card", id: "passed", role: "status", "aria-label": "Files left out" }, h("h3", null, `${plural(lines.length, "file")} left out`),
    h("ul", null, lines.map((line) => h("li", null, said(line, 400)))))];
}

function titleOf(report) {
  if (report.title) return report.title;
  const path = String((report.model || {}).path || "mpopt");
  return path.split("/").pop() || path;
}

function subtitleOf(report, data) {
  const parts = [];
  if (report.precision) parts.push(report.precision);
  if (report.model) parts.push(report.model.format, `${Number(report.model.nodes).toLocaleString("en")} nodes`, `${Number(report.model.parameters).toLocaleString("en")} parameters`);
  if (data.version) parts.push(`mpopt ${data.version}`);
  return parts.filter(Boolean).join(" · ");
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  redrawers.forEach((draw) => draw());
}

/** Asks the server that the page is from, until it is gone: what grows is drawn anew. */
async function follow(token) {
  const status = h("span", { class: "small soft", role: "status" });
  document.getElementById("tools").append(status);
  let version = "";
  for (;;) {
    let wait = 1000;
    try {
      const answer = await fetch(`data?token=${encodeURIComponent(token)}&version=${encodeURIComponent(version)}`);
      if (answer.status === 200) {
        const data = await answer.json();
        version = data.live;
        if (window.mpoptReport) window.mpoptReport.renew(data); else window.mpoptReport = new Document(data);
        document.body.dataset.ready = performance.now().toFixed(0);
        document.body.dataset.version = version;
      } else if (answer.status !== 204) throw new Error(await answer.text());
      status.textContent = "live";
    } catch (error) {
      status.textContent = `not live: ${error.message}`;
      wait = 3000;
      if (!window.mpoptReport) document.getElementById("main").replaceChildren(h("p", { class: "empty", role: "alert" }, status.textContent));
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}

async function start() {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  try {
    const holder = document.getElementById("data");
    if (holder.dataset.live !== undefined) await follow(holder.dataset.live);
    else window.mpoptReport = new Document(await inflate(holder.textContent));
    document.body.dataset.ready = performance.now().toFixed(0);
  } catch (error) {
    document.getElementById("main").replaceChildren(h("p", { class: "empty", role: "alert" }, `The report cannot be drawn: ${error.message}`));
    throw error;
  }
}

start();
