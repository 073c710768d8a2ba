#!/usr/bin/env python3
"""Writes the vectors of region forms of types that schemas declare (tests/generated/schema: region.idl, bazaar.idl, family.idl, profile.idl
and profile_before.idl; kitchen.idl), from the words of spec/region.md and spec/schema.md; shares no code with Situ."""

import hashlib
import pathlib
import struct

import kitchen
import packed
from region import (
    BOOL, F32, F64, I16, I32, U8, U16, U32, U64, Appendable, Array, FlatMap, FlatSet, HashMap, HashSet, Image, Optional,
    OrderedMap, OrderedSet, Scalar, Shared, String, Struct, Union, Unique, Vector,
)  # fmt: skip

from weak import Weak

I8, CHAR = Scalar("int8", "b"), Scalar("char", "B")

POSITION = Struct("game::Position").define(("x", F32), ("y", F32), ("z", F32))
FLAGGED = Struct("game::Flagged").define(("on", BOOL), ("letter", CHAR), ("count", U32))
INNER = Struct("game::Inner").define(("text", String()), ("numbers", Vector(I16)))
PANTRY = Struct("game::Pantry").define(
    ("flag", BOOL), ("small", I8), ("letter", CHAR), ("wide_letter", U16), ("ratio", F64),
    ("short_text", String()), ("long_text", String()), ("bounded_text", String()), ("wide_text", Vector(U16)),
    ("colour", I32), ("blue", I32), ("marks", U8), ("flagged", FLAGGED), ("several", Array(FLAGGED, 2)),
    ("grid", Array(Array(I32, 3), 2)), ("names", Array(String(), 2)), ("inner", INNER), ("inners", Vector(INNER)),
    ("bits", Vector(BOOL)), ("letters", Vector(CHAR)), ("colours", Vector(I32)), ("words", Vector(String())),
    ("nested", Vector(Vector(U8))), ("wide_words", Vector(Vector(U16))), ("cloud", Vector(POSITION)),
    ("by_name", FlatMap(String(), INNER)), ("by_number", HashMap(I32, String())), ("by_colour", FlatMap(I32, U8)),
    ("set_of_words", FlatSet(String())), ("set_of_numbers", HashSet(I32)), ("set_of_colours", FlatSet(I32)),
    ("maybe", Optional(F64)), ("nickname", Optional(String())), ("linked", Unique(INNER)),
)  # fmt: skip


ITEM = Struct("game::Item").define(("id", U32), ("number", U32), ("uuid", U64), ("timestamp", U64))
EQUIP = Struct("game::Equip").define(("base", ITEM), ("level", U32), ("attributes", Vector(F32)))
SHAPE = Union(
    "game::Shape", I32, ([1], "radius", F32), ([2, 3], "label", String()), (["default"], "points", Vector(F32))
)
SOUND = Union("game::Sound", I32, ([1], "level", I32), ([2], "where", POSITION))
CHOICE = Union("game::Choice", U64, ([1], "flag", BOOL), ([(1 << 64) - 1], "inner", INNER))
LETTER = Union("game::Letter", CHAR, ([97], "words", Vector(String())), ([98], "items", FlatMap(String(), ITEM)))
FLAG = Union("game::Flag", BOOL, ([0], "number", U8), ([1], "text", String()))
TEXTURE = Struct("game::Texture").define(("name", String()), ("grain", Shared(INNER)))
BLADE = Struct("game::Blade").define(("base", EQUIP), ("edge", U16))
BAZAAR = Struct("game::Bazaar").define(
    ("index", OrderedSet(U32)), ("words", OrderedSet(String())), ("prices", OrderedMap(String(), ITEM)),
    ("nothing", OrderedMap(U8, String())), ("shape", SHAPE), ("shapes", Vector(SHAPE)), ("choices", Array(CHOICE, 2)),
    ("sound", SOUND), ("sounds", Vector(SOUND)), ("letter", LETTER), ("flag", FLAG), ("by_number", FlatMap(U8, SHAPE)),
    ("maybe", Optional(SHAPE)), ("far", Unique(SHAPE)), ("texture", Shared(TEXTURE)), ("textures", Vector(TEXTURE)),
    ("blade", BLADE),
)  # fmt: skip
CUPBOARD = Struct("game::Cupboard").define(
    ("angles", FlatSet(F64)), ("marks", HashSet(F32)), ("letters", OrderedSet(CHAR)), ("doors", FlatSet(BOOL)),
    ("runes", HashSet(U16)), ("signs", HashMap(BOOL, String())), ("prices", FlatMap(CHAR, F32)),
    ("tides", FlatMap(F64, String())), ("stock", HashMap(F32, I32)),
)  # fmt: skip
CUPBOARD_IDENTITY = """\
module game {
@final struct Cupboard {
  sequence<double> angles;
  sequence<float> marks;
  sequence<char> letters;
  sequence<boolean> doors;
  sequence<wchar> runes;
  map<boolean, string> signs;
  map<char, float> prices;
  map<double, string> tides;
  map<float, int32> stock;
};
};
"""
OLD_RECORD = Appendable("game::Record").define(("score", U32), ("when", U64))
OLD_PROFILE = Appendable("game::Profile").define(("id", U64), ("name", String()), ("best", Unique(OLD_RECORD)))
RECORD = Appendable("game::Record").define(("score", U32), ("when", U64), ("by", String()))
PROFILE = Appendable("game::Profile").define(
    ("id", U64), ("name", String()), ("best", Unique(RECORD)), ("level", U8), ("tags", FlatSet(String())),
    ("rival", Shared(RECORD)),
)  # fmt: skip

