#pragma once
// Which address of this host its peers are told to connect to. The choice is a pure function; looking at the host is
// apart from it.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// One address of a network interface that is up.
struct LocalAddress {
  std::string interface, text;  ///< "eth0", "10.0.0.1"
  bool loopback = false;
  bool link_local = false;  ///< IPv6 fe80::/10: worth nothing without the number of an interface
  bool operator==(const LocalAddress&) const = default;
};

/// What this host says of its network.
struct NetworkView {
  std::vector<LocalAddress> addresses;  ///< IPv4 before IPv6
  std::string toward_master;            ///< own address on the route to MASTER_ADDR; empty where there is none
  std::string outward;                  ///< own address on the default route; empty where there is none
};

/// The addresses on which this rank meets its peers, one for each interface that GLOO_SOCKET_IFNAME (`wanted`; may be
/// empty) names, else one: loopback where all ranks are on this host; otherwise the interface that leads to
/// MASTER_ADDR, never loopback.
/// \error kInvalid: `wanted` names none, or loopback for ranks on several hosts; kFailed: no choice is sure
ckpt::Result<std::vector<std::string>> choose_addresses(const NetworkView& view, const LaunchEnv& env,
                                                        const std::string& wanted);

/// Looks at interfaces and routes; sends nothing.
NetworkView look_at_network(const std::string& master_addr);

}  // namespace titan::train
