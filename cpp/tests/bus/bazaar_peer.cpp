// A program that builds, edits and forwards a game::Bazaar, which has every container of regions. The test
// tests/generated/tests/region_peers.rs starts it, and does the same in Rust:
//
//   bazaar_peer <root> build <to>          publishes the values of bazaar_values.hpp
//   bazaar_peer <root> edit <from> <to>    prints "ready", edits the taken message, and publishes it
//   bazaar_peer <root> take <from>         prints "ready", and the hash of the taken message
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

#include "bus/peer.hpp"
#include "messages/bazaar_values.hpp"

using namespace bus_test;
using game::Bazaar;

namespace {

void build(const situ::node& node, const std::string& to, const std::string&) {
  auto publisher = node.publisher<Bazaar>(to, reliable);
  await_next(publisher);
  // `fill` takes a reference, so the message must fit into the first slot.
  auto loan = publisher.loan(std::size_t{1} << 16U);
  situ_test::fill(*loan);
  loan.publish();
}

/// Edits each kind of container. Holds no references, because the region grows beyond its slot.
void edit(situ::loan<Bazaar>& b) {
  b->index.erase(4);
  for (std::uint32_t i = 2000; i < 3000; ++i) b->index.insert(i);
  b->words.erase("word 7 of forty");
  b->words.insert("a word that is new");
  b->prices.erase("price 3");
  b->prices.at("price 42").uuid = 4242;
  for (std::uint32_t i = 0; i < 300; ++i) b->prices.emplace("new price " + std::to_string(i), i, 1, 2, 3);
  b->shape.set_radius(8.5F);
  b->shapes[0].set_label("was a radius before");
  b->shapes.erase(b->shapes.begin() + 3);
  b->sound.set_level(12);
  b->letter.items().erase("a sword of steel");
  b->letter.items().emplace("a shield of wood", 1, 2, 3, 4);
  b->flag.set_number(9);
  b->by_number.erase(1);
  b->maybe.reset();
  b->far->set_label("far away and long");
  // Two links lead to this value.
  b->texture->grain->text = "the grain that both have, sanded";
  b->textures.emplace_back().name = "a third one";
  b->textures[2].grain.share(b->textures[0].grain);
  b->blade.base.attributes.push_back(7);
  b->blade.edge += 1;
}

void edit(const situ::node& node, const std::string& from, const std::string& to) {
  auto publisher = node.publisher<Bazaar>(to, reliable);
  auto subscriber = node.subscriber<Bazaar>(from, all);
  await_next(publisher);
  say("ready");
  auto loan = publisher.edit(receive(subscriber));
  edit(loan);
  loan.publish();
}

void take(const situ::node& node, const std::string& from, const std::string&) {
  auto subscriber = node.subscriber<Bazaar>(from, all);
  say("ready");
  say_hash("took", receive(subscriber).copy().value().canonical());
}

}  // namespace

int main(int count, char** words) {
  return play(count, words, {{"build", 1, build}, {"edit", 2, edit}, {"take", 1, take}});
}