THICKET = Struct("kitchen::Thicket")
THICKET.define(
    ("name", String()), ("by_number", FlatMap(I32, Vector(THICKET))), ("rows", Vector(Vector(THICKET))),
    ("maybe", Optional(Vector(THICKET))),
)  # fmt: skip
THICKET_IDENTITY = """\
module kitchen {
struct Thicket;
};
module kitchen {
@final struct Thicket {
  string name;
  map<int32, sequence<::kitchen::Thicket>> by_number;
  sequence<sequence<::kitchen::Thicket>> rows;
  @optional(TRUE) sequence<::kitchen::Thicket> maybe;
};
};
"""

PERSON, CHILD = Struct("family::Person"), Struct("family::Child")
PERSON.define(("name", String()), ("children", Vector(CHILD)), ("parent", Weak(PERSON)))
CHILD.define(("person", Shared(PERSON)))
TREE = Struct("family::Tree").define(("root", Shared(PERSON)), ("selected", Weak(PERSON)), ("number", U32))
TREE_IDENTITY = """\
module family {
struct Child;
};
module family {
struct Person;
};
module family {
@final struct Person {
  string name;
  sequence<::family::Child> children;
  @optional(TRUE) @weak(TRUE) ::family::Person parent;
};
};
module family {
@final struct Child {
  @optional(TRUE) ::family::Person person;
};
};
module family {
@final struct Tree {
  @optional(TRUE) ::family::Person root;
  @optional(TRUE) @weak(TRUE) ::family::Person selected;
  uint32 number;
};
};
"""

PANTRY_IDENTITY = """\
module game {
enum Colour {
  @value(0) RED,
  @value(1) GREEN,
  @value(2) BLUE
};
};
module game {
@bit_bound(8) bitmask Marks {
  @position(0) GOOD,
  @position(1) RARE
};
};
module game {
@final struct Flagged {
  boolean on;
  char letter;
  uint32 count;
};
};
module game {
@final struct Inner {
  string text;
  sequence<int16, 4> numbers;
};
};
module game {
@final struct Position {
  float x;
  float y;
  float z;
};
};
module game {
@final struct Pantry {
  boolean flag;
  int8 small;
  char letter;
  wchar wide_letter;
  double ratio;
  string short_text;
  string long_text;
  string<12> bounded_text;
  wstring wide_text;
  ::game::Colour colour;
  ::game::Colour blue;
  ::game::Marks marks;
  ::game::Flagged flagged;
  ::game::Flagged several[2];
  int32 grid[2][3];
  string names[2];
  ::game::Inner inner;
  sequence<::game::Inner> inners;
  sequence<boolean> bits;
  sequence<char> letters;
  sequence<::game::Colour> colours;
  sequence<string> words;
  sequence<sequence<uint8>> nested;
  sequence<wstring> wide_words;
  sequence<::game::Position> cloud;
  map<string, ::game::Inner> by_name;
  map<int32, string> by_number;
  map<::game::Colour, uint8> by_colour;
  sequence<string> set_of_words;
  sequence<int32> set_of_numbers;
  sequence<::game::Colour> set_of_colours;
  @optional(TRUE) double maybe;
  @optional(TRUE) string nickname;
  @optional(TRUE) ::game::Inner linked;
};
};
"""

