// Nodes of two users in one group, which share a root (SITU_GROUP). Needs the superuser's rights to play
// them.
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <std_msgs/msg/string.hpp>
#include <thread>

#include "support.hpp"

using namespace rmw_testing;
using std_msgs::msg::String;

namespace {

constexpr uid_t TALKER = 54'401, LISTENER = 54'403;
constexpr gid_t GROUP = 54'402;

rmw_qos_profile_t reliable() { return make_qos(10, RMW_QOS_POLICY_RELIABILITY_RELIABLE); }

void talk() {
  Context context;
  Node node(context, "talker");
  const auto publisher = node.publisher<String>("/topic", reliable());
  if (!publisher) fail("publisher");
  String text;
  text.data = "from user " + std::to_string(getuid());
  for (;;) {
    if (rmw_publish(publisher.get(), &text, nullptr) != RMW_RET_OK) fail("publish");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void listen() {
  Context context;
  Node node(context, "listener");
  const auto subscription = node.subscription<String>("/topic", reliable());
  if (!subscription) fail("subscription");
  String text;
  const bool came = eventually([&] {
    bool taken = false;
    if (rmw_take(subscription.get(), &text, &taken, nullptr) != RMW_RET_OK) fail("take");
    return taken;
  });
  if (!came || text.data != "from user 54401") fail("no message came, but '" + text.data + "'");
  if (node.names() != std::vector<std::string>{"listener", "talker"}) fail("wrong list of nodes");
}

pid_t start(uid_t user, void (*role)()) {
  const pid_t process = fork();
  if (process != 0) return process;
  if (setgroups(0, nullptr) != 0 || setgid(GROUP) != 0 || setuid(user) != 0) _exit(1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  role();
  _exit(0);
}

TEST(Users, OfOneGroupMeet) {
  if (geteuid() != 0) GTEST_SKIP() << "only the superuser can play other users";
  const Root root;
  // The first of them makes the shared root in a folder where all may.
  ASSERT_EQ(chmod(root.path().c_str(), 01777), 0);
  setenv("SITU_ROOT", (root.path() / "shared").c_str(), 1);
  setenv("SITU_GROUP", std::to_string(GROUP).c_str(), 1);
  const pid_t talker = start(TALKER, talk), listener = start(LISTENER, listen);
  unsetenv("SITU_GROUP");
  ASSERT_TRUE(talker > 0 && listener > 0);
  int status = 0;
  EXPECT_EQ(waitpid(listener, &status, 0), listener);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  kill(talker, SIGKILL);
  EXPECT_EQ(waitpid(talker, &status, 0), talker);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
