// The turns of an episode in words: what was done, and beside it what was seen.

class Turns {
  constructor(record, open) {
    this.record = record;
    this.open = open;
    this.places = tree(record.acts);
    this.unfolded = Turns.unfolded;
    const start = { index: 0, kind: "start", observation: record.observation };
    this.lines = [start, ...record.acts].map((act, column) => this.line(act, column));
    this.element = element("div", { class: "turns", role: "list", "aria-label": "Turns", tabindex: 0 }, ...this.lines);
    this.at = null;
  }

  // Which of a turn's folds are open, from turn to turn and from episode to episode.
  static unfolded = new Set();

  line(act, column) {
    const left = act.kind === "game" && !this.places.active(act.index);
    return element("div", { class: `turn${left ? " left" : ""}`, role: "listitem", click: () => column !== this.at && this.open(column) },
      element("div", { class: "at num" }, `[${act.index}]`),
      element("div", { class: "deed" }, ...(column ? this.deed(act, left) : [element("div", { class: "said" }, "start"), this.worth(act)])),
      element("div", { class: "sight" }, observed(act)));
  }

  deed(act, left) {
    const back = act.kind === "rollback";
    const lines = [element("div", { class: `said data${back ? " back" : ""}` }, shown(act.action)), this.worth(act, left)];
    if (back && act.target !== null) {
      lines.push(element("div", { class: "why data" }, `went back to [${act.target}]${act.abandoned.length ? `, leaving ${act.abandoned.map((index) => `[${index}]`).join(" ")}` : ""}${act.reason ? `: ${oneLine(act.reason)}` : ""}`));
    }
    if (act.invalid !== null) lines.push(element("div", { class: "why bad data" }, `invalid: ${shown(act.invalid)}`));
    if (act.failed) lines.push(element("div", { class: "why bad" }, "lost the game"));
    if (act.injected !== null) lines.push(element("div", { class: "why put data" }, `injected: ${words(act.injected)}`));
    if (act.call?.problem) lines.push(element("div", { class: "why bad data" }, `no action could be read: ${shown(act.call.problem)}`));
    return lines;
  }

  worth(act, left = false) {
    if (act.kind === "start") return this.record.distance === null ? null : element("div", { class: "worth num" }, element("span", { class: "now" }, `L ${number(this.record.distance)}`));
    const parts = [signPicture(signOf(act))];
    if (act.distance !== null) {
      parts.push(element("span", { class: "now num" }, act.previous === act.distance ? `L ${number(act.distance)}` : `L ${number(act.previous)} → ${number(act.distance)}`));
    }
    if (act.pivotal) parts.push(element("span", { class: "pivotal" }, "pivotal mistake"));
    if (act.grade !== null) parts.push(act.grade);
    if (act.reward) parts.push(element("span", { class: "num" }, `reward ${number(act.reward, 2)}`));
    if (left) parts.push(element("span", { class: "tag" }, "abandoned"));
    return element("div", { class: "worth" }, ...parts);
  }

  select(column, scroll) {
    if (this.at !== null) {
      this.lines[this.at].classList.remove("here");
      this.lines[this.at].removeAttribute("aria-current");
      this.lines[this.at].querySelector(".calls")?.remove();
    }
    this.at = column;
    const line = this.lines[column];
    line.classList.add("here");
    line.setAttribute("aria-current", "step");
    const call = this.record.acts[column - 1]?.call;
    if (call) line.append(this.call(call));
    if (scroll) line.scrollIntoView({ block: "nearest", container: "nearest" }); // of a page around this one nothing moves
  }

  call(call) {
    const spent = Object.entries(call.usage ?? {}).map(([name, value]) => `${words(name)} ${typeof value === "number" ? number(value) : shown(value)}`);
    const fold = (name, title, filling) => {
      const folded = element("details", { open: this.unfolded.has(name) }, element("summary", {}, title));
      const fill = () => { if (folded.open && folded.children.length === 1) folded.append(...filling()); };
      folded.addEventListener("toggle", () => {
        this.unfolded[folded.open ? "add" : "delete"](name);
        fill();
      });
      fill();
      return folded;
    };
    return element("div", { class: "calls" },
      fold("answer", ["The model’s answer", `${number(call.seconds)} s`, ...spent].join(" · "), () => [element("pre", { class: "data" }, shown(call.text))]),
      call.messages.length ? fold("prompt", `What it was sent: ${plural(call.messages.length, "message")}`, () =>
        call.messages.flatMap((message) => [element("span", { class: "role data" }, oneLine(message.role ?? "")), element("pre", { class: "data" }, shown(message.content ?? ""))])) : null);
  }
}

function observed(act) {
  const { observation } = act;
  const grid = gridOf(observation);
  const text = element("div", { class: "seen data" }, shown(arrayText(observation)));
  if (grid) return element("div", { class: "beside" }, gridPicture(grid, `The grid after action ${act.index}`), text);
  const long = text.textContent.length > 420 || text.textContent.split("\n").length > 6;
  text.classList.add("clip");
  if (long) text.classList.add("long");
  return text;
}

// An array is recorded as nested lists with its type; a flat or two-dimensional one is shown row by row.
function arrayText(value) {
  if (value === null || typeof value !== "object" || !Array.isArray(value.array)) return value;
  const rows = value.array.every((row) => !Array.isArray(row) || row.every((cell) => !Array.isArray(cell)));
  const head = `${value.dtype} ${JSON.stringify(value.shape)}`;
  return rows ? `${head}\n${value.array.map((row) => (Array.isArray(row) ? row.join(" ") : row)).join("\n")}` : `${head}\n${JSON.stringify(value.array)}`;
}
