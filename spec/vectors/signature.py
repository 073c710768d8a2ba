#!/usr/bin/env python3
"""Works out spec/vectors/signature.json from the rules in spec/signature.md and spec/schema.md.

Independent of the Rust code: it knows nothing but the rules. Run it from anywhere; it prints the JSON.
    spec/vectors/signature.py > spec/vectors/signature.json
"""

import hashlib
import json

SIZES = {
    "boolean": 1, "int8": 1, "uint8": 1, "char": 1, "int16": 2, "uint16": 2, "wchar": 2, "int32": 4, "uint32": 4,
    "float": 4, "int64": 8, "uint64": 8, "double": 8,
}  # fmt: skip
KEYWORDS = {"map", "sequence", "string", "default", "union", "module", "int8", "boolean"}


class NotFlat(Exception):
    pass


def ident(name):
    return "_" + name if name.lower() in KEYWORDS or name.startswith("_") else name


def absolute(name):
    return "".join("::" + ident(part) for part in name.split("::"))


def up(value, align):
    return (value + align - 1) // align * align


# Types are: a primitive's name; ("string", bound); ("wstring", bound); ("sequence", element, bound);
# ("array", element, [lengths]); ("map", key, value, bound); or a definition (an object of the classes below).
class Struct:
    def __init__(self, name, members, base=None, extensibility="final", flat=False):
        self.name, self.members, self.base = name, members, base
        self.extensibility, self.flat = extensibility, flat

    def needs(self):
        return ([self.base] if self.base else []) + [it for m in self.members for it in named(m["type"])]

    def members_with_bases(self):
        return (self.base.members_with_bases() if self.base else []) + self.members

    def text(self, carried):
        base = f" : {absolute(self.base.name)}" if self.base else ""
        flat = " @flat" if carried and self.flat else ""
        yield f"@{self.extensibility}{flat} struct {ident(last(self.name))}{base} {{"
        before = self.base.members_with_bases() if self.base else []
        expected = before[-1]["id"] + 1 if before else 0
        for member in self.members:
            member.setdefault("id", expected)
            yield "  " + member_text(member, expected, carried)
            expected = member["id"] + 1

    def layout(self):
        at, align, lines = 0, 1, []
        if self.base:
            size, align, _ = self.base.layout()
            at = size
            lines.append((".base", 0, size, align, self.base.name))
        for member in self.members:
            kind, inner = member["type"], []
            if member.get("bulk"):
                size, own, name = 16, 8, "bulk"
                inner = value_lines("[]", 0, kind[1])
            elif member.get("optional"):
                inner_size, own = extent(kind)
                size, name = up(up(1, own) + inner_size, own), "optional"
                inner = value_lines("?", up(1, own), kind)
            else:
                size, own = extent(kind)
                (_, _, _, _, name), *inner = value_lines("", 0, kind)
            at, align = up(at, own), max(align, own)
            lines.append(("." + member["name"], at, size, own, name))
            lines += [("." + member["name"] + path, *rest) for path, *rest in inner]
            at += size
        return up(at, align), align, [("", 0, up(at, align), align, "struct"), *lines]


class Union:
    def __init__(self, name, discriminator, cases):
        self.name, self.discriminator, self.cases = name, discriminator, cases

    def needs(self):
        return named(self.discriminator) + [it for _, m in self.cases for it in named(m["type"])]

    def text(self, carried):
        yield f"@final union {ident(last(self.name))} switch ({type_text(self.discriminator)[0]}) {{"
        for number, (labels, member) in enumerate(self.cases):
            for label in labels:
                yield "  default:" if label is None else f"  case {label}:"
            yield "    " + member_text(member, number + 1, carried)

    def layout(self):
        size, align = extent(self.discriminator)
        sizes = [extent(member["type"]) for _, member in self.cases]
        inner = max(own for _, own in sizes)
        payload = up(max(size for size, _ in sizes), inner)
        offset, align = up(size, inner), max(align, inner)
        lines = [(".discriminator" + path, *rest) for path, *rest in value_lines("", 0, self.discriminator)]
        for _, member in self.cases:
            lines += [("." + member["name"] + path, *rest) for path, *rest in value_lines("", offset, member["type"])]
        whole = up(offset + payload, align)
        return whole, align, [("", 0, whole, align, "union"), *lines]


class Enum:
    def __init__(self, name, values):
        self.name, self.values = name, values

    def needs(self):
        return []

    def text(self, carried):
        yield f"enum {ident(last(self.name))} {{"
        entries = [f"  @value({value}) {ident(name)}" for name, value in self.values]
        yield ",\n".join(entries)

    def layout(self):
        return 4, 4, [("", 0, 4, 4, "enum")]


