// What is shown, which the address says too; and the keys.

const index = await unpacked("index");
const store = new Store(index);
const page = { episode: null, turn: 0, timeline: null, turns: null, asked: 0 };
const small = matchMedia("(max-width: 900px)"); // as in page.css
const list = new List(store, (place) => show(place, null));

byId("run-title").textContent = oneLine(index.title);
byId("run-facts").textContent = `${index.environments.map(oneLine).join("; ")} · ${plural(store.rows.length, "episode")} · ${percent(index.diagnosis.all.results.success.value)} won`;

function showSummary() {
  page.asked++;
  page.episode = page.timeline = page.turns = null;
  list.select(null);
  document.title = oneLine(index.title);
  byId("main").replaceChildren(summaryOf(index, store.rows, byId("main").clientWidth, small.matches, (change) => {
    list.narrow({ ...ANY, sort: list.wanted.sort, ...change });
    toggleList(true);
  }));
  byId("main").scrollTop = 0;
  address("");
}

// `turn` counts the acts, 0 is the start; null is the first pivotal mistake, where there is one.
async function show(place, turn) {
  const asked = ++page.asked;
  list.select(place);
  const record = await store.record(place);
  if (asked !== page.asked) return; // something else was asked for meanwhile
  const row = store.rows[place];
  Object.assign(page, { episode: place, record });
  toggleList(false);
  const main = byId("main");
  page.timeline = new Timeline(record, main.clientWidth - (small.matches ? 30 : 46), showTurn);
  page.turns = new Turns(record, showTurn);
  main.replaceChildren(element("article", { class: "view", "aria-label": "Episode" }, headOf(record, row), page.timeline.element, page.turns.element));
  main.scrollTop = 0;
  document.title = `${oneLine(record.task)} – ${oneLine(index.title)}`;
  // Where the page scrolls as a whole, an episode is shown from its top.
  showTurn(turn ?? (row.pivots.length ? row.pivots[0] + 1 : 0), getComputedStyle(page.turns.element).overflowY === "auto");
}

function headOf(record, row) {
  const fact = (name, value) => element("span", { class: "data", title: value }, `${name} `, element("b", {}, value));
  const go = (steps, label, sign) => element("button", { type: "button", "aria-label": label, title: label, click: () => beside(steps) }, sign);
  const { name, ...settings } = record.policy;
  const policy = [oneLine(name ?? "policy"), ...Object.entries(settings).map(([key, value]) => `${oneLine(key)} ${oneLine(value)}`)].join(", ");
  return element("div", { class: "head" },
    element("div", { class: "top" },
      element("h1", { class: "data" }, shown(record.task)),
      element("span", { class: `badge ${record.outcome}` }, record.outcome),
      element("span", { class: "step" }, go(-1, "Previous episode (k)", "↑"), go(1, "Next episode (j)", "↓"))),
    element("p", { class: "meta num" },
      fact("turns", `${number(record.acts.length)} of ${number(record.max_turns)}`),
      record.distance === null ? null : fact("L at start", number(record.distance)),
      fact("first pivot", row.pivot === null ? "none" : `[${row.pivot}]`),
      fact("return", number(record.total, 2)),
      fact("type", words(record.kind)),
      fact("policy", policy),
      fact("seed", String(record.seed)),
      fact("level", oneLine(record.level))));
}

function showTurn(turn, scroll = true) {
  page.turn = Math.max(0, Math.min(page.record.acts.length, turn));
  page.timeline.select(page.turn);
  page.turns.select(page.turn, scroll);
  const acted = page.record.acts[page.turn - 1];
  address(`#episode=${encodeURIComponent(whole(page.record.id))}&turn=${acted ? acted.index : 0}`);
}

function beside(steps) {
  const place = list.beside(steps);
  if (place !== null && place !== page.episode) show(place, null);
}

// The address.

function address(hash) {
  if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname + location.search);
}

async function follow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const id = asked.get("episode");
  const row = id === null ? undefined : store.rows.find((one) => whole(one.id) === id);
  if (!row) return showSummary();
  const written = asked.get("turn");
  const places = (await store.record(row.place)).acts.map((act) => act.index);
  const turn = written === null ? null : Number(written) === 0 ? 0 : places.indexOf(Number(written)) + 1 || null;
  return show(row.place, turn);
}

// Colours: as the system has them, or as was chosen.

const dark = matchMedia("(prefers-color-scheme: dark)");

