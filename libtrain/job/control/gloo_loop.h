#pragma once
// Gloo's thread waits for events by epoll_wait. If another thread holds the lock of an event's connection, Gloo's
// thread leaves the event and waits again, and the kernel returns the same event at once: the thread spins. Most often
// the lock's holder waits for the very core on which Gloo's thread spins, and the spinning lasts until Gloo's time
// slice ends: on cores that several ranks share, 7,000 calls and half of the processor time of a small step. So
// programs that link this file have their own epoll_wait and recv, which LibTorch's library finds before those of the C
// library. They do the same, except that epoll_wait yields the core first if nothing was received after the last
// events. \source https://github.com/facebookincubator/gloo/blob/main/gloo/transport/tcp/pair.cc (Pair::handleEvents)
#include <cstdint>

namespace titan::train {

/// How often this thread has yielded in epoll_wait.
std::uint64_t yields_of_this_thread();

}  // namespace titan::train
