"""A kitchen, written by hand, with everything in it that is odd about ALFWorld's data.

Two cabinets share a location, and a mug is in both; `objectAtLocation` says that the second apple lies at the sink;
an egg is shut in the microwave; a cup is cool from the start; a spoon is in a bowl; a plate lies on a shelf beyond
any receptacle's reach; one object has no type; the window is far from any receptacle.
"""

import json
from typing import Any

from rollback_gym.envs.alfworld.made.pddl import DOMAIN, GRAMMAR
from rollback_gym.envs.alfworld.problem import Game, compile_level
from rollback_gym.envs.alfworld.types import Level

OBJECTS = """
  agent1 - agent
  AppleType MugType KnifeType BowlType SpoonType EggType CupType DeskLampType WindowType PotType - otype
  CabinetType CounterTopType SinkBasinType MicrowaveType FridgeType ButterKnifeType SideTableType - rtype
  Cabinet_bar_1 Cabinet_bar_2 CounterTop_bar_1 Sink_bar_1_bar_SinkBasin Microwave_bar_1 Fridge_bar_1 SideTable_bar_1
    - receptacle
  Apple_bar_1 Apple_bar_2 Mug_bar_1 Knife_bar_1 Bowl_bar_1 Spoon_bar_1 Egg_bar_1 Cup_bar_1 DeskLamp_bar_1 Window_bar_1
    Odd_bar_1 Pot_bar_1 - object
  loc_bar_0 loc_bar_1 loc_bar_2 loc_bar_3 loc_bar_4 loc_bar_5 loc_bar_6 loc_bar_7 - location
"""
FACTS = """
  (atLocation agent1 loc_bar_0)
  (receptacleType Cabinet_bar_1 CabinetType) (receptacleAtLocation Cabinet_bar_1 loc_bar_1) (openable Cabinet_bar_1)
  (receptacleType Cabinet_bar_2 CabinetType) (receptacleAtLocation Cabinet_bar_2 loc_bar_1)
  (receptacleType CounterTop_bar_1 CounterTopType) (receptacleAtLocation CounterTop_bar_1 loc_bar_2)
  (receptacleType Sink_bar_1_bar_SinkBasin SinkBasinType) (receptacleAtLocation Sink_bar_1_bar_SinkBasin loc_bar_3)
  (receptacleType Microwave_bar_1 MicrowaveType) (receptacleAtLocation Microwave_bar_1 loc_bar_4)
  (openable Microwave_bar_1)
  (receptacleType Fridge_bar_1 FridgeType) (receptacleAtLocation Fridge_bar_1 loc_bar_5) (openable Fridge_bar_1)
  (receptacleType SideTable_bar_1 SideTableType) (receptacleAtLocation SideTable_bar_1 loc_bar_6)

  (objectType Apple_bar_1 AppleType) (pickupable Apple_bar_1) (sliceable Apple_bar_1) (cleanable Apple_bar_1)
  (heatable Apple_bar_1) (coolable Apple_bar_1)
  (inReceptacle Apple_bar_1 CounterTop_bar_1) (objectAtLocation Apple_bar_1 loc_bar_2)
  (objectType Apple_bar_2 AppleType) (pickupable Apple_bar_2) (sliceable Apple_bar_2) (cleanable Apple_bar_2)
  (inReceptacle Apple_bar_2 CounterTop_bar_1) (objectAtLocation Apple_bar_2 loc_bar_3)
  (objectType Mug_bar_1 MugType) (pickupable Mug_bar_1) (cleanable Mug_bar_1)
  (inReceptacle Mug_bar_1 Cabinet_bar_1) (inReceptacle Mug_bar_1 Cabinet_bar_2) (objectAtLocation Mug_bar_1 loc_bar_1)
  (objectType Knife_bar_1 KnifeType) (pickupable Knife_bar_1)
  (inReceptacle Knife_bar_1 CounterTop_bar_1) (objectAtLocation Knife_bar_1 loc_bar_2)
  (objectType Bowl_bar_1 BowlType) (pickupable Bowl_bar_1) (isReceptacleObject Bowl_bar_1)
  (inReceptacleObject Spoon_bar_1 Bowl_bar_1)
  (inReceptacle Bowl_bar_1 CounterTop_bar_1) (objectAtLocation Bowl_bar_1 loc_bar_2)
  (objectType Spoon_bar_1 SpoonType) (pickupable Spoon_bar_1)
  (inReceptacle Spoon_bar_1 CounterTop_bar_1) (objectAtLocation Spoon_bar_1 loc_bar_2)
  (objectType Egg_bar_1 EggType) (pickupable Egg_bar_1) (sliceable Egg_bar_1)
  (inReceptacle Egg_bar_1 Microwave_bar_1) (objectAtLocation Egg_bar_1 loc_bar_4)
  (objectType Cup_bar_1 CupType) (pickupable Cup_bar_1) (heatable Cup_bar_1) (coolable Cup_bar_1) (isCool Cup_bar_1)
  (inReceptacle Cup_bar_1 SideTable_bar_1) (objectAtLocation Cup_bar_1 loc_bar_6)
  (objectType DeskLamp_bar_1 DeskLampType) (toggleable DeskLamp_bar_1)
  (inReceptacle DeskLamp_bar_1 SideTable_bar_1) (objectAtLocation DeskLamp_bar_1 loc_bar_6)
  (objectType Window_bar_1 WindowType) (objectAtLocation Window_bar_1 loc_bar_7)
  (objectType Pot_bar_1 PotType) (pickupable Pot_bar_1) (objectAtLocation Pot_bar_1 loc_bar_7)
  (pickupable Odd_bar_1)

  (canContain CabinetType MugType) (canContain CabinetType AppleType) (canContain CounterTopType AppleType)
  (canContain CounterTopType KnifeType) (canContain CounterTopType MugType) (canContain CounterTopType CupType)
  (canContain SinkBasinType AppleType) (canContain SinkBasinType KnifeType) (canContain SinkBasinType MugType)
  (canContain MicrowaveType AppleType) (canContain MicrowaveType EggType) (canContain FridgeType AppleType)
  (canContain SideTableType CupType) (canContain SideTableType AppleType)
"""
PUT = """
  (exists (?r - receptacle) (exists (?o - object)
    (and {0} (inReceptacle ?o ?r) (objectType ?o {1}) (receptacleType ?r {2}))))"""
