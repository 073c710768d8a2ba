// Kills processes of ROS at random: talkers, listeners, servers and clients. After each kill, no other
// process may hang, and the list of nodes must be right soon; at the end, all shared memory must be free
// again.
//
// chaos_rmw KILLS [SEED]     kills, and prints how long the list of nodes was wrong
// chaos_rmw ROLE NAME BEAT   one of its processes: BEAT is its place in the file SITU_CHAOS_BEATS
#include <fcntl.h>
#include <signal.h>
#include <situ.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <random>
#include <sensor_msgs/msg/image.hpp>
#include <std_msgs/msg/string.hpp>
#include <test_msgs/srv/basic_types.hpp>
#include <thread>

#include "support.hpp"

extern char** environ;

using namespace rmw_testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Image = sensor_msgs::msg::Image;
using String = std_msgs::msg::String;
using Service = test_msgs::srv::BasicTypes;

namespace {

constexpr std::array<const char*, 4> ROLES = {"talker", "listener", "server", "client"};
constexpr size_t EACH = 2;
constexpr size_t PROCESSES = ROLES.size() * EACH;
// A limit that a loaded machine keeps. What is measured is printed.
constexpr auto LIST_LIMIT = TIME_LIMIT;

using Beats = std::atomic<uint64_t>[PROCESSES];

Beats& open_beats(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(Beats)) != 0) fail("cannot open the beats");
  void* const place = mmap(nullptr, sizeof(Beats), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (place == MAP_FAILED) fail("cannot map the beats");
  return *static_cast<Beats*>(place);
}

// ROLES, until they are killed. Each round beats.

rmw_qos_profile_t reliable() { return make_qos(10, RMW_QOS_POLICY_RELIABILITY_RELIABLE); }
rmw_qos_profile_t best_effort() { return make_qos(3, RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT); }

void talk(Node& node, std::atomic<uint64_t>& beat) {
  const auto chatter = node.publisher<String>("/chatter", reliable());
  const auto images = node.publisher<Image>("/image", best_effort());
  if (!chatter || !images) fail("publishers");
  String text;
  Image image;
  for (uint64_t i = 0;; ++i) {
    text.data = "number " + std::to_string(i);
    // As long as it says, with this content: a listener sees a torn message.
    image.height = i % 7 + 1;
    image.width = 4096;
    image.data.assign(image.height * image.width, uint8_t(i));
    if (rmw_publish(chatter.get(), &text, nullptr) != RMW_RET_OK) fail("publish");
    if (rmw_publish(images.get(), &image, nullptr) != RMW_RET_OK) fail("publish");
    ++beat;
    std::this_thread::sleep_for(2ms);
  }
}

void listen(Context& context, Node& node, std::atomic<uint64_t>& beat) {
  const auto chatter = node.subscription<String>("/chatter", reliable());
  const auto images = node.subscription<Image>("/image", best_effort());
  if (!chatter || !images) fail("subscriptions");
  Waiter waiter(context);
  waiter.add(chatter);
  waiter.add(images);
  waiter.add(rmw_node_get_graph_guard_condition(node.get()));
  for (;; ++beat) {
    waiter.wait(10ms);
    bool taken = true;
    for (String text; taken;) {
      if (rmw_take(chatter.get(), &text, &taken, nullptr) != RMW_RET_OK) fail("take");
      if (taken && !text.data.starts_with("number ")) fail("torn text");
    }
    taken = true;
    for (Image image; taken;) {
      if (rmw_take(images.get(), &image, &taken, nullptr) != RMW_RET_OK) fail("take");
      if (!taken) break;
      const bool whole = image.data.size() == size_t(image.height) * image.width &&
                         std::ranges::count(image.data, image.data[0]) == std::ptrdiff_t(image.data.size());
      if (!whole) fail("torn image");
    }
  }
}

void serve(Context& context, Node& node, std::atomic<uint64_t>& beat) {
  const auto service = node.service<Service>("/add");
  if (!service) fail("service");
  Waiter waiter(context);
  waiter.add(service);
  for (;; ++beat) {
    waiter.wait(10ms);
    bool taken = true;
    for (;;) {
      Service::Request request;
      Service::Response response;
      rmw_service_info_t info;
      if (rmw_take_request(service.get(), &info, &request, &taken) != RMW_RET_OK) fail("take request");
      if (!taken) break;
      response.int64_value = request.int64_value + 1;
      response.string_value = request.string_value;
      if (rmw_send_response(service.get(), &info.request_id, &response) != RMW_RET_OK) fail("response");
    }
  }
}

