// What a plain message holds when it is lent: the defaults of its members, but for its large arrays.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rmw_situ {

struct Struct;

// Writing the defaults of an array of megabytes would cost as much as the copy that the loan saves. Arrays of
// numbers of more than 4 KiB are therefore left as they are: zeroes, or what an earlier message of the same
// publisher had there. Arrays of bools are not: some bytes are no bool. Neither are arrays that have
// defaults.
class Blank {
 public:
  // `message` is one that was just initialized.
  Blank(const Struct& type, std::span<const std::byte> message);

  void write(void* message) const;

 private:
  struct Piece {
    size_t offset;
    std::vector<std::byte> bytes;
  };

  // Finds the large arrays of a struct that lies at `offset`, and adds the pieces before each of them.
  void add(const Struct& type, size_t offset, std::span<const std::byte> message);
  void add_piece(size_t end, std::span<const std::byte> message);

  std::vector<Piece> pieces_;
  // The end of the last piece or array.
  size_t end_ = 0;
};

}  // namespace rmw_situ
