// The picture of an episode: above the course of L(s), below the tree, both over the same columns, one an action.

const LANE = 26;
const ENDING = 76; // room for how it ended

class Timeline {
  constructor(record, room, open) {
    this.record = record;
    this.open = open; // called with the number of an act, 0 for the start
    const acts = record.acts;
    this.left = 46;
    this.step = Math.max(13, Math.min(64, (room - this.left - ENDING) / (acts.length + 1)));
    this.places = tree(acts);
    this.judged = record.distance !== null;
    this.curveHeight = this.judged ? 134 : 0;
    this.rises = arcRises(acts, this.places);
    this.lanesTop = this.curveHeight + (this.judged ? 18 : 22) + 14 + Math.max(0, ...acts.filter((act) => wentBack(act) && !this.places.laneOf(act.target)).map((act) => this.rises.get(act.index)));
    this.height = this.lanesTop + (this.places.lanes - 1) * LANE + 20;
    this.width = this.left + this.step * (acts.length + 1) + ENDING;
    this.scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Timeline of the episode" }, this.draw());
    this.element = element("figure", { class: "figure" }, this.scroll, signLegend(this.kinds()));
  }

  x(column) {
    return this.left + this.step * (column + 0.5);
  }

  y(lane) {
    return this.lanesTop + lane * LANE;
  }

  kinds() {
    const kinds = new Set(this.record.acts.map(signOf));
    if (this.record.acts.some((act) => act.injected !== null)) kinds.add("injected");
    return kinds;
  }

  draw() {
    this.band = drawn("rect", { class: "band", y: 0, width: this.step, height: this.height, rx: 4 });
    const picture = drawn("svg", { width: this.width, height: this.height, role: "img", "aria-label": this.described() }, this.band);
    if (this.judged) this.drawCurve(picture);
    this.drawNumbers(picture);
    this.drawTree(picture);
    this.record.acts.forEach((_, at) => picture.append(this.hit(at + 1)));
    picture.append(this.hit(0));
    return picture;
  }

  described() {
    const acts = this.record.acts, backs = acts.filter(wentBack).length;
    const pivots = acts.filter((act) => act.pivotal).map((act) => act.index);
    return `${plural(acts.length, "action")}, ${plural(backs, "rollback")}, ${pivots.length ? `pivotal mistakes at ${pivots.join(", ")}` : "no pivotal mistake"}, ${this.record.outcome}.`;
  }

  hit(column) {
    const label = column ? `${this.record.acts[column - 1].index}: ${oneLine(this.record.acts[column - 1].action)}` : "Start";
    return drawn("rect", { class: "hit", x: this.x(column) - this.step / 2, y: 0, width: this.step, height: this.height, click: () => this.open(column) }, drawn("title", {}, label));
  }

