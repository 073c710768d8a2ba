"""The types of spec/vectors/cdr/cyclone/kinds.idl, as users of Cyclone DDS write them in Python."""

from dataclasses import dataclass
from typing import Dict, Optional

import cyclonedds.idl.annotations as annotate
from cyclonedds.idl import IdlBitmask, IdlEnum, IdlStruct, IdlUnion
from cyclonedds.idl.types import array, bounded_str, byte, case, char, default, float32, float64
from cyclonedds.idl.types import int8, int16, int32, int64, sequence, uint8, uint16, uint32, uint64


class Color(IdlEnum, typename="kinds.Color"):
    RED = 0
    GREEN = 5
    BLUE = 6


@dataclass
class Access(IdlBitmask, typename="kinds.Access"):
    __idl_annotations__["bit_bound"] = 8  # noqa: F821 (the metaclass provides it; the decorator comes too late)
    READ: bool = False
    WRITE: bool = False
    OWN: bool = False
    annotate.position("OWN", 7)


@dataclass
class Wheels(IdlBitmask, typename="kinds.Wheels"):
    __idl_annotations__["bit_bound"] = 12  # noqa: F821
    LEFT: bool = False
    RIGHT: bool = False
    annotate.position("RIGHT", 11)


@dataclass
class Features(IdlBitmask, typename="kinds.Features"):
    WIPERS: bool = False
    HORN: bool = False
    annotate.position("HORN", 31)


@dataclass
class Wide(IdlBitmask, typename="kinds.Wide"):
    __idl_annotations__["bit_bound"] = 40  # noqa: F821
    LOW: bool = False
    HIGH: bool = False
    annotate.position("HIGH", 39)


Matrix = array[array[float64, 3], 2]
Shorts = sequence[int16]


@dataclass
class Numbers(IdlStruct, typename="kinds.Numbers"):
    truth: bool
    byte: byte
    tiny: int8
    longest: int64
    letter: char
    small_: uint8
    shorter_unsigned: uint16
    shorter: int16
    precise: float64
    ratio: float32
    number: int32
    longest_unsigned: uint64
    number_unsigned: uint32


@dataclass
class Named(IdlStruct, typename="kinds.Named"):
    access: Access
    color: Color
    wheels: Wheels
    features: Features
    wide: Wide
    last: bool


@dataclass
class Pair(IdlStruct, typename="kinds.Pair"):
    small_: uint8
    large: int32


@dataclass
class Texts(IdlStruct, typename="kinds.Texts"):
    text: str
    short_text: bounded_str[10]
    between: byte
    texts: sequence[str]
    short_texts: sequence[bounded_str[5], 3]
    pair: array[str, 2]


@dataclass
class Lists(IdlStruct, typename="kinds.Lists"):
    flags: sequence[bool]
    bytes: sequence[byte]
    shorts: sequence[uint16]
    doubles: sequence[float64]
    longest: sequence[int64, 4]
    letters: sequence[char]
    colors: sequence[Color]
    accesses: sequence[Access]
    pairs: sequence[Pair]
    lists: sequence[Shorts]
    matrices: sequence[Matrix]
    last: byte


@dataclass
class Arrays(IdlStruct, typename="kinds.Arrays"):
    bytes: array[byte, 3]
    doubles: array[float64, 2]
    table: array[array[int16, 3], 2]
    flags: array[bool, 3]
    letters: array[char, 3]
    colors: array[Color, 2]
    wides: array[Wide, 2]
    texts: array[str, 2]
    pairs: array[Pair, 2]
    pair_table: array[array[Pair, 2], 1]
    last: byte


@dataclass
class Maps(IdlStruct, typename="kinds.Maps"):
    before: byte
    numbers: Dict[uint16, float64]
    small_numbers: Dict[int64, uint8]
    after: byte


@dataclass
class TextMaps(IdlStruct, typename="kinds.TextMaps"):
    ages: Dict[str, int32]
    pairs: Dict[int32, Pair]


@dataclass
class Maybe(IdlStruct, typename="kinds.Maybe"):
    before: byte
    longest: Optional[int64]
    byte: Optional[byte]
    text: Optional[str]
    pair: Optional[Pair]
    doubles: Optional[sequence[float64]]
    color: Optional[Color]
    after: float64


@dataclass
class Base(IdlStruct, typename="kinds.Base"):
    id: byte
    weight: float64


@dataclass
class Derived(Base, typename="kinds.Derived"):
    name: str
    last: int64


class Shape(IdlUnion, discriminator=Color, typename="kinds.Shape"):
    radius: case[Color.RED, float64]
    name: case[Color.GREEN, str]
    corner: default[Pair]


