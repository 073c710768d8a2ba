// Weak links that a schema declares: made, read and converted, and compared with the bytes that Rust writes.
#include "family.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "situ/region.hpp"
#include "situ/region/packed.hpp"
#include "support/vectors.hpp"

namespace {

using family::Person;
using family::Tree;
using situ_test::vector_bytes;

/// Adds a child to the value of a link.
void add(situ::region_shared<Person::in_region>& parent, const char* name) {
  auto& child = parent->children.emplace_back().person.emplace();
  child.name = name;
  child.parent = parent;
}

/// The value of `family_tree` in spec/vectors/region_schema.py.
void fill(Tree& tree) {
  tree.number = 4;
  tree.root.emplace().name = "Ann";
  add(tree.root, "Benjamin the elder");
  add(tree.root, "Cleo");
  auto& ben = tree.root->children[0].person;
  add(ben, "Daniel of the hill");
  tree.selected = ben->children[0].person;
}

TEST(Family, the_bytes_are_those_of_the_vectors) {
  situ::region<Tree> r;
  fill(*r);
  EXPECT_EQ(r.canonical(), vector_bytes("region/family_tree.canonical.bin"));
  const auto packed = vector_bytes("region/family_tree.packed.bin");
  EXPECT_EQ(situ::packed(r), packed);
  for (const char* form : {"live", "canonical"}) {
    auto taken = situ::region<Tree>::adopt(vector_bytes("region/family_tree." + std::string(form) + ".bin"));
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ(taken->canonical(), r.canonical());
    const Person::in_region* dan = (*taken)->selected.lock();
    ASSERT_NE(dan, nullptr);
    EXPECT_EQ(dan->name, "Daniel of the hill");
    EXPECT_EQ(dan->parent.lock()->name, "Benjamin the elder");
    EXPECT_EQ(dan->parent.lock()->parent.lock()->name, "Ann");
    EXPECT_EQ(dan->parent.lock()->parent, (*taken)->root);
    EXPECT_TRUE((*taken)->root->parent.expired());
  }
  const auto taken = situ::adopt_packed<Tree>(packed);
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
}

TEST(Family, a_value_that_ended_leaves_none) {
  situ::region<Tree> r;
  fill(*r);
  r->root.reset();
  EXPECT_TRUE(r->selected.expired());
  const auto taken = situ::region<Tree>::adopt(r.bytes());
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ((*taken)->selected.lock(), nullptr);
}

TEST(Family, a_link_may_lead_to_the_value_that_begins_with_it) {
  situ::region<family::Ring> r;
  r->first.emplace().number = 7;
  r->first->next = r->first;
  auto taken = situ::adopt_packed<family::Ring>(situ::packed(r));
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ((*taken)->first->next.lock()->next.lock()->number, 7);
  EXPECT_EQ(taken->canonical(), r.canonical());
  family::Part part;
  part.number = 3;
  situ::region_of<family::Part> alone;
  ASSERT_TRUE(situ::convert(part, *alone));
  EXPECT_EQ(alone->number, 3);
  EXPECT_EQ(situ::to_string(*r), "family::Ring{first: family::Part{number: 7, next: weak}}");
  EXPECT_EQ(situ::to_string(part), "family::Part{number: 3}");
}

TEST(Family, other_storages_have_no_weak_links) {
  using heap_tree = situ::rebind<Tree, situ::heap>;
  situ::region<Tree> r;
  fill(*r);
  r->selected.reset();
  heap_tree message;
  const auto refused = situ::convert(*r, message);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message(),
      "root.children[0].person.children[0].person.parent: a weak link leads to a value, and only regions "
      "have weak links; take the message as a region");
  situ::region<Tree> lone;
  lone->root.emplace().name = "Ann";
  ASSERT_TRUE(situ::convert(*lone, message));
  EXPECT_EQ(message.root->name, "Ann");
  ASSERT_TRUE(situ::convert(message, *r));
  EXPECT_TRUE(r->selected.expired());
  EXPECT_EQ(r.canonical(), lone.canonical());
}

}  // namespace
