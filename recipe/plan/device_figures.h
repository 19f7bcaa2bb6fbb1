#pragma once
// What GPUs can do, by their makers, and how much of it a forecast takes for granted. Pure.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/result.h"

namespace titan::recipe {

/// A GPU and its links. Rates are those of one GPU, links in one direction.
struct DeviceFigures {
  std::string name;
  std::uint64_t memory_bytes = 0;           ///< that a process can have
  double bf16_tflops = 0, fp32_tflops = 0;  ///< dense; fp32 without TF32
  double memory_gb_s = 0;
  double nvlink_gb_s = 0;           ///< to the other GPUs of its node
  double nic_gb_s = 0;              ///< its share of the node's network
  std::uint32_t per_node = 8;       ///< GPUs of a node
  double compute_share = 0.42;      ///< of the peak that products, attention and all between them reach
  double link_share = 0.8;          ///< of links and memory that transfers reach
  bool measured = false;            ///< shares are of a GPU, not assumed
  std::uint64_t reserve_bytes = 0;  ///< context, workspaces and communicators: what tensors cannot have
};

/// The names that device_figures knows: "a100, b200, h100, h200".
std::string known_devices();

/// Of "h100" and the like. \error kInvalid: an unknown name
ckpt::Result<DeviceFigures> device_figures(const std::string& name);

}  // namespace titan::recipe
