"""Spoilt images of regions, and the errors that name what is wrong with them: the part of refused.txt about the canonical
and live images of region.py.
"""

import struct

from region import CABINET, EQUIP, KITCHEN, String, entry_of, hash64, up


def number(image, at, code="<I"):
    return struct.unpack_from(code, image, at)[0]


def target(image, at):
    return at + number(image, at, "<i")


class Table:
    """A hash table with an index in an image, by the words of spec/region.md."""

    def __init__(self, images, name, type, member):
        self.name, self.image = name, bytearray(images[name])
        self.at, self.type = next((64 + at, of) for each, at, of in type.members if each == member)
        self.block = target(self.image, self.at)
        self.len, self.cap = number(self.image, self.at + 4), number(self.image, self.at + 8)
        self.words_at = self.block + up(self.cap * self.type.slot.size, 4) + 4
        self.count, self.mask = self.cap * 5 // 3, (1 << self.cap.bit_length()) - 1
        self.words = list(struct.unpack_from(f"<{self.count}I", self.image, self.words_at))
        self.seed = number(self.image, self.words_at - 4)

    def key_at(self, entry):
        return self.block + entry * self.type.slot.size

    def key(self, entry):
        return number(self.image, self.key_at(entry), "<" + self.type.key.code)

    def hash(self, entry):
        return self.type.key.hash(self.key(entry), self.seed)

    def home(self, entry):
        return (self.hash(entry) >> 32) * self.count >> 32

    def tag(self, entry):
        return self.hash(entry) & 0xFFFFFFFF & ~self.mask

    def slot(self, entry):
        """Where the word of an entry is."""
        return next(at for at in range(self.count) if self.words[at] & self.mask == entry + 1)

    def wrong(self):
        """The first entry that is not the one that its key finds."""
        canonical = self.name.endswith("canonical")
        for entry in range(self.len):
            for away in range(self.count):
                word = self.words[(self.home(entry) + away) % self.count]
                if word == self.tag(entry) | entry + 1:
                    break
                other = (word & self.mask) - 1
                if other < 0 or other >= self.len or away == 256:
                    return entry
                same = word & ~self.mask == self.tag(entry) and self.key(other) == self.key(entry)
                if other >= entry if canonical else same:
                    return entry
        return None

    def line(self, member, first, count, error=None):
        """The line for other words, `count` from `first` on; the error, if it is not that of `wrong`."""
        assert (self.wrong() is None) == (error is not None), (member, error, self.wrong())
        error = error or f"entry {self.wrong()} is not the one that its key finds"
        text = struct.pack(f"<{count}I", *self.words[first : first + count])
        return self.name, self.words_at + 4 * first, text, f"{member}: {error} (at offset {self.at})"


def refused_tables(images):
    """Spoilt hash tables: a line or more for each sentence of *What a check proves*."""
    lines = []
    for form in ("canonical", "live"):
        table = lambda: Table(images, f"kitchen.{form}", KITCHEN, "numbers")
        # The word of an entry is not there.
        it = table()
        at = it.slot(9)
        it.words[at] = 0
        lines.append(it.line("numbers", at, 1))
        # A word on the way has the number of no entry.
        it = table()
        at = it.slot(7)
        it.words[at] = it.tag(7) | it.mask
        lines.append(it.line("numbers", at, 1))
        # A word that belongs to no entry.
        it = table()
        at = it.words.index(0)
        it.words[at] = 1
        lines.append(it.line("numbers", at, 1, "length 20, but 21 words of the index are in use"))
        # A word is farther than 256 words from its home; the words between are those of other entries.
        it = Table(images, f"cabinet.{form}", CABINET, "many")
        entry = next(e for e in range(380, 400) if it.home(e) + 258 < it.count and it.slot(e) < it.home(e) + 200)
        first, far = min(it.home(entry), it.slot(entry)), it.home(entry) + 257
        own, it.words[it.slot(entry)] = it.words[it.slot(entry)], 0
        for at in range(it.home(entry), far):
            it.words[at] = it.words[at] or 1
        it.words[far] = own
        lines.append(it.line("many", first, far + 1 - first))
    # An entry before has the same key.
    it = Table(images, "kitchen.live", KITCHEN, "numbers")
    it.image[it.key_at(5) : it.key_at(5) + 4] = it.image[it.key_at(3) : it.key_at(3) + 4]
    at, text, error = it.key_at(5), bytes(it.image[it.key_at(3) : it.key_at(3) + 4]), it.wrong()
    assert error == 5
    lines.append(("kitchen.live", at, text, f"numbers: entry 5 is not the one that its key finds (at offset {it.at})"))
    # The word of an entry is not at the first free place.
    it = Table(images, "kitchen.canonical", KITCHEN, "numbers")
    is_moved = lambda at: it.words[at + 1] and it.home((it.words[at + 1] & it.mask) - 1) <= at
    at = next(at for at in range(it.count - 1) if it.words[at] and is_moved(at))
    it.words[at], it.words[at + 1] = it.words[at + 1], it.words[at]
    lines.append(it.line("numbers", at, 2))
    # Another seed, with the words that follow from it.
    for seed in (3, 64):
        it = Table(images, "kitchen.canonical", KITCHEN, "numbers")
        it.seed, it.words = seed, it.type.index([it.key(entry) for entry in range(it.len)], it.cap, seed)
        name, at, text, error = it.line("numbers", 0, it.count, f"seed {seed} is not the canonical one")
        lines.append((name, at - 4, struct.pack("<I", seed) + text, error))
    # The entries are not in the order of their keys.
    it = Table(images, "kitchen.canonical", KITCHEN, "numbers")
    at, two = it.key_at(3), it.image[it.key_at(3) : it.key_at(5)]
    error = f"numbers: key 4 is not greater than the key before it (at offset {it.at})"
    lines.append((it.name, at, bytes(two[4:] + two[:4]), error))
    # Bytes between the entries and the index.
    it = Table(images, "cabinet.canonical", CABINET, "bytes")
    at = it.words_at - 5
    error = f"bytes: the byte at offset {at} belongs to nothing and is not zero (at offset {at})"
    lines.append((it.name, at, b"\1", error))
    # Without an index.
    gear = next(64 + at for each, at, _ in KITCHEN.members if each == "gear")
    block = target(images["kitchen.live"], gear)
    third = block + 2 * entry_of(String(), EQUIP).size
    lines.append(("kitchen.live", third, bytes(images["kitchen.live"][block : block + 12]),
                  f"gear: entry 2 is not the one that its key finds (at offset {gear})"))  # fmt: skip
    return lines


