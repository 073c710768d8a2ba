// Errors of regions: an operation finds no memory, or bytes are not a valid region. Rust has the same texts;
// spec/vectors/region/errors.txt lists them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "situ/support/error.hpp"
#include "situ/support/path.hpp"

namespace situ {

/// A reason that a container of a region could not be changed.
enum class region_fault {
  full,        ///< the region's memory has no room, and cannot grow
  detached,    ///< the container lies in no region, so it has no memory to take from
  frozen,      ///< the region is an image that is read-only
  cycle,       ///< a value would contain a link to itself
  inside,      ///< of two values to be exchanged, one lies within the other
  apart,       ///< two values to be exchanged lie in different regions
  misaligned,  ///< a buffer for a region does not begin at a multiple of 16
  small,  ///< a buffer for a region has `found` bytes; header, root and the state of the memory need `limit`
};

/// A container of a region could not be changed. The `try_` forms return false (or null) instead.
class region_error : public std::runtime_error {
 public:
  region_error(region_fault fault, std::uint64_t limit, std::uint64_t found = 0)
      : std::runtime_error(describe(fault, limit, found)), fault_(fault), limit_(limit) {}

  [[nodiscard]] region_fault fault() const noexcept { return fault_; }
  /// The maximum size of the region in bytes, or the size that it needs, or 0 where there is none.
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }

 private:
  static std::string describe(region_fault fault, std::uint64_t limit, std::uint64_t found) {
    switch (fault) {
      case region_fault::full:
        return "the region is full: it may have " + std::to_string(limit) +
               " bytes; give it a higher limit or a larger buffer";
      case region_fault::detached:
        return "the container lies in no region; only containers within a region can be filled";
      case region_fault::frozen:
        return "the region is an image that is only read; adopt it to change it";
      case region_fault::cycle:
        return "a value would hold a link to itself; lead back by a weak link, and share links to values of "
               "their own kind where they lie, not within a value that is stored";
      case region_fault::inside:
        return "a value cannot be moved into itself: one of the two places lies within the other";
      case region_fault::apart:
        return "a value cannot be moved to another region; copy it";
      case region_fault::misaligned:
        return "the buffer does not begin at a multiple of 16; give one that does";
      case region_fault::small:
        return no_room(found, limit);
    }
    return "unknown fault";
  }

  friend struct region_invalid;
  static std::string no_room(std::uint64_t found, std::uint64_t needed) {
    return "there is room for " + std::to_string(found) + " bytes, and " + std::to_string(needed) +
           " are needed; give a larger buffer or a higher limit";
  }

  region_fault fault_;
  std::uint64_t limit_;
};

/// A problem of bytes that should be a region.
enum class region_problem {
  too_small,        ///< the image has `found` bytes; header and root need `limit`
  misaligned,       ///< the bytes do not start at a multiple of 16
  not_a_region,     ///< the header begins with `found`
  wrong_version,    ///< the image has version `found` of the format, this program `limit`
  wrong_form,       ///< the form is `found`, which is not known
  not_packed,       ///< the form is `found`, but a packed image is wanted
  bad_length,       ///< the length at offset `found` is not the shortest one, or not allowed there
  wrong_schema,     ///< the schema hash is `found`; that of the type `name` is `limit`
  wrong_layout,     ///< the layout hash is `found`; that of the type `name` is `limit`
  wrong_size,       ///< the header has the size `found`, but there are `limit` bytes
  outside,          ///< a link leads to offset `found`, and the image has `limit` bytes
  misplaced,        ///< a link leads to offset `found`, but the canonical place is `limit`
  unaligned_link,   ///< a link leads to offset `found`, which is not a multiple of 16
  overlap,          ///< the block at offset `found` is part of another one
  wrong_back_link,  ///< the link back to the header is `found`, a signed number
  too_long,         ///< the length is `found`, the capacity `limit`
  not_trimmed,      ///< a canonical image has the capacity `found` where it needs `limit`
  not_a_bool,       ///< a boolean or a presence flag is `found`
  not_utf8,         ///< the text is not UTF-8 from byte `found` on
  not_sorted,       ///< key number `found` is not greater than the one before it
  not_hashed,       ///< entry `found` of a hash table is not the one that its key finds
  wrong_count,      ///< the index of a hash table of length `found` has `limit` words in use
  wrong_seed,       ///< the seed `found` of a canonical hash table is not the least one that does
  wrong_levels,     ///< a tree has `found` levels instead of `limit`
  wrong_node,       ///< a node's length and, above 32 bits, its capacity are `found`; `limit` is the allowed
                    ///< capacity
  wrong_tree,       ///< a tree of length `found` has nodes with `limit` keys
  holds_itself,     ///< a link leads to the shared value at `found`, which contains the link
  shared_type,      ///< a link leads to the shared value at `found`, which is of another type
  shared_count,     ///< a shared value counts `found` links, but `limit` lead to it
  weak_target,      ///< a weak link leads to offset `found`, where no shared value is
  weak_count,       ///< a shared value counts `found` weak links, but `limit` lead to it
  bad_versions,     ///< the table of versions at `found` is not valid
  other_history,    ///< member number `found` of `name`, here `member`, differs
  other_version,    ///< the image has `found` members of `name`, this program `limit`
  not_zero,         ///< the unused byte at offset `found` is not zero
  left_over,        ///< a canonical image ends at `limit`, but has `found` bytes
  no_memory,        ///< the `found` bytes could not be copied: there is room for `limit`, or no memory at all
};

