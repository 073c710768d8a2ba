#!/usr/bin/env python3
"""Writes the vectors of regions, from the words of spec/region.md; shares no code with Situ.

<name>.canonical.bin is the canonical image of a value, <name>.live.bin a live image of the same value as a program might
have left it: places not in use, gaps with rubbish in them, and a header whose working part says something.
<name>.compacted.bin is what compaction in place makes of that, its working part zero. <name>.packed.bin is the packed
image of the value: see packed.py.
"""

import hashlib
import pathlib
import struct
import sys

M64 = (1 << 64) - 1
SEED = 0x9E3779B97F4A7C15


def up(n, to=16):
    return (n + to - 1) // to * to


class Scalar:
    def __init__(self, kind, code):
        self.kind, self.code = kind, code
        self.size = self.align = struct.calcsize("<" + code)

    def write(self, image, at, value):
        struct.pack_into("<" + self.code, image.bytes, at, value)

    def bits(self, value):
        """A floating-point number as a key: its bits."""
        return int.from_bytes(struct.pack("<" + self.code, value), "little")

    def order(self, value):
        if self.code not in "fd":
            return value
        bits, sign = self.bits(value), 1 << 8 * self.size - 1
        return bits + sign if bits < sign else 2 * sign - 1 - bits

    def hash(self, value, seed):
        return mix(SEED * (seed + 1) + (self.bits(value) if self.code in "fd" else value) & M64)


def hash_parts(parts, seed):
    """The hash of a struct or an array: `parts` are the types and values of its members or elements."""
    parts = list(parts)
    h = mix(SEED * (seed + 1) + len(parts) & M64)
    for type, value in parts:
        h = mix(h ^ type.hash(value, seed))
    return h


class Array:
    def __init__(self, element, count):
        self.element, self.count = element, count
        self.kind, self.size, self.align = f"array[{count}]", element.size * count, element.align
        self.inner = [("[]", 0, element)]

    def write(self, image, at, values):
        for i, value in enumerate(values):
            self.element.write(image, at + i * self.element.size, value)

    def order(self, values):
        return [self.element.order(value) for value in values]

    def hash(self, values, seed):
        return hash_parts(((self.element, value) for value in values), seed)


class Struct:
    def __init__(self, name, entry=False):
        self.kind, self.name, self.entry, self.members = name, name, entry, []

    def define(self, *members):
        end, self.align = 0, 1
        for name, type in members:
            at = up(end, type.align)
            self.members.append((name, at, type))
            end, self.align = at + type.size, max(self.align, type.align)
        self.size = up(end, self.align)
        return self

    def write(self, image, at, values):
        for name, offset, type in self.members:
            type.write(image, at + offset, values[name])

    def order(self, values):
        return [type.order(values[name]) for name, _, type in self.members]

    def hash(self, values, seed):
        return hash_parts(((type, values[name]) for name, _, type in self.members), seed)


class Container:
    """16 bytes: i32 data, u32 len, u32 cap, i32 region; aligned to 4."""

    size, align = 16, 4

    def put(self, image, at, data, length, cap):
        struct.pack_into("<iIIi", image.bytes, at, data, length, cap, -at)


class String(Container):
    kind, inner = "string", []

    def write(self, image, at, value):
        text = value.encode()
        self.put(image, at, 0, 0, 0)
        if len(text) > 11 or (image.gaps and text.startswith(b"l")):
            cap = image.slack(len(text), 1)
            to = image.block(cap)
            image.bytes[to : to + len(text)] = text
            self.put(image, at, to - at, len(text), cap)
        elif text:
            image.bytes[at : at + len(text)] = text
            image.bytes[at + 11] = 0x80 | len(text)

    def order(self, value):
        return value.encode()

    def hash(self, value, seed):
        text = value.encode()
        h = mix(SEED * (seed + 1) + len(text) & M64)
        for i in range(0, len(text), 8):
            h = mix(h ^ int.from_bytes(text[i : i + 8], "little"))
        return h


