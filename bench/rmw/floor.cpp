// The limit for table `rmw`: two processes that copy a message as often as a middleware must, and poll one
// word.
//
// floor ROLE CASE TOPIC   as peer.cpp, for the roles `ping` and `pong`
// plain:SIZE, image:SIZE: the publisher copies the message into shared memory, the other end out of it;
// image-loan:SIZE: the publisher alone copies; loan:SIZE: nothing is copied.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace {

// As many as a publisher that keeps two messages uses in turns.
constexpr size_t SLOTS = 3;

struct Direction {
  alignas(64) std::atomic<uint64_t> number;
  // Set between rounds: the other end then gives up its core, because another system has its turn.
  std::atomic<bool> is_idle;
};

struct Case {
  size_t bytes;
  bool copies_in, copies_out;
};

class End {
 public:
  End(std::byte* memory, bool is_ping, const Case& it) : it_(it), local_(it.bytes), out_(it.bytes) {
    auto* const directions = reinterpret_cast<Direction*>(memory);
    std::byte* const slots = memory + 4096;
    to_ = &directions[is_ping ? 0 : 1];
    from_ = &directions[is_ping ? 1 : 0];
    write_ = slots + (is_ping ? 0 : SLOTS) * it.bytes;
    read_ = slots + (is_ping ? SLOTS : 0) * it.bytes;
  }

  void publish(uint64_t number) {
    local_.back() = static_cast<std::byte>(number);
    std::byte* const slot = write_ + number % SLOTS * it_.bytes;
    if (it_.copies_in) {
      std::memcpy(slot, local_.data(), it_.bytes);
    } else {
      slot[it_.bytes - 1] = local_.back();
    }
    to_->number.store(number, std::memory_order_release);
  }

  // The begin and the end of a round.
  void set_idle(bool is_idle) { to_->is_idle.store(is_idle, std::memory_order_relaxed); }

  // Waits for a message after `last`, and returns its number.
  uint64_t take(uint64_t last) {
    uint64_t number = last;
    while ((number = from_->number.load(std::memory_order_acquire)) == last) {
      from_->is_idle.load(std::memory_order_relaxed) ? (void)usleep(500) : __builtin_ia32_pause();
    }
    const std::byte* const slot = read_ + number % SLOTS * it_.bytes;
    const std::byte* message = slot;
    if (it_.copies_out) {
      std::memcpy(out_.data(), slot, it_.bytes);
      message = out_.data();
    }
    if (message[it_.bytes - 1] != static_cast<std::byte>(number)) std::abort();
    return number;
  }

 private:
  const Case it_;
  std::vector<std::byte> local_, out_;
  Direction *to_, *from_;
  std::byte *write_, *read_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  const std::string kind_and_size = argc > 2 ? argv[2] : "";
  const auto colon = kind_and_size.find(':');
  const char* const root = std::getenv("SITU_ROOT");
  if ((role != "ping" && role != "pong") || colon == std::string::npos || argc < 4 || root == nullptr) {
    std::cerr << "the floor has no such case" << std::endl;
    return 1;
  }
  const std::string kind = kind_and_size.substr(0, colon);
  const Case it{std::stoul(kind_and_size.substr(colon + 1)), kind != "loan",
                kind == "plain" || kind == "image"};
  const std::string path = std::string(root) + "/floor";
  const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  const size_t size = 4096 + 2 * SLOTS * it.bytes;
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) return 1;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (memory == MAP_FAILED) return 1;
  End end(static_cast<std::byte*>(memory), role == "ping", it);
  if (role == "ping") end.set_idle(true);
  std::cout << "ready" << std::endl;
  if (role == "pong") {
    for (uint64_t number = 0;;) {
      number = end.take(number);
      end.publish(number);
    }
  }
  uint64_t count = 0, number = 0;
  while (std::cin >> count) {
    std::vector<int64_t> times;
    end.set_idle(false);
    for (uint64_t i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      end.publish(++number);
      end.take(number - 1);
      times.push_back(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count() / 2);
    }
    end.set_idle(true);
    for (const auto time : times) std::cout << time << ' ';
    std::cout << std::endl;
  }
}
