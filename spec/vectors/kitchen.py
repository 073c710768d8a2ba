#!/usr/bin/env python3
"""Works out the vectors in flat/ and cdr/ for the messages of kitchen.idl from the rules in spec/flat.md and spec/cdr.md.

Independent of the Rust and the C++ code: it knows nothing but the rules. Run it from anywhere; it writes the files.

    flat/<case>.head.bin   the head of the flat message
    flat/<case>.mask.bin   ff for every byte of the head that means something; the others are padding or unoccupied
    flat/<case>.body.bin   the body, if the message has bulk fields
    cdr/<case>.<version>.<order>.bin   encoded: xcdr1 or xcdr2, le or be
"""

import pathlib
import struct

HERE = pathlib.Path(__file__).parent
PRIMITIVES = {
    "bool": "?", "u8": "B", "char": "B", "i8": "b", "i16": "h", "u16": "H", "wchar": "H", "i32": "i", "u32": "I",
    "i64": "q", "u64": "Q", "f32": "f", "f64": "d",
}  # fmt: skip


def size_of(kind):
    return struct.calcsize(PRIMITIVES[kind])


def up(value, align):
    return (value + align - 1) // align * align


# Types. A primitive is its name. A bound of None means unbounded.
class Enum:
    def __init__(self, **values):
        self.values = values


class Bitmask:
    def __init__(self, storage, **flags):
        self.storage, self.flags = storage, flags


class String:
    def __init__(self, bound=None):
        self.bound = bound


class WString(String):
    pass


class Sequence:
    def __init__(self, element, bound=None, bulk=False):
        self.element, self.bound, self.bulk = element, bound, bulk


class Array:
    def __init__(self, element, *lengths):
        self.element, self.lengths = element, lengths


class Map:
    def __init__(self, key, value, bound=None):
        self.key, self.value, self.bound = key, value, bound


class Member:
    def __init__(self, name, ty, id=None, optional=False, must_understand=False):
        self.name, self.ty, self.id = name, ty, id
        self.optional, self.must_understand = optional, must_understand


class Struct:
    def __init__(self, *members, base=None, kind="final"):
        self.base, self.kind = base, kind
        self.own = [m if isinstance(m, Member) else Member(*m) for m in members]
        next_id = max((m.id for m in base.all()), default=-1) + 1 if base else 0
        for m in self.own:
            m.id = next_id if m.id is None else m.id
            next_id = m.id + 1

    def all(self):
        return (self.base.all() if self.base else []) + self.own


class Union:
    """Cases are (labels, member); the label None is `default`."""

    def __init__(self, discriminator, *cases, kind="final"):
        self.discriminator, self.kind = discriminator, kind
        self.cases = [(labels, m if isinstance(m, Member) else Member(*m)) for labels, m in cases]
        for at, (_, m) in enumerate(self.cases):
            m.id = at + 1 if m.id is None else m.id

    def case(self, value):
        for labels, m in self.cases:
            if value in labels:
                return m
        return next((m for labels, m in self.cases if None in labels), None)


# Flat ---------------------------------------------------------------------------------------------------------------


def extent(ty):
    """Size and alignment in a flat message."""
    if isinstance(ty, str):
        return size_of(ty), size_of(ty)
    if isinstance(ty, Enum):
        return 4, 4
    if isinstance(ty, Bitmask):
        return extent(ty.storage)
    if isinstance(ty, WString):
        return container_extent((2, 2), ty.bound + 1)
    if isinstance(ty, String):
        return container_extent((1, 1), ty.bound + 1)
    if isinstance(ty, Sequence):
        return (16, 8) if ty.bulk else container_extent(extent(ty.element), ty.bound)
    if isinstance(ty, Map):
        return container_extent(record([extent(ty.key), extent(ty.value)])[0], ty.bound)
    if isinstance(ty, Array):
        size, align = extent(ty.element)
        for length in ty.lengths:
            size *= length
        return size, align
    if isinstance(ty, Struct):
        return struct_layout(ty)[0]
    payload = [extent(m.ty) for _, m in ty.cases]
    align = max(a for _, a in payload)
    return record([extent(ty.discriminator), (up(max(s for s, _ in payload), align), align)])[0]


