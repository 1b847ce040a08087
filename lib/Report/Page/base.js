// Elements, made without a parser of HTML: text of a model is text, wherever it goes.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(9)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** An element of HTML; `attributes` may be null. */
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of SVG. */
function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG_SPACE, tag), attributes, children);
}

function card(title, ...children) {
  return h("section", { class: "card" }, title && h("h3", null, title), ...children);
}

function badge(kind, text) {
  return h("span", { class: `badge ${kind}` }, text || kind);
}

/** A table; cells that are numbers go to the right. */
function table(heads, rows, caption) {
  const isNumber = (index) => rows.some((row) => row[index] && row[index].isNumber);
  return scrolling(h("table", null, caption && h("caption", { class: "soft small" }, caption),
    h("thead", null, h("tr", null, heads.map((head, index) =>
      h("th", { scope: "col", class: isNumber(index) ? "number" : null }, head)))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) =>
      cell && cell.isNumber ? h("td", { class: "number" }, cell.text) : h("td", null, cell)))))), heads.filter((head) => typeof head === "string" && head).join(", "));
}

/** A box that what is too wide for it is scrolled in, by keys as well; only then is it a stop of theirs. */
function scrolling(content, label) {
  const box = h("div", { class: "scroll" }, content);
  new ResizeObserver(() => {
    const overflows = box.scrollWidth > box.clientWidth + 1;
    for (const [key, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", `Table: ${label}`]]) {
      if (overflows) box.setAttribute(key, value); else box.removeAttribute(key);
    }
  }).observe(box);
  return box;
}

const numeric = (text) => ({ isNumber: true, text });

/** A list of which a part is drawn, and more on demand. */
function pagedList(items, draw, step) {
  const list = h("div");
  const more = h("button", { type: "button", onclick: () => grow() });
  const box = h("div", null, list, more);
  let drawn = 0;
  function grow(all) {
    const end = all ? items.length : Math.min(items.length, drawn + step);
    for (; drawn < end; ++drawn) append(list, [draw(items[drawn])]);
    more.textContent = `Show ${Math.min(step, items.length - drawn)} more of ${items.length - drawn}`;
    more.hidden = drawn >= items.length;
  }
  grow();
  return box;
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** A colour of the theme in force. */
function themeColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
