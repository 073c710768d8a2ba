#!/usr/bin/env python3
"""Generates the code of the testees: generate.py <folder of the runner's .proto files> <protoc-gen-situ> <out>.

protoc reads the test messages, editions included. The plugin generates readers and writers in Rust and C++, and
this program the functions that copy every field from one to the other.
"""

import re
import pathlib
import subprocess
import sys

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.compiler import plugin_pb2
from google.protobuf.descriptor import FieldDescriptor as Field

MESSAGES = [
    "protobuf_test_messages.proto2.TestAllTypesProto2",
    "protobuf_test_messages.proto3.TestAllTypesProto3",
    "protobuf_test_messages.editions.TestAllTypesEdition2023",
    "protobuf_test_messages.editions.proto2.TestAllTypesProto2",
    "protobuf_test_messages.editions.proto3.TestAllTypesProto3",
]
FILES = ["proto2", "proto3", "edition2023", "proto2_editions", "proto3_editions"]
CPP_KEYWORDS = {"float", "double", "bool", "int", "long", "short", "char", "default", "private", "public"}


def descriptors(protos, out):
    """The descriptors of the test messages and of their imports, and a pool of them."""
    files = [f"google/protobuf/test_messages_{name}.proto" for name in FILES]
    path = out / "messages.binpb"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{protos}", "--include_imports"]
    # The files that come with protoc, from grpc_tools.
    import grpc_tools
    command.append(f"-I{pathlib.Path(grpc_tools.__file__).parent / '_proto'}")
    subprocess.run([*command, f"--descriptor_set_out={path}", *files], check=True)
    found = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)
    return files, found, pool


def plugin(program, request, lang, out):
    request.parameter = f"lang={lang}"
    answer = subprocess.run([program], input=request.SerializeToString(), stdout=subprocess.PIPE, check=True)
    response = plugin_pb2.CodeGeneratorResponse.FromString(answer.stdout)
    if response.error:
        sys.exit(response.error)
    for file in response.file:
        path = out / lang / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.content)


def snake(name):
    text = ""
    before = "_"
    for letter in name:
        if letter.isupper() and before != "_" and not before.isupper():
            text += "_"
        text += letter.lower()
        before = letter
    return text


def names(message):
    path = [message.name]
    while message.containing_type:
        message = message.containing_type
        path.insert(0, message.name)
    return path


def is_message(field):
    return field.type in (Field.TYPE_MESSAGE, Field.TYPE_GROUP)


def is_map(field):
    return field.type == Field.TYPE_MESSAGE and field.message_type.GetOptions().map_entry


def reachable(pool):
    """The test messages, and all messages in them; entries of maps too."""
    found = []
    waiting = [pool.FindMessageTypeByName(name) for name in MESSAGES]
    while waiting:
        message = waiting.pop()
        if message.full_name in {it.full_name for it in found}:
            continue
        found.append(message)
        waiting += [field.message_type for field in message.fields if is_message(field)]
    return found


