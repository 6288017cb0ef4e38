// The plots of the summary, in SVG, as wide as they are told. A plot is given numbers and says what was picked; it
// knows nothing of episodes.

// Bars with confidence intervals, a row each: [{ name, value, low, high, note, colour, pick }], values from 0 to 1.
function intervals(rows, label, width) {
  const left = Math.min(206, width * 0.45), right = 90, tall = 26, bottom = 20;
  const x = (share) => left + share * (width - left - right);
  const height = rows.length * tall + bottom;
  const picture = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(
      drawn("line", { class: share ? "grid" : "axis", x1: x(share), x2: x(share), y1: 0, y2: height - bottom + 3 }),
      drawn("text", { x: x(share), y: height - 5, "text-anchor": "middle" }, percent(share)),
    );
  }
  rows.forEach((row, at) => {
    const middle = at * tall + tall / 2;
    const some = row.value !== null && row.value !== undefined;
    const interval = row.low === null || row.low === undefined ? "" : `, interval ${percent(row.low)} to ${percent(row.high)}`;
    const line = picked(row.pick, `${row.name}: ${percent(row.value)}${interval}, ${row.note}`);
    line.append(
      drawn("rect", { class: "hover", x: 0, y: at * tall + 1, width, height: tall - 2, rx: 5 }),
      drawn("text", { class: "strong", x: left - 10, y: middle + 4, "text-anchor": "end" }, fitted(row.name, left - 14)),
    );
    if (some) line.append(drawn("rect", { x: x(0), y: middle - 6, width: Math.max(0, x(row.value) - x(0)), height: 12, rx: 2, fill: row.colour, "fill-opacity": 0.85 }));
    if (some && interval) {
      const [from, to] = [x(row.low), x(row.high)];
      line.append(drawn("path", { d: `M${from} ${middle - 3.5}v7M${from} ${middle}H${to}M${to} ${middle - 3.5}v7`, stroke: "var(--ink)", "stroke-width": 1.3, fill: "none" }));
    }
    line.append(
      drawn("text", { class: "strong num", x: width - right + 42, y: middle + 4, "text-anchor": "end" }, percent(row.value)),
      drawn("text", { class: "num", x: width, y: middle + 4, "text-anchor": "end" }, row.note),
    );
    picture.append(line);
  });
  return picture;
}

