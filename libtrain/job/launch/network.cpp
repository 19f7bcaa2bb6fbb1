#include "libtrain/job/launch/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>

#include "ckpt/base/text.h"
#include "libtrain/job/launch/master.h"

namespace titan::train {
namespace {

using ckpt::Result;

std::string list_of(const std::vector<LocalAddress>& addresses) {
  if (addresses.empty()) return "none";
  return ckpt::joined(addresses, ", ", [](const LocalAddress& one) { return one.interface + " " + one.text; });
}

std::string hosts_text(const LaunchEnv& env) {
  return "WORLD_SIZE=" + std::to_string(env.world) +
         " is more than LOCAL_WORLD_SIZE=" + std::to_string(env.local_world);
}

const LocalAddress* find_text(const NetworkView& view, const std::string& text) {
  const auto found =
      std::ranges::find_if(view.addresses, [&](const LocalAddress& address) { return address.text == text; });
  return text.empty() || found == view.addresses.end() ? nullptr : &*found;
}

/// The addresses that peers on other hosts may reach.
std::vector<LocalAddress> outside(const NetworkView& view) {
  std::vector<LocalAddress> found;
  for (const LocalAddress& address : view.addresses)
    if (!address.loopback && !address.link_local) found.push_back(address);
  return found;
}

Result<std::string> address_of(const NetworkView& view, const LaunchEnv& env, const std::string& name) {
  const auto found = std::ranges::find_if(
      view.addresses, [&](const LocalAddress& address) { return address.interface == name && !address.link_local; });
  if (found == view.addresses.end())
    return ckpt::invalid("GLOO_SOCKET_IFNAME names '" + name +
                         "': this host has no such interface that is up and has an address")
        .with_hint("the addresses of this host: " + list_of(view.addresses));
  if (found->loopback && env.world > env.local_world)
    return ckpt::invalid("GLOO_SOCKET_IFNAME names the loopback interface '" + name +
                         "', but the ranks are on several hosts: " + hosts_text(env))
        .with_hint("name the interface that leads to the other hosts: " + list_of(outside(view)));
  return found->text;
}

Result<std::string> address_between_hosts(const NetworkView& view, const LaunchEnv& env) {
  // Rank 0's own host may resolve its name to 127.0.1.1; the route to that is meaningless.
  for (const std::string& text : {view.toward_master, view.outward}) {
    const LocalAddress* found = find_text(view, text);
    if (found != nullptr && !found->loopback && !found->link_local) return text;
  }
  const std::vector<LocalAddress> possible = outside(view);
  const bool one = !possible.empty() && std::ranges::all_of(possible, [&](const LocalAddress& address) {
    return address.interface == possible[0].interface;
  });
  if (one) return possible[0].text;
  if (possible.empty())
    return ckpt::failed("this host has no address that another host could reach, but the ranks are on several hosts: " +
                        hosts_text(env))
        .with_hint("is its network up? where all ranks are on this host, set LOCAL_WORLD_SIZE and LOCAL_RANK");
  return ckpt::failed("which interface leads to the other ranks is not known: MASTER_ADDR=" + env.master_addr +
                      " is this host itself, and there is no default route")
      .with_hint("set GLOO_SOCKET_IFNAME to one of: " + list_of(possible));
}

Result<std::string> address_on_this_host(const NetworkView& view) {
  const auto loopback = std::ranges::find_if(view.addresses, &LocalAddress::loopback);
  if (loopback != view.addresses.end()) return loopback->text;
  const std::vector<LocalAddress> possible = outside(view);
  if (!possible.empty()) return possible[0].text;
  return ckpt::failed("this host has no network address at all, not even loopback").with_hint("ip link set lo up");
}

/// The numeric form; empty for another address family. Sets facts that follow from the number.
std::string number_of(const sockaddr* address, LocalAddress* facts) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    facts->loopback = (ntohl(four->sin_addr.s_addr) >> 24) == 127;
    inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
    facts->loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    facts->link_local = IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
    inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
  }
  return text;
}

/// This host's address on the route to `target`. Connecting a datagram socket sends nothing.
std::string source_toward(const SocketAddress& target) {
  const int fd = socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  std::string text;
  LocalAddress ignored;
  if (connect(fd, target.get(), target.length) == 0 && getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) == 0)
    text = number_of(reinterpret_cast<sockaddr*>(&own), &ignored);
  close(fd);
  return text;
}

std::string source_toward(const std::string& host) {
  constexpr int kAnyPort = 9;
  const ResolvedHost resolved = resolve_host(host, kAnyPort);
  for (const SocketAddress& address : resolved.addresses)
    if (std::string text = source_toward(address); !text.empty()) return text;
  return {};
}

}  // namespace

Result<std::vector<std::string>> choose_addresses(const NetworkView& view, const LaunchEnv& env,
                                                  const std::string& wanted) {
  std::vector<std::string> addresses;
  // Comma-separated names, as in PyTorch.
  for (std::size_t begin = 0; begin < wanted.size();) {
    const std::size_t end = std::min(wanted.find(',', begin), wanted.size());
    TITAN_ASSIGN_OR_RETURN(std::string address, address_of(view, env, wanted.substr(begin, end - begin)));
    addresses.push_back(std::move(address));
    begin = end + 1;
  }
  if (!addresses.empty()) return addresses;
  TITAN_ASSIGN_OR_RETURN(std::string address,
                         env.world > env.local_world ? address_between_hosts(view, env) : address_on_this_host(view));
  addresses.push_back(std::move(address));
  return addresses;
}

NetworkView look_at_network(const std::string& master_addr) {
  NetworkView view;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
      if (item->ifa_addr == nullptr || (item->ifa_flags & IFF_UP) == 0) continue;
      LocalAddress address{item->ifa_name, "", false, false};
      address.text = number_of(item->ifa_addr, &address);
      address.loopback = address.loopback || (item->ifa_flags & IFF_LOOPBACK) != 0;
      if (!address.text.empty()) view.addresses.push_back(std::move(address));
    }
    freeifaddrs(list);
  }
  std::stable_partition(view.addresses.begin(), view.addresses.end(),
                        [](const LocalAddress& address) { return address.text.find(':') == std::string::npos; });
  view.toward_master = source_toward(master_addr);
  // An address range reserved for documentation: the default route, if there is one, leads to it.
  view.outward = source_toward("192.0.2.1");
  if (view.outward.empty()) view.outward = source_toward("2001:db8::1");
  return view;
}

}  // namespace titan::train
