#pragma once
// Makes the groups that carry tensors between ranks: Gloo, unless the device of the process brings fabrics of its own.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/engine/parallel/channels.h"
#include "libtrain/engine/parallel/communicator.h"

namespace titan::train {

struct FabricRequest {
  std::string name;  ///< "dp/0"
  FabricUse use = FabricUse::kExchange;
  int rank = 0, size = 1;                             ///< rank in the group; size is at least 2
  int global_rank = 0;                                ///< for messages
  c10::intrusive_ptr<c10d::Store> store;              ///< used by this group alone, the same for all members
  std::chrono::milliseconds init_timeout{300'000};    ///< the time left to connect
  std::chrono::milliseconds expect_timeout{300'000};  ///< for Fabric::expect
  /// Throws CommError if a rank of the run is gone. Call it now and then while the host waits. Any thread.
  std::function<void()> look;
  /// How long a transfer may take: comm.train_timeout_seconds, more in the first step. Any thread.
  std::function<std::chrono::milliseconds()> patience;
  /// Makes the same group over Gloo, for a fabric that is built on it. Call it at most once.
  std::function<std::unique_ptr<Communicator>()> gloo;
};

using FabricMaker = std::function<std::unique_ptr<Fabric>(const FabricRequest&)>;

/// Sets who makes fabrics. Call it before connect(). Empty: Gloo. `maker` is not asked for groups of one rank.
void use_fabrics(FabricMaker maker);
const FabricMaker& fabric_maker();

}  // namespace titan::train
