// Uses the headers alone.
#include <situ/bounded_vector.hpp>
#include <situ/policy.hpp>

int main() {
  situ::flat::sequence<int, 3> numbers;
  numbers.push_back(4);
  return numbers.size() == 1 && numbers[0] == 4 ? 0 : 1;
}