class Rust:
    """Functions `copy_<message>` in Rust."""

    @staticmethod
    def of(message, suffix):
        path = names(message)
        modules = message.file.package.split(".") + [snake(it) for it in path[:-1]]
        modules = ["r#" + it if it in {"struct", "type"} else it for it in modules]
        return "crate::messages::" + "::".join([*modules, path[-1] + suffix])

    @staticmethod
    def function(message):
        return "copy_" + message.full_name.replace(".", "_").lower()

    def field(self, field):
        name, is_text = field.name, field.type == Field.TYPE_STRING
        own = "r#" + name if name in {"type", "match"} else name
        again = "?" if is_text else ""
        if is_message(field) and not (is_map(field) and self.is_plain_map(field)):
            copy = self.function(field.message_type)
            if field.is_repeated:
                return f"for each in from.{own}() {{ {copy}(&each?, &mut to.add_{name}())?; }}"
            return f"if let Some(each) = from.{own}()? {{ {copy}(&each, &mut to.set_{name}())?; }}"
        if is_map(field):
            entry = field.message_type.fields_by_name
            texts = ["?" if entry[it].type == Field.TYPE_STRING else "" for it in ("key", "value")]
            # An entry with an unknown number of a closed enum is an unknown field as a whole.
            call = f"to.add_{name}(each.key(){texts[0]}, each.value(){texts[1]});"
            return f"for each in from.{own}() {{ let each = each?; {call} }}"
        if field.is_repeated and field.is_packed:
            return f"to.set_{name}(&from.{own}().collect::<Result<Vec<_>, _>>()?);"
        if field.is_repeated:
            value = "each" if field.type == Field.TYPE_BYTES else "each?"
            return f"for each in from.{own}() {{ to.add_{name}({value}); }}"
        # Without presence, zero is not written.
        condition = f"from.has_{name}()" + ("" if field.has_presence else f" && !from.{own}(){again}.is_zero()")
        return f"if {condition} {{ to.set_{name}(from.{own}(){again}); }}"

    @staticmethod
    def is_plain_map(field):
        return field.message_type.fields_by_name["value"].type != Field.TYPE_MESSAGE

    def message(self, message):
        lines = [
            f"fn {self.function(message)}(from: &{self.of(message, 'Reader')}<'_>, to: &mut {self.of(message, 'Writer')}<'_>) -> Result<(), ReadError> {{"
        ]
        lines += ["    " + self.field(field) for field in message.fields]
        lines += ["    from.unknown_fields().for_each(|field| to.0.raw(field.bytes));", "    Ok(())", "}", ""]
        return "\n".join(lines)

    def main(self, pool):
        enums = {it.enum_type for all in reachable(pool) for it in all.fields if it.type == Field.TYPE_ENUM}
        lines = []
        for it in sorted(enums, key=lambda it: it.full_name):
            lines.append(f"impl IsZero for {self.of(it, '')} {{ fn is_zero(&self) -> bool {{ self.0 == 0 }} }}")
        lines += ["/// Copies a message by its name.", "pub fn copy(name: &str, bytes: &[u8], to: Message<'_>) -> Option<Result<(), ReadError>> {", "    Some(match name {"]
        for name in MESSAGES:
            message = pool.FindMessageTypeByName(name)
            reader, writer = self.of(message, "Reader"), self.of(message, "Writer")
            lines.append(f'        "{name}" => {reader}::new(bytes).and_then(|it| {self.function(message)}(&it, &mut {writer}(to))),')
        return "\n".join([*lines, "        _ => return None,", "    })", "}", ""])


