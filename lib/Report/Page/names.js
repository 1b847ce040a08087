// Names come from files: they may be long, empty, and made of characters that hide others.

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with characters that are not seen, or that turn others around, as escapes. */
function visible(text) {
  return String(text).replace(HIDDEN, (char) => char === "\n" || char === "\t" ? " " :
    `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function shortened(text, most) {
  const shown = visible(String(text).slice(0, 4 * most));
  const cut = shown.length > most || String(text).length > 4 * most;
  if (!cut) return shown;
  const end = visible(String(text).slice(-most)).slice(-Math.floor(most / 3));
  return `${shown.slice(0, most - end.length - 1)}…${end}`;
}

/** A name of the model as an element that keeps its direction to itself. */
function name(text, most = 120) {
  if (!text) return h("span", { class: "soft" }, "(no name)");
  const shown = shortened(text, most);
  const made = h("bdi", { class: "mono", title: shown.includes("…") ? shortened(text, 600) : null }, shown);
  made.style.setProperty("--letters", shown.length);
  return made;
}

/** Text of a message, which holds names. */
function said(text, most = 1200) {
  return h("bdi", null, shortened(text, most));
}

/** The modules that hold an op, outermost first. */
function pathOf(op, scope, type) {
  const own = String(op || "");
  let parts = [];
  if (scope) {
    const modules = String(scope).split("/");
    for (const part of modules) parts.push(...(/^[\w.\-[\]]+$/.test(part) ? part.split(".") : [part]));
  } else if (own.includes("/")) {
    parts = own.split("/").slice(0, -1);
    parts = parts.flatMap((part) => /^[A-Za-z_]\w*(\.[\w]+)+$/.test(part) ? part.split(".") : [part]);
  } else if (/^[A-Za-z_]\w*(\.\w+){2,}/.test(own)) {
    parts = own.split(".").slice(0, -1);
  }
  parts = parts.filter(Boolean);
  return parts.length > 24 ? [...parts.slice(0, 23), parts.slice(23).join("/")] : parts;
}

function lastOf(op, type) {
  const own = String(op || type || "");
  const cut = own.includes("/") ? own.split("/").pop() : own;
  return cut || own;
}

/** The name in at most so many letters: modules that enclose it are cut to a letter, the outer ones first, and
    numbers of layers are kept, which tell names apart. What is too long even so is cut in the middle. */
function abbreviated(text, most) {
  const parts = String(text).split(/(?<=[./])/);
  let length = String(text).length;
  for (let index = 0; index + 1 < parts.length && length > most; ++index) {
    if (/\d/.test(parts[index])) continue;
    const short = parts[index][0] + parts[index].slice(-1);
    length -= parts[index].length - short.length;
    parts[index] = short;
  }
  const shown = parts.join("");
  if (shown.length <= most) return shown;
  const head = Math.max(1, Math.floor((most - 1) / 3));
  return `${shown.slice(0, head)}…${shown.slice(shown.length - Math.max(1, most - 1 - head))}`;
}

const foldDigits = (text) => String(text).replace(/\d+/g, "#");

/** What the tensors of a map are called, by place. An op that the importer made several ops of has tensors
    without a name: they are numbered. */
function placeNames(map) {
  if (!map.names) {
    const unnamed = new Map();
    const numbers = map.tensor.map((tensor, at) => {
      if (tensor) return 0;
      unnamed.set(map.op[at], (unnamed.get(map.op[at]) || 0) + 1);
      return unnamed.get(map.op[at]);
    });
    map.names = map.tensor.map((tensor, at) => tensor || (map.op[at] && unnamed.get(map.op[at]) > 1 ? `${map.op[at]} #${numbers[at]}` : map.op[at]));
  }
  return map.names;
}
