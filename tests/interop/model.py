"""Shared by the writers of the interoperability tests: types, seeded values of them, and the files of cases.

A case is one message: its bytes as another implementation wrote them, and its value in a JSON form that every
language can compare exactly. A file has one type, and one case a line:

    {"type": "std_msgs::msg::Bool", "case": "full", "encoding": "xcdr1", "order": "little", "cdr": "00010000…", "value": {…}}

In values, enums, bitmasks and characters are numbers. NaN and the infinities are the strings "nan", "inf" and
"-inf". Absent optional members are null. Arrays of arrays are lists of lists. Maps are lists of pairs with ascending
keys. Unions are {"discriminator": …, "case": its name or null, "value": …}.
"""

import json
import math
import os
import random
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

INTEGERS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}


# Types


@dataclass
class Primitive:
    kind: str  # bool, char, f32, f64, or one of INTEGERS


@dataclass
class Text:
    bound: int | None = None  # in bytes of UTF-8, or in 16-bit units
    wide: bool = False


@dataclass
class Sequence:
    element: object
    bound: int | None = None


@dataclass
class Array:
    element: object
    length: int


@dataclass
class Map:
    key: object
    value: object


@dataclass
class Optional:
    value: object


@dataclass
class Enum:
    values: list[int]


@dataclass
class Bitmask:
    positions: list[int]


@dataclass
class Struct:
    name: str
    members: dict[str, object]


@dataclass
class Union:
    name: str
    discriminator: object
    cases: list[tuple[list[int], str, object]]
    default: tuple[str, object] | None
    open: bool = True  # whether discriminators that select nothing are tried

    def select(self, discriminator):
        """The name and type of the case that is selected, or None."""
        for labels, name, ty in self.cases:
            if discriminator in labels:
                return name, ty
        return self.default


# Values

TEXTS = [
    "",
    "a",
    "front_left",
    "grüße",
    "日本語",
    "tab\tquote\"backslash\\newline\n",
    "\u0001\u007f",
    "😀🚀",
    "\ufeffmark\uffff",
    "x" * 70,
    "é" * 40,
]


