// Waits on two topics at once, in one thread and one system call.
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Note;
using examples::Pose;

namespace {

constexpr auto kReliable = situ::reliability::reliable;

// Another node, here in a thread: three poses and two notes, a little apart.
void talk() {
  const situ::node node("waiting_talker");
  auto poses = node.publisher<Pose>("waiting/poses", {.reliability = kReliable});
  auto notes = node.publisher<Note>("waiting/notes", {.reliability = kReliable});
  for (int step = 0; step < 5; ++step) {
    std::this_thread::sleep_for(20ms);
    if (step % 2 == 0) {
      auto pose = poses.loan();
      pose->x = step;
      pose.publish();
    } else {
      Note note;
      note.text = "step " + std::to_string(step);
      notes.publish(note);
    }
  }
}

}  // namespace

int main() try {
  const situ::node node("waiting");
  auto poses = node.subscriber<Pose>("waiting/poses", {.reliability = kReliable});
  auto notes = node.subscriber<Note>("waiting/notes", {.reliability = kReliable});
  std::thread talker(talk);

  for (int received = 0; received < 5;) {
    if (!situ::wait_any(10s, poses, notes)) throw std::runtime_error("nothing for 10 s");
    while (const auto pose = poses.take()) {
      std::printf("pose: x = %g\n", (*pose)->x);
      ++received;
    }
    while (const auto note = notes.take()) {
      std::printf("note: %s\n", (*note)->text.c_str());
      ++received;
    }
  }
  talker.join();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