def record(parts):
    """Lays parts out one after the other: ((size, align), offsets)."""
    at, most, offsets = 0, 1, []
    for size, align in parts:
        at = up(at, align)
        offsets.append(at)
        at, most = at + size, max(most, align)
    return (up(at, most), most), offsets


def container_extent(element, count):
    return record([(4, 4), (element[0] * count, element[1])])[0]


def member_extent(m):
    return record([(1, 1), extent(m.ty)])[0] if m.optional else extent(m.ty)


def struct_layout(ty):
    return record(([extent(ty.base)] if ty.base else []) + [member_extent(m) for m in ty.own])


class Flat:
    def __init__(self, ty, value):
        size, _ = extent(ty)
        self.head, self.mask, self.body = bytearray(size), bytearray(size), bytearray()
        self.write(ty, value, 0)

    def put(self, at, data):
        self.head[at : at + len(data)] = data
        self.mask[at : at + len(data)] = b"\xff" * len(data)

    def number(self, kind, value, at):
        self.put(at, struct.pack("<" + PRIMITIVES[kind], value))

    def write(self, ty, value, at):
        if isinstance(ty, str):
            self.number(ty, value, at)
        elif isinstance(ty, Enum):
            self.number("i32", value, at)
        elif isinstance(ty, Bitmask):
            self.number(ty.storage, value, at)
        elif isinstance(ty, WString):
            data = value.encode("utf-16-le")
            self.number("u32", len(data) // 2, at)
            self.put(at + 4, data + b"\0\0")
        elif isinstance(ty, String):
            data = value.encode()
            self.number("u32", len(data), at)
            self.put(at + 4, data + b"\0")
        elif isinstance(ty, Sequence) and ty.bulk:
            self.bulk(ty, value, at)
        elif isinstance(ty, Sequence):
            self.number("u32", len(value), at)
            size, align = extent(ty.element)
            for i, element in enumerate(value):
                self.write(ty.element, element, at + up(4, align) + i * size)
        elif isinstance(ty, Map):
            (size, align), offsets = record([extent(ty.key), extent(ty.value)])
            self.number("u32", len(value), at)
            for i, key in enumerate(sorted(value, key=sort_key)):
                entry = at + up(4, align) + i * size
                self.write(ty.key, key, entry)
                self.write(ty.value, value[key], entry + offsets[1])
        elif isinstance(ty, Array):
            size, _ = extent(ty.element)
            for i, element in enumerate(flatten(value, len(ty.lengths))):
                self.write(ty.element, element, at + i * size)
        elif isinstance(ty, Struct):
            self.struct(ty, value, at)
        else:
            self.union(ty, value, at)

    def struct(self, ty, value, at):
        offsets = struct_layout(ty)[1]
        if ty.base:
            self.write(ty.base, value, at)
        for m, offset in zip(ty.own, offsets[1 if ty.base else 0 :]):
            inner = value[m.name]
            if not m.optional:
                self.write(m.ty, inner, at + offset)
                continue
            self.number("u8", inner is not None, at + offset)
            if inner is not None:
                self.write(m.ty, inner, at + offset + record([(1, 1), extent(m.ty)])[1][1])

    def union(self, ty, value, at):
        discriminator, inner = value
        self.write(ty.discriminator, discriminator, at)
        case = ty.case(discriminator)
        if case:
            align = max(extent(m.ty)[1] for _, m in ty.cases)
            self.write(case.ty, inner, at + up(extent(ty.discriminator)[0], align))

    def bulk(self, ty, value, at):
        size, _ = extent(ty.element)
        begin = up(len(self.body), 64)
        self.body += b"\0" * (begin - len(self.body))
        self.number("u64", begin, at)
        self.number("u64", len(value), at + 8)
        for element in value:
            self.body += Flat(ty.element, element).head


def sort_key(key):
    return key.encode() if isinstance(key, str) else key


def flatten(value, depth):
    return value if depth == 1 else [x for part in value for x in flatten(part, depth - 1)]


# CDR ----------------------------------------------------------------------------------------------------------------


class Cdr:
    def __init__(self, ty, value, version, big):
        self.version, self.order, self.data = version, ">" if big else "<", bytearray()
        self.origin, self.most = 0, 8 if version == 1 else 4
        self.write(ty, value)
        kinds = {"final": 0, "appendable": 0, "mutable": 2} if version == 1 else {"final": 6, "appendable": 8, "mutable": 10}
        self.message = bytes([0, kinds[ty.kind] + (not big), 0, 0]) + bytes(self.data)

    def align(self, size):
        size = min(size, self.most)
        self.data += b"\0" * (-(len(self.data) - self.origin) % size)

    def number(self, kind, value):
        self.align(size_of(kind))
        self.data += struct.pack(self.order + PRIMITIVES[kind], value)

    def patch(self, at, kind, value):
        self.data[at : at + size_of(kind)] = struct.pack(self.order + PRIMITIVES[kind], value)

    def delimited(self, wanted, write):
        if not wanted or self.version == 1:
            return write()
        self.number("u32", 0)
        at = len(self.data)
        write()
        self.patch(at - 4, "u32", len(self.data) - at)

    def write(self, ty, value):
        if isinstance(ty, str):
            self.number(ty, value)
        elif isinstance(ty, Enum):
            self.number("i32", value)
        elif isinstance(ty, Bitmask):
            self.number(ty.storage, value)
        elif isinstance(ty, WString):
            units = struct.unpack(f"<{len(value.encode('utf-16-le')) // 2}H", value.encode("utf-16-le"))
            self.number("u32", len(units) if self.version == 1 else 2 * len(units))
            for unit in units:
                self.number("u32" if self.version == 1 else "u16", unit)
        elif isinstance(ty, String):
            data = value.encode() + b"\0"
            self.number("u32", len(data))
            self.data += data
        elif isinstance(ty, Sequence):
            self.delimited(not isinstance(ty.element, str), lambda: self.elements(ty.element, value, True))
        elif isinstance(ty, Array):
            values = flatten(value, len(ty.lengths))
            self.delimited(not isinstance(ty.element, str), lambda: self.elements(ty.element, values, False))
        elif isinstance(ty, Map):
            primitive = isinstance(ty.key, str) and isinstance(ty.value, str)
            self.delimited(not primitive, lambda: self.entries(ty, value))
        elif isinstance(ty, Struct):
            self.struct(ty, value)
        else:
            self.union(ty, value)

    def elements(self, element, values, counted):
        if counted:
            self.number("u32", len(values))
        for value in values:
            self.write(element, value)

    def entries(self, ty, value):
        self.number("u32", len(value))
        for key in sorted(value, key=sort_key):
            self.write(ty.key, key)
            self.write(ty.value, value[key])

    def struct(self, ty, value):
        if ty.kind == "mutable":
            present = [(m, value[m.name]) for m in ty.all() if not m.optional or value[m.name] is not None]
            return self.parameters(present)
        self.delimited(ty.kind == "appendable", lambda: [self.plain(m, value[m.name]) for m in ty.all()])

    def plain(self, m, value):
        if not m.optional:
            self.write(m.ty, value)
        elif self.version == 2:
            self.number("bool", value is not None)
            if value is not None:
                self.write(m.ty, value)
        else:
            self.parameter1(m, value)

    def union(self, ty, value):
        discriminator, inner = value
        case = ty.case(discriminator)
        if ty.kind == "mutable":
            members = [(Member("discriminator", ty.discriminator, 0, must_understand=True), discriminator)]
            return self.parameters(members + ([(case, inner)] if case else []))

        def write():
            self.write(ty.discriminator, discriminator)
            if case:
                self.write(case.ty, inner)

        self.delimited(ty.kind == "appendable", write)

    def parameters(self, members):
        if self.version == 2:
            return self.delimited(True, lambda: [self.parameter2(m, value) for m, value in members])
        for m, value in members:
            self.parameter1(m, value)
        self.align(4)
        self.number("u16", 0x7F02)
        self.number("u16", 0)

    def parameter1(self, m, value):
        self.align(4)
        inner = Cdr.__new__(Cdr)
        inner.version, inner.order, inner.data, inner.origin, inner.most = 1, self.order, bytearray(), 0, 8
        if value is not None:
            inner.write(m.ty, value)
        if m.id <= 0x3F00 and len(inner.data) <= 0xFFFF:
            self.number("u16", m.id | (0x4000 if m.must_understand else 0))
            self.number("u16", len(inner.data))
        else:
            self.number("u16", 0x7F01)
            self.number("u16", 8)
            self.number("u32", m.id | (0x40000000 if m.must_understand else 0))
            self.number("u32", len(inner.data))
        self.data += inner.data

    def parameter2(self, m, value):
        flag = 0x80000000 if m.must_understand else 0
        if isinstance(m.ty, (str, Enum, Bitmask)):
            self.number("u32", flag | (extent(m.ty)[0].bit_length() - 1) << 28 | m.id)
            return self.write(m.ty, value)
        self.number("u32", flag | 4 << 28 | m.id)
        self.delimited(True, lambda: self.write(m.ty, value))


# The kitchen --------------------------------------------------------------------------------------------------------

color = Enum(RED=0, GREEN=5, BLUE=6, ULTRAVIOLET=-2)
access = Bitmask("u8", READ=0, WRITE=1, OWN=7)
wheels = Bitmask("u16", LEFT=0, RIGHT=11)
features = Bitmask("u32", WIPERS=0, HORN=31)
wide = Bitmask("u64", LOW=0, HIGH=39)
matrix = Array("f64", 2, 3)
numbers = Sequence("i32", 4)
point = Struct(("x", "f64"), ("y", "f32"))
primitives = Struct(
    ("truth", "bool"), ("byte", "u8"), ("letter", "char"), ("wide_letter", "wchar"), ("tiny", "i8"), ("small_", "u8"),
    ("shorter", "i16"), ("shorter_unsigned", "u16"), ("number", "i32"), ("number_unsigned", "u32"), ("longer", "i64"),
    ("longer_unsigned", "u64"), ("ratio", "f32"), ("precise", "f64"), ("color", color), ("access", access),
    ("wheels", wheels), ("features", features), ("wide", wide),
)  # fmt: skip
label = Struct(("text", String(8)), Member("place", point, optional=True))
containers = Struct(
    ("text", String(10)), ("wide_text", WString(4)), ("empty_text", String(3)), ("flags", Sequence("bool", 3)),
    ("shorts", Sequence("u16", 5)), ("doubles", Sequence("f64", 3)), ("colors", Sequence(color, 3)),
    ("words", Sequence(String(5), 3)), ("points", Sequence(point, 3)), ("labels", Sequence(label, 3)),
    ("matrices", Sequence(matrix, 2)), ("nested", Sequence(numbers, 2)), ("nothing", Sequence("i64", 2)),
    ("array", Array("i16", 3)), ("color_array", Array(color, 2)), ("matrix", matrix),
    ("label_array", Array(label, 1, 2)), ("numbers", Map("u16", "i16", 3)), ("ages", Map(String(4), "i64", 3)),
    ("by_color", Map(color, label, 2)), ("no_entries", Map("i32", "i32", 2)),
)  # fmt: skip
optionals = Struct(
    ("before", "u8"), Member("number", "i64", optional=True), Member("no_number", "i64", optional=True),
    Member("text", String(6), optional=True), Member("label", label, optional=True),
    Member("shorts", Sequence("i16", 3), optional=True), ("after", "u8"), Member("last", "bool", optional=True),
)  # fmt: skip
shape = Union(color, ([0], ("radius", "f64")), ([5, 6], ("name", String(6))), ([None], ("corner", point)))
toggle = Union("bool", ([True], ("level", "i32")))
letters = Union("char", ([97, 98], ("shorts", Sequence("i16", 3))), ([122], ("access", access)))
sizes = Union("u8", ([0], ("big", "i64")), ([200], ("little", "i8")))
unions = Struct(
    ("round", shape), ("named", shape), ("cornered", shape), ("on", toggle), ("off", toggle), ("letters", letters),
    ("sizes", sizes), ("shapes", Sequence(shape, 2)),
)  # fmt: skip
sampled = Struct(("rate", "u32"), ("samples", Sequence("f32", bulk=True)))
base = Struct(("id", "i16"), ("left", sampled))
derived = Struct(
    ("raw", Sequence("u8", bulk=True)), ("between", "u8"), ("right", sampled),
    ("points", Sequence(point, 100, bulk=True)), ("none", Sequence("f64", bulk=True)), base=base,
)  # fmt: skip
growing = Struct(
    ("first", "i16"), Member("maybe", "i32", optional=True), ("second", String()), ("bytes", Sequence("u8")),
    kind="appendable",
)  # fmt: skip
changing = Struct(
    Member("small_number", "u8", 9), Member("large_id", "i64", 20000),
    Member("text", String(), 3, must_understand=True), Member("absent", "f64", 4, optional=True),
    Member("present", "f64", 5, optional=True), Member("parts", Sequence(growing), 6), Member("color", color, 7),
    Member("part", growing, 8), Member("last", "i32", 10), kind="mutable",
)  # fmt: skip
choice = Union("i32", ([1], Member("number", "i16", 5)), ([2], Member("text", String(), 70000)), kind="mutable")
pick = Union("i16", ([1], ("number", "i64")), ([2], ("text", String())), kind="appendable")
tree = Struct(("name", String()))
tree.own += [Member("children", Sequence(tree), 1), Member("ages", Map(String(), "i32"), 2)]
thicket = Struct(("name", String()))
thicket.own += [
    Member("by_number", Map("i32", Sequence(thicket)), 1), Member("rows", Sequence(Sequence(thicket)), 2),
    Member("maybe", Sequence(thicket), 3, optional=True),
]  # fmt: skip
heaped = Struct(
    ("wide_text", WString()), ("flags", Sequence("bool")), ("words", Sequence(String())), ("names", Map("i32", String())),
    ("growing", Sequence(growing)), ("choice", choice), ("other_choice", choice), ("pick", pick),
    ("nothing_picked", pick), ("tree", tree), ("behind", "f64"),
)  # fmt: skip

P1, P2 = {"x": 1.5, "y": -2.25}, {"x": 1e300, "y": 0.5}
LABEL1 = {"text": "hé", "place": P1}
LABEL2 = {"text": "12345678", "place": None}
GROWING1 = {"first": -2, "maybe": 7, "second": "two", "bytes": [1, 2, 3]}
GROWING2 = {"first": 3, "maybe": None, "second": "", "bytes": []}
def bush(name, rows=(), maybe=None):
    return {"name": name, "by_number": {}, "rows": list(rows), "maybe": maybe}


CASES = {
    "primitives": (primitives, {
        "truth": True, "byte": 0xFE, "letter": ord("k"), "wide_letter": 0x20AC, "tiny": -7, "small_": 200,
        "shorter": -30000, "shorter_unsigned": 60000, "number": -2000000000, "number_unsigned": 4000000000,
        "longer": -9000000000000000000, "longer_unsigned": 18000000000000000000, "ratio": 0.15625, "precise": -1e-300,
        "color": -2, "access": 0x81, "wheels": 0x801, "features": 0x80000000, "wide": 1 << 39 | 1,
    }),
    "containers": (containers, {
        "text": "köln", "wide_text": "a€", "empty_text": "", "flags": [True, False, True], "shorts": [1, 2, 65535],
        "doubles": [0.5, -0.25], "colors": [5, -2, 77], "words": ["", "fünf", "abc"], "points": [P1, P2],
        "labels": [LABEL1, LABEL2], "matrices": [[[1, 2, 3], [4, 5, 6]]], "nested": [[1, 2, 3], []], "nothing": [],
        "array": [-1, 0, 1], "color_array": [6, 0], "matrix": [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]],
        "label_array": [[LABEL2, LABEL1]], "numbers": {500: -5, 2: 3}, "ages": {"b": 2, "": 0, "ä": 3},
        "by_color": {5: LABEL1, -2: LABEL2}, "no_entries": {},
    }),
    "optionals": (optionals, {
        "before": 1, "number": -5, "no_number": None, "text": "there", "label": LABEL1, "shorts": [1, -1], "after": 2,
        "last": True,
    }),
    "unions": (unions, {
        "round": (0, 2.5), "named": (6, "box"), "cornered": (-2, P1), "on": (True, -9), "off": (False, None),
        "letters": (98, [1, 2]), "sizes": (200, -100), "shapes": [(5, "ball"), (0, 0.125)],
    }),
    "derived": (derived, {
        "id": 258, "left": {"rate": 10, "samples": [0.5, 1.5]}, "raw": list(range(70)), "between": 9,
        "right": {"rate": 20, "samples": [-0.5]}, "points": [P1, P2], "none": [],
    }),
    "growing": (growing, GROWING1),
    "changing": (changing, {
        "small_number": 255, "large_id": -1, "text": "must", "absent": None, "present": 0.75,
        "parts": [GROWING1, GROWING2], "color": 5, "part": GROWING2, "last": 43,
    }),
    "heaped": (heaped, {
        "wide_text": "wörld", "flags": [True, True, False], "words": ["one", ""], "names": {-1: "minus", 7: "seven"},
        "growing": [GROWING2, GROWING1], "choice": (2, "text"), "other_choice": (1, -3), "pick": (1, -4),
        "nothing_picked": (9, None),
        "tree": {
            "name": "root", "ages": {"z": 1, "a": 2},
            "children": [{"name": "leaf", "ages": {}, "children": []}, {"name": "", "ages": {"": 3}, "children": []}],
        },
        "behind": 6.5,
    }),
    "thicket": (thicket, {
        "name": "root",
        "by_number": {-1: [bush("left"), bush("right")], 7: []},
        "rows": [[bush("a")], [], [bush("b", maybe=[bush("below b")]), bush("c")]],
        "maybe": [bush("perhaps", rows=[[bush("a name that is long")]])],
    }),
}  # fmt: skip
FLAT = ["primitives", "containers", "optionals", "unions", "derived"]


def main():
    for folder in ("flat", "cdr"):
        (HERE / folder).mkdir(exist_ok=True)
    for name, (ty, value) in CASES.items():
        if name in FLAT:
            flat = Flat(ty, value)
            (HERE / f"flat/{name}.head.bin").write_bytes(flat.head)
            (HERE / f"flat/{name}.mask.bin").write_bytes(flat.mask)
            if flat.body:
                (HERE / f"flat/{name}.body.bin").write_bytes(flat.body)
        for version in (1, 2):
            for order, big in (("le", False), ("be", True)):
                message = Cdr(ty, value, version, big).message
                (HERE / f"cdr/{name}.xcdr{version}.{order}.bin").write_bytes(message)


if __name__ == "__main__":
    main()
