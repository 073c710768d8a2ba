// A publisher changes regions after publication, link by link and length by length, while they are read. A
// subscriber that does not trust the publisher reads from a copy, which the publisher cannot change.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bus/scratch.hpp"
#include "region.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;
using game::Character;
namespace files = std::filesystem;

constexpr std::size_t messages = 8;

/// Reads all of a character through its links, and returns a number that depends on it.
std::uint64_t walk(const Character& c) {
  std::uint64_t sum = 0;
  const auto add = [&sum](std::uint64_t number) { sum = (sum ^ number) * 0x100000001b3U; };
  const auto add_text = [&add](std::string_view text) {
    add(text.size());
    for (const char letter : text) add(static_cast<unsigned char>(letter));
  };
  add(c.id);
  add_text(c.name);
  for (const auto& [key, item] : c.items) {
    add(key);
    add(item.uuid + item.number);
  }
  for (const std::uint64_t key : {0U, 7U, 19U, 4711U}) add(c.items.contains(key) ? 1U : 0U);
  add(c.path.size());
  for (const auto& at : c.path) add(static_cast<std::uint64_t>(at.x > 1.0F));
  for (const auto& equip : c.equips) {
    add(equip.level);
    for (const float attribute : equip.attributes) add(static_cast<std::uint64_t>(attribute > 1.0F));
  }
  for (const auto& skill : c.skills) add(skill.id + skill.level);
  return sum;
}

/// The file of a pool's messages, opened for writing, as any process of the same user can.
class pool_file {
 public:
  explicit pool_file(const files::path& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CLOEXEC)), size_(files::file_size(path)) {
    at_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  }
  ~pool_file() {
    ::munmap(at_, size_);
    ::close(descriptor_);
  }
  pool_file(const pool_file&) = delete;
  pool_file& operator=(const pool_file&) = delete;

  /// Returns the place of an image in the file, or nothing.
  std::span<std::uint32_t> find(std::span<const std::byte> image) const {
    auto* const begin = static_cast<std::byte*>(at_);
    // The file has holes, and slots lie far apart.
    for (off_t at = ::lseek(descriptor_, 0, SEEK_DATA); at >= 0; at = ::lseek(descriptor_, at, SEEK_DATA)) {
      auto* const first = begin + at;
      at = ::lseek(descriptor_, at, SEEK_HOLE);
      auto* const found = std::search(first, begin + at, image.begin(), image.end());
      if (found != begin + at)
        return {reinterpret_cast<std::uint32_t*>(found), image.size() / sizeof(std::uint32_t)};
    }
    return {};
  }

 private:
  int descriptor_;
  std::size_t size_;
  void* at_ = nullptr;
};

/// Changes words of the images and changes them back until the process ends: to links that lead outside the
/// image, to its front, into themselves and each other; and to huge lengths.
[[noreturn]] void toggle(const std::vector<std::span<std::uint32_t>>& images) {
  std::minstd_rand random(static_cast<unsigned>(::getpid()));
  for (;;) {
    const auto image = images[random() % images.size()];
    // Skips the start of the header, which identifies the image.
    const std::size_t at = 8 + random() % (image.size() - 8);
    const std::atomic_ref<std::uint32_t> word(image[at]);
    const std::uint32_t before = word.load(std::memory_order_relaxed);
    const std::uint32_t wrong[] = {0xFFFFFFF0U,
                                   0x7FFFFFF0U,
                                   0U,
                                   16U,
                                   before + 16U,
                                   before - 16U,
                                   static_cast<std::uint32_t>(random()),
                                   0U - static_cast<std::uint32_t>(at * 4)};
    word.store(wrong[random() % std::size(wrong)], std::memory_order_relaxed);
    for (auto pause = random() % 2000; pause != 0; --pause)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    word.store(before, std::memory_order_relaxed);
  }
}

