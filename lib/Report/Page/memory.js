// Bytes of a rank in training, by way of sharding and by tensor.

const PARTS = [["parameters", "parameters", "#2f6fb7"], ["gathered", "gathered while a block runs", "#7aa9d8"], ["master_copies", "master copies", "#5b4a9c"],
  ["gradients", "gradients", "#a8447f"], ["optimizer_state", "optimizer state", "#d9822b"], ["activations", "activations", "#3d8f6d"]];

function drawMemory(report) {
  const memory = report.training.memory, activations = memory.activations;
  const kept = memory.activations.checkpointed && memory.activations.checkpointed.configured ? activations.checkpointed.peak : activations.saved;
  const schemes = Object.entries(memory.sharding).map(([key, bytesOf]) => ({ key, ...bytesOf, activations: kept }));
  const width = drawingWidth(900), left = 90, bar = 30, gap = 14, height = schemes.length * (bar + gap) + 40;
  const nameOf = (scheme) => scheme.key.replace("_", " ").toUpperCase().replace("ZERO", "ZeRO");
  const total = (scheme) => d3.sum(PARTS, ([key]) => scheme[key] || 0);
  const x = d3.scaleLinear().domain([0, d3.max(schemes, total) || 1]).range([left, width - 90]);
  // Powers of two, of which bytes are told: 4 GiB, 8 GiB.
  const step = 2 ** Math.ceil(Math.log2(x.domain()[1] / Math.max(2, width / 150)));
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": `Bytes of a rank: ${schemes.map((scheme) => `${scheme.key} ${bytes(total(scheme))}`).join(", ")}` });
  const stack = d3.stack().keys(PARTS.map(([key]) => key)).value((scheme, key) => scheme[key] || 0)(schemes);
  stack.forEach((layer, index) => layer.forEach(([from, to], row) => svg.append(s("rect", { x: x(from), width: Math.max(0, x(to) - x(from)), y: row * (bar + gap) + 6, height: bar, fill: PARTS[index][2] },
    s("title", null, `${PARTS[index][1]}: ${bytes(to - from)}`)))));
  schemes.forEach((scheme, row) => {
    const chosen = memory.configured === scheme.key;
    svg.append(s("text", { x: 0, y: row * (bar + gap) + 26, "font-weight": chosen ? 700 : 400 }, nameOf(scheme)),
      s("text", { x: x(total(scheme)) + 6, y: row * (bar + gap) + 26 }, bytes(total(scheme))));
  });
  svg.append(axis(s("g", { transform: `translate(0,${height - 30})` }), d3.axisBottom(x).tickValues(d3.range(0, x.domain()[1] + 1, step)).tickFormat((value) => bytes(value)).tickSizeOuter(0)));
  const rows = schemes.map((scheme) => [nameOf(scheme), ...PARTS.map(([key]) => numeric(scheme[key] === null || scheme[key] === undefined ? "" : bytes(scheme[key]))), numeric(bytes(total(scheme))), numeric(bytes(scheme.sent))]);
  const check = activations.checkpointed;
  return [h("figure", { class: "card" }, h("h3", null, memory.ranks > 1 ? `Bytes of one of ${memory.ranks} ranks` : "Bytes of the one rank"), svg,
    h("ul", { class: "legend" }, PARTS.map(([, word, color]) => h("li", null, h("i", { style: { background: color } }), word))),
    table(["", ...PARTS.map(([, word]) => word), "in all", "sent in a step"], rows)),
  card("Activations saved for the backward pass", h("p", null, `${bytes(activations.saved)} a pass`, memory.samples ? ` of ${plural(memory.samples, "sample")}` : "", `, ${bytes(activations.weight_casts)} of them casts of weights`,
    activations.unknown ? `; the sizes of ${activations.unknown} more are not known` : "", "."),
  check ? h("p", null, `With checkpoints around ${plural(check.blocks, "block")}: ${bytes(check.kept)} kept, ${bytes(check.peak)} at the peak.`) : null,
  table(["tensor", "dtype", "how many", "bytes"], activations.tensors.slice(0, 60).map((tensor) => [name(tensor.name, 90), formatName(tensor.dtype), numeric(String(tensor.count)), numeric(bytes(tensor.bytes))])))];
}
