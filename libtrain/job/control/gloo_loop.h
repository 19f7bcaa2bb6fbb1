#pragma once
// Gloo's thread waits for events by epoll_wait. If another thread holds the lock of an event's connection, Gloo's
// thread leaves the event and waits again, and the kernel returns the same event at once: the thread spins. Most often
// the lock's holder waits for the very core on which Gloo's thread spins, and the spinning lasts until Gloo's time
// slice ends. On cores that several ranks share, this took 7,000 calls and half of the processor time of a small step.
// So programs that link this file have their own epoll_wait and recv, which LibTorch's library finds before those of
// the C library. They do the same as those of the C library, except that epoll_wait first yields the core if its last
// events announced bytes to receive and the thread has not called recv since. \source
// https://github.com/facebookincubator/gloo/blob/main/gloo/transport/tcp/pair.cc (Pair::handleEvents)
#include <cstdint>

namespace titan::train {

/// How often this thread has yielded in epoll_wait.
std::uint64_t yields_of_this_thread();

}  // namespace titan::train
