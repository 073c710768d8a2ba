// One version of game::Profile in a process of its own. The test tests/generated/tests/region_peers.rs starts
// it together with programs of other versions and languages:
//
//   profile_peer <root> build <to>         publishes a profile
//   profile_peer <root> take <from>        prints "ready", and the taken message
//   profile_peer <root> edit <from> <to>   the same, and publishes it with another id
//   profile_peer <root> heap <from>        takes a message on the heap, also one from before
#include SITU_PROFILE_HEADER

#include <exception>
#include <stdexcept>
#include <string>

#include "bus/peer.hpp"

using namespace bus_test;
using game::Profile;

namespace {

/// The members of a profile that this version knows, in a region or on the heap.
template <class P>
std::string described(const P& p) {
  std::string line = std::to_string(p.id) + " " + std::string(p.name);
  if constexpr (requires { p.best; }) line += ", score " + (p.best ? std::to_string(p.best->score) : "-");
  if constexpr (requires { p.level; }) {
    line += ", level " + std::to_string(p.level) + ", " + std::to_string(p.tags.size()) + " tags";
    if (p.best) line += ", by \"" + std::string(p.best->by) + "\"";
  }
  return line;
}

/// Fills a profile with the values of spec/vectors.
template <class P>
void fill(P& p) {
  p.id = 5;
  p.name = "the name of this profile";
  if constexpr (requires { p.best; }) p.best.emplace(900, 1'700'000'000);
  if constexpr (requires { p.level; }) {
    p.best->by = "somebody with a long name";
    p.level = 7;
    p.tags.insert("with a longer name");
    p.tags.insert("quick");
    p.rival.emplace(901, 1'700'000'001, "me");
  }
}

void build(const situ::node& node, const std::string& to, const std::string&) {
  auto publisher = node.publisher<Profile>(to, reliable);
  await_next(publisher);
  auto loan = publisher.loan();
  fill(*loan);
  say_hash("built", loan.canonical());
  loan.publish();
}

situ::sample<Profile> take(situ::subscriber<Profile>& subscriber) {
  auto sample = receive(subscriber);
  say((sample.is_copy() ? "copy: " : "in place: ") + described(*sample));
  return sample;
}

void take(const situ::node& node, const std::string& from, const std::string&) {
  auto subscriber = node.subscriber<Profile>(from, all);
  say("ready");
  const auto sample = take(subscriber);
  say_hash("took", sample.copy().value().canonical());
}

void edit(const situ::node& node, const std::string& from, const std::string& to) {
  auto publisher = node.publisher<Profile>(to, reliable);
  auto subscriber = node.subscriber<Profile>(from, all);
  await_next(publisher);
  say("ready");
  const auto sample = take(subscriber);
  auto loan = publisher.edit(sample);
  loan->id += 100;
  say_hash("made", loan.canonical());
  say(std::to_string(publisher.statistics().slots_in_use) + " lent");
  loan.publish();
}

void take_heap(const situ::node& node, const std::string& from, const std::string&) {
  using heap_profile = situ::rebind<Profile, situ::heap>;
  auto subscriber = node.subscriber<heap_profile>(
      from, {.reliability = situ::reliability::reliable, .durability = situ::durability::transient_local});
  say("heap: " + described(*receive(subscriber)));
}

}  // namespace

int main(int count, char** words) {
  return play(count, words,
              {{"build", 1, build}, {"take", 1, take}, {"edit", 2, edit}, {"heap", 1, take_heap}});
}