void request(Context& context, Node& node, std::atomic<uint64_t>& beat) {
  const auto client = node.client<Service>("/add");
  if (!client) fail("client");
  Waiter waiter(context);
  waiter.add(client);
  for (int64_t i = 0;; ++i, ++beat) {
    bool is_there = false;
    if (rmw_service_server_is_available(node.get(), client.get(), &is_there) != RMW_RET_OK) fail("server");
    if (!is_there) {
      std::this_thread::sleep_for(1ms);
      continue;
    }
    Service::Request request;
    request.int64_value = i;
    request.string_value = "a text that is not short";
    int64_t number;
    const rmw_ret_t sent = rmw_send_request(client.get(), &request, &number);
    if (sent == RMW_RET_TIMEOUT) {
      take_error();
      continue;
    }
    if (sent != RMW_RET_OK) fail("request");
    // A server that died does not answer.
    const auto end = Clock::now() + 50ms;
    for (bool answered = false; !answered && Clock::now() < end;) {
      waiter.wait(10ms);
      Service::Response response;
      rmw_service_info_t info;
      bool taken = false;
      if (rmw_take_response(client.get(), &info, &response, &taken) != RMW_RET_OK) fail("take response");
      answered = taken && info.request_id.sequence_number == number;
      if (answered && (response.int64_value != i + 1 || response.string_value != request.string_value))
        fail("wrong response");
    }
  }
}

int play(const std::string& role, const std::string& name, std::atomic<uint64_t>& beat) {
  // The kernel ends this process if the one that kills does.
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || parent == 1) return 2;
  Context context;
  Node node(context, name);
  if (role == "talker") talk(node, beat);
  if (role == "listener") listen(context, node, beat);
  if (role == "server") serve(context, node, beat);
  if (role == "client") request(context, node, beat);
  return 2;
}

// The process that kills.

struct Child {
  std::string name;
  pid_t process;
};

class Chaos {
 public:
  Chaos(const char* program, const Root& root, uint64_t seed)
      : program_(program),
        root_(root),
        beats_path_(root.path() / "../" / (root.path().filename().string() + ".beats")),
        beats_(open_beats(beats_path_.c_str())),
        random_(seed),
        node_(context_, "observer") {
    setenv("SITU_CHAOS_BEATS", beats_path_.c_str(), 1);
  }
  ~Chaos() {
    for (Child& child : children_) end(child);
    std::filesystem::remove(beats_path_);
  }

  void start_all() {
    for (size_t i = 0; i < PROCESSES; ++i) children_.push_back(start(i));
    await_all();
  }

  void await_all() {
    await_list();
    await_beats();
  }

  void end_all() {
    for (Child& child : children_) end(child);
    children_.clear();
    await_list();
  }

  // How long after a kill the list of nodes is wrong: since the signal, and since the kernel has ended the
  // process. To end one takes the kernel up to seconds on a loaded machine, because it waits for all
  // processors to forget the watch of the graph (inotify).
  struct Delay {
    std::chrono::nanoseconds since_signal;
    std::chrono::nanoseconds since_end;
  };