class Cpp:
    """Functions `copy` in C++."""

    @staticmethod
    def of(message, suffix):
        return "::" + "::".join(message.file.package.split(".")) + "::" + "_".join(names(message)) + suffix

    @staticmethod
    def value(field):
        if field.type == Field.TYPE_ENUM:
            path = names(field.enum_type)
            return "::" + "::".join(field.enum_type.file.package.split(".")) + "::" + "_".join(path)
        kinds = {
            Field.CPPTYPE_INT32: "std::int32_t", Field.CPPTYPE_INT64: "std::int64_t",
            Field.CPPTYPE_UINT32: "std::uint32_t", Field.CPPTYPE_UINT64: "std::uint64_t",
            Field.CPPTYPE_DOUBLE: "double", Field.CPPTYPE_FLOAT: "float", Field.CPPTYPE_BOOL: "bool",
        }
        return kinds[field.cpp_type]

    def field(self, field):
        name = field.name
        # Names that are reserved for compilers get the mark of keywords.
        own = name + "_" if name in CPP_KEYWORDS or re.match("_[_A-Z]", name) else name
        check = "utf8" if must_be_text(field) else ""
        if is_map(field):
            entry = field.message_type.fields_by_name
            read = []
            for part in ("key", "value"):
                read.append(f"utf8(each.{part}())" if must_be_text(entry[part]) else f"each.{part}()")
            reader = self.of(field.message_type, "Reader")
            if entry["value"].type == Field.TYPE_MESSAGE:
                body = f"auto child = to.add_{name}(); copy(each, child);"
            else:
                body = f"to.add_{name}({read[0]}, {read[1]});"
            return f"for (const {reader}& each : from.{own}()) {{ good(each.error()); {body} }}"
        if is_message(field):
            reader = self.of(field.message_type, "Reader")
            if field.is_repeated:
                return f"for (const {reader}& each : from.{own}()) {{ auto child = to.add_{name}(); copy(each, child); }}"
            return f"if (from.has_{name}()) {{ auto child = to.set_{name}(); copy(from.{own}(), child); }}"
        if field.is_repeated and field.type in (Field.TYPE_STRING, Field.TYPE_BYTES):
            return f"for (const auto each : from.{own}()) to.add_{name}({check}(each));"
        if field.is_repeated:
            loop = f"auto all = from.{own}(); for (const auto each : all)"
            if not field.is_packed:
                return f"{{ {loop} to.add_{name}(each); good(all.error()); }}"
            return f"{{ numbers<{self.value(field)}> found; {loop} found.push_back(each); good(all.error()); to.set_{name}(found.span()); }}"
        # Without presence, zero is not written.
        condition = f"from.has_{name}()" + ("" if field.has_presence else f" && !is_zero(from.{own}())")
        return f"if ({condition}) to.set_{name}({check}(from.{own}()));"

    def message(self, message):
        head = f"void copy(const {self.of(message, 'Reader')}& from, {self.of(message, 'Writer')}& to)"
        lines = [head + " {", "  good(from.error());"]
        lines += ["  " + self.field(field) for field in message.fields]
        lines += ["  for (const auto& field : from.unknown_fields()) to.raw(field.bytes);", "}", ""]
        return head + ";", "\n".join(lines)

    def main(self, pool):
        lines = ["bool copy(std::string_view name, std::span<const std::uint8_t> bytes, ::situ::protobuf::writer& out) {"]
        for name in MESSAGES:
            message = pool.FindMessageTypeByName(name)
            lines.append(f'  if (name == "{name}") {{')
            lines.append(f"    {self.of(message, 'Writer')} to(out);")
            lines.append(f"    return copy({self.of(message, 'Reader')}(bytes), to), true;")
            lines.append("  }")
        return "\n".join([*lines, "  return false;", "}", ""])


def must_be_text(field):
    """Whether a string must be UTF-8: always, except in proto2 and if a feature says otherwise."""
    return field.type == Field.TYPE_STRING and "proto2" not in field.containing_type.file.package


def main():
    protos, program, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    files, found, pool = descriptors(protos, out)
    request = plugin_pb2.CodeGeneratorRequest(proto_file=found.file)
    request.file_to_generate.extend(it.name for it in found.file)
    plugin(program, request, "rust", out)
    plugin(program, request, "cpp", out)
    messages = reachable(pool)
    rust = Rust()
    plain = {it.message_type.full_name for all in messages for it in all.fields if is_map(it) and rust.is_plain_map(it)}
    text = [rust.message(it) for it in messages if it.full_name not in plain]
    (out / "rust" / "copy.rs").write_text("\n".join([*text, rust.main(pool)]))
    cpp = Cpp()
    parts = [cpp.message(it) for it in messages if it.full_name not in plain]
    includes = [f'#include "{name.replace(".proto", ".situ.hpp")}"' for name in files]
    (out / "cpp" / "messages.hpp").write_text("\n".join(["#pragma once", *includes, ""]))
    text = [head for head, _ in parts] + [body for _, body in parts]
    (out / "cpp" / "copy.inc").write_text("\n".join([*text, cpp.main(pool)]))


main()