  drawCurve(picture) {
    const lengths = [this.record.distance, ...this.record.acts.map((act) => act.distance)];
    const finite = lengths.filter((value) => value !== null && Number.isFinite(value));
    const ticks = ticksUpTo(Math.max(1, ...finite), 4);
    const some = lengths.includes(Infinity);
    const top = some ? 42 : 26, bottom = this.curveHeight;
    const y = (value) => (value === Infinity ? 20 : bottom - (value / ticks.at(-1)) * (bottom - top));
    const right = this.x(lengths.length - 1) + this.step / 2;
    for (const tick of ticks) {
      picture.append(
        drawn("line", { class: tick ? "grid" : "axis", x1: this.left, x2: right, y1: y(tick), y2: y(tick) }),
        drawn("text", { class: "num", x: this.left - 8, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    }
    if (some) {
      picture.append(
        drawn("line", { class: "infinite", x1: this.left, x2: right, y1: y(Infinity), y2: y(Infinity) }),
        drawn("text", { x: this.left - 8, y: y(Infinity) + 4, "text-anchor": "end" }, "∞"));
    }
    picture.append(drawn("text", { class: "strong", x: 10, y: (top + bottom) / 2 + 4 }, "L"));
    this.record.acts.forEach((act, at) => {
      const [before, after] = [lengths[at], lengths[at + 1]];
      if (before === null || after === null) return;
      const back = wentBack(act);
      picture.append(drawn("line", {
        x1: this.x(at), y1: y(before), x2: this.x(at + 1), y2: y(after), "stroke-width": act.pivotal ? 2.4 : 1.8, "stroke-linecap": "round",
        stroke: back ? "var(--rollback)" : act.pivotal ? "var(--pivot)" : "var(--quiet)", "stroke-dasharray": back ? "1 4" : null,
        "stroke-opacity": back || this.places.active(act.index) ? 1 : 0.55,
      }));
    });
    lengths.forEach((value, column) => {
      if (value === null) return;
      const act = this.record.acts[column - 1];
      if (act?.pivotal) {
        picture.append(sign("pivot", this.x(column), y(value)));
        const crowded = this.step < 26 && this.record.acts[column - 2]?.pivotal;
        const lost = value === Infinity || crowded ? "" : `+${number(value - act.previous)}`;
        picture.append(drawn("text", { x: this.x(column), y: y(value) - 9, "text-anchor": "middle", fill: "var(--pivot)", class: "num" }, lost));
        return;
      }
      const back = act && wentBack(act);
      const left = act && act.kind === "game" && !this.places.active(act.index);
      picture.append(drawn("circle", { cx: this.x(column), cy: y(value), r: 2.6, fill: back ? "var(--rollback)" : left ? "var(--sheet)" : "var(--quiet)", stroke: back ? "none" : "var(--quiet)" }));
    });
  }

  drawNumbers(picture) {
    const acts = this.record.acts;
    const widest = 10 + 8 * String(acts.at(-1)?.index ?? 0).length;
    const every = Math.ceil(widest / this.step);
    const at = this.judged ? this.curveHeight + 15 : 14;
    for (let column = 0; column <= acts.length; column++) {
      if (column % every) continue;
      picture.append(drawn("text", { class: "num", x: this.x(column), y: at, "text-anchor": "middle" }, String(column ? acts[column - 1].index : 0)));
    }
  }

  drawTree(picture) {
    const { places } = this;
    const lines = drawn("g", { fill: "none", "stroke-width": 2, "stroke-linecap": "round" });
    const arcs = drawn("g", { fill: "none", "stroke-width": 1.6, stroke: "var(--rollback)" });
    const signs = drawn("g");
    this.record.acts.forEach((act, at) => {
      const column = at + 1, from = places.column(act.parent), above = places.laneOf(act.parent);
      const lane = act.kind === "game" ? places.laneOf(act.index) : above;
      const left = act.kind === "game" ? !places.active(act.index) : true;
      lines.append(drawn("path", { d: this.edge(from, above, column, lane), stroke: left ? "var(--line-strong)" : "var(--quiet)", "stroke-dasharray": act.kind === "rollback" ? "1 4" : null }));
      if (wentBack(act)) arcs.append(...this.arc(column, lane, places.column(act.target), places.laneOf(act.target), this.rises.get(act.index)));
      signs.append(sign(signOf(act), this.x(column), this.y(lane)));
      if (act.injected !== null) signs.append(sign("injected", this.x(column), this.y(lane) + 12));
    });
    signs.append(sign("start", this.x(0), this.y(0)));
    const { outcome } = this.record;
    const end = drawn("text", { class: `ending ${outcome}`, x: this.x(this.record.acts.length) + this.step / 2 + 6, y: this.y(0) + 4 }, outcome);
    picture.append(lines, arcs, signs, end);
  }

  // Along the lane of the parent, then down to the own lane just before the own column.
  edge(from, above, column, lane) {
    const [x1, y1, x2, y2] = [this.x(from), this.y(above), this.x(column), this.y(lane)];
    if (above === lane) return `M${x1} ${y1}H${x2}`;
    const turn = x2 - this.step;
    return `M${x1} ${y1}H${turn}C${turn + this.step * 0.6} ${y1} ${turn + this.step * 0.4} ${y2} ${x2} ${y2}`;
  }

  arc(column, lane, target, targetLane, rise) {
    const [x1, y1, x2, y2] = [this.x(column), this.y(lane) - 5, this.x(target), this.y(targetLane) - 6];
    const round = Math.min(12, (x1 - x2) / 2);
    const top = y2 - rise;
    return [
      drawn("path", { d: `M${x1} ${y1}V${top + round}Q${x1} ${top} ${x1 - round} ${top}H${x2 + round}Q${x2} ${top} ${x2} ${Math.min(top + round, y2)}V${y2}`, "stroke-opacity": 0.8 }),
      drawn("path", { d: `M${x2 - 3.6} ${y2 - 4.5}L${x2} ${y2}L${x2 + 3.6} ${y2 - 4.5}` }),
    ];
  }

  select(column) {
    const x = this.x(column) - this.step / 2;
    this.band.setAttribute("x", x);
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.scroll;
    const act = this.record.acts[column - 1];
    const y = act ? this.y(this.places.laneOf(act.kind === "game" ? act.index : act.parent)) : 0;
    if (y + 20 > scrollTop + clientHeight) this.scroll.scrollTop = y + 20 - clientHeight;
    else if (y < scrollTop + LANE) this.scroll.scrollTop = Math.max(0, y - this.lanesTop);
    if (x < scrollLeft + this.left) this.scroll.scrollLeft = x - this.left;
    else if (x + this.step * 2 > scrollLeft + clientWidth) this.scroll.scrollLeft = x + this.step * 2 - clientWidth + 40;
  }
}

// How high the arc of each rollback rises above its target's lane: over the arcs that lie inside it.
function arcRises(acts, places) {
  const rises = new Map(), levels = [];
  for (const back of acts.filter(wentBack)) {
    const lane = places.laneOf(back.target), from = places.column(back.target), to = places.column(back.index);
    const inside = levels.filter((one) => one.lane === lane && one.from >= from);
    const level = Math.min(lane ? 2 : 5, 1 + Math.max(0, ...inside.map((one) => one.level)));
    levels.push({ lane, from, level });
    rises.set(back.index, 7 + (lane ? 4 : 6) * level);
  }
  return rises;
}