BAZAAR_IDENTITY = """\
module game {
@final struct Item {
  uint32 id;
  uint32 number;
  uint64 uuid;
  uint64 timestamp;
};
};
module game {
@final union Shape switch (int32) {
  case 1:
    float radius;
  case 2:
  case 3:
    string label;
  default:
    sequence<float> points;
};
};
module game {
@final struct Inner {
  string text;
  sequence<int16, 4> numbers;
};
};
module game {
@final union Choice switch (uint64) {
  case 1:
    boolean flag;
  case 18446744073709551615:
    ::game::Inner inner;
};
};
module game {
enum Tone {
  @value(0) QUIET,
  @value(1) LOUD,
  @value(2) SHRILL
};
};
module game {
@final struct Position {
  float x;
  float y;
  float z;
};
};
module game {
@final union Sound switch (::game::Tone) {
  case ::game::LOUD:
    int32 level;
  case ::game::SHRILL:
    ::game::Position where;
};
};
module game {
@final union Letter switch (char) {
  case 97:
    sequence<string> words;
  case 98:
    map<string, ::game::Item> items;
};
};
module game {
@final union Flag switch (boolean) {
  case FALSE:
    uint8 number;
  case TRUE:
    string text;
};
};
module game {
@final struct Texture {
  string name;
  @optional(TRUE) ::game::Inner grain;
};
};
module game {
@final struct Equip : ::game::Item {
  uint32 level;
  sequence<float> attributes;
};
};
module game {
@final struct Blade : ::game::Equip {
  uint16 edge;
};
};
module game {
@final struct Bazaar {
  sequence<uint32> index;
  sequence<string> words;
  map<string, ::game::Item> prices;
  map<uint8, string> nothing;
  ::game::Shape shape;
  sequence<::game::Shape> shapes;
  ::game::Choice choices[2];
  ::game::Sound sound;
  sequence<::game::Sound> sounds;
  ::game::Letter letter;
  ::game::Flag flag;
  map<uint8, ::game::Shape> by_number;
  @optional(TRUE) ::game::Shape maybe;
  @optional(TRUE) ::game::Shape far;
  @optional(TRUE) ::game::Texture texture;
  sequence<::game::Texture> textures;
  ::game::Blade blade;
};
};
"""


def units(text):
    raw = text.encode("utf-16-le")
    return [int.from_bytes(raw[i : i + 2], "little") for i in range(0, len(raw), 2)]


def inner(text, numbers):
    return {"text": text, "numbers": numbers}


RED, GREEN, BLUE = 0, 1, 2
WIDE = "wide \U0001f600"
PANTRY_VALUE = {
    "flag": 0, "small": 3, "letter": ord("q"), "wide_letter": 0x20AC, "ratio": -0.25, "short_text": "short",
    "long_text": "longer than eleven", "bounded_text": "twelve bytes", "wide_text": units(WIDE), "colour": RED,
    "blue": BLUE, "marks": 2, "flagged": {"on": 1, "letter": ord("f"), "count": 9},
    "several": [{"on": 1, "letter": ord("a"), "count": 1}, {"on": 0, "letter": 0, "count": 0}],
    "grid": [[1, 2, 3], [4, 5, 6]], "names": ["one", "the second one of them"],
    "inner": inner("the inner text is long", [1, -2]), "inners": [inner("a", []), inner("b", [7])],
    "bits": [1, 0, 1], "letters": [ord("h"), ord("i")], "colours": [BLUE, 77],
    "words": ["x", "a word of many letters"], "nested": [[1, 2], [], [3]], "wide_words": [units(WIDE)],
    "cloud": [{"x": 1, "y": 2, "z": 3}], "by_name": {"k": inner("v", [4])},
    "by_number": {-1: "minus one", 1000: "a thousand and more"}, "by_colour": {RED: 1, BLUE: 2},
    "set_of_words": ["apple", "mango"], "set_of_numbers": [5], "set_of_colours": [GREEN], "maybe": 2.5,
    "nickname": "nick", "linked": inner("far away", [8, 9]),
}  # fmt: skip



def item(id, number, uuid, timestamp):
    return {"id": id, "number": number, "uuid": uuid, "timestamp": timestamp}


