#pragma once
// Gloo's thread waits for events by epoll_wait. Where another thread holds the lock of the connection that has one, it
// leaves the event and waits again, and the kernel hands it out at once: the thread spins. Most often the holder waits
// for this very core, from which the event took it, and the spinning lasts until its time on the core is over: on cores
// that several ranks share, 7,000 looks and half of the processor time of a small step.
// So the programs that link this have an epoll_wait and a recv of their own, which LibTorch's library finds before the
// C library's. They do what those do; an epoll_wait behind events of which nothing was received yields the core first.
// \source https://github.com/facebookincubator/gloo/blob/main/gloo/transport/tcp/pair.cc (Pair::handleEvents)
#include <cstdint>

namespace titan::train {

/// How often this thread has yielded in epoll_wait.
std::uint64_t yields_of_this_thread();

}  // namespace titan::train
