// Full shared memory: errors that say what to do, and a program that goes on when there is room again.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sensor_msgs/msg/image.hpp>

#include "support.hpp"

using namespace rmw_testing;
using sensor_msgs::msg::Image;
namespace fs = std::filesystem;

namespace {

// Exit statuses of the process with a small file system.
constexpr int NO_NAMESPACES = 77;

#define REQUIRE(condition_)                                                            \
  do {                                                                                 \
    if (!(condition_)) {                                                               \
      std::cerr << __LINE__ << ": not " #condition_ ": " << take_error() << std::endl; \
      _exit(1);                                                                        \
    }                                                                                  \
  } while (0)

// Whether rmw's error names the cause and a remedy.
bool helps() {
  const std::string text = take_error();
  const bool does = text.find("full") != std::string::npos && text.find("enlarge") != std::string::npos;
  if (!does) std::cerr << "'" << text << "'" << std::endl;
  return does;
}

int in_small_memory(const fs::path& folder) {
  const auto user = getuid(), group = getgid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return NO_NAMESPACES;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m,mode=0700") != 0) {
    return NO_NAMESPACES;
  }
  Context context;
  Node node(context);
  const auto qos = make_qos(2, RMW_QOS_POLICY_RELIABILITY_RELIABLE);
  const auto publisher = node.publisher<Image>("/image", qos);
  const auto subscription = node.subscription<Image>("/image", qos);
  REQUIRE(publisher && subscription);
  Image small, large, received;
  small.data.assign(100'000, 1);
  large.data.assign(8 << 20, 2);
  const auto goes_on = [&] {
    for (int i = 0; i < 20; ++i) {
      REQUIRE(rmw_publish(publisher.get(), &small, nullptr) == RMW_RET_OK);
      bool taken = false;
      REQUIRE(rmw_take(subscription.get(), &received, &taken, nullptr) == RMW_RET_OK);
      REQUIRE(taken && received.data == small.data);
    }
  };
  goes_on();
  // A message that is larger than the file system.
  REQUIRE(rmw_publish(publisher.get(), &large, nullptr) == RMW_RET_ERROR);
  REQUIRE(helps());
  goes_on();
  // A file system that others have filled.
  const fs::path filler = folder / "filler";
  {
    std::ofstream file(filler, std::ios::binary);
    const std::string page(4096, 'x');
    while (file.write(page.data(), std::streamsize(page.size())).flush()) {
    }
  }
  REQUIRE(!node.publisher<Image>("/other", qos));
  REQUIRE(helps());
  REQUIRE(!node.subscription<Image>("/another", qos));
  REQUIRE(helps());
  REQUIRE(rmw_create_node(context.get(), "second", "/") == nullptr);
  REQUIRE(helps());
  Image medium;
  medium.data.assign(1'000'000, 3);
  REQUIRE(rmw_publish(publisher.get(), &medium, nullptr) == RMW_RET_ERROR);
  REQUIRE(helps());
  // Endpoints that exist need no more.
  goes_on();
  fs::remove(filler);
  REQUIRE(rmw_publish(publisher.get(), &medium, nullptr) == RMW_RET_OK);
  bool taken = false;
  REQUIRE(rmw_take(subscription.get(), &received, &taken, nullptr) == RMW_RET_OK);
  REQUIRE(taken && received.data == medium.data);
  REQUIRE(node.publisher<Image>("/other", qos));
  Node second(context, "second");
  goes_on();
  return 0;
}

TEST(Full, ErrorsSayWhatToDoAndTheProgramGoesOn) {
  const Root root;
  const pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0) _exit(in_small_memory(root.path()));
  int status = 0;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACES) {
    GTEST_SKIP() << "no file systems can be mounted here";
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
