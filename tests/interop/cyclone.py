#!/usr/bin/env python3
"""CDR by Cyclone DDS's Python binding, both versions: writes messages for Situ to read, and reads Situ's
messages.

    cyclone.py write FOLDER [--random N]     one file of cases for every type of kinds.py
    cyclone.py check FILE...                 reads the cases that Situ wrote, and compares the values
    cyclone.py exchange PROGRAM...           does both with a program that reads and writes in between
    cyclone.py freeze                        writes the vectors in spec/vectors/cdr/cyclone again
"""

import argparse
import enum
import math
import sys
from pathlib import Path
from typing import get_args, get_origin

import kinds
from cyclonedds._clayer import ddspy_write
from cyclonedds.core import DDSException
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlBitmask, IdlStruct, IdlUnion, types
from cyclonedds.idl._support import Endianness
from cyclonedds.idl._type_normalize import WrapOpt, get_extended_type_hints
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from model import Array, Bitmask, Enum, Map, Optional, Primitive, Sequence, Struct, Text, Union, Values
from model import check_cases, exchange, freeze, modes, read_cases, same, write_cases

TYPES = {
    name: getattr(kinds, name)
    for name in (
        "Numbers", "Named", "Pair", "Texts", "Lists", "Arrays", "Maps", "TextMaps", "Maybe", "Derived", "Unions", "Chosen",
        "Lettered", "Step", "StepLonger", "Growing", "Changing", "ChangingBefore", "Nested", "Keyed", "Bounded",
        "BoundedChanging",
    )
}  # fmt: skip

# The stored vectors: types and the cases of each.
VECTORS = Path(__file__).parents[2] / "spec/vectors/cdr/cyclone"
KEPT = {
    "kinds::Numbers": ["special"],
    "kinds::Named": ["full"],
    "kinds::Pair": ["full"],
    "kinds::Texts": ["random0"],
    "kinds::Lists": ["full"],
    "kinds::Arrays": ["random0"],
    "kinds::Maps": ["random0"],
    "kinds::TextMaps": ["random1"],
    "kinds::Maybe": ["random0"],
    "kinds::Derived": ["random0"],
    "kinds::Unions": ["special"],
    "kinds::Chosen": ["random0"],
    "kinds::Lettered": ["random0"],
    "kinds::Growing": ["random0"],
    "kinds::Step": ["full"],
    "kinds::StepLonger": ["full", "random0 of kinds::Step"],
    "kinds::Changing": ["zero", "random0", "random0 of kinds::ChangingBefore"],
    "kinds::ChangingBefore": ["random0 of kinds::Changing"],
    "kinds::Nested": ["zero"],
    "kinds::Keyed": ["random0"],
    "kinds::Bounded": ["full"],
    "kinds::BoundedChanging": ["random0"],
}

PRIMITIVES = {
    bool: "bool", types.char: "char", types.byte: "u8", types.uint8: "u8", types.int8: "i8", types.uint16: "u16", types.int16: "i16",
    types.uint32: "u32", types.int32: "i32", types.uint64: "u64", types.int64: "i64", types.float32: "f32", types.float64: "f64",
}  # fmt: skip

# Places where the bytes differ although both are right, with the reason; see "Checked against" in
# spec/cdr.md.
EXTENDED = "Cyclone's headers of parameters are always extended, and their lengths padded to four"
CODES = "Cyclone joins the length of a string or sequence with that of its member (length codes 5 to 7)"
DIFFERENT = {(name, 1): EXTENDED for name in ("Maybe", "Growing", "Changing", "ChangingBefore", "Nested", "Bounded", "BoundedChanging")}
DIFFERENT |= {(name, 2): CODES for name in ("Changing", "ChangingBefore", "Nested", "BoundedChanging")}
# Cyclone writes no delimiter in front of maps in version 2, which XTypes asks for unless key and value are
# primitive.
UNREADABLE = {("TextMaps", 2)}
# The binding cannot describe maps and unions over characters to Cyclone's core. In version 1 the core rejects
# appendable structs and unions within final ones, sequences and arrays, from any writer.
UNKNOWN_TO_CORE = {(name, version) for name in ("Maps", "TextMaps", "Lettered") for version in (1, 2)}
UNKNOWN_TO_CORE |= {(name, 1) for name in ("Growing", "Nested", "Chosen", "BoundedChanging")}


