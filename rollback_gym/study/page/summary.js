// The run as a whole: what the diagnosis says in numbers, and plots whose parts lead to the episodes behind them.

const SUMMARY = 1180; // as wide as it gets, see page.css
const COLOURS = { won: "var(--won)", lost: "var(--lost)", failed: "var(--lost)", other: "var(--cut)" };

function summaryOf(index, rows, room, single, narrow) {
  const all = index.diagnosis.all;
  const inner = Math.min(SUMMARY, room) - (single ? 28 : 52), both = inner - 34, one = single ? both : (inner - 16) / 2 - 34;
  const cards = [
    kindsCard(index, one, narrow),
    all.judged && firstPivotCard(rows, one, narrow),
    all.judged && lossesCard(rows, one, narrow),
    all.rollbacks.refused.size && rollbacksCard(all, one, narrow),
    actionsCard(all, one),
    Object.keys(index.diagnosis.by_error).length && errorsCard(index.diagnosis.by_error, one),
  ].filter(Boolean);
  if (all.judged) {
    const wide = cards.length % 2 === 0; // else it fills the gap
    cards.splice(4, 0, courseCard(rows, wide ? both : one, wide));
  }
  return element("div", { class: "summary" },
    element("div", {},
      element("h1", { class: "data" }, shown(index.title)),
      ...[settings("", index.environments, index.more.environments), settings("played by ", index.policies, index.more.policies)]
        .map((text) => element("p", { class: "under data clamped", title: text }, text)),
    ),
    tiles(all),
    element("div", { class: "cards" }, ...cards),
    element("p", { class: "under" }, `Intervals are 95% bootstrap intervals over episodes. Made by rollback-gym ${index.version}.`),
  );
}

const settings = (before, some, count) => `${before}${some.map(oneLine).join("; ")}${count > some.length ? `; and ${number(count - some.length)} more` : ""}`;

function tiles(all) {
  const { results, mistakes, recovery, rollbacks } = all;
  const range = (share) => (share.low === null ? "" : `${percent(share.low)} to ${percent(share.high)}`);
  const quartiles = (values) => (values.size ? `quartiles ${number(values.lower)} and ${number(values.upper)}` : "no failed episode has one");
  const shown = [
    ["Success", percent(results.success.value), `${range(results.success)}, of ${plural(all.episodes, "episode")}`],
    all.judged && ["Failures with a pivot", percent(mistakes.failures_with_pivot.value), mistakes.failures_with_pivot.size ? `of ${number(mistakes.failures_with_pivot.size)} failed` : "no episode failed"],
    all.judged && ["First pivot turn", number(mistakes.first_pivot.median), `median of failures; ${quartiles(mistakes.first_pivot)}`],
    all.judged && ["Turns wasted after it", number(mistakes.wasted.median), `median of failures; ${quartiles(mistakes.wasted)}`],
    all.judged && ["Recovered", percent(recovery.recovered.value), recovery.recovered.size ? `of ${plural(recovery.recovered.size, "episode")} with a pivot` : "no episode has a pivot"],
    ["Went back", percent(rollbacks.episodes_with_rollback.value), rollbacks.useful.size ? `of episodes; ${percent(rollbacks.useful.value)} of ${plural(rollbacks.useful.size, "rollback")} useful` : "of episodes"],
  ];
  return element("dl", { class: "tiles" }, ...shown.filter(Boolean).map(([name, value, note]) =>
    element("div", { class: "tile" }, element("dt", {}, name), element("dd", { class: "num" }, value, element("div", { class: "note" }, note)))));
}

function card(title, caption, picture, ...rest) {
  return element("section", { class: "card" }, element("h2", {}, title), element("p", { class: "caption" }, caption), picture, ...rest);
}

function kindsCard(index, width, narrow) {
  const { all, by_kind: byKind } = index.diagnosis;
  const kinds = Object.entries(byKind);
  const row = (name, numbers, colour, pick) => ({ name, ...numbers.results.success, note: number(numbers.episodes), colour, pick });
  const whole = row("all episodes", all, "var(--accent)", null);
  if (kinds.length > 1) {
    const rows = kinds.map(([kind, numbers]) => row(words(kind), numbers, COLOURS.won, () => narrow({ kind })));
    return card("Success", "By task type, with its interval and the number of episodes", intervals([whole, ...rows], "Success by task type", width));
  }
  const ended = Object.entries(all.outcomes).map(([outcome, count]) => ({
    name: `ended ${outcome}`, value: count / all.episodes, low: null, high: null, note: number(count),
    colour: COLOURS[outcome] ?? COLOURS.other, pick: () => narrow({ outcomes: new Set([outcome]) }),
  }));
  return card("Success", "With its interval, and how the episodes ended", intervals([{ ...whole, name: "success" }, ...ended], "Success, and how the episodes ended", width));
}

function firstPivotCard(rows, width, narrow) {
  const erring = rows.filter((row) => row.pivot !== null);
  if (!erring.length) return card("First pivotal mistake", "No episode has one.", null);
  const size = ticksUpTo(Math.max(...erring.map((row) => row.pivot)), 30)[1] || 1;
  const bins = Array.from({ length: Math.ceil(Math.max(...erring.map((row) => row.pivot)) / size) }, (_, at) => {
    const from = at * size + 1, to = (at + 1) * size;
    const inside = erring.filter((row) => row.pivot >= from && row.pivot <= to);
    const name = size === 1 ? `${from}` : `${from}–${to}`;
    return { name, parts: split(inside), pick: inside.length ? () => narrow({ pivotTurn: [from, to], label: `first pivot at ${name}` }) : null };
  });
  return card("First pivotal mistake", `The turn of it, in the ${plural(erring.length, "episode")} that have one`, columns(bins, [COLOURS.won, COLOURS.other], "turn", "First pivotal mistake by turn", width), legend([["won", COLOURS.won], ["not won", COLOURS.other]]));
}

