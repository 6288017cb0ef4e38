"""Policies whose branches can be foretold."""

from rollback_gym.play.policies import Choice
from rollback_gym.play.records import Call


class Best:
    """Plays optimally without going back, says what it does, and keeps what it was shown."""

    name = "tests.study.agents:Best"

    def __init__(self):
        self.views = []

    def begin(self, seed):
        self.views = []

    def act_knowing(self, view, truth):
        self.views.append(view)
        best = truth.oracle.optimal_actions(truth.level, truth.state)
        action = best[0] if best else "look"
        return Choice(action, Call(({"role": "user", "content": "go on"},), f"I do {action}", 0.0))

    def settings(self):
        return {}


class Homing(Best):
    """Goes back as soon as it is nearer, where it may; else it only looks on."""

    name = "tests.study.agents:Homing"

    def act_knowing(self, view, truth):
        self.views.append(view)
        lengths = [(truth.oracle.distance(truth.level, node.point.state), -node.index) for node in truth.history.path]
        least, index = min(lengths)
        if least < lengths[-1][0]:
            return Choice(view.go_back(-index, "") if -index in view.turns[-1].targets else "look")
        return super().act_knowing(view, truth)
