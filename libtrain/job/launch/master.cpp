#include "libtrain/job/launch/master.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kOneTry{3'000}, kPause{200};

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// Connects to `address`; returns 0 or an errno.
int try_connect(const SocketAddress& address, milliseconds timeout) {
  const Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return errno;
  if (::connect(socket.get(), address.get(), address.length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wait{socket.get(), POLLOUT, 0};
  const auto deadline = Clock::now() + timeout;
  int ready = 0;
  do {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    ready = ::poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

/// Listens on `port` for one address family; returns 0 or an errno.
int try_listen(int family, int port, int* fd) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return errno;
  const int on = 1, off = 0;
  // Closed connections of an earlier job do not block the port.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  SocketAddress any;
  any.bytes.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    auto* six = reinterpret_cast<sockaddr_in6*>(&any.bytes);
    six->sin6_addr = in6addr_any;
    six->sin6_port = htons(static_cast<std::uint16_t>(port));
    any.length = sizeof *six;
  } else {
    auto* four = reinterpret_cast<sockaddr_in*>(&any.bytes);
    four->sin_addr.s_addr = htonl(INADDR_ANY);
    four->sin_port = htons(static_cast<std::uint16_t>(port));
    any.length = sizeof *four;
  }
  if (::bind(socket.get(), any.get(), any.length) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) return errno;
  *fd = socket.release();
  return 0;
}

std::string seconds(milliseconds time) {
  const std::string whole = std::to_string(time.count() / 1000);
  return time.count() % 1000 == 0 ? whole + " s" : whole + "." + std::to_string(time.count() % 1000 / 100) + " s";
}

Status not_resolved(const LaunchEnv& env, const std::string& why) {
  return ckpt::failed(rank_name(env) + ": MASTER_ADDR=" + env.master_addr +
                      " does not resolve to an address on this host: " + why)
      .with_hint("MASTER_ADDR is the host of rank 0 by a name or address that every host knows: `getent hosts " +
                 env.master_addr + "` must answer");
}

Status not_reached(const LaunchEnv& env, int error, bool loopback, milliseconds timeout) {
  const std::string why = error == ETIMEDOUT ? "no answer" : std::strerror(error);
  Status status;
  if (env.rank == 0 && !env.agent_store) {
    status = ckpt::failed("rank 0 listens on port " + std::to_string(env.master_port) +
                          " of this host, but MASTER_ADDR=" + env.master_addr + " does not lead to it: " + why);
  } else {
    status = ckpt::failed(rank_name(env) + " could not connect to " + host_of_store(env) + " at " + master_text(env) +
                          " within " + seconds(timeout) + " (comm.init_timeout_seconds): " + why);
  }
  return status.with_hint(unreachable_hint(env, error, loopback));
}

}  // namespace

bool SocketAddress::loopback() const {
  if (family() == AF_INET) return (ntohl(reinterpret_cast<const sockaddr_in*>(&bytes)->sin_addr.s_addr) >> 24) == 127;
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&bytes)->sin6_addr);
}

std::string master_text(const LaunchEnv& env) {
  const bool six = env.master_addr.find(':') != std::string::npos;
  return (six ? "[" + env.master_addr + "]" : env.master_addr) + ":" + std::to_string(env.master_port);
}

ResolvedHost resolve_host(const std::string& host, int port) {
  ResolvedHost resolved;
  addrinfo wish{}, *list = nullptr;
  wish.ai_family = AF_UNSPEC;
  wish.ai_socktype = SOCK_STREAM;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wish, &list);
  if (error != 0) {
    resolved.error = error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error);
    resolved.may_pass = error == EAI_AGAIN;
    return resolved;
  }
  for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
    SocketAddress address;
    address.length = std::min<socklen_t>(item->ai_addrlen, sizeof address.bytes);
    std::memcpy(&address.bytes, item->ai_addr, address.length);
    resolved.addresses.push_back(address);
  }
  ::freeaddrinfo(list);
  return resolved;
}

Result<int> listen_on_master_port(const LaunchEnv& env) {
  int fd = -1;
  int error = try_listen(AF_INET6, env.master_port, &fd);
  // Kernels and containers without IPv6.
  if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) error = try_listen(AF_INET, env.master_port, &fd);
  if (error == 0) return fd;
  const std::string port = std::to_string(env.master_port);
  Status status =
      ckpt::failed("rank 0 cannot listen on port " + port + " of this host (MASTER_PORT): " + std::strerror(error));
  if (error == EADDRINUSE)
    return status.with_hint("another process has the port, perhaps another run: `ss -ltnp 'sport = :" + port +
                            "'` names it; give every rank another MASTER_PORT, or end that process");
  if (error == EACCES) return status.with_hint("ports below 1024 are root's: give every rank a higher MASTER_PORT");
  return status;
}

std::string unreachable_hint(const LaunchEnv& env, int error, bool loopback) {
  const std::string port = std::to_string(env.master_port), who = host_of_store(env);
  if (env.rank == 0 && !env.agent_store)
    return "MASTER_ADDR is an address or name of the host of rank 0, the same on every rank";
  if (loopback)
    return env.master_addr + " is a loopback address on this host, so it can reach ranks on this host only: start " +
           who +
           " here, or set MASTER_ADDR to a name or address that every host knows (`hostname -I` on the host of rank 0 "
           "shows some)";
  if (error == ECONNREFUSED)
    return "that host answers, but nothing listens on its port " + port + ": is " + who +
           " running there, with the same MASTER_PORT?";
  return "is that host up, and does its firewall let port " + port + " through? `ip route get " + env.master_addr +
         "` shows the way there";
}

Status reach_master(const LaunchEnv& env, const ReachOptions& options) {
  const auto began = Clock::now();
  while (true) {
    const ResolvedHost resolved = resolve_host(env.master_addr, env.master_port);
    const auto spent = Clock::now() - began;
    if (resolved.addresses.empty() &&
        (!resolved.may_pass || spent >= std::min(options.resolver_patience, options.timeout)))
      return not_resolved(env, resolved.error);
    int error = 0;
    for (const SocketAddress& address : resolved.addresses) {
      error = try_connect(address, std::min(kOneTry, options.timeout));
      if (error == 0) return ckpt::ok_status();
    }
    const bool loopback = std::ranges::all_of(resolved.addresses, &SocketAddress::loopback);
    // Rank 0 already listens: an address that does not lead to it now will not do so later.
    const bool own = env.rank == 0 && !env.agent_store;
    if (!resolved.addresses.empty() && (own || Clock::now() - began >= options.timeout))
      return not_reached(env, error, loopback, options.timeout);
    if (options.note)
      options.note(resolved.addresses.empty() ? resolved.error
                   : error == ETIMEDOUT       ? "no answer"
                                              : std::strerror(error));
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace titan::train