class Vector(Container):
    def __init__(self, element, kind="vector"):
        self.kind, self.element = kind, element
        self.inner = [("[]", 0, element)]

    def write(self, image, at, values):
        self.put(image, at, 0, 0, 0)
        if values:
            cap = image.slack(len(values), self.element.size)
            to = image.block(cap * self.element.size)
            self.put(image, at, to - at, len(values), cap)
            for i, value in enumerate(values):
                self.element.write(image, to + i * self.element.size, value)


def entry_of(key, value):
    return Struct("entry", entry=True).define(("key", key), ("value", value))


def entries(values):
    """The entries of a map: a dict, or pairs where the keys are structs or lists."""
    return [{"key": k, "value": v} for k, v in (values.items() if isinstance(values, dict) else values)]


class FlatSet(Vector):
    def __init__(self, key):
        super().__init__(key, "flat_set")

    def write(self, image, at, values):
        super().write(image, at, sorted(values, key=self.element.order))


class FlatMap(Vector):
    def __init__(self, key, value):
        super().__init__(entry_of(key, value), "flat_map")
        self.key = key

    def write(self, image, at, values):
        super().write(image, at, sorted(entries(values), key=lambda entry: self.key.order(entry["key"])))


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
    return x ^ x >> 31


class Hash(Container):
    """Entries in a row, in canonical images ascending by key; then, if there is room for more than 8, a seed and words."""

    farthest = 256

    def __init__(self, slot, kind, key, key_of):
        self.kind, self.slot, self.key, self.key_of = kind, slot, key, key_of
        self.inner = [("[]", 0, slot)]

    def index(self, keys, cap, seed):
        """The words for a seed; None if one is too far from its home."""
        count, mask = cap * 5 // 3, (1 << cap.bit_length()) - 1
        words = [0] * count
        for number, key in enumerate(keys, 1):
            h = self.key.hash(key, seed)
            home = (h >> 32) * count >> 32
            free = next(d for d in range(count) if words[(home + d) % count] == 0)
            if free > self.farthest:
                return None
            words[(home + free) % count] = (h & 0xFFFFFFFF & ~mask) | number
        return words

    def write(self, image, at, slots):
        self.put(image, at, 0, 0, 0)
        if not slots:
            return
        if not image.live:
            slots = sorted(slots, key=lambda slot: self.key.order(self.key_of(slot)))
        cap, keys = image.slack(len(slots), self.slot.size), [self.key_of(slot) for slot in slots]
        entries, words = cap * self.slot.size, []
        if cap > 8:
            # A live image may have any seed.
            seeds = [12345] if image.gaps else range(64)
            words = next(([seed] + found for seed in seeds if (found := self.index(keys, cap, seed)) is not None))
            entries = up(entries, 4)
        to = image.block(entries + 4 * len(words))
        self.put(image, at, to - at, len(slots), cap)
        for i, slot in enumerate(slots):
            self.slot.write(image, to + i * self.slot.size, slot)
        struct.pack_into(f"<{len(words)}I", image.bytes, to + entries, *words)


class HashSet(Hash):
    def __init__(self, key):
        super().__init__(key, "hash_set", key, lambda slot: slot)


class HashMap(Hash):
    def __init__(self, key, value):
        super().__init__(entry_of(key, value), "hash_map", key, lambda slot: slot["key"])

    def write(self, image, at, values):
        super().write(image, at, entries(values))


class Optional:
    def __init__(self, value):
        self.kind, self.value = "optional", value
        self.align = max(4, value.align)
        self.offset = max(8, value.align)
        self.size = up(self.offset + value.size, self.align)
        self.inner = [("?", self.offset, value)]

    def write(self, image, at, value):
        struct.pack_into("<B3xi", image.bytes, at, value is not None, -at)
        if value is not None:
            self.value.write(image, at + self.offset, value)