def of(ty):
    """The type of an annotation of a class."""
    if ty in PRIMITIVES:
        return Primitive(PRIMITIVES[ty])
    if ty is str:
        return Text()
    if isinstance(ty, types.bounded_str):
        return Text(ty.max_length)
    if isinstance(ty, WrapOpt):
        return Optional(of(ty.inner))
    if isinstance(ty, types.array):
        return Array(of(ty.subtype), ty.length)
    if isinstance(ty, types.sequence):
        return Sequence(of(ty.subtype), ty.max_length)
    if get_origin(ty) is dict:
        return Map(*map(of, get_args(ty)))
    if issubclass(ty, enum.Enum):
        return Enum([member.value for member in ty])
    if issubclass(ty, IdlBitmask):
        return Bitmask([mask.bit_length() - 1 for mask in ty.__idl_bits__])
    if issubclass(ty, IdlUnion):
        cases, default = [], None
        for name, hint in get_extended_type_hints(ty).items():
            if isinstance(hint, types.default):
                default = name, of(hint.subtype)
            else:
                cases.append(([label(it) for it in hint.labels], name, of(hint.subtype)))
        # An appendable union without a case loses its discriminator when Cyclone's binding reads it.
        loses = ty.__idl_annotations__.get("extensibility") == "appendable"
        return Union(name_of(ty), of(ty.__idl_discriminator__), cases, default, open=not loses)
    return Struct(name_of(ty), {name: of(hint) for name, hint in get_extended_type_hints(ty).items()})


def name_of(cls):
    return cls.__idl_typename__.replace(".", "::")


def label(it):
    """A discriminator as a number."""
    if isinstance(it, enum.Enum):
        return it.value
    return ord(it) if isinstance(it, str) else it


def to_python(value, hint):
    """A value as the class of the annotation has it."""
    if hint is types.char:
        return chr(value)
    if hint in (types.float32, types.float64):
        return float(value)
    if isinstance(hint, WrapOpt):
        return None if value is None else to_python(value, hint.inner)
    if isinstance(hint, types.array) and hint.subtype in (types.byte, types.uint8):
        return bytes(value)
    if isinstance(hint, (types.array, types.sequence)):
        return [to_python(element, hint.subtype) for element in value]
    if get_origin(hint) is dict:
        key, inner = get_args(hint)
        return {to_python(k, key): to_python(v, inner) for k, v in value}
    if not isinstance(hint, type) or hint in (bool, str):
        return value
    if issubclass(hint, enum.Enum):
        return hint(value)
    if issubclass(hint, IdlBitmask):
        return hint.from_mask(value)
    if issubclass(hint, IdlUnion):
        hints = get_extended_type_hints(hint)
        inner = to_python(value["value"], hints[value["case"]].subtype) if value["case"] else None
        return hint(discriminator=to_python(value["discriminator"], hint.__idl_discriminator__), value=inner)
    return hint(**{name: to_python(value[name], inner) for name, inner in get_extended_type_hints(hint).items()})


def from_python(found, hint):
    """The value of a Python object."""
    if hint is types.char:
        return ord(found)
    if hint in (types.float32, types.float64):
        return found if math.isfinite(found) else str(found)
    if isinstance(hint, WrapOpt):
        return None if found is None else from_python(found, hint.inner)
    if isinstance(hint, (types.array, types.sequence)):
        return [from_python(element, hint.subtype) for element in found]
    if get_origin(hint) is dict:
        key, inner = get_args(hint)
        return [[from_python(k, key), from_python(v, inner)] for k, v in found.items()]
    if not isinstance(hint, type) or hint in (bool, str):
        return found
    if issubclass(hint, enum.Enum):
        return label(found)
    if issubclass(hint, IdlBitmask):
        return found if isinstance(found, int) else found.as_mask()  # the binding's default is a number
    if issubclass(hint, IdlUnion):
        discriminator = from_python(found.discriminator, hint.__idl_discriminator__)
        selected = of(hint).select(discriminator)
        inner = get_extended_type_hints(hint)[selected[0]].subtype if selected else None
        value = from_python(found.value, inner) if selected else None
        return {"discriminator": discriminator, "case": selected[0] if selected else None, "value": value}
    return {name: from_python(getattr(found, name), inner) for name, inner in get_extended_type_hints(hint).items()}


def make_cases(name, count):
    cls = TYPES[name]
    ty = of(cls)
    for mode in modes(count):
        value = Values(mode).make(ty)
        message = to_python(value, cls)
        for version in (1, 2):
            if (name, version) in UNREADABLE:
                continue
            for order in (Endianness.Little, Endianness.Big):
                case = {"type": ty.name, "case": mode, "encoding": f"xcdr{version}", "order": order.name.lower()}
                if (name, version) in DIFFERENT:
                    case["differs"] = DIFFERENT[name, version]
                case["cdr"] = message.serialize(endianness=order, use_version_2=version == 2).hex()
                case["value"] = value
                yield case


# Types that have changed: a message of the writer's type, as the reader's type sees it. Cyclone's binding has
# no defaults.
def longer(value, of_cyclone=False):
    return {**value, "third": 0 if of_cyclone else 7, "fourth": []}


def shorter(value, of_cyclone=False):
    return {name: value[name] for name in ("first", "second")}


def changed(value, of_cyclone=False):
    zero = Values("zero").make(of(kinds.Changing))
    return {name: value.get(name, zero[name]) for name in zero}


