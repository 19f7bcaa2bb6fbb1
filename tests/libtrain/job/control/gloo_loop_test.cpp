#include "libtrain/job/control/gloo_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace titan::train::gloo_loop_test {
namespace {

/// Two connected sockets, the first of which has ten bytes to be received.
class GlooLoop : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_EQ(recv(-1, nullptr, 0, 0), -1);  // what the thread left before is not of this test
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0);
    ASSERT_EQ(write(ends_[1], "ten bytes.", 10), 10);
    epoll_event event{};
    event.events = EPOLLIN;
    ASSERT_EQ(epoll_ctl(epoll_, EPOLL_CTL_ADD, ends_[0], &event), 0);
  }
  void TearDown() override {
    for (const int fd : {epoll_, ends_[0], ends_[1]}) close(fd);
  }
  int look() {
    epoll_event events[4];
    return epoll_wait(epoll_, events, 4, 0);
  }

  int epoll_ = epoll_create1(0), ends_[2] = {-1, -1};
  const std::uint64_t before_ = yields_of_this_thread();
};

TEST_F(GlooLoop, YieldsBehindEventsThatWereLeft) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(look(), 1);
  EXPECT_EQ(yields_of_this_thread() - before_, 9u);
}

TEST_F(GlooLoop, DoesNotYieldWhereSomethingIsReceivedOrNothingThere) {
  char byte = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(look(), 1);
    EXPECT_EQ(recv(ends_[0], &byte, 1, 0), 1);
    EXPECT_EQ(byte, "ten bytes."[i]);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(look(), 0);
  EXPECT_EQ(yields_of_this_thread() - before_, 0u);
}

TEST_F(GlooLoop, DoesNotYieldWhereThereIsRoomToSend) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT;
  ASSERT_EQ(epoll_ctl(epoll_, EPOLL_CTL_MOD, ends_[0], &event), 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(look(), 1);
  EXPECT_EQ(yields_of_this_thread() - before_, 0u);
}

}  // namespace
}  // namespace titan::train::gloo_loop_test
