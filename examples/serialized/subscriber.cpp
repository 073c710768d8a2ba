// Takes notes: each is decoded into strings of the subscriber's own.
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Note;

int main() try {
  const situ::node node("note_subscriber");
  auto subscriber = node.subscriber<Note>("notes", {.reliability = situ::reliability::reliable});

  for (int i = 0; i < 5; ++i) {
    const auto note = subscriber.receive(10s);
    if (!note) throw std::runtime_error("no note for 10 s");
    std::string text((*note)->text);
    text.erase(text.find_last_not_of(' ') + 1);
    std::string tags;
    for (const auto& tag : (*note)->tags) {
      if (!tags.empty()) tags += ", ";
      tags += tag;
    }
    std::printf("%s wrote \"%s\" [%s]\n", (*note)->author.c_str(), text.c_str(), tags.c_str());
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
