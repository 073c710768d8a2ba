// The work of making shared links: values are walked once, and not again for each link.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "region/refused.hpp"
#include "situ/region.hpp"

namespace {

struct Node {
  std::uint32_t number;
  situ::region_vector<situ::region_shared<Node>> to;
};
SITU_REGION(Node, number, to)

struct Graph {
  situ::region_vector<situ::region_shared<Node>> nodes;
};
SITU_REGION(Graph, nodes)

constexpr std::uint32_t layers = 20;
constexpr std::uint32_t width = 800;
constexpr std::uint32_t count = layers * width;

std::uint64_t walked() { return situ::region_detail::reached_marks::walked(); }

void add(situ::region<Graph>& r) {
  const auto number = static_cast<std::uint32_t>(r->nodes.size());
  r->nodes.emplace_back().emplace().number = number;
}

bool link(situ::region<Graph>& r, std::uint32_t from, std::uint32_t to) {
  Node& node = *r->nodes[from];
  if (node.to.emplace_back().try_share(r->nodes[to])) return true;
  node.to.pop_back();
  return false;
}

/// The four nodes of the layer before that of a node to which it leads.
void link_to_layer_before(situ::region<Graph>& r, std::uint32_t node) {
  if (node < width) return;
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(link(r, node, (node / width - 1) * width + (node % width * 7 + i * 3) % width));
  }
}

void expect_valid(situ::region<Graph>& r) {
  EXPECT_EQ(situ_test::refused<Graph>(r.bytes()), "accepted");
  std::size_t edges = 0;
  for (const auto& node : r->nodes) edges += node->to.size();
  EXPECT_EQ(edges, std::size_t{count - width} * 4);
}

TEST(sharing, a_graph_that_is_made_from_its_leaves_on_is_walked_once) {
  situ::region<Graph> r;
  const std::uint64_t before = walked();
  for (std::uint32_t node = 0; node < count; ++node) {
    add(r);
    link_to_layer_before(r, node);
  }
  EXPECT_LE(walked() - before, count);
  expect_valid(r);
}

TEST(sharing, links_from_the_leaves_on_between_nodes_that_are_there_walk_each_once) {
  situ::region<Graph> r;
  const std::uint64_t before = walked();
  for (std::uint32_t node = 0; node < count; ++node) add(r);
  for (std::uint32_t node = 0; node < count; ++node) link_to_layer_before(r, node);
  EXPECT_LE(walked() - before, count);
  expect_valid(r);
}

TEST(sharing, links_from_the_top_on_walk_one_value_each) {
  situ::region<Graph> r;
  const std::uint64_t before = walked();
  for (std::uint32_t node = 0; node < count; ++node) add(r);
  for (std::uint32_t node = count; node-- > 0;) link_to_layer_before(r, node);
  EXPECT_LE(walked() - before, std::uint64_t{2} * (count - width) * 4);
  expect_valid(r);
}

/// The same verdicts as those of a search through all links.
TEST(sharing, cycles_are_found_whatever_the_order_of_links_is) {
  constexpr std::uint32_t most = 12;
  for (std::uint64_t round = 0; round < 300; ++round) {
    situ::region<Graph> r;
    situ::region<Graph> other;
    add(other);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
    for (std::uint32_t i = 0; i < most / 2; ++i) add(r);
    std::uint64_t random = round;
    for (std::uint32_t step = 0; step < 60; ++step) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const auto nodes = static_cast<std::uint32_t>(r->nodes.size());
      const auto pick = [random](unsigned bits, std::size_t end) {
        return static_cast<std::uint32_t>((random >> bits) % end);
      };
      if (step % 7 == 6 && nodes < most) {
        add(r);
      } else if (random >> 60 < 2 && !links.empty()) {
        const auto gone = links.begin() + pick(20, links.size());
        auto& to = r->nodes[gone->first]->to;
        const auto at = std::find_if(to.begin(), to.end(),
                                     [&](const auto& link) { return link->number == gone->second; });
        ASSERT_NE(at, to.end());
        to.erase(at);
        links.erase(gone);
      } else if (random >> 60 == 2) {
        r.compact_in_place();
      } else if (random >> 60 == 3) {
        // The marks of this thread are now those of another region.
        add(other);
        static_cast<void>(link(other, 1, 0));
      } else if (random >> 60 == 4) {
        const std::uint32_t a = pick(10, nodes);
        const std::uint32_t b = pick(30, nodes);
        if (!situ::try_swap(r->nodes[a]->to, r->nodes[b]->to)) continue;
        for (auto& each : links) each.first = each.first == a ? b : each.first == b ? a : each.first;
      } else {
        const std::uint32_t from = pick(10, nodes);
        const std::uint32_t to = pick(30, nodes);
        std::vector<std::uint32_t> found{to};
        for (std::size_t next = 0; next < found.size() && found.size() < 5000; ++next) {
          for (const auto& each : links) {
            if (each.first == found[next] &&
                std::find(found.begin(), found.end(), each.second) == found.end())
              found.push_back(each.second);
          }
        }
        const bool is_cycle = std::find(found.begin(), found.end(), from) != found.end();
        ASSERT_EQ(link(r, from, to), !is_cycle) << round << " " << step << ": " << from << " " << to;
        if (!is_cycle) links.emplace_back(from, to);
      }
    }
    ASSERT_EQ(situ_test::refused<Graph>(r.bytes()), "accepted");
  }
}

}  // namespace
