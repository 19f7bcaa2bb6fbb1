#include "libtrain/job/control/node_sum.h"

#include <vector>

namespace titan::train {
namespace {

constexpr std::uint64_t kUp = 0x7fffffd0, kDown = 0x7fffffd1;

void send(Control& all, std::span<const double> values, int to, std::uint64_t tag) {
  all.send_bytes({reinterpret_cast<const char*>(values.data()), values.size_bytes()}, to, tag);
}

void receive(Control& all, std::span<double> values, int from, std::uint64_t tag) {
  all.recv_bytes({reinterpret_cast<char*>(values.data()), values.size_bytes()}, from, tag);
}

/// The rank to which a rank sends its sum, and those from which it receives.
struct Family {
  int parent = -1;  ///< -1: none
  std::vector<int> children;
};

/// The first rank of a node receives from the node's other ranks; between nodes, each receives from the nodes whose
/// number has one more bit set.
Family family_of(int rank, int size, int node_ranks) {
  Family family;
  const int node = rank / node_ranks, first = node * node_ranks;
  if (rank != first) return {.parent = first, .children = {}};
  for (int other = first + 1; other < first + node_ranks; ++other) family.children.push_back(other);
  for (int bit = 1; bit < size / node_ranks; bit *= 2) {
    if (node & bit) {
      family.parent = (node - bit) * node_ranks;
      break;
    }
    if ((node + bit) * node_ranks < size) family.children.push_back((node + bit) * node_ranks);
  }
  return family;
}

}  // namespace

void sum_over_nodes(Control& all, std::span<double> values, std::uint32_t node_ranks) {
  const int size = all.size(), of_node = static_cast<int>(node_ranks);
  if (of_node < 2 || of_node >= size || size % of_node != 0) return all.sum(values);
  const Family family = family_of(all.rank(), size, of_node);
  std::vector<double> theirs(values.size());
  for (const int child : family.children) {
    receive(all, theirs, child, kUp);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += theirs[i];
  }
  if (family.parent >= 0) {
    send(all, values, family.parent, kUp);
    receive(all, values, family.parent, kDown);
  }
  // The farthest child first, since it has to reach the most nodes.
  for (auto child = family.children.rbegin(); child != family.children.rend(); ++child)
    send(all, values, *child, kDown);
}

}  // namespace titan::train