class Bitmask:
    def __init__(self, name, bits, flags):
        self.name, self.bits, self.flags = name, bits, flags

    def needs(self):
        return []

    def text(self, carried):
        yield f"@bit_bound({self.bits}) bitmask {ident(last(self.name))} {{"
        yield ",\n".join(f"  @position({at}) {ident(name)}" for name, at in self.flags)

    def layout(self):
        size = next(it for it in (1, 2, 4, 8) if it * 8 >= self.bits)
        return size, size, [("", 0, size, size, "bitmask")]


def last(name):
    return name.split("::")[-1]


def named(kind):
    """The definitions that a type names."""
    if hasattr(kind, "name"):
        return [kind]
    if isinstance(kind, str) or kind[0] in ("string", "wstring"):
        return []
    return named(kind[1]) + (named(kind[2]) if kind[0] == "map" else [])


def type_text(kind):
    """The type, and the dimensions behind the name."""
    if isinstance(kind, str):
        return kind, ""
    if hasattr(kind, "name"):
        return absolute(kind.name), ""
    if kind[0] in ("string", "wstring"):
        return kind[0] + (f"<{kind[1]}>" if kind[1] else ""), ""
    if kind[0] == "array":
        return type_text(kind[1])[0], "".join(f"[{length}]" for length in kind[2])
    inner = "".join(type_text(kind[1]))
    if kind[0] == "map":
        inner += ", " + "".join(type_text(kind[2]))
    bound = kind[-1]
    return f"{kind[0]}<{inner}{f', {bound}' if bound else ''}>", ""


def member_text(member, expected, carried):
    parts = [f"@id({member['id']})"] if member.get("id", expected) != expected else []
    parts += [f"@{flag}(TRUE)" for flag in ("key", "optional", "must_understand") if member.get(flag)]
    if carried:
        parts += ["@bulk(TRUE)"] if member.get("bulk") else []
        parts += [f"@default({member['default']})"] if "default" in member else []
        parts += [f'@unit("{member["unit"]}")'] if "unit" in member else []
    name, dimensions = type_text(member["type"])
    return " ".join([*parts, name, ident(member["name"]) + dimensions]) + ";"


def closure(root, done=None):
    done = [] if done is None else done
    for needed in root.needs():
        closure(needed, done)
    if root not in done:
        done.append(root)
    return done


def text(root, carried):
    lines = []
    for it in closure(root):
        modules = it.name.split("::")[:-1]
        lines += [f"module {ident(module)} {{" for module in modules]
        lines += [*it.text(carried), "};", *(["};"] * len(modules))]
    return "\n".join(lines) + "\n"


def extent(kind):
    if isinstance(kind, str):
        return SIZES[kind], SIZES[kind]
    if hasattr(kind, "name"):
        return kind.layout()[:2]
    if kind[0] == "array":
        size, align = extent(kind[1])
        for length in kind[2]:
            size *= length
        return size, align
    if kind[-1] is None:
        raise NotFlat
    if kind[0] == "string":
        return up(4 + kind[1] + 1, 4), 4
    if kind[0] == "wstring":
        return up(4 + 2 * (kind[1] + 1), 4), 4
    size, align = entry(kind)[0] if kind[0] == "map" else extent(kind[1])
    align_all = max(4, align)
    return up(up(4, align) + size * kind[-1], align_all), align_all


def entry(kind):
    (key, key_align), (value, value_align) = extent(kind[1]), extent(kind[2])
    align, offset = max(key_align, value_align), up(key, value_align)
    return (up(offset + value, align), align), offset


def value_lines(path, offset, kind):
    size, align = extent(kind)
    if isinstance(kind, str) or hasattr(kind, "name"):
        return [(path, offset, size, align, kind if isinstance(kind, str) else kind.name)]
    if kind[0] in ("string", "wstring"):
        return [(path, offset, size, align, f"{kind[0]}<{kind[1]}>")]
    if kind[0] == "array":
        name = "array" + "".join(f"[{length}]" for length in kind[2])
        return [(path, offset, size, align, name), *value_lines(path + "[]", 0, kind[1])]
    head = (path, offset, size, align, f"{kind[0]}<{kind[-1]}>")
    if kind[0] == "sequence":
        return [head, *value_lines(path + "[]", up(4, extent(kind[1])[1]), kind[1])]
    (entry_size, entry_align), value_offset = entry(kind)
    inner = (path + "[]", up(4, entry_align), entry_size, entry_align, "entry")
    return [
        head, inner, *value_lines(path + "[].key", 0, kind[1]), *value_lines(path + "[].value", value_offset, kind[2]),
    ]  # fmt: skip


def layout(root):
    try:
        lines = [f"flat-v1 {root.name}"]
        for it in closure(root):
            lines += [f"{it.name}{path} {at} {size} {align} {kind}" for path, at, size, align, kind in it.layout()[2]]
        return "\n".join(lines) + "\n"
    except NotFlat:
        return ""


