// The signs for what an action was, the same in the timeline, the turns and the legend; told apart by shape, too.

const GRADES = ["optimal", "waste", "detour", "setback", "fatal"];
const OUTCOMES = ["won", "lost", "failed", "truncated"];
const OUTCOME_SIGNS = { won: "✓", lost: "✕", failed: "✕", truncated: "⊣", running: "…" };

function signOf(act) {
  if (act.kind === "rollback") return act.target === null ? "refused" : "rollback";
  if (act.pivotal) return "pivot";
  if (act.invalid !== null) return "invalid";
  return act.grade ?? "unjudged";
}

// An SVG group around (x, y), about 11 units wide.
function sign(kind, x, y) {
  const at = { transform: `translate(${x} ${y})` };
  const colour = (name) => `var(--${name})`;
  const crossed = (name) =>
    drawn("g", at, drawn("circle", { r: 5, fill: colour("sheet") }), drawn("path", { d: "M-3.5-3.5 3.5 3.5M-3.5 3.5 3.5-3.5", stroke: colour(name), "stroke-width": 2, fill: "none" }));
  switch (kind) {
    case "pivot":
      return drawn("g", at, drawn("path", { d: "M0-6.5 6.5 0 0 6.5-6.5 0Z", fill: colour("pivot"), stroke: colour("sheet") }));
    case "invalid":
      return crossed("quiet");
    case "refused":
      return crossed("rollback");
    case "rollback":
      return drawn("g", at, drawn("circle", { r: 4, fill: colour("sheet"), stroke: colour("rollback"), "stroke-width": 2 }));
    case "injected":
      return drawn("g", at, drawn("path", { d: "M0-4.5 4.5 3.5-4.5 3.5Z", fill: colour("injected") }));
    case "start":
      return drawn("g", at, drawn("circle", { r: 3.5, fill: colour("sheet"), stroke: colour("quiet"), "stroke-width": 2 }));
    case "unjudged":
      return drawn("g", at, drawn("circle", { r: 4.5, fill: colour("faint") }));
    default:
      return drawn("g", at, drawn("circle", { r: 4.5, fill: colour(kind), stroke: colour("sheet") }));
  }
}

const SIGN_NAMES = [
  ["optimal", "optimal"], ["waste", "waste"], ["detour", "detour"], ["setback", "setback"], ["fatal", "fatal"],
  ["pivot", "pivotal mistake"], ["invalid", "invalid"], ["injected", "injected error"], ["rollback", "rollback"], ["refused", "refused"],
];

const signPicture = (kind) => drawn("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" }, sign(kind, 0, 0));

function signLegend(kinds) {
  return element("div", { class: "legend" }, ...SIGN_NAMES.filter(([kind]) => kinds.has(kind)).map(([kind, name]) => element("span", {}, signPicture(kind), name)));
}