QUIET, LOUD, SHRILL = 0, 1, 2
GRAIN = inner("the grain that both have", [3, 1])
BAZAAR_VALUE = {
    "index": [i * i % 1009 for i in range(505)],
    "words": [f"word {i * 7 % 40} of forty" for i in range(40)],
    "prices": {f"price {i}": item(i, i, i, i) for i in range(100)},
    "nothing": {},
    "shape": (3, "a label of some length"),
    "shapes": [(1, 2.5), (2, "short"), (-4, [1, 2, 3]), (0, [])],
    "choices": [((1 << 64) - 1, inner("boxed in", [5])), (7, None)],
    "sound": (SHRILL, {"x": 1, "y": 2, "z": 3}),
    "sounds": [(LOUD, 11), (QUIET, None)],
    "letter": (98, {"a sword of steel": item(9, 8, 7, 6)}),
    "flag": (1, "flagged with a long text"),
    "by_number": {3: (2, "three"), 1: (1, 0.5)},
    "maybe": (2, "perhaps it is long"),
    "far": (1, 4),
    "texture": {"name": "oak with long grain", "grain": GRAIN},
    "textures": [{"name": "wood", "grain": GRAIN}, {"name": "bare", "grain": None}],
    "blade": {"base": {"base": item(1, 2, 3, 4), "level": 5, "attributes": [6]}, "edge": 7},
}  # fmt: skip
CUPBOARD_VALUE = {
    "angles": [1.5, float("nan"), -0.0, float("-inf"), 0.0, -2.5],
    "marks": [float("nan"), 0.0, -0.0] + [i * 1.5 - 8 for i in range(9)],
    "letters": [0x7A, 0xE9, 0x41], "doors": [1, 0], "runes": [0x20AC, 0x41], "signs": {1: "open", 0: "closed for today"},
    "prices": {0x62: 0.5, 0xFC: -1.5, 0x61: 2},
    "tides": {6.25: "high", -0.0: "none", float("-inf"): "the lowest of all tides"},
    "stock": {i * 0.5 - 2: i for i in range(10)},
}
BEST = {"score": 900, "when": 1700000000, "by": "somebody with a long name"}
OLD_PROFILE_VALUE = {"id": 5, "name": "the name of this profile", "best": BEST}
PROFILE_VALUE = OLD_PROFILE_VALUE | {
    "level": 7, "tags": ["quick", "with a longer name"], "rival": {"score": 901, "when": 1700000001, "by": "me"},
}  # fmt: skip




def family_tree():
    """Ann has the children Benjamin and Cleo, and Benjamin has Daniel, who is selected."""
    person = lambda name: {"name": name, "children": [], "parent": None}
    ann, ben, cleo, dan = (person(name) for name in ("Ann", "Benjamin the elder", "Cleo", "Daniel of the hill"))
    for parent, child in ((ann, ben), (ann, cleo), (ben, dan)):
        parent["children"].append({"person": child})
        child["parent"] = parent
    return {"root": ann, "selected": dan, "number": 4}


# The value of the same name in kitchen.py.
THICKET_VALUE = kitchen.CASES["thicket"][1]


def schema_hash(name, identity):
    text = f"schema-v1 {name}\n{identity}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


# What can be appended to has no schema hash in its header.
VALUES = {
    "pantry": (PANTRY, PANTRY_VALUE, schema_hash("game::Pantry", PANTRY_IDENTITY)),
    "thicket": (THICKET, THICKET_VALUE, schema_hash("kitchen::Thicket", THICKET_IDENTITY)),
    "bazaar": (BAZAAR, BAZAAR_VALUE, schema_hash("game::Bazaar", BAZAAR_IDENTITY)),
    "cupboard": (CUPBOARD, CUPBOARD_VALUE, schema_hash("game::Cupboard", CUPBOARD_IDENTITY)),
    "family_tree": (TREE, family_tree(), schema_hash("family::Tree", TREE_IDENTITY)),
    "game_profile.before": (OLD_PROFILE, OLD_PROFILE_VALUE, 0),
    "game_profile.after": (PROFILE, PROFILE_VALUE, 0),
}

if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "region"
    for name, (type, value, schema) in VALUES.items():
        for form in ("canonical", "live"):
            image = Image(type, value, form).bytes
            struct.pack_into("<Q", image, 8, schema)
            (folder / f"{name}.{form}.bin").write_bytes(image)
        image = packed.PackedImage(type, value).bytes
        struct.pack_into("<Q", image, 8, schema)
        (folder / f"{name}.packed.bin").write_bytes(image)
