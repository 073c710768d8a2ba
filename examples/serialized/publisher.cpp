// Publishes notes: strings without a bound, which live on the heap and cross serialized.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Note;

int main() try {
  const situ::node node("note_publisher");
  auto publisher = node.publisher<Note>("notes", {.reliability = situ::reliability::reliable});

  while (publisher.statistics().subscribers == 0) {
    std::this_thread::sleep_for(10ms);
  }
  Note note;
  note.author = "Ada";
  for (int length = 1; length <= 5; ++length) {
    note.text += "la ";
    note.tags = {"song", "verse " + std::to_string(length)};
    publisher.publish(note);
    std::printf("published a note of %zu bytes\n", note.text.size());
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
