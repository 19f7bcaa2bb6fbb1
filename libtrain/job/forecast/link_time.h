#pragma once
// How long exchanges between GPUs take, from what their links carry. Pure.
// Latency is left out: messages are megabytes. Nothing is taken to overlap but the two directions of a link, and the
// two kinds of links in an all-to-all.
#include <cstdint>

#include "libtrain/job/order/stage_exchange.h"
#include "recipe/plan/device_figures.h"

namespace titan::train {

inline constexpr double kGiga = 1e9;  ///< of a link's GB/s

/// What one rank sends and receives in an exchange, by the kind of link.
struct LinkBytes {
  std::uint64_t in_node = 0, between_nodes = 0;  ///< of the direction that has more
  std::uint64_t total() const { return in_node + between_nodes; }
};

/// Where ranks lie: rank r is GPU r mod `per_node` of its node.
struct Nodes {
  std::uint32_t per_node = 8;
  bool together(std::uint32_t rank, std::uint32_t other) const { return rank / per_node == other / per_node; }
};

/// The ranks that exchange: `first` and so on, `step` apart.
struct Peers {
  std::uint32_t first = 0, step = 1;
  std::uint32_t operator[](std::uint32_t number) const { return first + number * step; }
};

/// Of the exchange that `plan` describes, with elements of `width` bytes.
LinkBytes link_bytes(const ExchangePlan& plan, std::uint32_t width, const Peers& peers, const Nodes& nodes);

/// Seconds of it.
double link_seconds(const ExchangePlan& plan, std::uint32_t width, const Peers& peers,
                    const recipe::DeviceFigures& device);
/// Seconds of a message of so many bytes.
double message_seconds(std::uint64_t bytes, bool in_node, const recipe::DeviceFigures& device);
/// The same from stage to stage, where few blocks of a GPU carry it (libtrain/engine/cuda/nccl_fabric.cpp).
double hop_seconds(std::uint64_t bytes, bool in_node, const recipe::DeviceFigures& device);

}  // namespace titan::train
