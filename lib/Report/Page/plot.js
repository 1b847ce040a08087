// Plots with D3: its scales, axes, shapes and layouts.

/** A box for a tip that follows the pointer, inside a plot. */
function makeTip(box) {
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  box.append(tip);
  return {
    show(text, event) {
      const area = box.getBoundingClientRect();
      tip.textContent = text;
      tip.hidden = false;
      const x = event.clientX - area.left, y = event.clientY - area.top;
      tip.style.left = `${Math.max(0, Math.min(x + 14, area.width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${Math.max(0, y > tip.offsetHeight + 18 ? y - tip.offsetHeight - 12 : y + 16)}px`;
    },
    hide() { tip.hidden = true; },
  };
}

const HEADROOM_EDGES = [0, 1, 3, 8];
const HEADROOM_COLORS = ["past", "tight", "near", "fair", "wide"];
const HEADROOM_WORDS = ["past the limit", "under 1 bit", "1 to 3 bits", "3 to 8 bits", "8 bits and more"];

const headroomIndex = d3.scaleThreshold().domain(HEADROOM_EDGES).range([0, 1, 2, 3, 4]);

const headroomName = (bits) => bits === null || Number.isNaN(bits) ? "none" : HEADROOM_COLORS[headroomIndex(bits)];
const headroomColor = (bits) => `var(--${headroomName(bits)})`;
/** What is written on that colour. */
const headroomInk = (bits) => `var(--on-${headroomName(bits)})`;

function headroomLegend() {
  return h("ul", { class: "legend", "aria-label": "Colours" },
    HEADROOM_WORDS.map((word, index) => h("li", null,
      h("i", { style: { background: `var(--${HEADROOM_COLORS[index]})` } }), word)),
    h("li", null, h("i", { style: { background: "var(--none)" } }), "not known"));
}

function axis(group, made) {
  d3.select(group).call(made);
  return group;
}

/**
 * Lines over steps. series: [{name, color, points: [[step, value]], area}], where a value that
 * is not finite is drawn at the edge, as a cross. bands: [{from, to, label, color}] on the value axis.
 * along: what the steps are, where they are none.
 */
function lineChart({ title, series, log, width = drawingWidth(560), height = 190, bands = [], marks = [], unit = "", along = "step" }) {
  const left = 62, right = 14, top = 10, bottom = 26;
  const all = series.flatMap((one) => one.points);
  const finite = all.map((point) => point[1]).filter((value) => Number.isFinite(value) && (!log || value > 0));
  const steps = d3.extent(all, (point) => point[0]);
  const box = h("div", { class: "plot" });
  if (!finite.length) {
    return h("figure", { class: "card" }, h("h3", null, title), h("p", { class: "empty" }, "Nothing was recorded."));
  }
  const limits = d3.extent([...finite, ...bands.flatMap((band) => [band.from, band.to]).filter(Number.isFinite)]);
  // A scale that ran to nothing does not push the rest of the plot together.
  if (log) limits[0] = Math.max(limits[0], limits[1] * 2 ** -60);
  if (limits[0] === limits[1]) { limits[0] = log ? limits[0] / 2 : Math.min(0, 2 * limits[0]); limits[1] = log ? limits[1] * 2 : Math.max(2 * limits[1], limits[0] + 1e-300); }
  const x = d3.scaleLinear().domain(steps[0] === steps[1] ? [steps[0], steps[0] + 1] : steps).range([left, width - right]);
  const y = (log ? d3.scaleLog().base(log === 2 ? 2 : 10) : d3.scaleLinear()).domain(limits).nice().range([height - bottom, top]).clamp(Boolean(log));
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label":
    `${title}: ${series.map((one) => `${one.name} from ${digits(one.points[0][1])} to ${digits(one.points[one.points.length - 1][1])}`).join("; ")}` });
  for (const band of bands) {
    svg.append(s("rect", { x: left, width: width - left - right, y: y(band.to), height: Math.max(0, y(band.from) - y(band.to)),
      fill: band.color, opacity: .25 }, s("title", null, band.label)));
  }
  const power = (value) => Number.isInteger(Math.log2(value)) ? `2^${Math.log2(value)}` : "";
  svg.append(
    axis(s("g", { transform: `translate(0,${height - bottom})` }), d3.axisBottom(x).ticks(width / 80).tickSizeOuter(0)),
    axis(s("g", { transform: `translate(${left},0)` }), d3.axisLeft(y).ticks(5, log === 2 ? power : log ? "~e" : "~g").tickSizeOuter(0)));
  for (const one of series) {
    const known = (point) => Number.isFinite(point[1]) && (!log || point[1] > 0);
    const line = d3.line().defined(known).x((point) => x(point[0])).y((point) => y(point[1]));
    if (one.area) {
      svg.append(s("path", { d: d3.area().defined(known).x((point) => x(point[0])).y0(y.range()[0]).y1((point) => y(point[1]))(one.points),
        fill: one.color, opacity: .2 }));
    }
    svg.append(s("path", { d: line(one.points), fill: "none", stroke: one.color, "stroke-width": 1.7 }));
    for (const point of one.points.filter((each) => !Number.isFinite(each[1])).slice(0, 200)) {
      svg.append(s("path", { d: d3.symbol().type(d3.symbolCross).size(40)(), fill: "var(--past)",
        transform: `translate(${x(point[0])},${top + 5}) rotate(45)` }, s("title", null, `${along} ${point[0]}: not finite`)));
    }
  }
  for (const mark of marks) {
    svg.append(s("line", { x1: x(mark.step), x2: x(mark.step), y1: top, y2: height - bottom, stroke: `var(--${mark.color})`,
      "stroke-dasharray": "3 3" }, s("title", null, mark.text)));
  }
  box.append(svg);
  const tip = makeTip(box), ruler = s("line", { y1: top, y2: height - bottom, stroke: "var(--soft)", visibility: "hidden" });
  svg.append(ruler);
  svg.addEventListener("pointermove", (event) => {
    const area = svg.getBoundingClientRect();
    const step = x.invert((event.clientX - area.left) * width / area.width);
    const texts = series.map((one) => {
      const index = d3.bisector((point) => point[0]).left(one.points, step);
      const point = one.points[Math.min(index, one.points.length - 1)];
      return `${one.name} ${digits(point[1])}${unit}`;
    });
    ruler.setAttribute("x1", x(step));
    ruler.setAttribute("x2", x(step));
    ruler.setAttribute("visibility", "visible");
    tip.show(`${along} ${Math.round(step)}\n${texts.join("\n")}`, event);
  });
  svg.addEventListener("pointerleave", () => { tip.hide(); ruler.setAttribute("visibility", "hidden"); });
  return h("figure", { class: "card" }, h("h3", null, title), box,
    series.length > 1 && h("ul", { class: "legend" }, series.map((one) => h("li", null, h("i", { style: { background: one.color } }), one.name))),
    asTable([along, ...series.map((one) => one.name)], () => stepRows(series)));
}

