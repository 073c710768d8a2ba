// A node in a container's namespaces: of processes, mounts, IPC and network. It shares only the root's
// folder.
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <std_msgs/msg/string.hpp>
#include <thread>

#include "support.hpp"

using namespace rmw_testing;
using std_msgs::msg::String;

namespace {

constexpr int NO_NAMESPACES = 77;

// Publishes until it is killed. It is process 1 of its namespace.
void publish_for_ever() {
  Context context;
  Node node(context, "inside");
  const auto publisher = node.publisher<String>("/topic", make_qos(10, RMW_QOS_POLICY_RELIABILITY_RELIABLE));
  if (!publisher) fail("publisher");
  String text;
  text.data = "from another container, process " + std::to_string(getpid());
  for (;;) {
    if (rmw_publish(publisher.get(), &text, nullptr) != RMW_RET_OK) fail("publish");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

int in_container() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr int spaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET;
  const auto user = getuid(), group = getgid();
  if (unshare(spaces) != 0) {
    if (unshare(CLONE_NEWUSER | spaces) != 0) return NO_NAMESPACES;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
    std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
  }
  const pid_t first = fork();
  if (first < 0) return NO_NAMESPACES;
  if (first == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // As a container does, which has a /proc of its own.
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("proc", "/proc", "proc", 0, nullptr) != 0) {
      _exit(NO_NAMESPACES);
    }
    publish_for_ever();
  }
  int status = 0;
  waitpid(first, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST(Namespaces, NodesOfTwoContainersMeet) {
  const Root root;
  const pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0) _exit(in_container());
  Context context;
  Node node(context, "outside");
  const auto subscription =
      node.subscription<String>("/topic", make_qos(10, RMW_QOS_POLICY_RELIABILITY_RELIABLE));
  ASSERT_TRUE(subscription) << take_error();
  String text;
  int status = 0;
  bool ended = false;
  const bool came = eventually([&] {
    bool taken = false;
    EXPECT_EQ(rmw_take(subscription.get(), &text, &taken, nullptr), RMW_RET_OK) << take_error();
    ended = waitpid(process, &status, WNOHANG) == process;
    return taken || ended;
  });
  if (ended && WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACES) {
    GTEST_SKIP() << "no namespaces can be made here";
  }
  ASSERT_TRUE(came && !ended);
  EXPECT_EQ(text.data, "from another container, process 1");
  EXPECT_EQ(node.names(), (std::vector<std::string>{"inside", "outside"}));
  // Its death is noticed from outside.
  kill(process, SIGKILL);
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_TRUE(eventually([&] { return node.names() == std::vector<std::string>{"outside"}; }));
}

}  // namespace
