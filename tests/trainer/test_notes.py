"""Notes say what is so, and nothing that was not read."""

from types import SimpleNamespace

import pytest

from rollback_gym.envs.alfworld.types import NOTHING
from rollback_gym.play.run import make_env
from rollback_gym.trainer import pivot_study
from rollback_gym.trainer.cooks import Cook, Habits
from rollback_gym.trainer.notes import noted
from rollback_gym.trainer.pivot_study import Study
from rollback_gym.trainer.trajectory import watched


def test_notes_agree_with_the_state_and_with_what_was_read():
    env, told = make_env(pivot_study.made(Study())), 0
    for seed, level in enumerate(pivot_study._held_out(Study())[:25]):
        trajectory, views = watched(env, level, Cook(Habits(errs=0.3, recovers=0.3)), seed)
        needed = trajectory.level.goal.object_type
        for view, node in zip(views, trajectory.history.path, strict=True):
            state, note = node.point.state, noted(view)
            held = "nothing" if state.held == NOTHING else trajectory.level.things[state.held].name
            assert note.startswith(f"hold {held}"), note
            if ", " in note and " in " in note:
                thing, place = note.partition(", ")[2].split(" in ")
                within = state.contents[[of.name for of in trajectory.level.receptacles].index(place)]
                assert within >> [of.name for of in trajectory.level.things].index(thing) & 1
                assert any(thing in str(turn.observation) for turn in view.turns)
                told += 1
            elif ", " in note:
                assert note.endswith(f"no {needed}")
                assert not any(f" {needed} 1" in str(turn.observation) for turn in view.turns[1:])
    assert told > 30


def test_other_tasks_are_refused():
    with pytest.raises(ValueError, match="put a mug"):
        noted(SimpleNamespace(task="examine a bowl with the desklamp.", turns=()))
