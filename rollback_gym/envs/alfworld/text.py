"""What the player reads: ALFWorld's sentences, word for word.

Wording: the text grammar that comes with every ALFWorld game.
"""

from collections.abc import Sequence

NOTHING_HAPPENS = "Nothing happens."
EMPTY_HANDS = "You are not carrying anything."
HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


def listing(names: Sequence[str]) -> str:
    """`a mug 1, a pen 2, and a pen 1`; the comma stands between two as well."""
    if not names:
        return "nothing"
    return _joined([f"a {name}" for name in names])


def _joined(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)}, and {last}" if first else last


def opening(view: str, task: str) -> str:
    """The first observation; `view` is what `look` says."""
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{view}\n\nYour task is to: {task}"


def middle_of_room(receptacles: Sequence[str]) -> str:
    """`look` where there is no receptacle."""
    return f"You are in the middle of a room. Looking quickly around you, you see {listing(receptacles)}."


def facing(receptacles: Sequence[str], beside: Sequence[str]) -> str:
    """`look` at receptacles; `beside` are the objects that lie next to them."""
    return f"You are facing the {_joined(receptacles)}. Next to it, you see {listing(beside)}."


def receptacle(name: str, openable: bool, opened: bool, contents: Sequence[str]) -> str:
    """What there is in or on a receptacle."""
    if not openable:
        return f"On the {name}, you see {listing(contents)}."
    if not opened:
        return f"The {name} is closed."
    return f"The {name} is open. In it, you see {listing(contents)}."


def container(name: str, contents: Sequence[str]) -> str:
    """A look at a bowl and the like."""
    return f"This is a normal {name}. In it, you see {listing(contents)}."


def thing(name: str, clean: bool, hot: bool, cool: bool, sliced: bool, on: bool) -> str:
    """A look at an object that holds no others; `on` says that its switch was used."""
    warmth = "hot" if hot else "cool" if cool else ""
    if sliced and (clean or warmth):
        return f"This is a {' and '.join(filter(None, (warmth, 'clean' if clean else '')))} sliced {name}."
    if clean and warmth:
        return f"This is a {warmth} and clean {name}."
    if hot:
        return f"This is a hot {name}."
    if clean:
        return f"This is a clean {name}."
    if cool:
        return f"This is a cold {name}."
    if on:
        return f"This {name} is on."
    if sliced:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."
