#include "libtrain/job/control/gloo_loop.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <algorithm>

namespace titan::train {
namespace {

thread_local bool t_left_events = false;  // the last epoll_wait returned receivable events, and nothing was received
                                          // since
thread_local std::uint64_t t_yields = 0;

/// The function of the C library, or of a preloaded library.
template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

}  // namespace

std::uint64_t yields_of_this_thread() { return t_yields; }

}  // namespace titan::train

extern "C" int epoll_wait(int fd, epoll_event* events, int most, int timeout) {
  using namespace titan::train;
  static const auto wait = next<decltype(&::epoll_wait)>("epoll_wait");
  if (t_left_events) {
    ++t_yields;
    sched_yield();
  }
  const int count = wait(fd, events, most, timeout);
  // An event that announces room to send is always followed by a send, so only receivable events can be left.
  t_left_events =
      count > 0 && std::all_of(events, events + count, [](const epoll_event& e) { return e.events == EPOLLIN; });
  return count;
}

extern "C" ssize_t recv(int fd, void* bytes, std::size_t size, int flags) {
  using namespace titan::train;
  static const auto receive = next<decltype(&::recv)>("recv");
  t_left_events = false;
  return receive(fd, bytes, size, flags);
}
