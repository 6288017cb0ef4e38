// Where the tree of an episode is drawn: every action has its own column, the active branch is lane 0, and what a
// rollback left lies on a lane below the one that it forked from.

function tree(acts) {
  const numbered = new Map(acts.map((act, at) => [act.index, { act, column: at + 1 }]));
  const column = (index) => numbered.get(index)?.column ?? 0;
  const lane = new Map([[0, 0]]);
  const last = acts.at(-1);
  for (let node = last ? landing(last) : 0; node && numbered.has(node); node = numbered.get(node).act.parent) lane.set(node, 0);

  const taken = []; // lane -> the spans of columns that are drawn on already
  // The last rollback first: a branch that was left before hangs on one that is placed by then.
  for (const back of acts.filter((act) => wentBack(act) && act.abandoned.length).reverse()) {
    const span = [column(back.abandoned[0]), column(back.index)];
    let row = (lane.get(back.target) ?? 0) + 1;
    while ((taken[row] ??= []).some(([from, to]) => from <= span[1] && span[0] <= to)) row++;
    taken[row].push(span);
    for (const index of back.abandoned) lane.set(index, row);
  }
  return {
    lanes: Math.max(1, taken.length),
    column,
    laneOf: (index) => lane.get(index) ?? 0,
    active: (index) => lane.get(index) === 0,
  };
}

const wentBack = (act) => act.kind === "rollback" && act.target !== null;

// The node that the game is in after an action.
const landing = (act) => (act.kind === "game" ? act.index : (act.target ?? act.parent));
