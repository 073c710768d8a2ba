#!/usr/bin/env python3
"""ROS 2's own CDR, through rclpy and the middleware's type supports: writes messages for Situ to read,
and reads Situ's messages.

    ros.py write FOLDER [--random N]     one file of cases for every message, service and action type of the packages
    ros.py check FILE...                 reads the cases that Situ wrote, and compares the values
    ros.py exchange PROGRAM...           does both with a program that reads and writes in between
    ros.py freeze                        writes the vectors in spec/vectors/cdr/ros again
"""

import argparse
import importlib
import inspect
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from model import Array, Primitive, Sequence, Struct, Text, Values, check_cases, exchange, freeze, modes, read_cases, write_cases

PACKAGES = [
    "builtin_interfaces", "service_msgs", "std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs", "test_msgs", "action_msgs",
    "unique_identifier_msgs",
]  # fmt: skip
PARTS = [
    "Request", "Response", "Event", "Goal", "Result", "Feedback", "Impl", "SendGoalService", "GetResultService", "FeedbackMessage",
]  # fmt: skip
PRIMITIVES = {
    "boolean": "bool", "octet": "u8", "char": "u8", "float": "f32", "double": "f64", "int8": "i8", "uint8": "u8",
    "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
}  # fmt: skip
# The stored vectors: types and the cases of each.
VECTORS = Path(__file__).parents[2] / "spec/vectors/cdr/ros"
KEPT = {
    "test_msgs::msg::BasicTypes": ["full", "low", "special"],
    "test_msgs::msg::Empty": ["default"],
    "test_msgs::msg::Strings": ["low", "random0"],
    "test_msgs::msg::WStrings": ["zero", "random1"],
    "test_msgs::msg::Defaults": ["random0"],
    "test_msgs::msg::BoundedPlainSequences": ["random2"],
    "test_msgs::msg::Builtins": ["random0"],
    "test_msgs::action::Fibonacci_FeedbackMessage": ["random0"],
    "sensor_msgs::msg::PointCloud2": ["special", "random1"],
    "sensor_msgs::msg::JointState": ["random1"],
    "nav_msgs::msg::Path": ["random0"],
}
# The member that messages without members have on the wire. Python does not know it.
HIDDEN = "structure_needs_at_least_one_member"


def message_classes():
    """Every message class, of messages, services and actions."""
    found = {}
    for package in PACKAGES:
        for kind in ("msg", "srv", "action"):
            try:
                module = importlib.import_module(f"{package}.{kind}")
            except ImportError:
                continue
            for _, top in sorted(inspect.getmembers(module, inspect.isclass)):
                for cls in [top, *parts(top)]:
                    if hasattr(cls, "SLOT_TYPES"):
                        found[type_name(cls)] = cls
    return found


def parts(cls):
    """The messages that services and actions consist of."""
    for name in PARTS:
        inner = getattr(cls, name, None)
        if inspect.isclass(inner):
            yield inner
            if name in ("Impl", "SendGoalService", "GetResultService"):
                yield from parts(inner)


def type_name(cls):
    package, kind = cls.__module__.split(".")[:2]
    return f"{package}::{kind}::{cls.__name__}"


class Types:
    """The types of the tests, and their names in Python."""

    def __init__(self):
        self.classes = message_classes()
        self.known = {}

    def struct(self, name):
        if name not in self.known:
            cls = self.classes[name]
            members = {field: self.of(ty) for field, ty in zip(cls.get_fields_and_field_types(), cls.SLOT_TYPES)}
            self.known[name] = Struct(name, members or {HIDDEN: Primitive("u8")})
        return self.known[name]

    def of(self, ty):
        kind = type(ty).__name__
        if kind == "BasicType":
            return Primitive(PRIMITIVES[ty.typename])
        if kind.endswith("String"):
            return Text(getattr(ty, "maximum_size", None), wide="WString" in kind)
        if kind == "Array":
            return Array(self.of(ty.value_type), ty.size)
        if kind.endswith("Sequence"):
            return Sequence(self.of(ty.value_type), getattr(ty, "maximum_size", None))
        return self.struct("::".join([*ty.namespaces, ty.name]))

    def message(self, value, name):
        """The Python message of a value."""
        message = self.classes[name]()
        for (field, ty), slot in zip(self.struct(name).members.items(), message.SLOT_TYPES):
            setattr(message, field, self.to_python(value[field], ty, slot))
        return message

    def to_python(self, value, ty, slot):
        if isinstance(ty, Struct):
            return self.message(value, ty.name)
        if isinstance(ty, (Array, Sequence)):
            return [self.to_python(element, ty.element, slot.value_type) for element in value]
        if getattr(slot, "typename", None) == "octet":
            return bytes([value])
        return float(value) if getattr(slot, "typename", None) in ("float", "double") else value

    def value(self, message, ty):
        """The value of a Python message, or of a part of it."""
        if isinstance(ty, Struct):
            if HIDDEN in ty.members:
                return {HIDDEN: 0}
            return {field: self.value(getattr(message, field), member) for field, member in ty.members.items()}
        if isinstance(ty, (Array, Sequence)):
            return [self.value(element, ty.element) for element in message]
        if isinstance(ty, Text):
            return message
        if isinstance(message, bytes):
            return message[0]
        if ty.kind in ("f32", "f64"):
            number = float(message)
            return number if math.isfinite(number) else str(number)
        return bool(message) if ty.kind == "bool" else int(message)

    def has_hidden(self, ty):
        if isinstance(ty, Struct):
            return HIDDEN in ty.members or any(self.has_hidden(member) for member in ty.members.values())
        return isinstance(ty, (Array, Sequence)) and self.has_hidden(ty.element)


