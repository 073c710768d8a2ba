// Errors of the bus, and their texts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

std::string hex(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

TEST_F(Bus, another_type_is_refused) {
  const auto on = node("n");
  auto ticks = on.publisher<Tick>("shared");
  const auto refused = error_of([&] { (void)on.subscriber<Scan>("shared"); });
  EXPECT_EQ(refused.code(), situ::errc::type);
  EXPECT_EQ(refused.what(),
            "topic \"shared\" carries test::Tick (schema 00000000000071c4, used by node \"n\" (" +
                hex(on.id()) +
                ")), not test::Scan (schema 5ca95ca95ca95ca9): "
                "the first difference is `struct Tick {` there and `struct Scan {` here");
}

TEST_F(Bus, another_layout_is_refused) {
  const auto on = node("n");
  auto scans = on.publisher<Relaid>("scans");
  for (const auto& refused : {error_of([&] { (void)on.subscriber<Scan>("scans"); }),
                              error_of([&] { (void)on.publisher<Scan>("scans"); }),
                              error_of([&] { (void)on.subscriber<HeapScan>("scans"); })}) {
    EXPECT_EQ(refused.code(), situ::errc::type);
    EXPECT_EQ(refused.what(),
              "topic \"scans\": node \"n\" (" + hex(on.id()) +
                  ") lays test::Scan out differently (layout bad0bad0bad0bad0, here 1a0d1a0d1a0d1a0d); "
                  "generate both from the same schema, with the same annotations");
  }
}

TEST_F(Bus, another_quality_of_service_exchanges_nothing) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks", {.deadline = 20ms});
  auto reliable = on.subscriber<Tick>("ticks", {.reliability = situ::reliability::reliable});
  auto local = on.subscriber<Tick>("ticks", {.durability = situ::durability::transient_local});
  auto often = on.subscriber<Tick>("ticks", {.deadline = 10ms});
  auto matching = on.subscriber<Tick>("ticks", {.deadline = 20ms});
  publisher.loan().publish();
  EXPECT_FALSE(reliable.take());
  EXPECT_FALSE(local.take());
  EXPECT_FALSE(often.take());
  EXPECT_TRUE(matching.take());
}

TEST_F(Bus, invalid_names_are_refused) {
  const auto on = node("n");
  for (const std::string& name : {std::string(), std::string(231, 'x'), std::string("a\nb")}) {
    EXPECT_EQ(error_of([&] { (void)on.publisher<Tick>(name); }).code(), situ::errc::invalid_argument);
  }
  // Names that would control a terminal that prints them are refused, for nodes as well.
  for (const char* const name : {"", "a\nb", "\x1b[2J", "\x1b]52;c;aGk=\x07", "\xc2\x9b", "a\xe2\x80\xae"}) {
    EXPECT_EQ(error_of([&] { (void)node(name); }).code(), situ::errc::invalid_argument);
    EXPECT_EQ(error_of([&] { (void)on.publisher<Tick>(name); }).code(), situ::errc::invalid_argument);
  }
  const auto broken = error_of([&] { (void)on.publisher<Tick>("\xff"); });
  EXPECT_EQ(broken.code(), situ::errc::invalid_argument);
  EXPECT_NE(std::string(broken.what()).find("`topic` is not UTF-8"), std::string::npos) << broken.what();
}

TEST_F(Bus, a_directory_that_is_not_ours_alone_is_refused) {
  std::filesystem::create_directory(root_.path);
  std::filesystem::permissions(root_.path, std::filesystem::perms::all);
  const auto refused = situ::node::try_create("n", root_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), situ::errc::unsafe);
  const std::string message = refused.error().message();
  EXPECT_TRUE(message.starts_with(root_.path + " is not safe to use: it belongs to user ")) << message;
  EXPECT_NE(message.find("with mode 0777, and all users may write to it; remove it, or"), std::string::npos)
      << message;
  EXPECT_EQ(situ::node::try_create("n", {.path = "/proc/none"}).error().code(), situ::errc::system);
}

