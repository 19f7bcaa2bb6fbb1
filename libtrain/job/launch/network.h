#pragma once
// Chooses the address of this host that peers connect to. The choice is a pure function; look_at_network() reads the
// host's network.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// One address of a network interface that is up.
struct LocalAddress {
  std::string interface, text;  ///< "eth0", "10.0.0.1"
  bool loopback = false;
  bool link_local = false;  ///< IPv6 fe80::/10: needs an interface number
  bool operator==(const LocalAddress&) const = default;
};

/// The network of this host.
struct NetworkView {
  std::vector<LocalAddress> addresses;  ///< IPv4 before IPv6
  std::string toward_master;            ///< this host's address on the route to MASTER_ADDR; empty if there is no route
  std::string outward;                  ///< this host's address on the default route; empty if there is no route
};

/// The addresses on which this rank meets its peers: one for each interface named in `wanted` (GLOO_SOCKET_IFNAME; may
/// be empty). If `wanted` is empty, one: loopback if all ranks are on this host; else the interface that leads to
/// MASTER_ADDR, or if that is loopback, another one. \error kInvalid: an interface in `wanted` does not exist, or is
/// loopback although ranks are on several hosts; kFailed: it is not certain which address peers can reach
ckpt::Result<std::vector<std::string>> choose_addresses(const NetworkView& view, const LaunchEnv& env,
                                                        const std::string& wanted);

/// Reads interfaces and routes; sends nothing.
NetworkView look_at_network(const std::string& master_addr);

}  // namespace titan::train
