// Elements are made here. What a record says becomes text nodes and plain attribute values, never markup.

const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const byId = (id) => document.getElementById(id);

// A file that was cut off, or a browser that is too old, must not look like a run without episodes.
function failed(reason) {
  byId("main").replaceChildren(element("p", { id: "boot", role: "alert" },
    `This page could not be drawn: ${shown(String(reason))}. Is the file whole, and the browser of 2023 or later?`));
}
window.addEventListener("error", (event) => failed(event.message));
window.addEventListener("unhandledrejection", (event) => failed(event.reason));

// Characters that nobody would see, or that would turn the text around them, are spelled out.
const UNSEEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}\p{Surrogate}]/gu;

function shown(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(UNSEEN, (sign) => `<U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

const oneLine = (value) => shown(value).replace(/\s+/g, " ").trim();

// A URL cannot hold half a surrogate pair.
const whole = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

// L is null where no oracle judged; JSON has no infinity, so records write "inf".
const length = (written) => (written === "inf" ? Infinity : typeof written === "number" ? written : null);

function number(value, digits = 1) {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  const text = Number.isInteger(value) ? Math.abs(value).toLocaleString("en") : Math.abs(value).toFixed(digits);
  return value < 0 ? `−${text}` : text;
}

function percent(share) {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.0005) return "<0.1%";
  if (share < 1 && share > 0.9995) return ">99.9%";
  return `${(100 * share).toFixed((share > 0 && share < 0.0995) || (share >= 0.995 && share < 1) ? 1 : 0)}%`;
}

const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

const words = (name) => oneLine(oneLine(name).replaceAll("_", " ")) || "unnamed";
