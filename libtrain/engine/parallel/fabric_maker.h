#pragma once
// Creates the groups that carry tensors between ranks: Gloo, unless the device of the process provides its own fabrics.
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
  c10::intrusive_ptr<c10d::Store> store;              ///< used only by this group; the same store for all members
  std::chrono::milliseconds init_timeout{300'000};    ///< timeout for connecting
  std::chrono::milliseconds expect_timeout{300'000};  ///< for Fabric::expect
  /// Throws CommError if a rank of the run has died. Call it repeatedly while the host waits. Any thread.
  std::function<void()> look;
  /// Timeout of a transfer: comm.train_timeout_seconds, longer in the first step. Any thread.
  std::function<std::chrono::milliseconds()> patience;
  /// Makes the same group over Gloo, for a fabric that is built on it. Call it at most once.
  std::function<std::unique_ptr<Communicator>()> gloo;
};

using FabricMaker = std::function<std::unique_ptr<Fabric>(const FabricRequest&)>;

/// Sets the factory of fabrics. Call it before connect(). Empty: Gloo. Not called for groups of one rank.
void use_fabrics(FabricMaker maker);
const FabricMaker& fabric_maker();

}  // namespace titan::train
