"""The language of game files: ALFWorld's rules in PDDL, and the texts that the player reads.

A `game.tw-pddl` file is JSON with five keys: a PDDL domain and a text grammar, the same in every file, then the
PDDL problem (see `world`), whether it can be solved, and one solution. `DOMAIN` and `GRAMMAR` were written for this
project; TextWorld plays any of ALFWorld's problems with them word for word as with ALFWorld's own. The native
engine needs neither: they travel in exported files, for TextWorld.
"""

import json
from collections.abc import Sequence

from rollback_gym.envs.alfworld.text import HELP

DOMAIN = """\
; The household of ALFWorld's games. Objects, receptacles and locations are fixed; one agent moves about.
; "checked" is read by nothing: the translator drops an action that has no effect at all.

(define (domain alfred)
  (:requirements :adl :typing)
  (:types agent location receptacle object rtype otype)

  (:predicates
    (receptacleAtLocation ?r - receptacle ?l - location)
    (receptacleType ?r - receptacle ?rt - rtype)
    (openable ?r - receptacle)
    (objectType ?o - object ?ot - otype)
    (canContain ?rt - rtype ?ot - otype)
    (pickupable ?o - object)
    (cleanable ?o - object)
    (heatable ?o - object)
    (coolable ?o - object)
    (sliceable ?o - object)
    (toggleable ?o - object)
    (isReceptacleObject ?o - object)
    (inReceptacleObject ?inner - object ?outer - object)

    (atLocation ?a - agent ?l - location)
    (holds ?a - agent ?o - object)
    (holdsAny ?a - agent)
    (inReceptacle ?o - object ?r - receptacle)
    (objectAtLocation ?o - object ?l - location)
    (opened ?r - receptacle)
    (isClean ?o - object)
    (isHot ?o - object)
    (isCool ?o - object)
    (isSliced ?o - object)
    (isToggled ?o - object)
    (checked ?x)
  )

  (:action look
    :parameters (?a - agent ?l - location)
    :precondition (atLocation ?a ?l)
    :effect (checked ?l)
  )

  (:action inventory
    :parameters (?a - agent)
    :precondition ()
    :effect (checked ?a)
  )

  (:action help
    :parameters (?a - agent)
    :precondition ()
    :effect (checked ?a)
  )

  (:action examineReceptacle
    :parameters (?a - agent ?r - receptacle)
    :precondition (exists (?l - location) (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)))
    :effect (checked ?r)
  )

  (:action examineObject
    :parameters (?a - agent ?o - object)
    :precondition (holds ?a ?o)
    :effect (checked ?o)
  )

  (:action GotoLocation
    :parameters (?a - agent ?from - location ?to - location ?r - receptacle)
    :precondition (and (atLocation ?a ?from) (receptacleAtLocation ?r ?to))
    :effect (and (not (atLocation ?a ?from)) (atLocation ?a ?to))
  )

  (:action OpenObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
      (openable ?r) (not (opened ?r)))
    :effect (opened ?r)
  )

  (:action CloseObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
      (openable ?r) (opened ?r))
    :effect (not (opened ?r))
  )

  (:action PickupObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
      (or (not (openable ?r)) (opened ?r))
      (inReceptacle ?o ?r) (pickupable ?o)
      (not (holdsAny ?a)))
    :effect (and
      (holds ?a ?o) (holdsAny ?a)
      (not (inReceptacle ?o ?r)) (not (objectAtLocation ?o ?l)))
  )

  (:action PutObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
      (or (not (openable ?r)) (opened ?r))
      (holds ?a ?o)
      (objectType ?o ?ot) (receptacleType ?r ?rt) (canContain ?rt ?ot))
    :effect (and
      (not (holds ?a ?o)) (not (holdsAny ?a))
      (inReceptacle ?o ?r) (objectAtLocation ?o ?l))
  )

  (:action CleanObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (receptacleType ?r SinkBasinType)
      (holds ?a ?o) (cleanable ?o))
    :effect (isClean ?o)
  )

  (:action HeatObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (receptacleType ?r MicrowaveType)
      (holds ?a ?o) (heatable ?o))
    :effect (and (isHot ?o) (not (isCool ?o)))
  )

  (:action CoolObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l) (receptacleType ?r FridgeType)
      (holds ?a ?o) (coolable ?o))
    :effect (and (isCool ?o) (not (isHot ?o)))
  )

  (:action ToggleObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
      (atLocation ?a ?l) (receptacleAtLocation ?r ?l)
      (inReceptacle ?o ?r) (toggleable ?o))
    :effect (isToggled ?o)
  )

  (:action SliceObject
    :parameters (?a - agent ?l - location ?co - object ?ko - object)
    :precondition (and
      (atLocation ?a ?l)
      (holds ?a ?ko) (or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType))
      (objectAtLocation ?co ?l) (sliceable ?co))
    :effect (isSliced ?co)
  )
)
"""

_HERE = "atlocation(a:agent, l:location) & receptacleatlocation(r:receptacle, l:location)"
_TAKEN_OUT = f"{_HERE} & objectatlocation(o:object, l:location) & not_inreceptacle(o:object, r:receptacle)"
_A_RECEPTACLE = "r.indefinite + ' ' + r.name"
_AN_OBJECT = "o.indefinite + ' ' + o.name"
_CONTENTS = f"[{{{_AN_OBJECT} | inreceptacle(o:object, r:receptacle)}}]"