const split = (rows) => [rows.filter((row) => row.outcome === "won").length, rows.filter((row) => row.outcome !== "won").length];

function lossesCard(rows, width, narrow) {
  const losses = rows.flatMap((row) => row.losses);
  if (!losses.length) return card("L lost by pivotal mistakes", "There are none.", null);
  const finite = losses.filter(Number.isFinite);
  const most = Math.min(12, Math.max(1, ...finite));
  const bin = (name, inside, label) => {
    const count = losses.filter(inside).length;
    return { name, parts: [count], pick: count ? () => narrow({ loss: inside, label }) : null };
  };
  const bins = Array.from({ length: most }, (_, at) => {
    const last = at + 1 === most && finite.some((loss) => loss > most);
    return bin(`${at + 1}${last ? "+" : ""}`, (loss) => Number.isFinite(loss) && (last ? loss >= most : loss === at + 1), `a pivot that lost ${at + 1}${last ? " or more" : ""}`);
  });
  if (finite.length < losses.length) bins.push(bin("∞", (loss) => loss === Infinity, "a fatal pivot"));
  const picture = columns(bins, ["var(--pivot)"], "turns added to L", "Pivotal mistakes by what they lost", width);
  return card("L lost by pivotal mistakes", `How much each of the ${number(losses.length)} raised L(s); ∞: the goal got out of reach`, picture);
}

function courseCard(rows, width, wide) {
  const judged = rows.filter((row) => row.start !== null);
  const series = [["won", COLOURS.won, judged.filter((row) => row.outcome === "won")], ["not won", COLOURS.other, judged.filter((row) => row.outcome !== "won")]]
    .filter(([, , some]) => some.length)
    .map(([name, colour, some]) => ({ name: `${name} (${number(some.length)})`, colour, ...quartilesByTurn(some) }));
  const made = card("L(s) over the episode", "Median and quartiles of the turns still needed; an episode that is over keeps its last L", bands(series, "turn", "L by turn", width), legend(series.map(({ name, colour }) => [name, colour])));
  made.classList.toggle("wide", wide);
  return made;
}

function quartilesByTurn(rows) {
  const longest = Math.max(...rows.map((row) => row.course.length));
  const [lower, middle, upper] = [[], [], []];
  for (let turn = 0; turn < longest; turn++) {
    const lengths = rows.map((row) => row.course[Math.min(turn, row.course.length - 1)]).sort((a, b) => a - b || 0);
    const at = (share) => lengths[Math.round(share * (lengths.length - 1))];
    lower.push(at(0.25));
    middle.push(at(0.5));
    upper.push(at(0.75));
  }
  return { lower, middle, upper };
}

function rollbacksCard(all, width, narrow) {
  const { rollbacks } = all;
  const row = (name, share, colour) => ({ name, ...share, note: number(share.size), colour, pick: null });
  const rows = [
    row("useful", rollbacks.useful, "var(--won)"), row("unnecessary", rollbacks.unnecessary, "var(--cut)"),
    row("late (2 turns or more)", rollbacks.late, "var(--setback)"), row("to the right target", rollbacks.target_exact, "var(--rollback)"),
    row("one off", rollbacks.target_off_by_one, "var(--rollback)"), row("refused", rollbacks.refused, "var(--waste)"),
    { ...row("won, with a rollback", rollbacks.success_with_rollback, "var(--accent)"), pick: () => narrow({ back: "yes" }) },
    { ...row("won, without one", rollbacks.success_without_rollback, "var(--accent)"), pick: () => narrow({ back: "no" }) },
  ];
  return card("Rollbacks", "Useful: going back, its own turn included, cost no more than going on", intervals(rows.filter(({ value }) => value !== null), "Rollbacks", width));
}

function actionsCard(all, width) {
  const { actions } = all;
  const grades = [["optimal", actions.optimal], ["waste", actions.waste], ["detour", actions.detour], ["setback", actions.setback], ["fatal", actions.fatal_actions]];
  const parts = [...grades.map(([name, share]) => ({ name, value: share.value, colour: `var(--${name})` })), { name: "out of reach", value: actions.hopeless.value, colour: "var(--faint)" }];
  const others = [["invalid", actions.invalid], ["unreadable answers", actions.unreadable], ["admit a mistake in words", actions.admitted], ["and go on all the same", actions.admitted_unmoved]]
    .filter(([, share]) => share.size)
    .map(([name, share]) => ({ name, ...share, note: number(share.size), colour: "var(--quiet)", pick: null }));
  return card("Actions", `What ${plural(actions.invalid.size, "action")} did to L`,
    all.judged ? stacked(parts, "Game actions by grade", width) : null,
    all.judged ? legend(parts.filter((part) => part.value).map((part) => [`${part.name} ${percent(part.value)}`, part.colour])) : null,
    intervals(others, "Actions that went wrong", width));
}

function errorsCard(byError, width) {
  const rows = Object.entries(byError).map(([kind, numbers]) => ({ name: words(kind), ...numbers.results.success, note: number(numbers.episodes), colour: "var(--injected)", pick: null }));
  return card("Success by injected error", "By the kind of the first one, with the number of episodes", intervals(rows, "Success by injected error", width));
}
