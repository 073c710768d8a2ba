// The protobuf writer does not allocate: counted, with nesting deeper than 16, crossing and patching.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <new>

#include "situ/protobuf/writer.hpp"
#include "support/allocations.hpp"

namespace {

using situ::protobuf::message;

void fill(message& it, unsigned levels) {
  it.int32(1, -5);
  it.string(2, "a string that is longer than a short one would be");
  it.packed_uint32(3, std::array<std::uint32_t, 3>{1, 300, 70000});
  if (levels > 0) {
    message child(it, 4);
    fill(child, levels - 1);
  }
}

TEST(protobuf_allocations, none) {
  struct {
    void chunk(std::uint32_t, std::span<const std::uint8_t> data, std::size_t) { bytes += data.size(); }
    void patches(std::span<const situ::protobuf::patch> list) { patched += list.size(); }
    std::size_t bytes = 0, patched = 0;
  } sink;
  std::array<std::uint8_t, 64> memory;
  std::array<situ::protobuf::patch, 4> patches;
  const std::size_t before = situ_test::allocations;
  situ::protobuf::streamed_buffer buffer(memory, patches, sink);
  situ::protobuf::writer out(buffer);
  {
    message it(out);
    fill(it, 40);
  }
  const auto error = out.finish();
  const std::size_t after = situ_test::allocations;
  EXPECT_EQ(error, situ::protobuf::write_error::none);
  EXPECT_EQ(after, before);
  EXPECT_EQ(sink.bytes, out.size());
  EXPECT_EQ(sink.patched, 40U);
  // The counter works.
  ::operator delete(::operator new(1));
  EXPECT_EQ(situ_test::allocations, after + 1);
}

}  // namespace
