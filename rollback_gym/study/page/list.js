// The list of episodes: filters, order, and only those rows in the document that can be seen.

const ROW = 58;
const ANY = Object.freeze({ search: "", outcomes: new Set(), kind: "", pivot: "", back: "", sort: "run", pivotTurn: null, loss: null, label: "" });

const ORDERS = {
  "run": () => 0,
  "turns-down": (a, b) => b.course.length - a.course.length,
  "turns-up": (a, b) => a.course.length - b.course.length,
  "start-down": (a, b) => missingLast(a.start, b.start, -1),
  "start-up": (a, b) => missingLast(a.start, b.start, 1),
  "pivot-down": (a, b) => missingLast(a.pivot, b.pivot, -1),
  "pivot-up": (a, b) => missingLast(a.pivot, b.pivot, 1),
};

function missingLast(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a === b ? 0 : direction * (a - b);
}

const asWords = (search) => search.toLowerCase().split(/\s+/).filter(Boolean);

// `texts` are the places of episodes that say the words somewhere in their record.
function chosen(rows, wanted, texts) {
  const searched = asWords(wanted.search);
  const fits = (row) =>
    (!wanted.outcomes.size || wanted.outcomes.has(row.outcome)) &&
    (!wanted.kind || row.kind === wanted.kind) &&
    (!wanted.pivot || (wanted.pivot === "yes") === row.pivots.length > 0) &&
    (!wanted.back || (wanted.back === "yes") === row.rollbacks > 0) &&
    (!wanted.pivotTurn || (row.pivot !== null && row.pivot >= wanted.pivotTurn[0] && row.pivot <= wanted.pivotTurn[1])) &&
    (!wanted.loss || row.losses.some(wanted.loss)) &&
    (texts.has(row.place) || searched.every((word) => row.haystack.includes(word)));
  return rows.filter(fits).sort(ORDERS[wanted.sort]);
}