def digest(data):
    return int.from_bytes(hashlib.sha256(data.encode()).digest()[:8], "little")


def member(name, kind, **more):
    return {"name": name, "type": kind, **more}


TIME = Struct("demo::Time", [member("sec", "int32"), member("nanosec", "uint32")], flat=True)
HEADER = Struct("demo::Header", [member("stamp", TIME), member("frame_id", ("string", 63))], flat=True)
COLOR = Enum("demo::Color", [("RED", 0), ("GREEN", 5), ("BLUE", 6)])
FLAGS = Bitmask("demo::Flags", 12, [("A", 0), ("B", 3), ("C", 11)])
CASES = [
    (["::demo::RED"], member("number", "double")),
    (["::demo::GREEN", None], member("label", ("string", 7))),
]

# Each with the IDL that is given to the program: written by hand, in another style than the canonical one.
VECTORS = [
    (TIME, "module demo { @flat struct Time { long sec; unsigned long nanosec; }; };"),
    (
        HEADER,
        "module demo { @flat struct Time { int32 sec; uint32 nanosec; }; typedef string<63> Name;\n"
        "@flat struct Header { Time stamp; Name frame_id; }; };",
    ),
    (
        Struct(
            "demo::Image",
            [
                member("header", HEADER),
                member("height", "uint32", unit="px"),
                member("encoding", ("string", 6), default='"rgb8"'),
                member("data", ("sequence", "uint8", None), bulk=True),
                member("valid", "boolean"),
            ],
            flat=True,
        ),
        "module demo { @flat struct Time { int32 sec; uint32 nanosec; }; @flat struct Header { Time stamp;\n"
        "string<8 * 8 - 1> frame_id; }; @flat struct Image { Header header; @unit(\"px\") uint32 height;\n"
        "@default(\"rgb8\") string<6> encoding; @bulk sequence<octet> data; boolean valid; }; };",
    ),
    (
        Struct(
            "demo::Containers",
            [
                member("matrix", ("array", "double", [2, 3])),
                member("names", ("sequence", ("string", 3), 2)),
                member("arrays", ("sequence", ("array", "int16", [3]), 4)),
                member("map", ("map", "uint8", "int64", 4)),
                member("wide", ("wstring", 5)),
                member("maybe", "double", optional=True),
                member("letter", "char"),
            ],
        ),
        "module demo { typedef double Row[3]; typedef short Three[3]; struct Containers { Row matrix[2];\n"
        "sequence<string<3>, 2> names; sequence<Three, 4> arrays; map<octet, long long, 4> map; wstring<5> wide;\n"
        "@optional double maybe; char letter; }; };",
    ),
    (
        Struct(
            "demo::Choice",
            [
                member("color", COLOR, default="::demo::BLUE"),
                member("flags", FLAGS),
                member("value", Union("demo::Value", COLOR, CASES)),
            ],
        ),
        "module demo { enum Color { RED, @value(5) GREEN, BLUE };\n"
        "@bit_bound(12) bitmask Flags { A, @position(3) B, @position(11) C };\n"
        "union Value switch (Color) { case RED: double number; case GREEN: default: string<7> label; };\n"
        "struct Choice { @default(BLUE) Color color; Flags flags; Value value; }; };",
    ),
    (
        Struct(
            "demo::Derived",
            [member("extra", "int64", id=10), member("last", "uint8")],
            base=Struct("demo::Base", [member("id", "int32", key=True)], extensibility="mutable"),
            extensibility="mutable",
        ),
        "module demo { @mutable struct Base { @key long id; };\n"
        "struct Derived : Base { @id(10) long long extra; uint8 last; }; };",
    ),
    (
        Struct(
            "demo::Log",
            [member("text", ("string", None)), member("data", ("sequence", "float", None))],
            extensibility="appendable",
        ),
        "module demo { @appendable struct Log { string text; sequence<float> data; }; };",
    ),
    (
        Struct("Plain", [member("sequence", "boolean"), member("wide", "uint64"), member("last", "uint8")]),
        "struct Plain { boolean sequence; unsigned long long wide; @my_tool(3) uint8 last; };",
    ),
]


def main():
    types = []
    for root, idl in VECTORS:
        identity, shape = text(root, carried=False), layout(root)
        types.append(
            {
                "type": root.name,
                "idl": idl,
                "canonical": text(root, carried=True),
                "identity": identity,
                "layout": shape,
                "schema_hash": f"{digest(f'schema-v1 {root.name}' + chr(10) + identity):016x}",
                "layout_hash": f"{digest(shape) if shape else 0:016x}",
            }
        )
    print(json.dumps({"comment": "Made by signature.py; the rules are in spec/signature.md.", "types": types}, indent=2))


main()