  // Kills one, and starts another one in its place.
  Delay kill_one() {
    // Every other time the one that was started last may still be starting.
    if (random_() % 2 == 0) await_all();
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 5000));
    const size_t index = random_() % PROCESSES;
    const Child gone = children_[index];
    const auto signal = Clock::now();
    kill(gone.process, SIGKILL);
    bool has_ended = false;
    auto ended = Clock::now();
    const bool is_gone = eventually(
        [&] {
          if (!has_ended && waitpid(gone.process, nullptr, WNOHANG) == gone.process) {
            has_ended = true;
            ended = Clock::now();
          }
          return !std::ranges::binary_search(node_.names(), gone.name);
        },
        LIST_LIMIT);
    if (!is_gone) fail(gone.name + " was killed and is still in the list of nodes");
    const auto now = Clock::now();
    if (!has_ended) end(gone);
    children_[index] = start(index);
    return {now - signal, has_ended ? now - ended : 0ns};
  }

 private:
  Child start(size_t index) {
    const char* role = ROLES[index % ROLES.size()];
    const std::string name = std::string(role) + std::to_string(started_++), place = std::to_string(index);
    beats_[index] = 0;
    std::array<char*, 5> arguments = {const_cast<char*>(program_), const_cast<char*>(role),
                                      const_cast<char*>(name.c_str()), const_cast<char*>(place.c_str()),
                                      nullptr};
    pid_t process;
    if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) != 0)
      fail("cannot start a process");
    return {name, process};
  }

  void end(const Child& child) {
    kill(child.process, SIGKILL);
    int status = 0;
    if (waitpid(child.process, &status, 0) != child.process || !WIFSIGNALED(status)) {
      fail(child.name + " ended by itself");
    }
  }

  // Waits until the list of nodes has all children, and only them.
  void await_list() {
    std::vector<std::string> expected = {"observer"};
    for (const Child& child : children_) expected.push_back(child.name);
    std::ranges::sort(expected);
    if (!eventually([&] { return node_.names() == expected; })) {
      std::string text = "the list of nodes is wrong: it has";
      for (const std::string& name : node_.names()) text += " " + name;
      text += ", expected are";
      for (const std::string& name : expected) text += " " + name;
      fail(text);
    }
  }

  // Waits until each child has done something since now.
  void await_beats() {
    std::array<uint64_t, PROCESSES> before;
    for (size_t i = 0; i < PROCESSES; ++i) before[i] = beats_[i];
    for (size_t i = 0; i < PROCESSES; ++i) {
      if (!eventually([&] { return beats_[i] != before[i]; })) fail(children_[i].name + " hangs");
    }
  }

  const char* program_;
  const Root& root_;
  const std::filesystem::path beats_path_;
  Beats& beats_;
  std::mt19937_64 random_;
  Context context_;
  Node node_;
  std::vector<Child> children_;
  size_t started_ = 0;
};

double milliseconds(std::chrono::nanoseconds time) { return double(time.count()) / 1e6; }

void print(const char* what, std::vector<std::chrono::nanoseconds>& times) {
  std::ranges::sort(times);
  std::printf("%s: p50 %.2f ms, p99 %.2f ms, at most %.2f ms\n", what, milliseconds(times[times.size() / 2]),
              milliseconds(times[times.size() * 99 / 100]), milliseconds(times.back()));
}

unsigned long long kibibytes(uint64_t bytes) { return bytes >> 10; }

int kill_at_random(const char* program, size_t kills, uint64_t seed) {
  std::cout << "chaos of rmw_situ: " << kills << " kills, seed " << seed << std::endl;
  const Root root;
  Chaos chaos(program, root, seed);
  const uint64_t memory_before = root.memory();
  const size_t files_before = root.files();
  chaos.start_all();
  const uint64_t memory_used = root.memory();
  const size_t descriptors_before = descriptors();
  std::vector<std::chrono::nanoseconds> since_signal, since_end;
  for (size_t i = 0; i < kills; ++i) {
    const auto delay = chaos.kill_one();
    since_signal.push_back(delay.since_signal);
    since_end.push_back(delay.since_end);
  }
  chaos.await_all();
  const size_t descriptors_after = descriptors();
  const uint64_t memory_still_used = root.memory();
  chaos.end_all();
  // What the last ones leave, the next node of their topics would remove, or `situ clean`.
  situ_error error;
  if (situ_clean(nullptr, nullptr, nullptr, &error) != SITU_OK) fail(error.text);
  const uint64_t memory_after = root.memory();
  const size_t files_after = root.files();

  print("a node leaves the list after the signal that kills it", since_signal);
  print("a node leaves the list after the kernel ended its process", since_end);
  std::printf(
      "shared memory in KiB: %llu before, %llu in use, %llu in use after the kills, %llu at the end\n",
      kibibytes(memory_before), kibibytes(memory_used), kibibytes(memory_still_used),
      kibibytes(memory_after));
  std::fflush(stdout);
  if (descriptors_after > descriptors_before) fail("the observer has more descriptors than before");
  // How full the pools are depends on the moment.
  if (memory_still_used > 4 * memory_used + (16 << 20)) fail("shared memory grows with the kills");
  if (memory_after > memory_before || files_after > files_before) fail("shared memory is left behind");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 4) {
    const char* const path = std::getenv("SITU_CHAOS_BEATS");
    const size_t index = std::strtoul(arguments[3], nullptr, 10);
    if (path == nullptr || index >= PROCESSES) return 2;
    return play(arguments[1], arguments[2], open_beats(path)[index]);
  }
  const size_t kills = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 0;
  if (kills == 0) {
    std::cerr << "usage: chaos_rmw KILLS [SEED]\n";
    return 2;
  }
  return kill_at_random(arguments[0], kills,
                        count > 2 ? std::strtoull(arguments[2], nullptr, 10) : std::random_device()());
}
