"""What a diagnosis says, each number defined beside its field.

A share is an `Estimate`, with its interval; a few numbers of a sample are a `Distribution`. Episodes that no oracle
judged have no say in what needs L.
"""

from typing import NamedTuple

from rollback_gym.study.statistics import Distribution, Estimate


class Results(NamedTuple):
    """How episodes ended."""

    success: Estimate
    """Won episodes, of all. Running out of turns is no win."""
    turns_of_wins: Distribution
    """Turns of the won episodes, rollbacks and inadmissible actions included."""
    excess_of_wins: Distribution
    """Turns of the won episodes beyond L(start)."""


class Mistakes(NamedTuple):
    """Pivotal mistakes: actions with a finite L before and a larger L after (PivotOPD, section 2)."""

    episodes_with_pivot: Estimate
    """Episodes with a pivotal mistake, of all."""
    failures_with_pivot: Estimate
    """Failed episodes with a pivotal mistake, of the failed ones: PivotOPD's 59%."""
    failed_after_pivot: Estimate
    """Failed episodes with a pivotal mistake, of all: with the next, what Figure 1c follows."""
    failed_without_pivot: Estimate
    """Failed episodes without a pivotal mistake, of all."""
    first_pivot: Distribution
    """The action index of the first pivotal mistake, of failed episodes that have one (Figure 1a)."""
    length_before: Distribution
    """L just before it, in the same episodes: how near the goal was."""
    rise: Distribution
    """By how much it raised L, where L stayed finite."""
    fatal: Estimate
    """First pivotal mistakes that put the goal out of reach (without going back), of those of failed episodes."""
    wasted: Distribution
    """Turns that these episodes spent after it."""


class Recovery(NamedTuple):
    """What became of the first pivotal mistake, in won and failed episodes that have one.

    An episode recovers where L falls below what it was before the mistake: it got further than where it went wrong.
    """

    recovered: Estimate
    """Episodes that recover, of those with a pivotal mistake."""
    recovered_by_rollback: Estimate
    """Those that had taken the mistake back by a rollback, of those that recover."""
    success_after_pivot: Estimate
    """Won episodes, of those with a pivotal mistake."""
    success_after_recovery: Estimate
    """Won episodes, of those that recover."""
    recovery_turns: Distribution
    """Turns from the mistake to the recovery; where L stayed finite, as in the next."""
    recovery_shortest: Distribution
    """The fewest that it takes without going back, 1 + L after - L before, in the same episodes. Going back, it takes
    2: the rollback, and an optimal action."""


class Actions(NamedTuple):
    """What turns were spent on, whatever was gone back on later."""

    invalid: Estimate
    """Inadmissible actions, refused rollbacks among them, of all."""
    unreadable: Estimate
    """Answers that no action could be read from, of a model's answers."""
    optimal: Estimate
    """Game actions that took L down by one, of all judged game actions; as in all that follow."""
    waste: Estimate
    """L stayed: a turn spent, nothing lost."""
    detour: Estimate
    """L rose by one."""
    setback: Estimate
    """L rose by two or more."""
    fatal_actions: Estimate
    """L became infinite."""
    hopeless: Estimate
    """L was infinite before."""
    admitted: Estimate
    """Turns whose answer admits an earlier mistake in words (`study.admissions`), of a model's answers."""
    admitted_unmoved: Estimate
    """Of these, turns that go on all the same: they take nothing back, and L does not fall; without an oracle, they
    repeat the action of the turn before."""


class Rollbacks(NamedTuple):
    """What was gone back on. Rollbacks that were refused count only as `refused`, and among `invalid` actions."""

    episodes_with_rollback: Estimate
    """Episodes with a rollback that was carried out, of all."""
    rollbacks: Estimate
    """Rollbacks that were carried out, of all actions."""
    refused: Estimate
    """Refused rollbacks, of all that were asked for."""
    useful: Estimate
    """Rollbacks with L(target) + 1 <= L(here), of those carried out and judged; as in the next four."""
    unnecessary: Estimate
    """All others: the three that follow, together."""
    predictive: Estimate
    """Gone back although L had not risen: L(target) = L(here), the least on the branch, and no action taken back had
    raised it. The seed's "predictive rollback": a change of mind before an error has shown any effect."""
    costly: Estimate
    """Progress given up: L(target) > L(here)."""
    vain: Estimate
    """Neither: the mistake stays on the branch, or it had been repaired already."""
    predictive_followed: Estimate
    """Predictive rollbacks whose next action brought the goal nearer, of the predictive ones."""
    useful_followed: Estimate
    """The same of the useful ones."""
    late: Estimate
    """Rollbacks two or more turns after the first pivotal mistake that they take back, of those that take one back."""
    delay: Distribution
    """Turns from that mistake to the rollback, 1 if at once: the mean over an episode's rollbacks."""
    target_exact: Estimate
    """Rollbacks to the last index before the mistake, of those taken where there was a mistake to take back: where the
    least L on the branch is lower than here by 1 or more. The last node with that L is the right target."""
    target_off_by_one: Estimate
    """One node off, either way."""
    target_kept_mistake: Estimate
    """Not far enough: to a node after the right one, so that a mistake stays on the branch."""
    target_too_far: Estimate
    """Further than needed."""
    target_distance: Distribution
    """How many nodes off, where they are off: the mean over an episode's rollbacks."""
    success_with_rollback: Estimate
    """Won episodes, of those with a rollback that was carried out."""
    success_without_rollback: Estimate
    """Won episodes, of those without."""
    success_after_pivot_with_rollback: Estimate
    """Won episodes, of those with a pivotal mistake and a rollback after it."""
    success_after_pivot_without_rollback: Estimate
    """Won episodes, of those with a pivotal mistake and no rollback after it."""


class Injected(NamedTuple):
    """Errors that were put in on purpose, beside those that the oracle finds."""

    injected_found: Estimate
    """Injected errors that are pivotal mistakes, of all injected ones."""
    pivots_injected: Estimate
    """Pivotal mistakes that were injected, of all in episodes with an injected error."""
    first_agrees: Estimate
    """Episodes whose first pivotal mistake is the first injected error, of those with an injected error."""


class Numbers(NamedTuple):
    """All there is to say of a group of episodes."""

    episodes: int
    judged: int
    """Those that an oracle judged."""
    outcomes: dict[str, int]
    results: Results
    mistakes: Mistakes
    recovery: Recovery
    actions: Actions
    rollbacks: Rollbacks
    injected: Injected


class Diagnosis(NamedTuple):
    """A run, and its episodes by task type and by the kind of the first injected error."""

    all: Numbers
    by_kind: dict[str, Numbers]
    by_error: dict[str, Numbers]
    """Episodes with an injected error: whether what was learnt on one kind of error carries over to the others."""