/// Bytes that should be a region are not valid.
struct region_invalid {
  region_problem problem{};
  /// The member at fault.
  field_path path{};
  /// The offset of the fault in bytes, counted from the header.
  std::uint64_t offset = 0;
  std::uint64_t found = 0;
  std::uint64_t limit = 0;
  /// The requested type, if the image has another one. For a fault in the versions of a struct: the struct,
  /// and this program's name for the member.
  std::string_view name{};
  std::string_view member{};

  /// The error as one sentence: `items[3].value.name: offset 812 outside the image of 640 bytes`.
  [[nodiscard]] std::string message() const {
    return path.shown() + ": " + problem_text() + " (at offset " + std::to_string(offset) + ")";
  }

 private:
  static std::string low(std::uint64_t two) { return std::to_string(two & 0xFFFF'FFFFU); }
  static std::string high(std::uint64_t two) { return std::to_string(two >> 32); }
  /// A link may lead to a place before the header.
  static std::string to_signed(std::uint64_t number) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  static std::string hash(std::uint64_t number) {
    std::string text(16, '0');
    for (std::size_t digit = 16; digit-- != 0; number >>= 4) text[digit] = "0123456789abcdef"[number & 15];
    return text;
  }
  /// An image has hashes but no names, so the other type's name is unknown.
  [[nodiscard]] std::string other_type(std::string_view which, std::string_view as) const {
    const std::string type(name);
    return "the image is not of " + type + std::string(as) + ": its " + std::string(which) + " hash is " +
           hash(found) + ", that of " + type + " " + hash(limit) +
           "; generate both programs from the same schema";
  }
  [[nodiscard]] std::string problem_text() const {
    const std::string f = std::to_string(found);
    const std::string l = std::to_string(limit);
    switch (problem) {
      case region_problem::too_small:
        return f + " bytes are too few; header and root need " + l;
      case region_problem::misaligned:
        return "the bytes do not lie at a multiple of 16; copy them to memory that does, or adopt them";
      case region_problem::not_a_region:
        return "no region: the bytes do not begin with SRGN";
      case region_problem::wrong_version:
        return "the image has version " + f + " of the format, and this program reads version " + l;
      case region_problem::wrong_form:
        return "the image has form " + f +
               "; here it is 0 (canonical) or 1 (live), and packed images (2) have functions of their own";
      case region_problem::not_packed:
        return "the image has form " + f + ", and is not a packed one (form 2)";
      case region_problem::bad_length:
        return "the length at offset " + f + " is not a good one";
      case region_problem::wrong_schema:
        return other_type("schema", "");
      case region_problem::wrong_layout:
        return other_type("layout", " as it is laid out here");
      case region_problem::wrong_size:
        return "the header says " + f + " bytes, but there are " + l;
      case region_problem::outside:
        return "offset " + to_signed(found) + " outside the image of " + l + " bytes";
      case region_problem::misplaced:
        return "offset " + to_signed(found) + " is not the canonical one, " + l;
      case region_problem::unaligned_link:
        return "offset " + f + " is no multiple of 16";
      case region_problem::overlap:
        return "the block at offset " + f + " is part of another one";
      case region_problem::wrong_back_link:
        return "the link back to the header is " + to_signed(found);
      case region_problem::too_long:
        return "length " + f + " exceeds the capacity " + l;
      case region_problem::not_trimmed:
        return "capacity " + f + " is not the canonical one, " + l;
      case region_problem::not_a_bool:
        return f + " is not a boolean; only 0 and 1 are";
      case region_problem::not_utf8:
        return "the text is not UTF-8 from byte " + f + " on";
      case region_problem::not_sorted:
        return "key " + f + " is not greater than the key before it";
      case region_problem::not_hashed:
        return "entry " + f + " is not the one that its key finds";
      case region_problem::wrong_count:
        return "length " + f + ", but " + l + " words of the index are in use";
      case region_problem::wrong_seed:
        return "seed " + f + " is not the canonical one";
      case region_problem::wrong_levels:
        return "the tree has " + f + " levels instead of " + l;
      case region_problem::wrong_node:
        return "the node holds " + low(found) + " keys and has room for " + high(found) + "; room for " +
               low(limit) + " to " + high(limit) + " is allowed, and at least one key";
      case region_problem::wrong_tree:
        return "length " + f + ", but the nodes hold " + l + " keys";
      case region_problem::holds_itself:
        return "the shared value at offset " + f + " holds this link to itself";
      case region_problem::shared_type:
        return "the shared value at offset " + f + " is of another type";
      case region_problem::shared_count:
        return "the shared value counts " + f + " links, but " + l + " lead to it";
      case region_problem::weak_target:
        return "the weak link leads to offset " + f + ", where no shared value is";
      case region_problem::weak_count:
        return "the shared value counts " + f + " weak links, but " + l + " lead to it";
      case region_problem::bad_versions:
        return "the table of versions at offset " + f + " is not good";
      case region_problem::other_history:
        return "the image has another " + std::string(name) + ": member " + f + ", here " +
               std::string(member) + ", differs";
      case region_problem::other_version:
        return "the image has " + f + " members of " + std::string(name) + ", this program " + l +
               "; adopt a copy";
      case region_problem::not_zero:
        return "the byte at offset " + f + " belongs to nothing and is not zero";
      case region_problem::left_over:
        return "the image has " + f + " bytes, but its parts end at " + l;
      case region_problem::no_memory:
        return limit == 0 ? "there is no memory for " + f + " bytes" : region_error::no_room(limit, found);
    }
    return "unknown problem";
  }
};

}  // namespace situ
