// The canonical text and the hashes of a type, by the rules of spec/schema.md and spec/signature.md.
#include "types/schema.hpp"

#include <rcutils/sha256.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace rmw_situ {
namespace {

// IDL's keywords. A name that equals one, in any case, is written with a leading underscore.
constexpr std::string_view kKeywords[] = {
    "abstract",   "alias",     "any",        "attribute", "bitfield",    "bitmask",   "bitset",   "boolean",
    "case",       "char",      "component",  "connector", "const",       "consumes",  "context",  "custom",
    "default",    "double",    "emits",      "enum",      "eventtype",   "exception", "factory",  "false",
    "finder",     "fixed",     "float",      "getraises", "getter",      "home",      "import",   "in",
    "inout",      "int16",     "int32",      "int64",     "int8",        "interface", "local",    "long",
    "manages",    "map",       "mirrorport", "module",    "multiple",    "native",    "object",   "octet",
    "oneway",     "out",       "port",       "porttype",  "primarykey",  "private",   "provides", "public",
    "publishes",  "raises",    "readonly",   "sequence",  "setraises",   "setter",    "short",    "string",
    "struct",     "supports",  "switch",     "true",      "truncatable", "typedef",   "typeid",   "typename",
    "typeprefix", "uint16",    "uint32",     "uint64",    "uint8",       "union",     "unsigned", "uses",
    "valuebase",  "valuetype", "void",       "wchar",     "wstring"};

std::string ident(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  bool is_keyword = std::binary_search(std::begin(kKeywords), std::end(kKeywords), std::string_view(lower));
  return is_keyword || name.starts_with('_') ? "_" + std::string(name) : std::string(name);
}

// "a::b::C" as its parts.
std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t at; (at = name.find("::")) != std::string_view::npos; name.remove_prefix(at + 2)) {
    parts.push_back(name.substr(0, at));
  }
  parts.push_back(name);
  return parts;
}

// The name of a number in the canonical text.
const char* word(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return "boolean";
    case Kind::kChar:
      return "char";
    case Kind::kWChar:
      return "wchar";
    case Kind::kInt8:
      return "int8";
    case Kind::kUint8:
      return "uint8";
    case Kind::kInt16:
      return "int16";
    case Kind::kUint16:
      return "uint16";
    case Kind::kInt32:
      return "int32";
    case Kind::kUint32:
      return "uint32";
    case Kind::kInt64:
      return "int64";
    case Kind::kUint64:
      return "uint64";
    case Kind::kFloat:
      return "float";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kWString:
      return "wstring";
    default:
      return "";
  }
}

std::string element_text(const Member& member) {
  if (member.kind == Kind::kStruct) {
    std::string name;
    for (std::string_view part : parts_of(member.type->name)) name += "::" + ident(part);
    return name;
  }
  std::string text = word(member.kind);
  if (member.string_bound != 0) text += "<" + std::to_string(member.string_bound) + ">";
  return text;
}

std::string member_text(const Member& member) {
  std::string text = member.is_key ? "  @key(TRUE) " : "  ";
  std::string name = ident(member.name);
  switch (member.container) {
    case Container::kNone:
      return text + element_text(member) + " " + name + ";\n";
    case Container::kArray:
      return text + element_text(member) + " " + name + "[" + std::to_string(member.length) + "];\n";
    default: {
      std::string bound = member.length == 0 ? "" : ", " + std::to_string(member.length);
      return text + "sequence<" + element_text(member) + bound + "> " + name + ";\n";
    }
  }
}

uint64_t text_hash(const std::string& text) {
  rcutils_sha256_ctx_t context;
  rcutils_sha256_init(&context);
  rcutils_sha256_update(&context, reinterpret_cast<const uint8_t*>(text.data()), text.size());
  uint8_t digest[RCUTILS_SHA256_BLOCK_SIZE];
  rcutils_sha256_final(&context, digest);
  uint64_t hash = 0;
  for (int i = 7; i >= 0; i--) hash = hash << 8 | digest[i];
  return hash;
}

std::string layout_line(const std::string& path, size_t offset, size_t size, size_t alignment,
                        const std::string& kind) {
  return path + " " + std::to_string(offset) + " " + std::to_string(size) + " " + std::to_string(alignment) +
         " " + kind + "\n";
}

}  // namespace

std::string schema_text(const Description& type) {
  std::string text;
  for (const auto& each : type.structs) {
    std::vector<std::string_view> parts = parts_of(each->name);
    for (size_t i = 0; i + 1 < parts.size(); i++) text += "module " + ident(parts[i]) + " {\n";
    text += "@final struct " + ident(parts.back()) + " {\n";
    for (const Member& member : each->members) text += member_text(member);
    for (size_t i = 0; i < parts.size(); i++) text += "};\n";
  }
  return text;
}

uint64_t schema_hash(const Description& type, const std::string& text) {
  return text_hash("schema-v1 " + type.root().name + "\n" + text);
}

uint64_t layout_hash(const Description& type) {
  std::string text = "flat-v1 " + type.root().name + "\n";
  for (const auto& each : type.structs) {
    text += layout_line(each->name, 0, each->size, each->alignment, "struct");
    for (const Member& member : each->members) {
      bool is_struct = member.kind == Kind::kStruct;
      std::string kind = is_struct ? member.type->name : word(member.kind);
      size_t size = is_struct ? member.type->size : width(member.kind);
      size_t alignment = is_struct ? member.type->alignment : size;
      std::string path = each->name + "." + member.name;
      if (member.container == Container::kArray) {
        text += layout_line(path, member.offset, size * member.length, alignment,
                            "array[" + std::to_string(member.length) + "]");
        text += layout_line(path + "[]", 0, size, alignment, kind);
      } else {
        text += layout_line(path, member.offset, size, alignment, kind);
      }
    }
  }
  return text_hash(text);
}

}  // namespace rmw_situ
