"""Writes packed images of regions, from the words of spec/region.md; shares no code with Situ. The types and values are
those of region.py. Chains of more than 64 links are not among them."""

import struct

import region
from region import Appendable, Array, Container, Optional, Scalar, Shared, String, Struct, Union, Unique, Vector, up


def has_links(type):
    if isinstance(type, Array):
        return has_links(type.element)
    if isinstance(type, Appendable):
        return True
    if isinstance(type, Struct):
        return any(has_links(member) for _, _, member in type.members)
    return not isinstance(type, Scalar)


def is_container(type):
    return isinstance(type, Container)


def extent(type):
    """The size and the alignment."""
    if not has_links(type):
        return type.size, type.align
    if isinstance(type, Array):
        size, align = extent(type.element)
        return size * type.count, align
    if isinstance(type, Struct):
        end = max((at + extent(member)[0] for _, at, member in places(type)), default=0)
        align = 8 if isinstance(type, Appendable) else max(extent(member)[1] for _, _, member in type.members)
        return up(end, align), align
    if isinstance(type, Optional) and not is_container(type.value) and extent(type.value)[0] < 4:
        size, align = extent(type.value)
        return align + size, align
    if isinstance(type, Union):
        at, size, align = inside(type)
        align = max(align, type.discriminator.align)
        return up(at + size, align), align
    return 4, 1


def places(type):
    """The members of a struct in the order of their declaration, with their places."""
    if not has_links(type):
        return type.members
    if isinstance(type, Appendable):
        members = type.members
    else:
        members = sorted(type.members, key=lambda member: -extent(member[2])[1])
    found, end = {}, 0
    for name, _, member in members:
        size, align = extent(member)
        found[name] = up(end, align)
        end = found[name] + size
    return [(name, found[name], member) for name, _, member in type.members]


def inside(union):
    """The place of a union's value or link, its size and its alignment."""
    extents = [extent(member) for _, _, member in union.members]
    size, align = max(size for size, _ in extents), max(align for _, align in extents)
    if size > 4:
        size, align = 4, 1
    return up(union.discriminator.size, align), size, align


def length(n):
    text = bytearray()
    while n >= 128:
        text.append(n & 127 | 128)
        n >>= 7
    return bytes(text) + bytes([n])


