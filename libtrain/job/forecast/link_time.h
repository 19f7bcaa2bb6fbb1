#pragma once
// Duration of exchanges between GPUs, from link bandwidths. Pure. Latency is ignored, since messages are megabytes.
// Only the two directions of a link, and the two kinds of links in an all-to-all, are assumed to overlap.
#include <cstdint>

#include "libtrain/job/reduction/stage_exchange.h"
#include "recipe/plan/device_figures.h"

namespace titan::train {

inline constexpr double kGiga = 1e9;  ///< bytes in a GB of GB/s

/// What one rank sends and receives in an exchange, by the kind of link.
struct LinkBytes {
  std::uint64_t in_node = 0, between_nodes = 0;  ///< bytes in the direction that carries more
  std::uint64_t total() const { return in_node + between_nodes; }
};

/// Which ranks share a node: rank r is GPU r mod `per_node` of its node.
struct Nodes {
  std::uint32_t per_node = 8;
  bool together(std::uint32_t rank, std::uint32_t other) const { return rank / per_node == other / per_node; }
};

/// The ranks that exchange: `first`, `first + step` and so on.
struct Peers {
  std::uint32_t first = 0, step = 1;
  std::uint32_t operator[](std::uint32_t number) const { return first + number * step; }
};

/// What a rank sends and receives in the exchange of `plan`, with elements of `width` bytes.
LinkBytes link_bytes(const ExchangePlan& plan, std::uint32_t width, const Peers& peers, const Nodes& nodes);

/// Seconds of the exchange of `plan`.
double link_seconds(const ExchangePlan& plan, std::uint32_t width, const Peers& peers,
                    const recipe::DeviceFigures& device);
/// Seconds of a message of `bytes` bytes.
double message_seconds(std::uint64_t bytes, bool in_node, const recipe::DeviceFigures& device);
/// Seconds of a message between stages, for which NCCL uses only few blocks of a GPU
/// (libtrain/engine/cuda/nccl_fabric.cpp).
double hop_seconds(std::uint64_t bytes, bool in_node, const recipe::DeviceFigures& device);

}  // namespace titan::train