def changed_back(value, of_cyclone=False):
    return {name: value[name] for name in ("last", "text", "large")} | {"gone": 0 if of_cyclone else 5}


EVOLVED = [
    (kinds.Step, kinds.StepLonger, longer, (2,)),
    (kinds.StepLonger, kinds.Step, shorter, (1, 2)),
    (kinds.ChangingBefore, kinds.Changing, changed, (1, 2)),
    (kinds.Changing, kinds.ChangingBefore, changed_back, (1, 2)),
]


def evolved_cases(writer, reader, change, versions, count):
    ty = of(writer)
    for mode in modes(count):
        value = Values(mode).make(ty)
        for version in versions:
            yield {
                "type": name_of(reader), "case": f"{mode} of {ty.name}", "encoding": f"xcdr{version}", "order": "little",
                "differs": "the writer's type is another one",
                "cdr": to_python(value, writer).serialize(use_version_2=version == 2).hex(),
                "value": change(value),
            }  # fmt: skip


def all_cases(name, count):
    """The cases that a type is read from: its own, and those of its older and newer versions."""
    yield from make_cases(name, count)
    for writer, reader, change, versions in EVOLVED:
        if reader is TYPES[name]:
            yield from evolved_cases(writer, reader, change, versions, count)


def write(folder, count):
    total = 0
    for name in TYPES:
        cases = list(all_cases(name, count))
        write_cases(folder, cases)
        total += len(cases)
    print(f"wrote {total} messages of {len(TYPES)} types into {folder}")


def check(paths):
    """Reads messages that Situ wrote: with their own types, and with older and newer versions of these."""
    wrong = check_cases("Cyclone's binding", paths, lambda case: read(case, TYPES[case["type"].split("::")[1]]))
    try:
        core = Core()
        wrong += check_cases("Cyclone's core", paths, core.read, core.knows)
    except DDSException as error:
        print(f"SKIPPED: Cyclone's core does not start on the loopback interface: {error}")
    for writer, reader, change, versions in EVOLVED:
        cases = [case for path in paths for case in read_cases(path)]
        for case in cases:
            if case["type"] == name_of(writer) and case["encoding"] in {f"xcdr{version}" for version in versions}:
                found, wanted = read(case, reader), change(case["value"], of_cyclone=True)
                if not same(found, wanted):
                    wrong += 1
                    print(f"{case['type']} {case['case']} {case['encoding']} as {name_of(reader)} is {found}, not {wanted}")
    return wrong


class Core:
    """Cyclone DDS's core, in C. It checks the bytes of every published message, and rejects those that are not of the
    topic's type. The binding reads the accepted ones."""

    LOOPBACK = """<CycloneDDS><Domain>
        <General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
        <Discovery><ParticipantIndex>none</ParticipantIndex></Discovery>
    </Domain></CycloneDDS>"""

    def __init__(self):
        self.domain = Domain(77, self.LOOPBACK)
        self.participant = DomainParticipant(77)
        self.ends = {}

    def knows(self, case):
        return (case["type"].split("::")[1], int(case["encoding"][-1])) not in UNKNOWN_TO_CORE

    def read(self, case):
        cls = TYPES[case["type"].split("::")[1]]
        writer, reader = self.ends_of(cls, case["encoding"])
        status = ddspy_write(writer._ref, bytes.fromhex(case["cdr"]))
        if status < 0:
            raise ValueError(f"Cyclone's core refuses the message with status {status}")
        (message,) = reader.take(2)
        return from_python(message, cls)

    def ends_of(self, cls, encoding):
        if (cls, encoding) not in self.ends:
            version = Policy.DataRepresentation(use_cdrv0_representation=encoding == "xcdr1", use_xcdrv2_representation=encoding == "xcdr2")
            qos = Qos(version, Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepAll)
            topic = Topic(self.participant, f"{cls.__name__}_{encoding}", cls, qos=qos)
            self.ends[cls, encoding] = DataWriter(self.participant, topic, qos=qos), DataReader(self.participant, topic, qos=qos)
        return self.ends[cls, encoding]


def read(case, cls):
    return from_python(cls.deserialize(bytes.fromhex(case["cdr"])), cls)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("folder")
    writing.add_argument("--random", type=int, default=3, help="random values of each type")
    checking = commands.add_parser("check")
    checking.add_argument("files", nargs="+")
    commands.add_parser("exchange").add_argument("program", nargs=argparse.REMAINDER)
    commands.add_parser("freeze")
    options = parser.parse_args()
    if options.command == "check":
        sys.exit(1 if check(options.files) else 0)
    if options.command == "exchange":
        sys.exit(1 if exchange(options.program, lambda folder: write(folder, 3), check) else 0)
    if options.command == "freeze":
        return freeze(VECTORS, KEPT, [case for name in TYPES for case in all_cases(name, 2)])
    write(options.folder, options.random)


if __name__ == "__main__":
    main()
