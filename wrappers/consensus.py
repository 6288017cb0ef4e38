"""When agents agree to go back, and where to: pure functions on what they proposed.

To propose going back, wherever to, is a vote for going back at all. A rule first decides whether to; then, unless the
rule is your own, the target is the one that most propose, and of several the latest, which undoes least.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, NamedTuple


class Proposal(NamedTuple):
    """An agent's wish to go back, to a target that is legal."""

    agent: Any
    target: int
    """An action index."""
    reason: str = ""


class Ballot(NamedTuple):
    """What is to be decided on."""

    agents: tuple[Any, ...]
    """Who is alive, and so could propose."""
    proposals: tuple[Proposal, ...]
    """At most one of each, in the order of `agents`; at least one."""


Rule = Callable[[Ballot], int | None]
"""The target to go back to, one of those proposed; None for not going back."""
Consensus = Literal["any", "majority", "all"]


def favourite(ballot: Ballot) -> int:
    """The target that most propose; of several, the latest."""
    counts = Counter(proposal.target for proposal in ballot.proposals)
    return max(counts, key=lambda target: (counts[target], target))


def anybody(ballot: Ballot) -> int | None:
    """One is enough."""
    return favourite(ballot)


def majority(ballot: Ballot) -> int | None:
    """More than half of those alive want to go back, be it to different targets."""
    return favourite(ballot) if 2 * len(ballot.proposals) > len(ballot.agents) else None


def everybody(ballot: Ballot) -> int | None:
    """All who are alive want to go back, be it to different targets."""
    return favourite(ballot) if len(ballot.proposals) == len(ballot.agents) else None


RULES: dict[str, Rule] = {"any": anybody, "majority": majority, "all": everybody}


def find_rule(consensus: Consensus | Rule) -> tuple[str, Rule]:
    """A rule and its name. Raises ValueError where there is none of this name."""
    if callable(consensus):
        return f"{consensus.__module__}.{consensus.__qualname__}", consensus
    if consensus not in RULES:
        raise ValueError(f"consensus must be {', '.join(map(repr, RULES))} or a function, got {consensus!r}.")
    return consensus, RULES[consensus]


def decide(rule: Rule, ballot: Ballot) -> int | None:
    """What `rule` says. Raises ValueError where that is no target that was proposed."""
    target = rule(ballot) if ballot.proposals else None
    if target is not None and target not in {proposal.target for proposal in ballot.proposals}:
        raise ValueError(f"The consensus rule answered {target!r}; expected None or a target that was proposed.")
    return target