def _conditions(*predicates: str) -> str:
    return " & ".join(f"{predicate}(o:object)" for predicate in predicates)


# What each rule may say, in order of preference: (condition, text). The first whose condition holds speaks.
_RULES: dict[str, Sequence[tuple[str, str]]] = {
    "intro": [("", "-= Welcome to TextWorld, ALFRED! =-\n\n#look#\n\n#task#")],
    "task": [("", "Your task is to: TASK")],
    "look": [
        (_HERE, f"You are facing the [{{r.name | {_HERE}}}]. Next to it, you see #taken out#."),
        ("", "You are in the middle of a room. Looking quickly around you, you see #receptacles#."),
    ],
    "taken out": [(_TAKEN_OUT, f"[{{{_AN_OBJECT} | {_TAKEN_OUT}}}]"), ("", "nothing")],
    # At the start no location is bound yet, so this lists every receptacle; after that, those of the agent's
    # location, which has none where this text is used.
    "receptacles": [("", f"[{{{_A_RECEPTACLE} | receptacleatlocation(r:receptacle, l:location)}}]")],
    "list_empty": [("", "nothing")],
    "list_separator": [("", ", ")],
    "list_last_separator": [("", ", and ")],
    "inventory": [
        ("holdsany(a:agent)", f"You are carrying: [{{{_AN_OBJECT} | holds(a:agent, o:object)}}]."),
        ("", "You are not carrying anything."),
    ],
    "receptacle": [
        (
            "openable(r:receptacle) & opened(r:receptacle)",
            f"The {{r.name}} is open. In it, you see {_CONTENTS}.",
        ),
        ("openable(r:receptacle)", "The {r.name} is closed."),
        ("", f"On the {{r.name}}, you see {_CONTENTS}."),
    ],
    "object": [
        (
            _conditions("isreceptacleobject"),
            "This is a normal {o.name}. In it, you see "
            "[{i.indefinite + ' ' + i.name | inreceptacleobject(i:object, o:object)}].",
        ),
        (_conditions("isclean", "ishot", "issliced"), "This is a hot and clean sliced {o.name}."),
        (_conditions("isclean", "iscool", "issliced"), "This is a cool and clean sliced {o.name}."),
        (_conditions("isclean", "issliced"), "This is a clean sliced {o.name}."),
        (_conditions("ishot", "issliced"), "This is a hot sliced {o.name}."),
        (_conditions("iscool", "issliced"), "This is a cool sliced {o.name}."),
        (_conditions("isclean", "ishot"), "This is a hot and clean {o.name}."),
        (_conditions("isclean", "iscool"), "This is a cool and clean {o.name}."),
        (_conditions("ishot"), "This is a hot {o.name}."),
        (_conditions("isclean"), "This is a clean {o.name}."),
        (_conditions("iscool"), "This is a cold {o.name}."),
        (_conditions("toggleable", "istoggled"), "This {o.name} is on."),
        (_conditions("sliceable", "issliced"), "This is a sliced {o.name}."),
        ("", "There's nothing special about {o.name}."),
    ],
}

# PDDL action -> (what the player types, what the player then reads).
_ACTIONS = {
    "look": ("look", "#look#"),
    "inventory": ("inventory", "#inventory#"),
    "help": ("help", f"\n{HELP}"),
    "examineReceptacle": ("examine {r}", "#receptacle#"),
    "examineObject": ("examine {o}", "#object#"),
    "GotoLocation": ("go to {r}", "You arrive at {r.name}. #receptacle#"),
    "OpenObject": ("open {r}", "You open the {r.name}. #receptacle#"),
    "CloseObject": ("close {r}", "You close the {r.name}."),
    "PickupObject": ("take {o} from {r}", "You pick up the {o.name} from the {r.name}."),
    "PutObject": ("move {o} to {r}", "You move the {o.name} to the {r.name}."),
    "CleanObject": ("clean {o} with {r}", "You clean the {o.name} using the {r.name}."),
    "HeatObject": ("heat {o} with {r}", "You heat the {o.name} using the {r.name}."),
    "CoolObject": ("cool {o} with {r}", "You cool the {o.name} using the {r.name}."),
    "ToggleObject": ("use {o}", "You turn on the {o.name}."),
    "SliceObject": ("slice {co} with {ko}", "You sliced the {co.name} with the {ko.name}."),
}


def _grammar() -> str:
    rules = {
        name: [{"condition": condition, "rhs": text} for condition, text in texts] for name, texts in _RULES.items()
    }
    actions = (
        f'action {name} {{ template :: "{command}"; feedback :: "{feedback}"; }}\n'
        for name, (command, feedback) in _ACTIONS.items()
    )
    return f'grammar :: """\n{json.dumps(rules, indent=2)}\n""";\n\n{"".join(actions)}'


GRAMMAR = _grammar()
"""The grammar with `TASK` where the task sentence goes."""


def game_json(problem: str, task: str, walkthrough: Sequence[str]) -> str:
    """The text of a `game.tw-pddl` file that TextWorld and ALFWorld load.

    `task` is the sentence the player reads, such as `put a hot apple in fridge.`
    """
    sentence = json.dumps(task)[1:-1]
    return json.dumps(
        {
            "pddl_domain": DOMAIN,
            "grammar": GRAMMAR.replace("Your task is to: TASK", f"Your task is to: {sentence}"),
            "pddl_problem": problem,
            "solvable": True,
            "walkthrough": list(walkthrough),
        }
    )