function stepRows(series) {
  const steps = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort(d3.ascending);
  const values = series.map((one) => new Map(one.points));
  const every = Math.max(1, Math.ceil(steps.length / 200));
  return steps.filter((_, index) => index % every === 0).map((step) =>
    [numeric(String(step)), ...values.map((map) => numeric(map.has(step) ? digits(map.get(step)) : ""))]);
}

/** What a plot shows as a table, made when it is opened. */
function asTable(heads, rows) {
  const body = h("div");
  const details = h("details", { class: "small" }, h("summary", { class: "soft" }, "as a table"), body);
  details.addEventListener("toggle", () => {
    if (details.open && !body.firstChild) body.append(table(heads, rows()));
  });
  return details;
}

/**
 * A heat map of many rows, of which only those in view are drawn.
 *
 * rows     [{label: text, head: true for a title, ...}]
 * columns  how many; columnText(column) and cellText(row, column) are for people
 * paint    (row, column) -> colour or null
 * over     (context, x, y, height) draws over all rows, behind the labels
 */
function heatMap({ label, rows, columns, paint, columnText, cellText, ticks, under, over, rowHeight = 17, onpick }) {
  const axisHeight = 30;
  let labelWidth = 250;
  const readout = h("p", { class: "readout", "aria-live": "polite" }, "Point at a cell, or move through the plot with the arrow keys.");
  const canvas = h("canvas", { "aria-hidden": "true" });
  const full = rows.length * rowHeight + axisHeight, most = Math.max(560, .7 * window.innerHeight);
  const filler = h("div", { style: { height: `${full}px`, width: "1px", position: "absolute" } });
  const box = h("div", { class: "rows", tabindex: "0", role: "group", "aria-label": label }, filler, canvas);
  let cursor = null, width = 0, x = null;
  function draw() {
    if (!box.isConnected || !box.clientWidth) return;
    box.style.height = `${(document.body.dataset.printing ? Math.min(full, 9000) : Math.min(full, most)) + 2}px`;
    width = box.clientWidth;
    labelWidth = Math.min(Math.max(250, width / 4), .48 * width);
    const height = box.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const ink = themeColor("ink"), soft = themeColor("soft");
    context.fillStyle = themeColor("card");
    context.fillRect(0, 0, width, height);
    x = d3.scaleBand().domain(d3.range(columns)).range([labelWidth, width - 8]);
    const cell = x.step();
    const first = Math.floor(box.scrollTop / rowHeight), offset = axisHeight - box.scrollTop % rowHeight;
    const shown = Math.min(rows.length, first + Math.ceil(height / rowHeight) + 1);
    if (under) under(context, x, axisHeight, height);
    context.font = "12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace";
    context.textBaseline = "middle";
    for (let index = first; index < shown; ++index) {
      const row = rows[index], y = offset + (index - first) * rowHeight;
      for (let column = 0; column < columns; ++column) {
        const color = paint(row, column);
        if (!color) continue;
        context.fillStyle = color;
        context.fillRect(x(column), y + 1, Math.ceil(cell - (cell > 6 ? 1 : 0)), rowHeight - 2);
      }
      context.fillStyle = ink;
      context.fillText(fitted(context, row.label, labelWidth - 14), 6, y + rowHeight / 2);
      if (cursor && cursor.row === index) {
        context.strokeStyle = ink;
        context.lineWidth = 1.5;
        context.strokeRect(x(cursor.column) - .5, y + .5, cell + 1, rowHeight - 1);
      }
    }
    if (over) over(context, x, axisHeight, height);
    context.fillStyle = themeColor("card");
    context.fillRect(0, 0, width, axisHeight);
    context.fillStyle = soft;
    context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    context.textAlign = "center";
    let free = 0;
    for (const tick of ticks) {
      const text = columnText(tick), half = context.measureText(text).width / 2, middle = Math.min(x(tick) + cell / 2, width - half - 4);
      if (middle - half < free) continue;
      context.fillText(text, middle, axisHeight - 9);
      free = middle + half + 6;
    }
    context.textAlign = "left";
    context.strokeStyle = themeColor("line");
    context.beginPath();
    context.moveTo(0, axisHeight - .5);
    context.lineTo(width, axisHeight - .5);
    context.stroke();
  }
  function point(row, column) {
    cursor = { row, column };
    readout.textContent = cellText(rows[row], column);
    draw();
  }
  function under_pointer(event) {
    const area = canvas.getBoundingClientRect();
    const left = event.clientX - area.left, y = event.clientY - area.top - axisHeight + box.scrollTop;
    const row = Math.floor(y / rowHeight), column = Math.floor((left - labelWidth) / x.step());
    return row >= 0 && row < rows.length && event.clientY - area.top > axisHeight ?
      { row, column: Math.max(0, Math.min(columns - 1, column)) } : null;
  }
  box.addEventListener("pointermove", (event) => {
    const at = x && under_pointer(event);
    if (at && (!cursor || cursor.row !== at.row || cursor.column !== at.column)) point(at.row, at.column);
  });
  box.addEventListener("click", (event) => {
    const at = x && under_pointer(event);
    if (at && onpick) onpick(rows[at.row]);
  });
  box.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-20, 0], PageDown: [20, 0] }[event.key];
    if (event.key === "Enter" && cursor && onpick) onpick(rows[cursor.row]);
    if (!move) return;
    event.preventDefault();
    const from = cursor || { row: 0, column: Math.floor(columns / 2) };
    const row = Math.max(0, Math.min(rows.length - 1, from.row + (cursor ? move[0] : 0)));
    const column = Math.max(0, Math.min(columns - 1, from.column + (cursor ? move[1] : 0)));
    if (row * rowHeight < box.scrollTop) box.scrollTop = row * rowHeight;
    const end = (row + 1) * rowHeight + axisHeight - box.clientHeight;
    if (end > box.scrollTop) box.scrollTop = end;
    point(row, column);
  });
  box.addEventListener("scroll", () => requestAnimationFrame(draw));
  new ResizeObserver(draw).observe(box);
  redrawers.add(draw);
  requestAnimationFrame(draw);
  return { box: h("div", null, box, readout), draw };
}

/** What is drawn on canvases draws itself anew when the colours change. */
const redrawers = new Set();

/** A name in a width. */
function fitted(context, text, width) {
  return context.measureText(text).width <= width ? text : abbreviated(text, Math.max(4, Math.floor(width / context.measureText("m").width)));
}

/** Units of a drawing that is `most` wide on a screen: those of the screen, so that letters keep their size. */
function drawingWidth(most) {
  return Math.max(300, Math.min(most, document.documentElement.clientWidth - 70));
}

/** A colour between two of the theme, by a share of 1; small shares stay visible. */
function shadeOf(low, high) {
  const mix = d3.interpolateRgb(themeColor(low), themeColor(high));
  return (share) => share > 0 ? mix(.12 + .88 * Math.pow(Math.min(1, share), .45)) : null;
}
