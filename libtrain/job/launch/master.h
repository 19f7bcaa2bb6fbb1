#pragma once
// Connects to MASTER_ADDR:MASTER_PORT before c10d does, because c10d does not say why it fails.
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
  std::string error;      ///< why there are no addresses
  bool may_pass = false;  ///< the resolver did not answer; a later attempt may succeed
};
ResolvedHost resolve_host(const std::string& host, int port);

/// The master's address as text: "127.0.0.1:29500", "[::1]:29500".
std::string master_text(const LaunchEnv& env);

/// Opens the socket on which rank 0 serves the rendezvous: it listens on MASTER_PORT of every address of this host.
/// \error kFailed: the port is in use (a hint says how to find the program that uses it), or not permitted
ckpt::Result<int> listen_on_master_port(const LaunchEnv& env);

struct ReachOptions {
  std::chrono::milliseconds timeout{300'000};
  std::chrono::milliseconds resolver_patience{5'000};  ///< for a resolver that does not answer
  std::function<void(const std::string&)> note;        ///< gets the reason why there is no connection yet; may be empty
};
/// Connects to the master and closes the connection. Retries refused connections until the timeout, since rank 0 may
/// start later. An unknown name is an error at once. \error kFailed: the reason, with a hint on what to check
ckpt::Status reach_master(const LaunchEnv& env, const ReachOptions& options);

/// A hint on what to check after `error` (errno; 0: no answer) of a connection to the master. `loopback`: the name has
/// only loopback addresses. Pure.
std::string unreachable_hint(const LaunchEnv& env, int error, bool loopback);

}  // namespace titan::train