TEST_F(Bus, a_full_topic_fails_or_blocks_for_the_time_given) {
  const auto on = node("n");
  auto publisher =
      on.publisher<Tick>("ticks", {.reliability = situ::reliability::reliable, .depth = 2, .block = 0ns});
  auto subscriber = on.subscriber<Tick>("ticks", {.reliability = situ::reliability::reliable});
  publisher.publish(Tick{.count = 1});
  publisher.publish(Tick{.count = 2});
  auto loan = publisher.loan();
  loan->count = 3;
  const auto refused = loan.try_publish();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), situ::errc::full);
  EXPECT_EQ(std::string(refused.error().what())
                .rfind("the slowest reliable subscriber of topic \"ticks\", node \"n\" (process " +
                           std::to_string(getpid()) + ", ",
                       0),
            0U)
      << refused.error().what();
  // The loan is still valid, and can be published once there is room.
  ASSERT_TRUE(loan);
  EXPECT_EQ(loan->count, 3U);
  EXPECT_EQ((*subscriber.take())->count, 1U);
  EXPECT_EQ(loan.publish(), 2U);

  auto waiting =
      on.publisher<Tick>("ticks", {.reliability = situ::reliability::reliable, .depth = 2, .block = 10ms});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(waiting.try_publish(Tick{}).error().code(), situ::errc::full);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 10ms);
  // With any time limit: only this thread could take.
  auto alone = on.publisher<Tick>(
      "ticks", {.reliability = situ::reliability::reliable, .depth = 2, .block = situ::forever});
  EXPECT_EQ(alone.try_publish(Tick{}).error().code(), situ::errc::deadlock);
  EXPECT_TRUE(situ::waits(root_).empty());
}

TEST_F(Bus, a_subscriber_holds_no_more_than_it_may) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks", {.max_held = 1});
  publisher.publish(Tick{.count = 1});
  publisher.publish(Tick{.count = 2});
  {
    const auto held = subscriber.take();
    EXPECT_EQ((*held)->count, 1U);
    const auto refused = subscriber.try_take();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), situ::errc::held);
  }
  EXPECT_EQ((*subscriber.take())->count, 2U);
}

/// A publisher of test::Scan that writes arbitrary bytes.
class Forger {
 public:
  explicit Forger(const situ::node& on) {
    const situ_type type{"test::Scan", "", Scan::schema_hash, Scan::layout_hash, SITU_FLAT, 0, 0};
    situ_error error;
    EXPECT_EQ(situ_publisher_create(on.handle(), "scans", &type, nullptr, &publisher_, &error), SITU_OK)
        << error.text;
  }
  ~Forger() { situ_publisher_destroy(publisher_); }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  void publish(const std::string& head, std::size_t body, situ_encoding encoding = SITU_FLAT,
               const std::string& bytes = {}) {
    situ_loan loan;
    ASSERT_EQ(situ_publisher_loan(publisher_, head.size(), 8, body + bytes.size(), &loan, nullptr), SITU_OK);
    std::memcpy(loan.head, head.data(), head.size());
    std::memset(loan.body, 0, loan.body_size);
    std::memcpy(loan.body, bytes.data(), bytes.size());
    loan.encoding = encoding;
    ASSERT_EQ(situ_loan_publish(&loan, nullptr, nullptr), SITU_OK);
  }

 private:
  situ_publisher* publisher_ = nullptr;
};

TEST_F(Bus, a_forged_message_is_skipped_with_an_error) {
  const auto on = node("n");
  Forger forger(on);
  auto subscriber = on.subscriber<Scan>("scans");
  auto on_heap = on.subscriber<HeapScan>("scans");
  // id, name {length 0}, levels {length 0}, ranges {offset 0, length 0}: 56 bytes.
  const std::string good(56, '\0');
  std::string long_name = good;
  long_name[4] = 16;
  std::string wild_bulk = good;
  wild_bulk[48] = 4;

  forger.publish(long_name, 0);
  forger.publish(good.substr(0, 48), 0);
  forger.publish(wild_bulk, 8);
  forger.publish(wild_bulk, 16);
  forger.publish({}, 0, SITU_XCDR1, std::string("\0\1\0\0\7\0\0", 7));

  for (const auto& refused : {subscriber.try_take(), subscriber.try_take(), subscriber.try_take()}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), situ::errc::malformed);
  }
  EXPECT_EQ(subscriber.take()->bulk(&Scan::ranges).size(), 4U);
  EXPECT_STREQ(error_of([&] { (void)subscriber.take(); }).what(),
               "message 4 is not a valid test::Scan: id, byte 4: 4 bytes are needed, but only 3 are left");
  EXPECT_FALSE(subscriber.take().has_value());

  EXPECT_STREQ(error_of([&] { (void)on_heap.take(); }).what(),
               "message 0 is not a valid test::Scan: name: length 16 exceeds its bound 15");
  EXPECT_STREQ(error_of([&] { (void)on_heap.take(); }).what(),
               "message 1 is not a valid test::Scan: message: there are 48 bytes, but the type has 56");
  EXPECT_STREQ(
      error_of([&] { (void)on_heap.take(); }).what(),
      "message 2 is not a valid test::Scan: ranges: bulk data at 0 lies outside the body of 8 bytes");
  EXPECT_EQ((*on_heap.take())->ranges.size(), 4U);
}

}  // namespace
}  // namespace bus_test
