"""The weak links of regions, from the words of spec/region.md: the vector family, and its spoilt images. See region.py."""

import struct

import packed
from region import (
    Array, F64, FlatMap, HashMap, Optional, OrderedMap, Shared, String, Struct, U16, Vector, up,
)  # fmt: skip
from refused import number, target


class Gone:
    """A shared value that has ended; weak links to it may be left."""

    is_gone = True


class Weak:
    """A link to the value of shared links, which may be written later."""

    kind, size, align = "weak", 8, 4

    def __init__(self, value):
        self.value = value

    @property
    def inner(self):
        return [("&", max(8, self.value.align), self.value)]

    def write(self, image, at, value):
        struct.pack_into("<ii", image.bytes, at, 0, -at)
        if isinstance(value, Gone):
            # Nothing keeps an expired block but weak links: only live images have it.
            if not image.gaps:
                return
            if id(value) not in image.shared:
                image.shared[id(value)] = image.block(16)
        if value is not None:
            image.weak.append((at, id(value)))


PERSON = Struct("Person")
PERSON.define(
    ("parent", Weak(PERSON)), ("name", String()), ("children", Vector(Shared(PERSON))), ("friends", HashMap(String(), Weak(PERSON))),
)  # fmt: skip
HOME = Struct("Home")
HOME.define(("rent", F64), ("next", Weak(HOME)))
FAMILY = Struct("Family").define(
    ("youngest", Weak(PERSON)), ("gone", Array(Weak(PERSON), 2)), ("eldest", Shared(PERSON)),
    ("names", FlatMap(String(), Weak(PERSON))), ("homes", Vector(Shared(HOME))), ("sold", Vector(Weak(HOME))),
    ("home", Optional(Weak(HOME))), ("guests", OrderedMap(U16, Weak(PERSON))),
)  # fmt: skip


def family():
    person = lambda name: {"parent": None, "name": name, "children": [], "friends": {}}
    ann, ben, cleo, dan = (person(name) for name in ("Ann", "Benjamin the elder", "Cleo", "Daniel of the hill"))
    for parent, child in ((ann, ben), (ann, cleo), (ben, dan)):
        parent["children"].append(child)
        child["parent"] = parent
    ann["parent"] = ann
    ann["friends"] = {it["name"]: it for it in (ann, dan, cleo)}
    dan["friends"] = {"an uncle who moved": Gone(), "aunt": cleo}
    homes = [{"rent": 0.5 * i, "next": None} for i in range(3)]
    for i in range(3):
        homes[i]["next"] = homes[(i + 1) % 3]
    gone, sold = Gone(), Gone()
    return {
        "youngest": dan, "gone": [gone, gone], "eldest": ann, "names": {"dan": dan, "nobody": None, "a name that is long": ben},
        "homes": [homes[0], None, homes[1], homes[2], homes[0]], "sold": [sold, homes[2], None, sold, sold], "home": homes[0],
        "guests": {i * 7 % 100: (ben, gone, None, dan)[i % 4] for i in range(60)},
    }  # fmt: skip


VALUES = {"family": (FAMILY, family())}