function colours(change) {
  let choice = null;
  try {
    if (change) localStorage.setItem("rollback-gym theme", change);
    choice = localStorage.getItem("rollback-gym theme");
  } catch {
    choice = change; // a browser may forbid a file to remember anything
  }
  const theme = choice ?? (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "☀" : "☾";
  byId("theme").setAttribute("aria-label", theme === "dark" ? "Light colours" : "Dark colours");
}

const otherColours = () => colours(document.documentElement.dataset.theme === "dark" ? "light" : "dark");

// The list lies over the page where the window is small.

function toggleList(open) {
  const aside = byId("sidebar");
  aside.classList.toggle("open", open);
  byId("list-toggle").setAttribute("aria-expanded", String(aside.classList.contains("open")));
  list.draw();
}

// Keys.

const KEYS = [
  [["j", "k"], "next and previous episode"], [["→", "←"], "next and previous turn"], [["Home", "End"], "start and last turn"],
  [["p"], "next pivotal mistake"], [["b"], "next rollback"], [["m"], "unfold the model’s answer"],
  [["/"], "search"], [["s"], "run summary"], [["d"], "dark or light"], [["?"], "this help"], [["Esc"], "close, or leave the search"],
];

function fillHelp() {
  const definitions = (pairs) => element("dl", {}, ...pairs.flatMap(([terms, text]) => [element("dt", {}, ...terms), element("dd", {}, text)]));
  byId("keys").append(
    element("div", { class: "two" },
      element("div", {}, element("h3", { id: "keys-title" }, "Keys"), definitions(KEYS.map(([keys, text]) => [keys.flatMap((key) => [element("kbd", {}, key), " "]), text]))),
      element("div", {}, element("h3", {}, "Signs"), definitions(SIGN_NAMES.map(([kind, name]) => [[signPicture(kind)], name])))),
    element("div", { class: "foot" },
      element("span", {}, "L(s): the fewest turns still needed from a state. A pivotal mistake raises it."),
      element("button", { type: "button", class: "tool", click: () => byId("keys").close() }, "Close")));
}

function nextTurn(fits) {
  const acts = page.record.acts;
  const order = [...acts.keys()].map((at) => (at + page.turn) % acts.length);
  const at = order.find((one) => fits(acts[one]));
  if (at !== undefined) showTurn(at + 1);
}

function unfold() {
  const fold = page.turns.element.querySelector(".here details");
  if (fold) fold.open = !fold.open;
}

const COMMANDS = {
  j: () => beside(1), k: () => beside(-1), "/": () => { toggleList(true); byId("search").select(); byId("search").focus(); },
  s: showSummary, d: otherColours, "?": () => byId("keys").showModal(),
};
const EPISODE_COMMANDS = {
  ArrowRight: () => showTurn(page.turn + 1), ArrowLeft: () => showTurn(page.turn - 1), Home: () => showTurn(0), End: () => showTurn(Infinity),
  p: () => nextTurn((act) => act.pivotal), b: () => nextTurn((act) => act.kind === "rollback"), m: unfold,
};
const LIST_COMMANDS = { ArrowDown: () => beside(1), ArrowUp: () => beside(-1), PageDown: () => beside(8), PageUp: () => beside(-8) };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  if (event.target.closest("input, select, textarea")) {
    if (event.key !== "Escape") return;
    event.preventDefault(); // a browser would empty the field, and say nothing to the filter
    byId("list").focus();
    return;
  }
  const inList = event.target === byId("list");
  const command = (inList && LIST_COMMANDS[event.key]) || COMMANDS[event.key] || (page.timeline && EPISODE_COMMANDS[event.key]);
  if (!command) return;
  event.preventDefault();
  command();
});

byId("home").addEventListener("click", showSummary);
byId("theme").addEventListener("click", otherColours);
byId("help").addEventListener("click", COMMANDS["?"]);
byId("list-toggle").addEventListener("click", () => toggleList(!byId("sidebar").classList.contains("open")));
dark.addEventListener("change", () => colours());
window.addEventListener("hashchange", follow);
let resized = 0;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => (page.timeline ? show(page.episode, page.turn) : showSummary()), 200);
});

colours();
fillHelp();
list.refresh();
await follow();
document.documentElement.dataset.ready = "";
requestAnimationFrame(() => setTimeout(() => performance.mark("interactive"))); // drawn, and listening