class Toggle(IdlUnion, discriminator=bool, typename="kinds.Toggle"):
    level: case[True, int32]


class Letters(IdlUnion, discriminator=char, typename="kinds.Letters"):
    shorts: case[["a", "b"], sequence[int16]]
    access: case["z", Access]


class Sizes(IdlUnion, discriminator=uint8, typename="kinds.Sizes"):
    big: case[0, int64]
    little: case[200, int8]


@annotate.appendable
class Choice(IdlUnion, discriminator=int16, typename="kinds.Choice"):
    number: case[1, int64]
    text: case[2, str]
    pair: case[3, Pair]


@dataclass
class Unions(IdlStruct, typename="kinds.Unions"):
    shape: Shape
    toggle: Toggle
    sizes: Sizes
    shapes: sequence[Shape]
    last: byte


@dataclass
class Chosen(IdlStruct, typename="kinds.Chosen"):
    before: byte
    choice: Choice
    choices: sequence[Choice]
    last: byte


@dataclass
class Lettered(IdlStruct, typename="kinds.Lettered"):
    before: byte
    letters: Letters
    more: sequence[Letters]
    last: byte


@annotate.appendable
@dataclass
class Step(IdlStruct, typename="kinds.Step"):
    first: int16
    second: str


@annotate.appendable
@dataclass
class StepLonger(IdlStruct, typename="kinds.StepLonger"):
    first: int16
    second: str
    third: int32
    fourth: sequence[byte]


@annotate.appendable
@dataclass
class Step16(IdlStruct, typename="kinds.Step16"):
    first: int16
    second: bounded_str[16]


@annotate.appendable
@dataclass
class Growing(IdlStruct, typename="kinds.Growing"):
    before: byte
    step: Step
    steps: sequence[Step]
    step_table: array[Step, 2]
    maybe: Optional[float64]
    after: float64


@annotate.mutable
@dataclass
class Changing(IdlStruct, typename="kinds.Changing"):
    small_: byte
    annotate.member_id("small_", 9)
    large: float64
    annotate.member_id("large", 2)
    large_id: int64
    annotate.member_id("large_id", 20000)
    text: str
    annotate.member_id("text", 3)
    annotate.must_understand("text")
    maybe: Optional[float64]
    annotate.member_id("maybe", 4)
    bytes: sequence[byte]
    annotate.member_id("bytes", 5)
    numbers: sequence[int32]
    annotate.member_id("numbers", 6)
    doubles: sequence[float64]
    annotate.member_id("doubles", 7)
    pairs: sequence[Pair]
    annotate.member_id("pairs", 8)
    color: Color
    annotate.member_id("color", 10)
    access: Access
    annotate.member_id("access", 11)
    table: array[array[int16, 2], 2]
    annotate.member_id("table", 12)
    step: Step
    annotate.member_id("step", 13)
    last: int32
    annotate.member_id("last", 14)


@annotate.mutable
@dataclass
class ChangingBefore(IdlStruct, typename="kinds.ChangingBefore"):
    last: int32
    annotate.member_id("last", 14)
    text: str
    annotate.member_id("text", 3)
    annotate.must_understand("text")
    large: float64
    annotate.member_id("large", 2)
    gone: int16
    annotate.member_id("gone", 77)


@dataclass
class Nested(IdlStruct, typename="kinds.Nested"):
    before: byte
    changing: Changing
    changings: sequence[Changing]
    growing: Growing
    after: byte


@dataclass
class Bounded(IdlStruct, typename="kinds.Bounded"):
    text: bounded_str[10]
    words: sequence[bounded_str[5], 3]
    doubles: sequence[float64, 4]
    pairs: sequence[Pair, 2]
    maybe: Optional[int64]
    maybe_text: Optional[bounded_str[6]]
    sizes: Sizes
    colors: array[Color, 2]
    last: byte


@annotate.mutable
@dataclass
class BoundedChanging(IdlStruct, typename="kinds.BoundedChanging"):
    small_: byte
    annotate.member_id("small_", 4)
    text: bounded_str[6]
    annotate.member_id("text", 2)
    maybe: Optional[float64]
    annotate.member_id("maybe", 3)
    numbers: sequence[int32, 4]
    annotate.member_id("numbers", 1)
    inner: Bounded
    annotate.member_id("inner", 7)
    steps: sequence[Step16, 2]
    annotate.member_id("steps", 6)
    last: int64
    annotate.member_id("last", 5)


@dataclass
class Keyed(IdlStruct, typename="kinds.Keyed"):
    name: str
    annotate.key("name")
    between: byte
    number: int64
    annotate.key("number")