def float32(number):
    """The nearest value of a float."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


class Values:
    """Makes values: `zero`, `full` and `low` are the extremes, and `special` has the special values of floats and texts.
    Any other name is a seed for random values."""

    def __init__(self, mode):
        self.mode = mode
        self.random = random.Random(f"situ {mode}")
        self.turn = 0

    def pick(self, choices):
        """The choices in turn for special values, otherwise any."""
        self.turn += 1
        return choices[self.turn % len(choices)] if self.mode == "special" else self.random.choice(choices)

    def make(self, ty, depth=0):
        if isinstance(ty, Primitive):
            return self.primitive(ty.kind)
        if isinstance(ty, Text):
            return self.text(ty)
        if isinstance(ty, Sequence):
            return [self.make(ty.element, depth + 1) for _ in range(self.length(ty.bound, ty.element, depth))]
        if isinstance(ty, Array):
            return [self.make(ty.element, depth + 1) for _ in range(ty.length)]
        if isinstance(ty, Map):
            entries = {}
            for _ in range(self.length(None, ty.value, depth)):
                key = self.make(ty.key, depth + 1)
                entries[key] = self.make(ty.value, depth + 1)
            order = lambda key: key.encode() if isinstance(key, str) else key
            return [[key, entries[key]] for key in sorted(entries, key=order)]
        if isinstance(ty, Optional):
            present = {"zero": False, "full": True, "low": True}.get(self.mode, self.random.random() < 0.6)
            return self.make(ty.value, depth + 1) if present else None
        if isinstance(ty, Enum):
            extremes = {"zero": ty.values[0], "full": max(ty.values), "low": min(ty.values)}
            return extremes[self.mode] if self.mode in extremes else self.pick(ty.values)
        if isinstance(ty, Bitmask):
            chosen = {"zero": [], "full": ty.positions}.get(self.mode, [p for p in ty.positions if self.random.random() < 0.5])
            return sum(1 << position for position in chosen)
        if isinstance(ty, Union):
            return self.union(ty, depth)
        return {name: self.make(member, depth + 1) for name, member in ty.members.items()}

    def length(self, bound, element, depth):
        if self.mode == "zero":
            return 0
        if self.mode in ("full", "low"):
            return min(3 if bound is None else bound, 20)
        most = 3 if depth > 3 or not isinstance(element, Primitive) else 40
        return self.random.randint(0, most if bound is None else min(bound, most))

    def primitive(self, kind):
        if kind == "bool":
            return {"zero": False, "full": True, "low": False}.get(self.mode, self.random.random() < 0.5)
        if kind in ("f32", "f64"):
            return self.floating(kind == "f32")
        if kind == "char":
            return {"zero": 0, "full": 126, "low": 1}.get(self.mode, self.random.randint(32, 126))
        bits, signed = INTEGERS[kind], kind[0] == "i"
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if self.mode in ("zero", "full", "low"):
            return {"zero": 0, "full": high, "low": low}[self.mode]
        near = self.random.randint(max(low, -200), min(high, 200))
        return self.random.choice([near, self.random.randint(low, high)])

    def floating(self, single):
        largest = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0] if single else 1.7976931348623157e308
        least = 2.0**-149 if single else 2.0**-1074
        if self.mode in ("zero", "full", "low"):
            return {"zero": 0.0, "full": largest, "low": -largest}[self.mode]
        if self.mode == "special":
            number = self.pick([math.nan, math.inf, -math.inf, -0.0, least, -least, largest, 0.1])
        else:
            number = self.random.choice([self.random.uniform(-10, 10), self.random.gauss(0, 1e6), float(self.random.randint(-99, 99))])
        number = float32(number) if single else number
        if math.isnan(number):
            return "nan"
        return ("inf" if number > 0 else "-inf") if math.isinf(number) else number

    def text(self, ty):
        if self.mode == "zero":
            return ""
        text = self.pick(TEXTS)
        if self.mode in ("full", "low"):
            text = ("z" if self.mode == "full" else "é") * (20 if ty.bound is None else ty.bound)
        size = lambda text: len(text.encode("utf-16-le")) // 2 if ty.wide else len(text.encode())
        while ty.bound is not None and size(text) > ty.bound:
            text = text[:-1]
        # Python takes a mark at the beginning of UTF-16 for a byte order mark and drops it.
        return text.lstrip("\ufeff") if ty.wide else text

    def union(self, ty, depth):
        labels = [label for case in ty.cases for label in case[0]]
        unlabelled = next((d for d in self.discriminators(ty.discriminator) if d not in labels), None)
        choices = labels + ([unlabelled] if ty.open and unlabelled is not None else [])
        discriminator = {"zero": choices[0], "full": choices[-1]}.get(self.mode) if self.mode in ("zero", "full") else self.pick(choices)
        name, value = ty.select(discriminator) or (None, None)
        return {"discriminator": discriminator, "case": name, "value": self.make(value, depth + 1) if name else None}

    @staticmethod
    def discriminators(ty):
        if isinstance(ty, Enum):
            return ty.values
        return [False, True] if ty.kind == "bool" else range(100, 127)


MODES = ["zero", "full", "low", "special"]


def modes(count):
    """The names of the values of every type: the extremes, and `count` random ones."""
    return MODES + [f"random{index}" for index in range(count)]


# Files


def write_cases(folder, cases):
    """Writes the cases of one type into a file named after it."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    name = cases[0]["type"].replace("::", ".")
    text = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def freeze(folder, kept, cases):
    """Writes the files of vectors in spec/: for each type in `kept`, the named ones of its `cases`."""
    for old in Path(folder).glob("*.jsonl"):
        old.unlink()
    for name, modes in kept.items():
        chosen = [case for case in cases if case["type"] == name and case["case"] in modes]
        assert len(chosen) >= len(modes), f"{name} has not all of {modes}"
        write_cases(folder, chosen)


def read_cases(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def same(left, right):
    """Whether two values are the same to the last bit: 0.0 and -0.0, 1 and 1.0 and True are not."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def check_cases(peer, paths, read, knows=lambda case: True):
    """Checks messages that Situ wrote: `read(case)` reads one with the other implementation. Returns how many are wrong."""
    wrong = count = 0
    for case in (case for path in paths for case in read_cases(path)):
        if not knows(case):
            continue
        count += 1
        try:
            found = read(case)
        except Exception as error:  # whatever the other implementation has to say against the bytes
            found = f"{type(error).__name__}: {error}"
        if not same(found, case["value"]):
            wrong += 1
            print(f"{case['type']} {case['case']} {case['encoding']} {case['cdr']}\n  Situ wrote {case['value']}\n  read is    {found}")
    print(f"{peer} read {count} messages that Situ wrote, {wrong} wrong")
    return wrong


def exchange(program, write, check):
    """Writes messages, runs a program of Situ's that reads them and writes them again, and checks the result."""
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = Path(folder, "theirs"), Path(folder, "ours.jsonl")
        write(str(theirs))
        for each in (theirs, Path(folder, "theirs-padded")):
            if each.exists():
                environment = {**os.environ, "SITU_INTEROP_THEIRS": str(each), "SITU_INTEROP_OURS": str(ours)}
                subprocess.run(program, env=environment, check=True)
        if not ours.exists() or not read_cases(ours):
            print("the program wrote no message")
            return True
        return check([ours])