class Unique:
    kind, size, align = "unique", 8, 4

    def __init__(self, value):
        self.inner = [("*", 0, value)]

    def write(self, image, at, value):
        struct.pack_into("<ii", image.bytes, at, 0, -at)
        if value is not None:
            type = self.inner[0][2]
            to = image.block(type.size)
            struct.pack_into("<i", image.bytes, at, to - at)
            type.write(image, to, value)


class Ordered(Container):
    """A B-tree; in live images with more and roomier nodes than in canonical ones."""

    def __init__(self, element, kind, key, key_of):
        self.kind, self.element, self.key, self.key_of = kind, element, key, key_of
        self.inner = [("[]", 0, element)]

    def write(self, image, at, elements):
        self.first = max(4, self.element.align)
        self.most = min(63, max(8, (256 - self.first) // self.element.size))
        elements = sorted(elements, key=lambda element: self.key.order(self.key_of(element)))
        levels = 0
        while len(elements) >= (self.most + 1) ** levels:
            levels += 1
        self.put(image, at, 0, len(elements), levels)
        if elements:
            self.node(image, at, elements, levels, 1)

    def node(self, image, link, elements, levels, least):
        inner, gaps = levels > 1, len(elements) + 1
        children = -(-gaps // (self.most + 1) ** (levels - 1)) if inner else 0
        if inner and image.live:
            children = min(self.most + 1, gaps // (self.most // 2 + 1) ** (levels - 1))
        count = children - 1 if inner else len(elements)
        cap = min(self.most, image.slack(count, self.element.size))
        if image.live:
            cap = max(cap, least)
        links = up(self.first + cap * self.element.size, 4)
        node = image.block(links + 4 * (cap + 1) if inner else self.first + cap * self.element.size)
        struct.pack_into("<i", image.bytes, link, node - link)
        struct.pack_into("<HH", image.bytes, node, count, cap)
        rest = list(elements)
        for i in range(count + 1):
            if inner:
                size = gaps // children + (i < gaps % children) - 1
                self.node(image, node + links + 4 * i, rest[:size], levels - 1, self.most // 2)
                rest = rest[size:]
            if i < count:
                self.element.write(image, node + self.first + i * self.element.size, rest.pop(0))


class OrderedSet(Ordered):
    def __init__(self, key):
        super().__init__(key, "ordered_set", key, lambda key: key)


class OrderedMap(Ordered):
    def __init__(self, key, value):
        super().__init__(entry_of(key, value), "ordered_map", key, lambda entry: entry["key"])

    def write(self, image, at, values):
        super().write(image, at, entries(values))


class Shared:
    """The same Python object is the same value. Its block begins with the numbers of links and of weak links."""

    kind, size, align = "shared", 8, 4

    def __init__(self, value):
        self.value = value

    @property
    def inner(self):
        return [("&", max(8, self.value.align), self.value)]

    def write(self, image, at, value):
        struct.pack_into("<ii", image.bytes, at, 0, -at)
        if value is None:
            return
        new = id(value) not in image.shared
        if new:
            image.shared[id(value)] = image.block(max(8, self.value.align) + self.value.size)
        to = image.shared[id(value)]
        struct.pack_into("<i", image.bytes, at, to - at)
        struct.pack_into("<I", image.bytes, to, struct.unpack_from("<I", image.bytes, to)[0] + 1)
        if new:
            self.value.write(image, to + max(8, self.value.align), value)


class Union:
    def __init__(self, name, discriminator, *members):
        self.kind = self.name = name
        self.discriminator, self.members, self.entry = discriminator, members, False
        self.region = 8 if discriminator.size > 4 else 4
        align = max(type.align for _, _, type in members)
        self.offset = up(self.region + 4, align)
        self.align = max(4, discriminator.align, align)
        self.size = up(self.offset + max(type.size for _, _, type in members), self.align)

    def selects(self, value):
        for labels, name, type in self.members:
            if value in labels:
                return type
        return next((type for labels, _, type in self.members if "default" in labels), None)

    def write(self, image, at, value):
        selector, member = value
        struct.pack_into("<i", image.bytes, at + self.region, -at)
        self.discriminator.write(image, at, selector)
        if self.selects(selector):
            self.selects(selector).write(image, at + self.offset, member)


class Appendable(Struct):
    def define(self, *members):
        super().define(*members)
        self.size, self.align = up(self.size, 8), 8
        return self

    def history(self):
        hashes = [hash64(f"region-appendable-v1 {self.name}\n")]
        for name, at, member in self.members:
            lines = Lines()
            lines.value(f"{self.name}.{name}", at, member)
            lines.needed(member)
            hashes.append(hash64(f"{hashes[-1]:016x}\n" + lines.text()))
        return hashes[1:]


class Image:
    def __init__(self, type, value, form):
        # Compacted images have the order and the shapes of live ones, and none of their room.
        live, self.gaps = form != "canonical", form == "live"
        self.live, self.bytes, self.shared, self.weak = live, bytearray(64 + up(type.size)), {}, []
        table, versions = 0, versions_of(type)
        if versions and not live:
            table = self.table(versions)
        type.write(self, 64, value)
        if versions and live:
            table = self.table(versions)
        for at, value in self.weak:
            to = self.shared[value]
            struct.pack_into("<i", self.bytes, at, to - at)
            struct.pack_into("<I", self.bytes, to + 4, struct.unpack_from("<I", self.bytes, to + 4)[0] + 1)
        struct.pack_into(
            "<IHBBQQII", self.bytes, 0, 0x4E475253, 2, live, 0, 0, layout_hash(type), len(self.bytes), 64
        )
        if self.gaps:
            self.bytes[32:64] = bytes(range(1, 33))
        if versions:
            struct.pack_into("<I", self.bytes, 60, table)

    def table(self, versions):
        entries = []
        for name, size, history in sorted((hash64(f"{v.name}\n"), v.size, v.history()) for v in versions):
            entries.append(struct.pack("<QII", name, size, len(history)) + struct.pack(f"<{len(history)}Q", *history))
        text = b"".join(entries)
        at = self.block(8 + len(text))
        struct.pack_into("<II", self.bytes, at, len(entries), len(text) // 8)
        self.bytes[at + 8 : at + 8 + len(text)] = text
        return at

    def slack(self, count, size):
        return count + 3 if self.gaps else count

    def block(self, size):
        if self.gaps:
            self.bytes += b"\xA5" * 32
        to = len(self.bytes)
        self.bytes += bytes(up(size))
        return to


class Lines:
    def __init__(self):
        self.lines, self.seen = [], []

    def text(self):
        return "".join(line + "\n" for line in self.lines)

    def value(self, path, offset, type, labels="", size=None):
        kind = "entry" if getattr(type, "entry", False) else type.kind
        size, align = (type.size, type.align) if size is None else (size, size)
        self.lines.append(f"{path} {offset} {size} {align} {labels}{kind}")
        if getattr(type, "entry", False):
            for name, at, member in type.members:
                self.value(f"{path}.{name}", at, member)
        for step, at, inner in getattr(type, "inner", []):
            behind = step in "*&" and isinstance(inner, Appendable)
            self.value(path + step, at, inner, size=0 if behind else None)

    def needed(self, type):
        if isinstance(type, (Struct, Union)) and not type.entry:
            if type.name in self.seen:
                return
            self.seen.append(type.name)
        if isinstance(type, Appendable):
            self.lines.append(f"{type.name} 0 0 0 appendable")
            return
        if isinstance(type, Union):
            self.lines.append(f"{type.name} 0 {type.size} {type.align} union")
            self.value(f"{type.name}.discriminator", 0, type.discriminator)
            for labels, name, member in type.members:
                numbers = sorted(int(label) for label in labels if label != "default")
                names = [str(number) for number in numbers] + ["default"] * ("default" in labels)
                self.value(f"{type.name}.{name}", type.offset, member, ",".join(names) + ":")
        elif isinstance(type, Struct) and not type.entry:
            self.lines.append(f"{type.name} 0 {type.size} {type.align} struct")
            for name, at, member in type.members:
                self.value(f"{type.name}.{name}", at, member)
        for _, _, member in getattr(type, "members", []):
            self.needed(member)
        for _, _, inner in getattr(type, "inner", []):
            self.needed(inner)


def versions_of(root):
    """All appendable structs that a type needs."""
    found, seen = [], []

    def visit(type):
        if any(type is each for each in seen):
            return
        seen.append(type)
        if isinstance(type, Appendable):
            found.append(type)
        for _, _, member in getattr(type, "members", []):
            visit(member)
        for _, _, inner in getattr(type, "inner", []):
            visit(inner)

    visit(root)
    return found


def layout_text(root):
    lines = Lines()
    lines.needed(root)
    return f"region-v2 {root.name}\n" + lines.text()


def hash64(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def layout_hash(root):
    return hash64(layout_text(root))


BOOL, U8, I16, U16 = Scalar("boolean", "B"), Scalar("uint8", "B"), Scalar("int16", "h"), Scalar("uint16", "H")
I32, U32, I64, U64 = Scalar("int32", "i"), Scalar("uint32", "I"), Scalar("int64", "q"), Scalar("uint64", "Q")
F32, F64, CHAR, I8 = Scalar("float", "f"), Scalar("double", "d"), Scalar("char", "B"), Scalar("int8", "b")

SKILL = Struct("Skill").define(("id", U32), ("level", U32))
ITEM = Struct("Item").define(("id", U32), ("number", U32), ("uuid", U64), ("timestamp", U64))
EQUIP = Struct("Equip").define(("base", ITEM), ("level", U32), ("attributes", Vector(F32)))
POSITION = Struct("Position").define(("x", F32), ("y", F32), ("z", F32))
CHARACTER = Struct("Character").define(
    ("id", U64), ("name", String()), ("level", U32), ("healthpoint", F32), ("manapoint", F32), ("speed", F32),
    ("pos", POSITION), ("items", FlatMap(U64, ITEM)), ("path", Vector(POSITION)), ("attributes", Vector(F32)),
    ("equips", Vector(EQUIP)), ("skills", Vector(SKILL)),
)  # fmt: skip
NODE = Struct("Node")
NODE.size, NODE.align = 28, 4
NODE.members = [("value", 0, I32), ("children", 4, Vector(NODE)), ("next", 20, Unique(NODE))]
KITCHEN = Struct("Kitchen").define(
    ("flag", BOOL), ("number", I64), ("colour", U8), ("three", Array(I16, 3)), ("names", Array(String(), 2)),
    ("maybe", Optional(F64)), ("nickname", Optional(String())), ("tree", Unique(NODE)), ("words", FlatSet(String())),
    ("lists", FlatMap(String(), Vector(U16))), ("numbers", HashSet(I32)), ("gear", HashMap(String(), EQUIP)),
    ("bits", Vector(BOOL)),
)  # fmt: skip

SHAPE = Union("Shape", I32, ([1], "radius", F32), ([2, 3], "label", String()), (["default"], "points", Vector(F32)))
CHOICE = Union("Choice", U64, ([1], "flag", BOOL), ([2], "big", I64))
FLAGGED = Union("Flagged", BOOL, ([0], "number", U8), ([1], "text", String()))
TEXTURE = Struct("Texture")
TEXTURE.define(("name", String()), ("base", Shared(TEXTURE)))
BLADE = Struct("Blade").define(("base", EQUIP), ("edge", U16))
MARKET = Struct("Market").define(
    ("index", OrderedSet(U32)), ("words", OrderedSet(String())), ("prices", OrderedMap(String(), ITEM)),
    ("nothing", OrderedMap(U8, String())), ("shape", SHAPE), ("shapes", Vector(SHAPE)), ("choices", Array(CHOICE, 2)),
    ("flagged", FLAGGED), ("texture", Shared(TEXTURE)), ("textures", Vector(Shared(TEXTURE))), ("blade", BLADE),
    ("boxed", FlatMap(U8, Shared(ITEM))),
)  # fmt: skip
CELL = Struct("Cell").define(("x", I32), ("y", I16), ("z", I16))
LABEL = Struct("Label").define(("area", String()), ("number", U8), ("is_old", BOOL))
CABINET = Struct("Cabinet").define(
    ("angles", FlatSet(F64)), ("weights", FlatMap(F32, U8)), ("doors", FlatSet(BOOL)), ("letters", OrderedSet(CHAR)),
    ("sides", HashMap(I8, String())), ("grid", HashMap(CELL, String())), ("labels", FlatMap(LABEL, U16)),
    ("marks", HashSet(F32)), ("digests", OrderedMap(Array(U8, 4), F64)), ("places", HashSet(LABEL)),
    ("pairs", FlatSet(Array(CELL, 2))), ("shelves", OrderedMap(LABEL, CELL)),
    ("many", HashSet(U16)), ("bytes", HashSet(U8)),
)  # fmt: skip
OLD_RECORD = Appendable("Record").define(("score", U32), ("when", U64))
OLD_PROFILE = Appendable("Profile").define(("id", U64), ("name", String()), ("best", Unique(OLD_RECORD)))
RECORD = Appendable("Record").define(("score", U32), ("when", U64), ("by", String()))
PROFILE = Appendable("Profile").define(
    ("id", U64), ("name", String()), ("best", Unique(RECORD)), ("level", U8), ("tags", FlatSet(String())),
    ("rival", Shared(RECORD)),
)  # fmt: skip


def item(id, number, uuid, timestamp):
    return {"id": id, "number": number, "uuid": uuid, "timestamp": timestamp}


def node(value, children=(), next=None):
    return {"value": value, "children": list(children), "next": next}


def cell(x, y, z=0):
    return {"x": x, "y": y, "z": z}


def label(area, number, is_old=0):
    return {"area": area, "number": number, "is_old": is_old}


WOOD = {"name": "wood", "base": None}
OAK = {"name": "oak with long grain", "base": WOOD}
ITEM_7 = item(7, 7, 7, 7)
BEST = {"score": 900, "when": 1700000000, "by": "somebody with a long name"}

VALUES = {
    "character": (CHARACTER, {
        "id": 1, "name": "Hero", "level": 60, "healthpoint": 100.5, "manapoint": 50.25, "speed": 1.5,
        "pos": {"x": 1, "y": 2, "z": 3},
        "items": {50 - i * 10: item(i, i + 1, 7000 + i, 90 + i) for i in range(5)},
        "path": [{"x": i, "y": i * 2, "z": i * 3} for i in range(4)],
        "attributes": [0.5 * i for i in range(3)],
        "equips": [{"base": item(i, 1, i + 100, i + 200), "level": i + 5, "attributes": [0, 1, 2]} for i in range(2)],
        "skills": [{"id": 1054, "level": 3}, {"id": 7, "level": 1}],
    }),
    "kitchen": (KITCHEN, {
        "flag": 1, "number": -5, "colour": 2, "three": [1, -2, 3],
        "names": ["short", "a name of more than eleven bytes"],
        "maybe": 2.5, "nickname": "the nickname is long",
        "tree": node(1, [node(2, [node(3)]), node(4, next=node(5))]),
        "words": ["zebra", "apple", "a rather long word", "mango"],
        "lists": {"odd": [1, 3, 5], "even": [2, 4]},
        "numbers": [i * 37 - 100 for i in range(20)],
        "gear": {name: {"base": item(0, 0, 0, 0), "level": 0, "attributes": [1.5]}
                 for name in ("sword", "a shield that is heavy", "bow")},
        "bits": [1, 0],
    }),
    "market": (MARKET, {
        "index": [i * i % 1009 for i in range(505)],
        "words": [f"word {i * 7 % 40} of forty" for i in range(40)],
        "prices": {f"price {i}": item(i, i, i, i) for i in range(100)},
        "nothing": {},
        "shape": (3, "a label of some length"),
        "shapes": [(1, 2.5), (2, "short"), (-4, [1, 2, 3]), (0, [])],
        "choices": [(2, -1), (7, None)],
        "flagged": (1, "flagged"),
        "texture": OAK,
        "textures": [WOOD, OAK, None, WOOD],
        "blade": {"base": {"base": item(1, 2, 3, 4), "level": 5, "attributes": [6]}, "edge": 7},
        "boxed": {3: ITEM_7, 1: ITEM_7},
    }),
    "cabinet": (CABINET, {
        "angles": [1.5, float("nan"), -0.0, float("-inf"), 0.0, -2.5, float("inf"), -1e-310],
        "weights": {0.5: 1, -0.5: 2, 1e30: 3},
        "doors": [1, 0], "letters": [0x7A, 0xE9, 0x41], "sides": {-1: "left", 1: "right", 0: "the one in between"},
        "grid": [(cell(i * 7 % 11 - 5, -i, i % 3), f"cell {i}") for i in range(11)],
        "labels": [(label("kitchen", 2), 20), (label("kitchen", 1), 10), (label("an area of some length", 200, 1), 30),
                   (label("kitchen", 1, 1), 11)],
        "marks": [float("nan"), 0.0, -0.0] + [i * 0.25 - 1 for i in range(4)] + [i * 1.5 + 8 for i in range(5)],
        "digests": [([i * 53 % 256, i, 255 - i, 7], i / 4) for i in range(40)],
        "places": [label(("cellar", "the garden behind the house")[i % 2], i * 5 % 13, i % 3 == 0) for i in range(12)],
        "pairs": [[cell(1, 2), cell(3, 4)], [cell(1, 2), cell(-3, 4)], [cell(-1, 2, 5), cell(0, 0)]],
        "shelves": [(label(f"area {i * 7 % 25} of many", i % 4), cell(i, i)) for i in range(25)],
        "many": [i * 257 % 65537 - 1 for i in range(1, 401)], "bytes": [i * i for i in range(11)],
    }),
    "profile.before": (OLD_PROFILE, {"id": 5, "name": "the name of this profile", "best": BEST}),
    "profile.after": (PROFILE, {
        "id": 5, "name": "the name of this profile", "best": BEST, "level": 3,
        "tags": ["quick", "with a longer name"], "rival": {"score": 901, "when": 1700000001, "by": "me"},
    }),
}  # fmt: skip


if __name__ == "__main__":
    sys.modules["region"] = sys.modules["__main__"]
    import packed
    import refused
    import weak

    folder = pathlib.Path(__file__).parent / "region"
    folder.mkdir(exist_ok=True)
    images = {}
    for name, (type, value) in (VALUES | weak.VALUES).items():
        for form in ("canonical", "live", "compacted"):
            images[f"{name}.{form}"] = Image(type, value, form).bytes
        images[f"{name}.packed"] = packed.PackedImage(type, value).bytes
    for name, image in images.items():
        (folder / f"{name}.bin").write_bytes(image)
    spoilt = refused.refused(images) + packed.refused(images) + weak.refused(images)
    lines = [f"{name} {at} {text.hex()} {error}\n" for name, at, text, error in spoilt]
    (folder / "refused.txt").write_text("".join(lines))
