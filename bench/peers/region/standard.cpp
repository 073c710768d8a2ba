// Containers of the standard library: the cost of the same work without receiving or sending.
#include "standard.hpp"

#include <cstdlib>

#include "native.hpp"

int main(int count, char** values) {
  using namespace region_bench;
  Suite suite;
  add_native<standard::Character, std::vector<std::uint32_t>, standard::How>(suite);
  suite.add("allocation", [](const Parameters& parameters) {
    return time_allocation(
        parameters, [](std::uint32_t size) { return std::malloc(size); },
        [](void* block, std::uint32_t) { std::free(block); });
  });
  return suite.serve(count, values);
}
