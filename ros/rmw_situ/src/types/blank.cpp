// What a plain message holds when it is lent.
#include "types/blank.hpp"

#include <algorithm>
#include <cstring>

#include "types/description.hpp"

namespace rmw_situ {
namespace {

constexpr size_t kLarge = 4096;

}  // namespace

Blank::Blank(const Struct& type, std::span<const std::byte> message) {
  add(type, 0, message);
  add_piece(message.size(), message);
}

void Blank::add(const Struct& type, size_t offset, std::span<const std::byte> message) {
  for (const Member& member : type.members) {
    const size_t begin = offset + member.offset;
    if (member.container == Container::kNone && member.kind == Kind::kStruct) {
      add(*member.type, begin, message);
      continue;
    }
    const size_t size = member.container == Container::kArray ? member.length * width(member.kind) : 0;
    if (size <= kLarge || member.kind == Kind::kBool) continue;
    const auto has_default = [](std::byte byte) { return byte != std::byte{0}; };
    if (std::ranges::any_of(message.subspan(begin, size), has_default)) continue;
    add_piece(begin, message);
    end_ = begin + size;
  }
}

void Blank::add_piece(size_t end, std::span<const std::byte> message) {
  if (end == end_) return;
  const auto bytes = message.subspan(end_, end - end_);
  pieces_.push_back({end_, {bytes.begin(), bytes.end()}});
}

void Blank::write(void* message) const {
  for (const Piece& piece : pieces_) {
    std::memcpy(static_cast<std::byte*>(message) + piece.offset, piece.bytes.data(), piece.bytes.size());
  }
}

}  // namespace rmw_situ