class PackedImage:
    def __init__(self, type, value):
        self.shared, self.weak, self.bytes = {}, [], bytearray(32)
        self.live = self.gaps = False  # as the types without links ask
        versions = region.versions_of(type)
        if versions:
            self.bytes += self.table(versions)
        root = self.room(*extent(type))
        self.put(type, root, value)
        for at, target in self.weak:
            # A value that begins with the link to itself is not at distance 0, which means none.
            to = self.shared[target]
            self.link(at, at + 1 if to == at else to)
        struct.pack_into(
            "<IHBBQQII", self.bytes, 0, 0x4E475253, 2, 2, 0, 0, region.layout_hash(type), len(self.bytes), root
        )

    def table(self, versions):
        entries = b""
        for name, size, history in sorted(
            (region.hash64(f"{v.name}\n"), extent(v)[0], v.history()) for v in versions
        ):
            entries += struct.pack(f"<QII{len(history)}Q", name, size, len(history), *history)
        return struct.pack("<II", len(versions), len(entries) // 8) + entries

    def room(self, size, align):
        at = up(len(self.bytes), align)
        self.bytes += bytes(at + size - len(self.bytes))
        return at

    def link(self, at, to):
        struct.pack_into("<I", self.bytes, at, (to - at) % 2**32)

    def counted(self, at, count):
        self.link(at, len(self.bytes))
        self.bytes += length(count)

    def elements(self, type, values):
        size, align = extent(type)
        return self.room(size * len(values), align)

    def put_all(self, type, at, values):
        for i, value in enumerate(values):
            self.put(type, at + i * extent(type)[0], value)

    def put(self, type, at, value):
        if not has_links(type):
            type.write(self, at, value)
        elif isinstance(type, Array):
            self.put_all(type.element, at, value)
        elif isinstance(type, Struct):
            for name, place, member in places(type):
                self.put(member, at + place, value[name])
        elif isinstance(type, String):
            self.put_text(at, value.encode())
        elif isinstance(type, region.Hash) or isinstance(type, (region.FlatSet, region.FlatMap, region.Ordered)):
            self.put_keyed(type, at, value)
        elif isinstance(type, Vector):
            if value:
                self.counted(at, len(value))
                self.put_all(type.element, self.elements(type.element, value), value)
        elif isinstance(type, Optional):
            self.put_optional(type.value, at, value, extent(type)[1])
        elif isinstance(type, Union):
            self.put_union(type, at, *value)
        elif value is not None:
            self.put_linked(type, at, value)

    def put_text(self, at, text):
        if len(text) > 3:
            self.counted(at, len(text))
            self.bytes += text
        elif text:
            self.bytes[at : at + len(text)] = text
            self.bytes[at + 3] = 0x80 | len(text)

    def put_optional(self, type, at, value, align):
        if value is None:
            return
        if is_container(type):
            if not value:
                struct.pack_into("<I", self.bytes, at, 1)
            self.put(type, at, value)
        elif extent(type)[0] < 4:
            self.bytes[at] = 1
            self.put(type, at + align, value)
        else:
            self.put_behind(type, at, value)

    def put_union(self, type, at, selector, value):
        type.discriminator.write(self, at, selector)
        member = type.selects(selector)
        if member is None:
            return
        if max(extent(each)[0] for _, _, each in type.members) > 4:
            self.put_behind(member, at + inside(type)[0], value)
        else:
            self.put(member, at + inside(type)[0], value)

    def put_behind(self, type, at, value):
        to = self.room(*extent(type))
        self.link(at, to)
        self.put(type, to, value)

    def put_linked(self, type, at, value):
        if isinstance(type, Unique):
            return self.put_behind(type.inner[0][2], at, value)
        if type.kind == "weak":
            if not getattr(value, "is_gone", False):
                self.weak.append((at, id(value)))
            return
        assert isinstance(type, Shared)
        if id(value) in self.shared:
            return self.link(at, self.shared[id(value)])
        self.shared[id(value)] = to = self.room(*extent(type.value))
        self.link(at, to)
        self.put(type.value, to, value)

    def put_keyed(self, type, at, values):
        if not values:
            return
        element = type.slot if isinstance(type, region.Hash) else type.element
        is_map = getattr(element, "entry", False)
        key_type = element.members[0][2] if is_map else element
        pairs = [(it["key"], it["value"]) for it in region.entries(values)] if is_map else [(key, None) for key in values]
        pairs.sort(key=lambda pair: key_type.order(pair[0]))
        self.counted(at, len(pairs))
        if isinstance(type, region.Hash) and len(pairs) > 8:
            count = (len(pairs) + 3) // 4
            bucket = lambda pair: (key_type.hash(pair[0], 0) >> 32) * count >> 32
            pairs.sort(key=bucket)
            starts = [sum(bucket(pair) < each for pair in pairs) for each in range(count)]
            struct.pack_into(f"<{count}I", self.bytes, self.room(4 * count, 4), *starts)
        keys = [key for key, _ in pairs]
        at = self.elements(key_type, keys)
        if is_map:
            value_type = element.members[1][2]
            value_at = self.elements(value_type, keys)
        self.put_all(key_type, at, keys)
        if is_map:
            self.put_all(value_type, value_at, [value for _, value in pairs])


def refused(images):
    """Spoilt packed images: which, where, the bytes written there, and the error that names it."""
    name, image = "market.packed", images["market.packed"]
    at = {name: 32 + place for name, place, _ in places(region.MARKET)}
    word = lambda at: struct.unpack_from("<I", image, at)[0]
    target = lambda at: (at + word(at)) % 2**32
    u32 = lambda n: struct.pack("<I", n % 2**32)
    index, words, shapes, texture, textures, boxed = (
        at[name] for name in ("index", "words", "shapes", "texture", "textures", "boxed")
    )
    size = len(image)
    # The keys of `index` lie behind a length of two bytes; those of `words` behind one of one byte.
    price = target(at["prices"]) + 1
    keys, first_word = up(target(index) + 2, 4), target(words) + 1
    shape = up(target(shapes) + 1, 4)
    oak = target(texture)
    wood = target(oak + 4)
    box = target(boxed) + 1 + 2
    profile = images["profile.before.packed"]
    record = next(
        at for at in range(40, 120, 8) if struct.unpack_from("<Q", profile, at)[0] == region.hash64("Record\n")
    )
    root = struct.unpack_from("<I", profile, 28)[0]
    return [
        (name, 7, b"\1", "message: the byte at offset 7 belongs to nothing and is not zero (at offset 7)"),
        (name, 24, u32(size + 1), f"message: the header says {size + 1} bytes, but there are {size} (at offset 24)"),
        (name, 28, u32(36), f"message: offset 36 outside the image of {size} bytes (at offset 28)"),
        (name, index, u32(word(index) + 1), f"index: offset {target(index) + 1} is not the canonical one, "
         f"{target(index)} (at offset {index})"),
        (name, target(index), b"\xff\xff\xff\xff\x07", f"index: offset {up(target(index) + 5, 4) + 4 * (2**31 - 1)} outside "
         f"the image of {size} bytes (at offset {index})"),
        (name, target(index), b"\x81\x00", f"index: the length at offset {target(index)} is not a good one "
         f"(at offset {target(index)})"),
        (name, target(index), b"\x00", f"index: the length at offset {target(index)} is not a good one "
         f"(at offset {target(index)})"),
        (name, keys + 4, u32(0), f"index: key 1 is not greater than the key before it (at offset {index})"),
        (name, first_word + 4, u32(word(first_word + 4) + 1), f"words[1]: offset {target(first_word + 4) + 1} is not the "
         f"canonical one, {target(first_word + 4)} (at offset {first_word + 4})"),
        (name, first_word, b"\0\0\0\x84", f"words[0]: the length at offset {first_word + 3} is not a good one "
         f"(at offset {first_word})"),
        (name, target(first_word) + 1, b"\xff", f"words[0]: the text is not UTF-8 from byte 0 on (at offset {first_word})"),
        (name, target(first_word), b"\3", f"words[0]: the length at offset {target(first_word)} is not a good one "
         f"(at offset {target(first_word)})"),
        (name, price, u32(0), f"prices[1].key: offset {target(price + 4)} is not the canonical one, {target(price)} "
         f"(at offset {price + 4})"),
        (name, shape + 8 + 4, b"\1", f"shapes[1].label: offset {shape + 13} is not the canonical one, {target(shape + 12)} "
         f"(at offset {shape + 12})"),
        (name, at["flagged"], b"\2", f"flagged.discriminator: 2 is not a boolean; only 0 and 1 are (at offset {at['flagged']})"),
        (name, wood + 4, u32(oak - wood - 4), f"texture.base.base: the shared value at offset {oak} holds this link to itself "
         f"(at offset {wood + 4})"),
        (name, box, u32(oak - box), f"boxed[0].value: the shared value at offset {oak} is of another type "
         f"(at offset {box})"),
        (name, target(textures) + 9, u32(9), f"textures[2]: offset {target(textures) + 18} is not the canonical one, "
         f"{target(textures) + 17} (at offset {target(textures) + 9})"),
        ("profile.before.packed", record + 24, b"\0", "message: the image has another Record: member 2, here when, differs "
         f"(at offset {record + 24})"),
        ("profile.before.packed", record + 12, u32(9), "message: the table of versions at offset 32 is not good (at offset 32)"),
        ("profile.before.packed", 36, u32(4000), "message: the table of versions at offset 32 is not good (at offset 32)"),
        ("profile.before.packed", 28, u32(root + 8), f"message: offset {root + 8} outside the image of {len(profile)} bytes "
         "(at offset 28)"),
    ]  # fmt: skip