def refused_weak_links(images):
    """Spoilt weak links, and spoilt expired blocks."""
    u32, i32 = (lambda n: struct.pack("<I", n)), (lambda n: struct.pack("<i", n))
    at = {name: 64 + offset for name, offset, _ in FAMILY.members}
    youngest, gone, eldest = at["youngest"], at["gone"], at["eldest"]
    canonical, live = images["family.canonical"], images["family.live"]
    lines = []
    for name, image in (("family.canonical", canonical), ("family.live", live)):
        ann, home = target(image, eldest), target(image, target(image, at["homes"]))
        child = target(image, ann + 8 + 24)
        links, weak = number(image, ann), number(image, ann + 4)
        lines += [
            (name, ann + 4, u32(weak + 1), f"message: the shared value counts {weak + 1} weak links, but {weak} lead to it "
             f"(at offset {ann})"),
            (name, ann + 4, u32(0), f"message: the shared value counts 0 weak links, but {weak} lead to it (at offset {ann})"),
            (name, ann, u32(links + 1), f"message: the shared value counts {links + 1} links, but {links} lead to it "
             f"(at offset {ann})"),
            (name, youngest, i32(home - youngest), f"message: the shared value at offset {home} is of another type "
             f"(at offset {youngest})"),
            # The block of a vector.
            (name, youngest, i32(child - youngest), f"message: the weak link leads to offset {child}, where no shared value is "
             f"(at offset {youngest})"),
            (name, youngest, i32(0), "message: the shared value counts "
             f"{number(image, target(image, youngest) + 4)} weak links, but {number(image, target(image, youngest) + 4) - 1} "
             f"lead to it (at offset {target(image, youngest)})"),
            (name, youngest + 4, i32(3), f"youngest: the link back to the header is 3 (at offset {youngest})"),
        ]  # fmt: skip
    block = target(live, gone)
    weak, size = number(live, block + 4), len(live)
    none = lambda to, place: f"message: the weak link leads to offset {to}, where no shared value is (at offset {place})"
    first = target(canonical, eldest)
    return lines + [
        # Canonical images have no expired blocks, and no weak link to a place without a block.
        ("family.canonical", gone, i32(len(canonical) - gone), none(len(canonical), gone)),
        ("family.canonical", youngest, i32(first + 8 - youngest), none(first + 8, youngest)),
        ("family.live", youngest, i32(size - youngest), f"message: offset {size} outside the image of {size} bytes "
         f"(at offset {youngest})"),
        ("family.live", youngest, i32(-youngest), f"message: offset 0 outside the image of {size} bytes (at offset {youngest})"),
        ("family.live", gone + 8, i32(-gone - 1000), f"message: offset -992 outside the image of {size} bytes "
         f"(at offset {gone + 8})"),
        ("family.live", youngest, i32(block + 4 - youngest), f"message: offset {block + 4} is no multiple of 16 "
         f"(at offset {youngest})"),
        ("family.live", block, u32(1), none(block, gone)),
        ("family.live", block + 12, b"\1", none(block, gone)),
        ("family.live", block + 4, u32(weak - 1), f"message: the shared value counts {weak - 1} weak links, but {weak} lead to it "
         f"(at offset {block})"),
        # An expired block within another block: the free end of a vector.
        ("family.live", *within(live, at["homes"], gone)),
        # Links of two types to one expired block.
        ("family.live", target(live, at["sold"]), i32(block - target(live, at["sold"])), "message: the shared value at offset "
         f"{block} is of another type (at offset {target(live, at['sold'])})"),
    ]  # fmt: skip


def within(image, vector, link):
    """A weak link to the free end of a vector's block, which looks like an expired block."""
    first = target(image, vector)
    cap = number(image, vector + 8)
    at = next(at for at in range(up(first + 8 * number(image, vector + 4)), up(first + 8 * cap), 16))
    assert bytes(image[at : at + 16]) == bytes(16)
    return (link, struct.pack("<i", at - link),
            f"message: the weak link leads to offset {at}, where no shared value is (at offset {link})")  # fmt: skip


def refused_packed(images):
    name, image = "family.packed", images["family.packed"]
    at = {name: 32 + place for name, place, _ in packed.places(FAMILY)}
    target = lambda at: (at + struct.unpack_from("<I", image, at)[0]) % 2**32
    u32 = lambda n: struct.pack("<I", n % 2**32)
    youngest, ann, home = at["youngest"], target(at["eldest"]), target(target(at["homes"]) + 1)
    none = lambda to, at: f"message: the weak link leads to offset {to}, where no shared value is (at offset {at})"
    return [
        (name, youngest, u32(home - youngest), f"message: the shared value at offset {home} is of another type "
         f"(at offset {youngest})"),
        (name, youngest, u32(ann + 4 - youngest), none(ann + 4, youngest)),
        (name, youngest, u32(2**31), none((youngest + 2**31) % 2**32, youngest)),
        (name, youngest, u32(1), none(youngest, youngest)),
    ]  # fmt: skip


def refused(images):
    return refused_weak_links(images) + refused_packed(images)
