#pragma once
// Published performance of GPUs, and the fraction of it that a forecast assumes. Pure.
#include <cstdint>
#include <string>

#include "ckpt/base/result.h"

namespace titan::recipe {

/// A GPU and its links. Rates are per GPU, in TFLOPS and GB/s; rates of links are for one direction.
struct DeviceFigures {
  std::string name;
  std::uint64_t memory_bytes = 0;           ///< memory available to a process
  double bf16_tflops = 0, fp32_tflops = 0;  ///< dense; fp32 without TF32
  double memory_gb_s = 0;
  double nvlink_gb_s = 0;           ///< to the other GPUs of its node
  double nic_gb_s = 0;              ///< its share of the node's network bandwidth
  std::uint32_t per_node = 8;       ///< GPUs per node
  double compute_share = 0.42;      ///< fraction of the peak FLOPS that the computation of a whole step reaches
  double link_share = 0.8;          ///< fraction of the nominal rate that transfers over links and memory reach
  bool compute_measured = false;    ///< compute_share was measured on a GPU, not assumed
  bool link_measured = false;       ///< link_share was measured
  std::uint64_t reserve_bytes = 0;  ///< not available to tensors: context, workspaces and communicators
};

/// The names that device_figures knows: "a100, b200, h100, h200".
std::string known_devices();

/// The specifications of "h100" and so on. \error kInvalid: an unknown name
ckpt::Result<DeviceFigures> device_figures(const std::string& name);

}  // namespace titan::recipe