def refused(images):
    """Spoilt images: which, where, the bytes written there, and the error that names it."""
    canonical, live = images["market.canonical"], images["market.live"]
    profile = images["profile.before.canonical"]
    # The members of Market; the first node of its index, and that one's first child.
    index, words, shapes, flagged, texture, textures, boxed = 64, 80, 152, 216, 240, 248, 320
    node, oak, first = target(canonical, index), target(canonical, texture), target(canonical, target(canonical, textures))
    leaf = target(canonical, node + 4 + 4 * 7)
    wood = target(canonical, oak + 8 + 16)
    shape = target(canonical, shapes)
    table = number(profile, 60)
    record = next(
        at for at in range(table + 8, table + 88, 8) if number(profile, at, "<Q") == hash64("Record\n")
    )
    u16, u32 = (lambda n: struct.pack("<H", n)), (lambda n: struct.pack("<I", n))
    i32 = lambda n: struct.pack("<i", n)
    return [
        ("market.canonical", index + 8, u32(3), f"index: the tree has 3 levels instead of 2 (at offset {index})"),
        ("market.canonical", index + 4, u32(0), f"index: the tree has 2 levels instead of 0 (at offset {index})"),
        ("market.live", index + 8, u32(17), f"index: the tree has 17 levels instead of 2 (at offset {index})"),
        ("market.live", index + 4, u32(504), f"index: length 504, but the nodes hold 505 keys (at offset {index})"),
        ("market.canonical", node, u16(6), "index: the node holds 6 keys and has room for 7; room for 7 to 7 is allowed, "
         f"and at least one key (at offset {node})"),
        ("market.canonical", leaf + 2, u16(64), "index: the node holds 63 keys and has room for 64; room for 63 to 63 is "
         f"allowed, and at least one key (at offset {leaf})"),
        ("market.live", target(live, index) + 2, u16(64), "index: the node holds 14 keys and has room for 64; room for 1 to 63 "
         f"is allowed, and at least one key (at offset {target(live, index)})"),
        ("market.canonical", leaf + 8, u32(0), f"index: key 1 is not greater than the key before it (at offset {index})"),
        ("market.canonical", node + 4, u32(0), f"index: key 63 is not greater than the key before it (at offset {index})"),
        ("market.canonical", node + 4 + 4 * 7, i32(0), f"index: offset {node + 32} is not the canonical one, {leaf} "
         f"(at offset {node + 32})"),
        ("market.canonical", shape + 24 + 8 + 4, b"\xff", "shapes[1].label: the text is not UTF-8 from byte 4 on "
         f"(at offset {shape + 32})"),
        ("market.canonical", shape + 24 + 8 + 11, b"\x8f" + u32(0), "shapes[1].label: the link back to the header is 0 "
         f"(at offset {shape + 32})"),
        ("market.canonical", shape + 3 * 24 + 20, i32(-1), f"shapes[3].points: the link back to the header is -1 "
         f"(at offset {shape + 80})"),
        ("market.canonical", shape + 12, b"\1", f"shapes[0]: the byte at offset {shape + 12} belongs to nothing and is not zero "
         f"(at offset {shape + 12})"),
        ("market.canonical", shape + 4, i32(0), f"shapes[0]: the link back to the header is 0 (at offset {shape})"),
        ("market.canonical", flagged, b"\2", "flagged.discriminator: 2 is not a boolean; only 0 and 1 are "
         f"(at offset {flagged})"),
        ("market.canonical", oak, u32(3), f"message: the shared value counts 3 links, but 2 lead to it (at offset {oak})"),
        ("market.canonical", oak, u32(1), f"message: the shared value counts 1 links, but 2 lead to it (at offset {oak})"),
        ("market.canonical", wood + 8 + 16, i32(oak - wood - 24), f"texture.base.base: the shared value at offset {oak} holds "
         f"this link to itself (at offset {wood + 24})"),
        ("market.canonical", target(canonical, boxed) + 4, i32(oak - target(canonical, boxed) - 4), "boxed[0].value: the shared "
         f"value at offset {oak} is of another type (at offset {target(canonical, boxed) + 4})"),
        ("profile.before.canonical", record + 24, b"\0", "message: the image has another Record: member 2, here when, differs "
         f"(at offset {record + 24})"),
        ("profile.before.canonical", 60, u32(table + 1), f"message: the table of versions at offset {table + 1} is not good "
         "(at offset 60)"),
        ("profile.before.canonical", record + 12, u32(9), f"message: the table of versions at offset {table} is not good "
         "(at offset 60)"),
        *refused_tables(images),
    ]  # fmt: skip
