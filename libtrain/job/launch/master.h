#pragma once
// The way to MASTER_ADDR:MASTER_PORT, tried before c10d tries it: c10d does not say why it fails.
#include <sys/socket.h>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t length = 0;
  int family() const { return bytes.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  bool loopback() const;
};

struct ResolvedHost {
  std::vector<SocketAddress> addresses;
  std::string error;      ///< why there are none
  bool may_pass = false;  ///< the resolver did not answer, this time
};
ResolvedHost resolve_host(const std::string& host, int port);

/// "127.0.0.1:29500", "[::1]:29500".
std::string master_text(const LaunchEnv& env);

/// What rank 0 serves the rendezvous on: a socket that listens on MASTER_PORT of every address of this host.
/// \error kFailed: the port is taken (a hint says how to see by whom), or not permitted
ckpt::Result<int> listen_on_master_port(const LaunchEnv& env);

struct ReachOptions {
  std::chrono::milliseconds timeout{300'000};
  std::chrono::milliseconds resolver_patience{5'000};  ///< for a resolver that does not answer
  std::function<void(const std::string&)> note;        ///< hears why it does not work yet; may be empty
};
/// Connects to the master, and closes the connection. Refused connections are tried again until the time-out, for rank
/// 0 may come later; a name that is not known is an error at once. \error kFailed: why, with what to look at
ckpt::Status reach_master(const LaunchEnv& env, const ReachOptions& options);

/// What to look at after `error` (errno; 0: no answer) of a connection to the master. Pure; `loopback`: every address
/// of the name is one.
std::string unreachable_hint(const LaunchEnv& env, int error, bool loopback);

}  // namespace titan::train
