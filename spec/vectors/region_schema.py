#!/usr/bin/env python3
"""Writes the vectors of region forms of types that a schema declares (tests/generated/schema/region.idl), from the words of
spec/region.md and spec/schema.md; shares no code with Situ."""

import hashlib
import pathlib
import struct

from region import (
    BOOL, F32, F64, I16, I32, U8, U16, U32, U64, Array, FlatMap, FlatSet, HashMap, HashSet, Image, Optional, Scalar,
    String, Struct, Unique, Vector,
)  # fmt: skip

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

IDENTITY = """\
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


def units(text):
    raw = text.encode("utf-16-le")
    return [int.from_bytes(raw[i : i + 2], "little") for i in range(0, len(raw), 2)]


def inner(text, numbers):
    return {"text": text, "numbers": numbers}


RED, GREEN, BLUE = 0, 1, 2
WIDE = "wide \U0001f600"
VALUE = {
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

if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "region"
    text = "schema-v1 game::Pantry\n" + IDENTITY
    schema = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    for form in ("canonical", "live"):
        image = Image(PANTRY, VALUE, form == "live").bytes
        struct.pack_into("<Q", image, 8, schema)
        (folder / f"pantry.{form}.bin").write_bytes(image)