# The padding in rclpy's bytes is the former content of memory. The C library can be made to fill memory
# before it returns it.
def with_padding(byte):
    """The environment in which padding is this byte."""
    return {**os.environ, "MALLOC_PERTURB_": str(byte ^ 0xFF), "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


def write(folder, count, padding):
    from rclpy.serialization import serialize_message

    types = Types()
    total = 0
    for name in types.classes:
        struct = types.struct(name)
        if padding and types.has_hidden(struct):
            continue
        cases = []

        def add(case, message):
            value = types.value(message, struct)
            cdr = serialize_message(message).hex()
            differs = {"differs": "the padding is not zero"} if padding else {}
            cases.append({"type": name, "case": case, "encoding": "xcdr1", "order": "little", **differs, "cdr": cdr, "value": value})

        add("default", types.classes[name]())
        if HIDDEN not in struct.members:
            for mode in modes(count):
                add(mode, types.message(Values(mode).make(struct), name))
        write_cases(folder, cases)
        total += len(cases)
    print(f"wrote {total} messages of {len(types.classes)} types into {folder}")


def idl(structs):
    """The types as IDL. A type stands behind the types that it needs."""
    text, done = [], set()

    def declare(ty, name):
        """A member's declaration. First defines the structs that it needs."""
        if isinstance(ty, Array):
            return f"{declare(ty.element, name)}[{ty.length}]"
        return f"{of(ty)} {name}"

    def of(ty):
        bound = f", {ty.bound}" if isinstance(ty, Sequence) and ty.bound else ""
        if isinstance(ty, Primitive):
            words = {"bool": "boolean", "f32": "float", "f64": "double"}
            return words.get(ty.kind) or {"i": "int", "u": "uint"}[ty.kind[0]] + ty.kind[1:]
        if isinstance(ty, Text):
            return ("wstring" if ty.wide else "string") + (f"<{ty.bound}>" if ty.bound else "")
        if isinstance(ty, Sequence):
            return f"sequence<{of(ty.element)}{bound}>"
        define(ty)
        return f"::{ty.name}"

    def define(struct):
        if struct.name in done:
            return
        done.add(struct.name)
        members = [f"  {declare(ty, name)};" for name, ty in struct.members.items()]
        *modules, name = struct.name.split("::")
        text.extend(f"module {module} {{" for module in modules)
        text.extend(["@final", f"struct {name} {{", *members, "};", *["};" for _ in modules], ""])

    for struct in structs:
        define(struct)
    return "\n".join(text)


def freeze_vectors(count):
    types = Types()
    with tempfile.TemporaryDirectory() as folder:
        write_all(f"{folder}/ros", count)
        cases = [case for path in Path(folder, "ros").iterdir() for case in read_cases(path)]
        padded = [case for path in Path(folder, "ros-padded").iterdir() for case in read_cases(path)]
    freeze(VECTORS, KEPT, cases)
    freeze(VECTORS / "padded", {"test_msgs::msg::BasicTypes": ["special"], "sensor_msgs::msg::PointCloud2": ["random1"]}, padded)
    header = "// The messages of the vectors, as rclpy describes them. Written by tests/interop/ros.py.\n\n"
    (VECTORS / "messages.idl").write_text(header + idl(types.struct(name) for name in KEPT))


def check(paths):
    from rclpy.serialization import deserialize_message

    types = Types()

    def read(case):
        name = case["type"]
        return types.value(deserialize_message(bytes.fromhex(case["cdr"]), types.classes[name]), types.struct(name))

    return check_cases("rclpy", paths, read)


def write_all(folder, count):
    """Writes the cases with zeros as padding, like Situ, and with other bytes, which Situ must ignore."""
    for padding, into in ((0, folder), (0xCC, f"{folder}-padded")):
        command = [sys.executable, __file__, "write", into, "--random", str(count), "--padding", str(padding)]
        subprocess.run(command, env=with_padding(padding), check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write")
    writing.add_argument("folder")
    writing.add_argument("--random", type=int, default=3, help="random values of each type")
    writing.add_argument("--padding", type=int, help=argparse.SUPPRESS)
    checking = commands.add_parser("check")
    checking.add_argument("files", nargs="+")
    commands.add_parser("exchange").add_argument("program", nargs=argparse.REMAINDER)
    commands.add_parser("freeze")
    options = parser.parse_args()
    if options.command == "check":
        sys.exit(1 if check(options.files) else 0)
    if options.command == "exchange":
        sys.exit(1 if exchange(options.program, lambda folder: write_all(folder, 3), check) else 0)
    if options.command == "freeze":
        return freeze_vectors(3)
    if options.padding is not None:
        return write(options.folder, options.random, options.padding)
    write_all(options.folder, options.random)


if __name__ == "__main__":
    main()