// Stacked columns: bins are [{ name, parts: [count], pick }], colours belong to the parts.
function columns(bins, colours, axis, label, width) {
  const height = 190, left = 44, right = 8, top = 10, bottom = 38;
  const highest = Math.max(1, ...bins.map((bin) => total(bin.parts)));
  const ticks = ticksUpTo(highest, 4);
  const most = ticks.at(-1);
  const y = (count) => top + (1 - count / most) * (height - top - bottom);
  const step = (width - left - right) / bins.length;
  const picture = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  for (const tick of ticks) {
    picture.append(
      drawn("line", { class: tick ? "grid" : "axis", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      drawn("text", { class: "num", x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, number(tick)),
    );
  }
  const every = Math.ceil(bins.length / Math.floor((width - left) / (9 + 7 * Math.max(...bins.map((bin) => bin.name.length)))));
  bins.forEach((bin, at) => {
    const middle = left + (at + 0.5) * step;
    const column = picked(bin.pick, `${axis} ${bin.name}: ${plural(total(bin.parts), "episode")}`);
    column.append(drawn("rect", { class: "hover", x: middle - step / 2, y: top, width: step, height: height - top - bottom }));
    let below = 0;
    bin.parts.forEach((count, part) => {
      const thick = Math.min(46, step * 0.78);
      if (count) column.append(drawn("rect", { x: middle - thick / 2, y: y(below + count), width: thick, height: y(below) - y(below + count), fill: colours[part], "fill-opacity": 0.88 }));
      below += count;
    });
    if (at % every === 0) column.append(drawn("text", { class: "num", x: middle, y: height - bottom + 15, "text-anchor": "middle" }, bin.name));
    picture.append(column);
  });
  picture.append(drawn("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, axis));
  return picture;
}

// Lines with a band from the lower to the upper quartile: [{ colour, middle: [L], lower: [L], upper: [L] }].
function bands(series, axis, label, width) {
  const height = 210, left = 44, right = 16, top = 12, bottom = 38;
  const values = series.flatMap((one) => [...one.lower, ...one.middle, ...one.upper]);
  const ticks = ticksUpTo(Math.max(1, ...values.filter(Number.isFinite)), 5);
  const some = values.some((value) => value === Infinity);
  const roof = top + (some ? 22 : 0);
  const y = (value) => (value === Infinity ? top : roof + (1 - value / ticks.at(-1)) * (height - bottom - roof));
  const longest = Math.max(2, ...series.map((one) => one.middle.length));
  const x = (turn) => left + (turn / (longest - 1)) * (width - left - right);
  const picture = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const tick of ticks) {
    picture.append(
      drawn("line", { class: tick ? "grid" : "axis", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      drawn("text", { class: "num", x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, number(tick)),
    );
  }
  if (some) picture.append(
    drawn("line", { class: "infinite", x1: left, x2: width - right, y1: top, y2: top }),
    drawn("text", { x: left - 7, y: top + 4, "text-anchor": "end" }, "∞"),
  );
  const path = (list) => list.map((value, turn) => `${x(turn).toFixed(1)} ${y(value).toFixed(1)}`).join("L");
  for (const { colour, lower, upper } of series) {
    const back = upper.map((value, turn) => `${x(turn).toFixed(1)} ${y(value).toFixed(1)}`).reverse().join("L");
    picture.append(drawn("path", { d: `M${path(lower)}L${back}Z`, fill: colour, "fill-opacity": 0.13 }));
  }
  for (const { colour, middle } of series) picture.append(drawn("path", { d: `M${path(middle)}`, fill: "none", stroke: colour, "stroke-width": 2, "stroke-linejoin": "round" }));
  for (const turn of ticksUpTo(longest - 1, 12).filter((tick) => tick < longest)) {
    picture.append(drawn("text", { class: "num", x: x(turn), y: height - bottom + 16, "text-anchor": "middle" }, number(turn)));
  }
  picture.append(drawn("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, axis));
  return picture;
}

// One bar of shares: [{ name, value, colour }].
function stacked(parts, label, width) {
  const height = 30;
  const picture = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}: ${parts.map((part) => `${part.name} ${percent(part.value)}`).join(", ")}` });
  let from = 0;
  for (const { value, colour } of parts) {
    if (!value) continue;
    picture.append(drawn("rect", { x: from * width, y: 2, width: Math.max(1, value * width - 1.5), height: height - 6, rx: 2, fill: colour }));
    from += value;
  }
  return picture;
}

function legend(entries) {
  return element("div", { class: "legend" }, ...entries.map(([name, colour]) =>
    element("span", {}, drawn("svg", { viewBox: "0 0 12 12", "aria-hidden": "true" }, drawn("rect", { x: 1, y: 1, width: 10, height: 10, rx: 2, fill: colour })), name)));
}

// A part of a plot that can be picked by mouse and keyboard; only named where there is nothing to pick.
function picked(pick, label) {
  if (!pick) return drawn("g", { role: "img", "aria-label": label }, drawn("title", {}, label));
  return drawn("g", { class: "pick", role: "button", tabindex: 0, "aria-label": `${label}. Show these.`, click: pick, keydown: (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    pick();
  } }, drawn("title", {}, label));
}

const total = (counts) => counts.reduce((sum, count) => sum + count, 0);

const ruler = document.createElement("canvas").getContext("2d");

// As much of a text as is not wider than `room`, in the font of the plots.
function fitted(text, room) {
  ruler.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  const wide = (part) => ruler.measureText(part).width > room;
  let signs = [...oneLine(text)].slice(0, 200);
  if (!wide(signs.join(""))) return signs.join("");
  while (signs.length && wide(`${signs.join("")}…`)) signs.pop();
  return `${signs.join("")}…`;
}

// Round numbers from 0 to at least `most`, about `count` steps.
function ticksUpTo(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, at) => at * step);
}