class List {
  constructor(store, open) {
    this.store = store;
    this.open = open; // called with an episode's place
    this.box = byId("list");
    this.rows = byId("rows");
    this.wanted = ANY;
    this.texts = new Set();
    this.selected = null;
    this.found = store.rows;
    this.fillFilters();
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.box);
  }

  fillFilters() {
    const rows = this.store.rows;
    const counts = tally(rows, (row) => row.outcome);
    for (const outcome of [...OUTCOMES, "running"].filter((one) => counts.has(one))) {
      const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false", value: outcome, click: () => {
        const outcomes = new Set(this.wanted.outcomes);
        if (!outcomes.delete(outcome)) outcomes.add(outcome);
        this.narrow({ outcomes });
      } }, element("span", { class: `sign ${outcome}`, "aria-hidden": "true" }, OUTCOME_SIGNS[outcome]), outcome, element("span", { class: "num" }, number(counts.get(outcome))));
      byId("outcomes").append(chip);
    }
    const kinds = [...tally(rows, (row) => row.kind)].sort();
    byId("kind").append(element("option", { value: "" }, "any task type"), ...kinds.map(([kind, count]) => element("option", { value: kind }, `${words(kind)} (${number(count)})`)));
    byId("kind").disabled = kinds.length < 2;
    for (const name of ["kind", "pivot", "back", "sort"]) byId(name).addEventListener("change", (event) => this.narrow({ [name]: event.target.value }));
    byId("search").addEventListener("input", (event) => this.narrow({ search: event.target.value }));
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    byId("clear").addEventListener("click", () => this.narrow(ANY));
  }

  narrow(change) {
    const before = this.wanted;
    this.wanted = { ...before, ...change };
    if (this.wanted.search !== before.search) this.searchTexts();
    for (const name of ["kind", "pivot", "back", "sort", "search"]) if (byId(name).value !== this.wanted[name]) byId(name).value = this.wanted[name];
    for (const chip of byId("outcomes").querySelectorAll("button")) chip.setAttribute("aria-pressed", String(this.wanted.outcomes.has(chip.value)));
    this.refresh();
    this.box.scrollTop = 0;
  }

  // What was said and seen lies packed; it is searched a little later and bit by bit, while the list shows what it has.
  async searchTexts() {
    this.texts = new Set();
    this.progress = null;
    const search = this.wanted.search, words = asWords(search);
    const wanted = () => this.wanted.search === search;
    if (words.join("").length < 2) return;
    await new Promise((resolve) => setTimeout(resolve, 180));
    if (!wanted()) return;
    for await (const { found, share } of this.store.saying(words, wanted)) {
      found.forEach((place) => this.texts.add(place));
      this.progress = share < 1 ? share : null;
      this.refresh();
    }
  }

  refresh() {
    this.found = chosen(this.store.rows, this.wanted, this.texts);
    const all = this.store.rows.length, some = this.found.length;
    const searching = this.progress ? `, searching ${percent(this.progress)}` : "";
    byId("count").textContent = some === all ? plural(all, "episode") : `${number(some)} of ${plural(all, "episode")}${searching}`;
    byId("narrowed").textContent = this.wanted.label;
    byId("clear").hidden = Object.keys(ANY).every((name) => name === "sort" || name === "outcomes" || this.wanted[name] === ANY[name]) && !this.wanted.outcomes.size;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
    const last = Math.min(this.found.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 4);
    this.rows.style.height = `${this.found.length * ROW}px`;
    const lines = [];
    for (let at = first; at < last; at++) lines.push(this.line(this.found[at], at));
    if (!this.found.length) lines.push(element("p", { class: "nothing" }, this.progress ? "Searching …" : "No episode is like that."));
    this.rows.replaceChildren(...lines);
    const line = byId(`episode-${this.selected}`);
    if (line) this.box.setAttribute("aria-activedescendant", line.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  line(row, at) {
    const line = element("div", {
      class: "episode", role: "option", id: `episode-${row.place}`, "aria-selected": String(row.place === this.selected),
      "aria-posinset": at + 1, "aria-setsize": this.found.length, title: oneLine(row.task), click: () => this.open(row.place),
    },
      element("span", { class: `sign ${row.outcome}`, role: "img", "aria-label": row.outcome }, OUTCOME_SIGNS[row.outcome]),
      element("span", { class: "task data" }, oneLine(row.task)),
      element("span", { class: "about num" },
        element("span", {}, plural(row.course.length - 1, "turn")),
        row.start === null ? null : element("span", {}, `L ${number(row.start)}`),
        row.pivot === null ? null : element("span", { class: "hint-pivot" }, `◆ [${row.pivot}]`),
        row.rollbacks ? element("span", { class: "hint-back" }, `↶ ${number(row.rollbacks)}`) : null,
        row.invalid ? element("span", {}, `× ${number(row.invalid)}`) : null),
      row.start === null ? null : spark(row));
    line.style.top = `${at * ROW}px`;
    return line;
  }

  select(place) {
    this.selected = place;
    const at = this.found.findIndex((row) => row.place === place);
    if (at >= 0) {
      const top = at * ROW, view = this.box.clientHeight;
      if (top < this.box.scrollTop) this.box.scrollTop = top;
      else if (top + ROW > this.box.scrollTop + view) this.box.scrollTop = top + ROW - view;
    }
    this.draw();
  }

  // The episode so many places further down the list, from the selected one.
  beside(steps) {
    const at = this.found.findIndex((row) => row.place === this.selected);
    if (!this.found.length) return null;
    const next = at < 0 ? (steps > 0 ? 0 : this.found.length - 1) : at + steps;
    return this.found[Math.max(0, Math.min(this.found.length - 1, next))].place;
  }
}

function tally(rows, key) {
  const counts = new Map();
  for (const row of rows) counts.set(key(row), (counts.get(key(row)) ?? 0) + 1);
  return counts;
}

// L over the turns, very small; infinity is the upper edge.
function spark(row) {
  const width = 76, height = 34, highest = Math.max(1, ...row.course.filter(Number.isFinite));
  const x = (at) => 4 + (at / Math.max(1, row.course.length - 1)) * (width - 8);
  const y = (value) => (value === Infinity ? 3 : height - 4 - (value / highest) * (height - 12));
  const points = row.course.map((value, at) => (value === null ? null : `${x(at).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean);
  return drawn("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    drawn("polyline", { points: points.join(" "), fill: "none", stroke: "var(--faint)", "stroke-width": 1.4, "stroke-linejoin": "round" }),
    ...row.pivots.map((at) => drawn("circle", { cx: x(at + 1), cy: y(row.course[at + 1]), r: 2.4, fill: "var(--pivot)" })));
}
