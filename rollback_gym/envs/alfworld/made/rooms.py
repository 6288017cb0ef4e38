"""What rooms hold: tables of furniture, fixtures and things, and what may be put where.

Types, properties and `CONTAINS` are facts of ALFWorld's format. How many there are of each and where they lie was
chosen so that a room looks like those of the official games, where a kitchen has 33 receptacles and 54 objects in
the median, a bedroom 14 and 33, a living room 14 and 31, a bathroom 14 and 24.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLEANABLE = _words(
    "Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Kettle Knife Ladle Lettuce Mug Pan Plate Pot Potato "
    "SoapBar Spatula Spoon Tomato"
)
HEATABLE = _words("Apple Bread Cup Egg Mug Plate Potato Tomato")
COOLABLE = _words("Apple Bowl Bread Cup Egg Lettuce Mug Pan Plate Pot Potato Tomato WineBottle")
SLICEABLE = _words("Apple Bread Egg Lettuce Potato Tomato")
TOGGLEABLE = _words("DeskLamp FloorLamp")
HOLDERS = _words("Bowl Box Cup Mug Pan Plate Pot")
"""Objects that can have others inside; fixed at the start, as in the official games."""
FITS_IN_HOLDER = _words("ButterKnife CreditCard Egg Fork KeyChain Ladle Pen Pencil Spatula Spoon")
IMMOVABLE = _words(
    "Bathtub Blinds Chair Curtains DeskLamp FloorLamp HousePlant LaundryHamperLid LightSwitch Mirror Painting "
    "Poster ShowerDoor ShowerGlass Sink StoveKnob Television Window"
)
OPENABLE = _words("Cabinet Drawer Fridge Microwave Safe")


def properties(object_type: str) -> tuple[str, ...]:
    """The predicates that hold of every object of a type."""
    table = (
        ("isReceptacleObject", HOLDERS),
        ("cleanable", CLEANABLE),
        ("heatable", HEATABLE),
        ("coolable", COOLABLE),
        ("sliceable", SLICEABLE),
        ("toggleable", TOGGLEABLE),
    )
    able = tuple(name for name, types in table if object_type in types)
    return able if object_type in IMMOVABLE else ("pickupable", *able)


CONTAINS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "ArmChair": _words("Book Box CellPhone Cloth CreditCard KeyChain Laptop Newspaper Pillow RemoteControl"),
        "BathtubBasin": _words("Cloth DishSponge HandTowel SoapBar"),
        "Bed": _words("BaseballBat BasketBall Book CellPhone Laptop Pillow TennisRacket"),
        "Cabinet": _words(
            "Book Bowl Box CD Candle Cloth Cup DishSponge Glassbottle HandTowel Kettle Ladle Mug Newspaper Pan "
            "PepperShaker Plate Plunger Pot SaltShaker SoapBar SoapBottle SprayBottle TissueBox ToiletPaper Vase "
            "WateringCan WineBottle"
        ),
        "Cart": _words(
            "Candle Cloth DishSponge HandTowel Plunger SoapBar SoapBottle SprayBottle TissueBox ToiletPaper"
        ),
        "CoffeeMachine": _words("Mug"),
        "CoffeeTable": _words(
            "Book Bowl Box Candle CellPhone CreditCard KeyChain Laptop Newspaper Pen Pencil Plate RemoteControl "
            "Statue TissueBox Vase Watch WateringCan"
        ),
        "CounterTop": _words(
            "AlarmClock Apple Book Bowl Bread ButterKnife CD Candle CellPhone Cloth CreditCard Cup DishSponge Egg "
            "Fork Glassbottle HandTowel Kettle KeyChain Knife Ladle Laptop Lettuce Mug Pan Pen Pencil "
            "PepperShaker Plate Pot Potato RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon SprayBottle "
            "Statue TissueBox ToiletPaper Tomato Vase WineBottle"
        ),
        "Desk": _words(
            "AlarmClock BasketBall Book Bowl Box CD CellPhone Cloth CreditCard KeyChain Laptop Mug Pen Pencil "
            "RemoteControl Statue TennisRacket TissueBox Vase Watch WateringCan"
        ),
        "DiningTable": _words(
            "AlarmClock Apple BaseballBat BasketBall Book Bowl Box Bread ButterKnife CD Candle CellPhone Cloth "
            "CreditCard Cup DishSponge Egg Fork Glassbottle Kettle KeyChain Knife Ladle Laptop Lettuce Mug "
            "Newspaper Pan Pen Pencil PepperShaker Plate Pot Potato RemoteControl SaltShaker SoapBottle Spatula "
            "Spoon SprayBottle Statue TennisRacket TissueBox Tomato Vase Watch WateringCan WineBottle"
        ),
        "Drawer": _words(
            "Book ButterKnife CD Candle CellPhone Cloth CreditCard DishSponge Fork HandTowel KeyChain Knife Ladle "
            "Newspaper Pen Pencil PepperShaker RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon "
            "SprayBottle TissueBox ToiletPaper Watch WateringCan"
        ),
        "Dresser": _words(
            "AlarmClock BasketBall Book Bowl Box CD Candle CellPhone Cloth CreditCard KeyChain Laptop Mug "
            "Newspaper Pen Pencil Plate RemoteControl SprayBottle Statue TennisRacket TissueBox ToiletPaper Vase "
            "Watch WateringCan"
        ),
        "Fridge": _words("Apple Bowl Bread Cup Egg Glassbottle Lettuce Mug Pan Plate Pot Potato Tomato WineBottle"),
        "GarbageCan": _words(
            "Apple Bread CD Cloth DishSponge Egg HandTowel Lettuce Newspaper Pen Pencil Potato SoapBar SoapBottle "
            "SprayBottle TissueBox ToiletPaper Tomato WineBottle"
        ),
        "HandTowelHolder": _words("HandTowel"),
        "LaundryHamper": _words("Cloth"),
        "Microwave": _words("Apple Bowl Bread Cup Egg Glassbottle Mug Plate Potato Tomato"),
        "Ottoman": _words("Book Box CellPhone CreditCard KeyChain Laptop Newspaper Pillow RemoteControl"),
        "Safe": _words("CD CellPhone CreditCard KeyChain Statue Vase"),
        "Shelf": _words(
            "AlarmClock Book Bowl Box CD Candle CellPhone Cloth CreditCard Cup DishSponge Glassbottle HandTowel "
            "Kettle KeyChain Mug Newspaper Pen Pencil PepperShaker Plate Pot RemoteControl SaltShaker SoapBar "
            "SoapBottle SprayBottle Statue TissueBox ToiletPaper Vase Watch WateringCan WineBottle"
        ),
        "SideTable": _words(
            "AlarmClock Apple BaseballBat BasketBall Book Bowl Box Bread ButterKnife CD Candle CellPhone Cloth "
            "CreditCard Cup DishSponge Egg Fork HandTowel Kettle KeyChain Knife Laptop Lettuce Mug Newspaper Pan "
            "Pen Pencil PepperShaker Plate Pot Potato RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon "
            "SprayBottle Statue TennisRacket TissueBox ToiletPaper Tomato Vase Watch WateringCan WineBottle"
        ),
        "SinkBasin": _words(
            "Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Glassbottle HandTowel Kettle Knife Ladle "
            "Lettuce Mug Pan Plate Pot Potato SoapBar Spatula Spoon Tomato"
        ),
        "Sofa": _words("Book Box CellPhone CreditCard KeyChain Laptop Newspaper Pillow RemoteControl"),
        "StoveBurner": _words("Kettle Pan Pot"),
        "TVStand": _words("TissueBox"),
        "Toilet": _words("Candle Cloth DishSponge HandTowel SoapBar SoapBottle SprayBottle TissueBox ToiletPaper"),
        "ToiletPaperHanger": _words("ToiletPaper"),
        "TowelHolder": _words("Towel"),
    }
)
"""Receptacle type -> the object types that may be put there."""

CAPACITY: Mapping[str, int] = MappingProxyType(
    {"CoffeeMachine": 1, "GarbageCan": 3, "Microwave": 2, "Safe": 3, "StoveBurner": 1, "ToiletPaperHanger": 1}
)
"""How much lies in one at the start at most; the rules of the game know no such limit."""

NEVER_A_TARGET = _words("BathtubBasin HandTowelHolder LaundryHamper SinkBasin TVStand TowelHolder")
"""Receptacle types that no official task asks to put something in."""


class Furniture(NamedTuple):
    """Receptacles of one type."""

    type: str
    low: int = 1
    high: int = 1
    """In a room of difficulty 1 there are `low` to `high`."""
    chance: float = 1.0
    """How likely a room has any."""
    grows: bool = False
    """Whether a difficulty above 1 brings more of them."""


class Fixture(NamedTuple):
    """Objects that belong to the room, and are no part of any task."""

    type: str
    high: int = 1
    chance: float = 1.0
    on: tuple[str, ...] = ()
    """Receptacle types that it may be in or on; where there is none of them it stands or hangs on its own."""
    each: str = ""
    """Where given, there is one for each receptacle of this type, at its place."""


class Stock(NamedTuple):
    """Objects of one type that lie about."""

    type: str
    chance: float
    """How likely there is any, but for those that the task needs."""
    places: Mapping[str, int]
    """Receptacle type -> how likely it is, relative to the others."""


class RoomKind(NamedTuple):
    """One kind of room. Its rooms are numbered from `first` on, as in ALFWorld."""

    name: str
    first: int
    lamps: tuple[int, ...]
    """Rooms whose number leaves one of these remainders when divided by 3 have a desk lamp."""
    lamp_on: tuple[str, ...]
    furniture: tuple[Furniture, ...]
    fixtures: tuple[Fixture, ...]
    stock: tuple[Stock, ...]


def _stock(table: str) -> tuple[Stock, ...]:
    """From rows such as `Apple 100: Fridge 60, CounterTop 40`: the type, its chance in percent, and its places."""

    def read(row: str) -> Stock:
        head, places = row.split(":")
        type, chance = head.split()
        weights = {place: int(weight) for place, weight in map(str.split, places.split(","))}
        return Stock(type, int(chance) / 100, MappingProxyType(weights))

    return tuple(read(row) for row in table.strip().splitlines())


KITCHEN = RoomKind(
    name="kitchen",
    first=1,
    lamps=(),
    lamp_on=(),
    furniture=(
        Furniture("Cabinet", 6, 22, grows=True),
        Furniture("CoffeeMachine"),
        Furniture("CounterTop", 1, 4),
        Furniture("DiningTable", 1, 2, chance=0.55),
        Furniture("Drawer", 2, 9, grows=True),
        Furniture("Fridge"),
        Furniture("GarbageCan"),
        Furniture("Microwave"),
        Furniture("Safe", chance=0.04),
        Furniture("Shelf", 2, 3, chance=0.15, grows=True),
        Furniture("SideTable", chance=0.12),
        Furniture("SinkBasin"),
        Furniture("StoveBurner", 4, 4),
        Furniture("Toaster"),
    ),
    fixtures=(
        Fixture("LightSwitch"),
        Fixture("StoveKnob", each="StoveBurner"),
        Fixture("Sink", each="SinkBasin"),
        Fixture("Window", 2, 0.9),
        Fixture("Chair", 3, 0.8),
        Fixture("Blinds", 1, 0.2),
        Fixture("HousePlant", 1, 0.35, ("CounterTop",)),
        Fixture("PaperTowelRoll", 1, 0.35, ("CounterTop",)),
    ),
    stock=_stock(
        """
        Apple 100: CounterTop 26, Fridge 24, DiningTable 20, GarbageCan 8, Microwave 6, SinkBasin 6
        Book 10: CounterTop 6, DiningTable 2, Cabinet 1, Drawer 1
        Bowl 100: Cabinet 38, CounterTop 20, Fridge 16, DiningTable 15, SinkBasin 5, Shelf 4
        Bread 100: CounterTop 60, DiningTable 28, Fridge 10, SideTable 2, GarbageCan 1
        ButterKnife 100: CounterTop 46, DiningTable 24, Drawer 22, SinkBasin 6
        CellPhone 10: CounterTop 5, Drawer 3, DiningTable 2
        CreditCard 10: CounterTop 5, Drawer 4, Shelf 1
        Cup 100: Cabinet 32, CounterTop 20, DiningTable 15, Fridge 12, SinkBasin 9, Microwave 4, Shelf 3
        DishSponge 100: CounterTop 26, SinkBasin 22, Cabinet 20, Drawer 20, GarbageCan 4, Shelf 2
        Egg 100: Fridge 40, CounterTop 22, DiningTable 10, SinkBasin 8, GarbageCan 6, Microwave 6
        Fork 100: CounterTop 34, Drawer 30, DiningTable 26, SinkBasin 10
        Glassbottle 25: Cabinet 30, CounterTop 30, DiningTable 14, Fridge 9, SinkBasin 8, Shelf 4
        Kettle 50: StoveBurner 42, CounterTop 27, Cabinet 23, DiningTable 5, Shelf 1
        Knife 100: CounterTop 45, Drawer 25, DiningTable 22, SinkBasin 5, SideTable 1
        Ladle 35: CounterTop 40, Cabinet 24, Drawer 22, DiningTable 10, SinkBasin 3
        Lettuce 100: CounterTop 38, Fridge 34, DiningTable 22, SinkBasin 5, GarbageCan 1
        Mug 100: CounterTop 26, Cabinet 24, CoffeeMachine 17, DiningTable 14, SinkBasin 7, Microwave 4
        Pan 100: StoveBurner 56, CounterTop 26, Cabinet 14, SinkBasin 2, DiningTable 2
        Pen 8: CounterTop 4, DiningTable 3, Drawer 3
        Pencil 8: Drawer 4, CounterTop 3, DiningTable 2
        PepperShaker 100: CounterTop 33, Cabinet 30, DiningTable 18, Drawer 12, Shelf 4, SideTable 2
        Plate 100: Cabinet 42, CounterTop 27, DiningTable 17, Fridge 6, SinkBasin 6, Shelf 2
        Pot 100: StoveBurner 66, CounterTop 14, Cabinet 12, Fridge 3, DiningTable 3, SinkBasin 2
        Potato 100: CounterTop 30, Fridge 24, DiningTable 16, SinkBasin 11, GarbageCan 5, Microwave 5
        SaltShaker 100: CounterTop 33, Cabinet 30, DiningTable 18, Drawer 12, Shelf 4, SideTable 2
        SoapBottle 100: CounterTop 46, Cabinet 36, GarbageCan 7, DiningTable 3, Shelf 3, Drawer 3
        Spatula 100: CounterTop 42, Drawer 28, DiningTable 18, SinkBasin 9
        Spoon 100: CounterTop 34, Drawer 30, DiningTable 24, SinkBasin 11
        SprayBottle 8: Cabinet 5, CounterTop 4, GarbageCan 1
        Statue 15: CounterTop 5, Shelf 4, DiningTable 1
        Tomato 100: Fridge 34, CounterTop 32, DiningTable 20, SinkBasin 7, GarbageCan 6
        Vase 15: CounterTop 35, Shelf 32, Cabinet 28, DiningTable 5
        WineBottle 40: CounterTop 38, Cabinet 28, DiningTable 20, Fridge 8, GarbageCan 5, Shelf 3
        """
    ),
)

BEDROOM = RoomKind(
    name="bedroom",
    first=301,
    lamps=(1, 2),
    lamp_on=("Desk", "SideTable"),
    furniture=(
        Furniture("ArmChair", 1, 2, chance=0.25),
        Furniture("Bed", 1, 2),
        Furniture("Cabinet", 1, 4, chance=0.15, grows=True),
        Furniture("Desk", 1, 2, chance=0.7),
        Furniture("DiningTable", chance=0.08),
        Furniture("Drawer", 2, 8, grows=True),
        Furniture("Dresser", chance=0.5),
        Furniture("GarbageCan"),
        Furniture("LaundryHamper", chance=0.25),
        Furniture("Safe", chance=0.15),
        Furniture("Shelf", 1, 8, chance=0.65, grows=True),
        Furniture("SideTable", 1, 2),
    ),
    fixtures=(
        Fixture("LightSwitch"),
        Fixture("Window", 2),
        Fixture("Blinds", 2, 0.9),
        Fixture("Mirror"),
        Fixture("Chair", 2, 0.8),
        Fixture("Painting", 2, 0.4),
        Fixture("Poster", 2, 0.2),
        Fixture("TeddyBear", 1, 0.35, ("Bed",)),
        Fixture("HousePlant", 1, 0.25, ("Shelf", "Desk", "Dresser")),
        Fixture("Television", 1, 0.12, ("Dresser",)),
        Fixture("LaundryHamperLid", 1, 0.25),
        Fixture("BaseballBat", 1, 0.4),
        Fixture("BasketBall", 1, 0.35),
        Fixture("TennisRacket", 1, 0.4),
        Fixture("Boots", 1, 0.1),
    ),
    stock=_stock(
        """
        AlarmClock 100: SideTable 34, Desk 30, Dresser 18, Shelf 16
        Book 100: Bed 36, Desk 20, Shelf 12, SideTable 12, Drawer 10, Dresser 6, ArmChair 3, Cabinet 2
        Bowl 45: Desk 43, Shelf 30, Dresser 14, SideTable 8, DiningTable 5
        Box 10: Desk 57, Shelf 43, Dresser 10, SideTable 5
        CD 100: Drawer 28, Desk 22, SideTable 15, Dresser 14, Shelf 10, GarbageCan 6, Safe 3, DiningTable 3
        CellPhone 100: Bed 26, Desk 18, SideTable 16, Drawer 15, Dresser 10, Shelf 7, ArmChair 3, Safe 2
        Cloth 15: LaundryHamper 8, Drawer 4, Dresser 3, ArmChair 3, Shelf 2, SideTable 1
        CreditCard 100: Drawer 30, Desk 20, SideTable 18, Shelf 15, Dresser 12, Safe 3, ArmChair 2
        KeyChain 100: Drawer 26, Desk 19, SideTable 18, Shelf 14, Dresser 13, Safe 4, ArmChair 2
        Laptop 100: Bed 62, Desk 28, Dresser 6, DiningTable 2, ArmChair 2, SideTable 1
        Mug 50: Desk 38, SideTable 20, Shelf 18, Dresser 14, DiningTable 6, Cabinet 4
        Pen 100: Desk 32, Drawer 20, SideTable 17, Dresser 13, Shelf 12, DiningTable 4, GarbageCan 2
        Pencil 100: Desk 30, Drawer 20, SideTable 18, Shelf 12, Dresser 12, DiningTable 4, GarbageCan 3
        Pillow 100: Bed 95, ArmChair 5
        RemoteControl 12: Drawer 30, Desk 26, SideTable 22, Dresser 14, ArmChair 6, Shelf 2
        Statue 15: Shelf 42, Dresser 28, Desk 22, SideTable 8
        TissueBox 14: Desk 34, SideTable 20, Drawer 18, Shelf 16, DiningTable 8, Dresser 6
        Vase 7: Shelf 45, Dresser 32, Desk 12, SideTable 12
        Watch 10: Drawer 31, Shelf 18, Desk 18, Dresser 14, SideTable 14, DiningTable 6
        """
    ),
)

LIVING_ROOM = RoomKind(
    name="living room",
    first=201,
    lamps=(1,),
    lamp_on=("SideTable",),
    furniture=(
        Furniture("ArmChair", 1, 2, chance=0.93),
        Furniture("Cabinet", 1, 8, chance=0.1, grows=True),
        Furniture("CoffeeTable", 1, 2),
        Furniture("DiningTable", 1, 2, chance=0.5),
        Furniture("Drawer", 1, 6, chance=0.75, grows=True),
        Furniture("Dresser", chance=0.35),
        Furniture("GarbageCan"),
        Furniture("Ottoman", chance=0.15),
        Furniture("Safe", chance=0.04),
        Furniture("Shelf", 1, 7, chance=0.35, grows=True),
        Furniture("SideTable", 1, 3),
        Furniture("Sofa", 1, 2),
        Furniture("TVStand", chance=0.5),
    ),
    fixtures=(
        Fixture("LightSwitch"),
        Fixture("FloorLamp"),
        Fixture("Window", 3),
        Fixture("Painting", 3),
        Fixture("Chair", 5, 0.7),
        Fixture("Curtains", 2, 0.35),
        Fixture("Television", 1, 1.0, ("TVStand", "Dresser")),
        Fixture("HousePlant", 1, 1.0, ("SideTable", "CoffeeTable", "Dresser")),
        Fixture("Boots", 1, 0.2),
    ),
    stock=_stock(
        """
        Book 30: CoffeeTable 30, Sofa 20, ArmChair 14, SideTable 14, Dresser 12, Shelf 10, Drawer 2
        Bowl 12: DiningTable 40, CoffeeTable 32, SideTable 10, Shelf 8
        Box 100: CoffeeTable 26, DiningTable 22, Sofa 22, SideTable 9, Dresser 6, Shelf 6, Cabinet 5
        Candle 10: SideTable 41, CoffeeTable 30, DiningTable 20, Drawer 4, Dresser 3
        CellPhone 20: CoffeeTable 22, SideTable 18, Sofa 16, Dresser 14, Drawer 12, DiningTable 9, ArmChair 6
        CreditCard 100: CoffeeTable 20, Sofa 17, Drawer 14, SideTable 14, ArmChair 10, DiningTable 10
        KeyChain 100: CoffeeTable 22, SideTable 18, Drawer 16, Sofa 12, DiningTable 8, ArmChair 7, Dresser 7
        Laptop 100: Sofa 27, CoffeeTable 27, DiningTable 20, SideTable 8, Dresser 6, ArmChair 6, Desk 3
        Newspaper 60: CoffeeTable 24, Sofa 20, DiningTable 16, SideTable 14, Shelf 9, ArmChair 8, Drawer 2
        Pen 20: CoffeeTable 34, SideTable 22, Dresser 16, Drawer 12, DiningTable 6, Shelf 4, GarbageCan 2
        Pencil 18: CoffeeTable 30, SideTable 26, Drawer 14, Dresser 8, DiningTable 6, Shelf 5, GarbageCan 4
        Pillow 100: Sofa 78, ArmChair 20, Ottoman 2
        Plate 35: DiningTable 52, CoffeeTable 24, Shelf 10, SideTable 10
        RemoteControl 100: CoffeeTable 26, Sofa 22, SideTable 14, Dresser 10, ArmChair 9, DiningTable 6
        Statue 95: Shelf 26, CoffeeTable 22, SideTable 22, DiningTable 14, Dresser 12
        TissueBox 35: CoffeeTable 36, SideTable 22, DiningTable 16, Shelf 10, TVStand 4, Dresser 4, Drawer 3
        Vase 60: Shelf 36, CoffeeTable 22, DiningTable 16, SideTable 13, Dresser 10, Cabinet 2
        Watch 50: CoffeeTable 27, Drawer 22, SideTable 20, Dresser 12, DiningTable 8, Shelf 6
        WateringCan 50: Shelf 30, SideTable 30, CoffeeTable 10, Drawer 2
        """
    ),
)

BATHROOM = RoomKind(
    name="bathroom",
    first=401,
    lamps=(),
    lamp_on=(),
    furniture=(
        Furniture("BathtubBasin", chance=0.7),
        Furniture("Cabinet", 2, 5, chance=0.55, grows=True),
        Furniture("Cart", chance=0.08),
        Furniture("CounterTop", 1, 2),
        Furniture("Drawer", 1, 6, chance=0.6, grows=True),
        Furniture("Dresser", chance=0.07),
        Furniture("GarbageCan"),
        Furniture("HandTowelHolder", 1, 2),
        Furniture("Shelf", 1, 4, chance=0.3, grows=True),
        Furniture("SideTable", chance=0.08),
        Furniture("SinkBasin", 1, 2),
        Furniture("Toilet"),
        Furniture("ToiletPaperHanger"),
        Furniture("TowelHolder", 1, 2),
    ),
    fixtures=(
        Fixture("LightSwitch"),
        Fixture("Sink", each="SinkBasin"),
        Fixture("Bathtub", each="BathtubBasin"),
        Fixture("Towel", each="TowelHolder", on=("TowelHolder",)),
        Fixture("Mirror"),
        Fixture("Plunger"),
        Fixture("ScrubBrush"),
        Fixture("ShowerDoor", 1, 0.55),
        Fixture("ShowerGlass", 1, 0.4),
        Fixture("Window", 2, 0.65),
        Fixture("Painting", 1, 0.05),
    ),
    stock=_stock(
        """
        Candle 100: CounterTop 36, Toilet 22, Cabinet 12, Drawer 12, Shelf 10, SideTable 4, Cart 4, Dresser 2
        Cloth 100: BathtubBasin 26, Cabinet 20, CounterTop 20, Drawer 15, SinkBasin 8, Shelf 6, Cart 3
        DishSponge 25: CounterTop 20, Drawer 18, BathtubBasin 18, SinkBasin 14, Shelf 9, Cabinet 8, Cart 6
        SoapBar 100: SinkBasin 22, CounterTop 22, BathtubBasin 16, Cabinet 11, Toilet 10, Drawer 10
        SoapBottle 100: CounterTop 36, Cabinet 22, Toilet 18, Shelf 10, GarbageCan 7, Drawer 4, SideTable 2
        SprayBottle 100: CounterTop 32, Toilet 22, Cabinet 22, GarbageCan 8, Shelf 8, Cart 5, SideTable 3
        TissueBox 25: CounterTop 36, Shelf 26, Drawer 18, Cabinet 8, SideTable 5, Toilet 5, Cart 4
        ToiletPaper 100: ToiletPaperHanger 30, Toilet 20, Cabinet 16, CounterTop 14, Drawer 11, Shelf 6
        HandTowel 100: HandTowelHolder 88, CounterTop 6, Cabinet 4, Toilet 2
        """
    ),
)

ROOM_KINDS = (KITCHEN, LIVING_ROOM, BEDROOM, BATHROOM)