class Toggled : public Bus {
 protected:
  Toggled() : node_(node("reader")), publisher_(node_, "characters", keeping) {
    for (std::size_t number = 0; number < messages; ++number) {
      auto loan = publisher_.loan(std::size_t{16} << 10);
      loan->id = number;
      loan->name = "somebody with a name that needs a block of its own, " + std::to_string(number);
      for (std::uint64_t key = 0; key < 20; ++key) loan->items.emplace(key, 1, 2, key * 7);
      loan->path.resize(100);
      loan->equips.resize(4);
      for (auto& equip : loan->equips) equip.attributes.resize(10);
      loan->skills.resize(30);
      loan.publish();
    }
    // Reads each message in the memory where it was published.
    situ::subscriber<Character> subscriber(node_, "characters", all(situ::trust::everyone));
    for (const auto& entry : files::recursive_directory_iterator(root_.path)) {
      if (entry.path().extension() == ".data") files_.push_back(std::make_unique<pool_file>(entry.path()));
    }
    while (auto sample = subscriber.take()) {
      right_.push_back(walk(**sample));
      for (const auto& file : files_) {
        if (const auto image = file->find(sample->bytes()); !image.empty()) images_.push_back(image);
      }
    }
  }
  ~Toggled() override { stop(); }

  static situ::subscriber_qos all(situ::trust trust) {
    situ::subscriber_qos qos;
    qos.durability = situ::durability::transient_local;
    qos.trust = trust;
    return qos;
  }

  void start() {
    attacker_ = ::fork();
    ASSERT_GE(attacker_, 0);
    if (attacker_ == 0) toggle(images_);
  }
  void stop() {
    if (attacker_ <= 0) return;
    ::kill(attacker_, SIGKILL);
    ::waitpid(attacker_, nullptr, 0);
    attacker_ = 0;
  }

  /// Takes all messages repeatedly, and holds each while it is toggled.
  void read(situ::trust trust, std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      situ::subscriber<Character> subscriber(node_, "characters", all(trust));
      for (std::size_t number = 0; number < messages; ++number) {
        auto taken = subscriber.try_take();
        if (!taken) {
          EXPECT_EQ(taken.error().code(), situ::errc::malformed) << taken.error().what();
          ++refused_;
          continue;
        }
        ASSERT_TRUE(taken->has_value());
        const situ::sample<Character>& sample = **taken;
        ASSERT_TRUE(sample.is_copy());
        const std::uint64_t first = walk(*sample);
        for (int again = 0; again < 20; ++again) ASSERT_EQ(walk(*sample), first) << "a held message changes";
        ASSERT_TRUE(sample.copy()) << "the checked message is still valid";
        ++(std::find(right_.begin(), right_.end(), first) != right_.end() ? right_ones_ : other_ones_);
      }
    }
  }

  situ::node node_;
  situ::publisher<Character> publisher_;
  std::vector<std::unique_ptr<pool_file>> files_;
  std::vector<std::span<std::uint32_t>> images_;
  std::vector<std::uint64_t> right_;
  std::size_t right_ones_ = 0;
  std::size_t other_ones_ = 0;
  std::size_t refused_ = 0;

 private:
  static inline const situ::publisher_qos keeping = [] {
    situ::publisher_qos qos;
    qos.durability = situ::durability::transient_local;
    qos.depth = messages;
    return qos;
  }();
  pid_t attacker_ = 0;
};

TEST_F(Toggled, a_subscriber_that_trusts_no_publisher_reads_stable_copies) {
  ASSERT_EQ(images_.size(), messages);
  start();
  read(situ::trust::nobody, 2s);
  stop();
  std::printf("%zu correct, %zu with other values, %zu refused\n", right_ones_, other_ones_, refused_);
  EXPECT_GT(right_ones_, 0U);
  EXPECT_GT(other_ones_ + refused_, 0U) << "no message was toggled";
}

TEST_F(Toggled, a_subscriber_that_trusts_the_same_user_copies_what_a_group_may_write) {
  {
    situ::subscriber<Character> subscriber(node_, "characters", all(situ::trust::same_user));
    EXPECT_FALSE(subscriber.take()->is_copy()) << "only this user may write to it: it is read in place";
  }
  for (const auto& entry : files::recursive_directory_iterator(root_.path)) {
    const auto extension = entry.path().extension();
    if (extension != ".data" && extension != ".pool") continue;
    ASSERT_EQ(::chmod(entry.path().c_str(), 0660), 0);
  }
  start();
  read(situ::trust::same_user, 1s);
  stop();
  EXPECT_GT(right_ones_, 0U);
}

}  // namespace
}  // namespace bus_test