GOALS = {
    "put": PUT.format("", "AppleType", "CabinetType"),
    "clean": PUT.format("(cleanable ?o) (isClean ?o)", "AppleType", "CabinetType"),
    "heat": PUT.format("(heatable ?o) (isHot ?o)", "AppleType", "CabinetType"),
    "cool": PUT.format("(coolable ?o) (isCool ?o)", "AppleType", "CabinetType"),
    "two": """
      (exists (?r - receptacle) (exists (?o1 - object)
        (and (objectType ?o1 AppleType) (receptacleType ?r CabinetType) (inReceptacle ?o1 ?r)
          (exists (?o2 - object)
            (and (not (= ?o1 ?o2))
              (objectType ?o2 AppleType) (receptacleType ?r CabinetType) (inReceptacle ?o2 ?r))))))""",
    "look": """
      (exists (?ot - object ?r - receptacle ?a - agent ?l - location)
        (and (objectType ?ot DeskLampType) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l)
          (atLocation ?a ?l) (inReceptacle ?ot ?r)))
      (exists (?o - object ?a - agent) (and (objectType ?o AppleType) (holds ?a ?o)))""",
}


def problem(goal: str = "put", facts: str = "", objects: str = "") -> str:
    """The PDDL of the kitchen, with more `facts` about more `objects`."""
    return (
        f"(define (problem kitchen) (:domain alfred) (:objects {OBJECTS} {objects}) "
        f"(:init {FACTS} {facts}) (:goal (and {GOALS.get(goal, goal)})))"
    )


def content(goal: str = "put", facts: str = "", **changes: Any) -> dict[str, Any]:
    """The content of a game file, with `changes`; a change to None leaves the key out."""
    whole = {
        "pddl_domain": DOMAIN,
        "grammar": GRAMMAR.replace("Your task is to: TASK", "Your task is to: do it."),
        "pddl_problem": problem(goal, facts),
        "solvable": True,
        "walkthrough": ["look"],
        **changes,
    }
    return {key: value for key, value in whole.items() if value is not None}


def game_file(goal: str = "put", facts: str = "", **changes: Any) -> bytes:
    """The same as the bytes of a file."""
    return json.dumps(content(goal, facts, **changes)).encode()


def level(goal: str = "put", facts: str = "") -> Level:
    """The kitchen, compiled."""
    return compile_level(Game("kitchen", problem(goal, facts), "do it.", ("look",)), "kitchen", ())
