#pragma once
// The factory of fabrics: they use Gloo unless the device of the process provides its own.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/engine/parallel/links/channels.h"

namespace titan::train {

/// What a factory needs to create this rank's member of a group.
struct FabricRequest {
  std::string name;  ///< for messages: "dp/0" is the data-parallel group of stage 0
  FabricUse use = FabricUse::kExchange;
  int rank = 0, size = 1;                             ///< in the group; `size` is at least 2
  int global_rank = 0;                                ///< for messages
  c10::intrusive_ptr<c10d::Store> store;              ///< used only by this group; the same store for all members
  std::chrono::milliseconds init_timeout{300'000};    ///< timeout for connecting
  std::chrono::milliseconds expect_timeout{300'000};  ///< for Fabric::expect
  /// Throws CommError if a rank of the run has died. Call it repeatedly while the host waits. Any thread.
  std::function<void()> check_peers;
  /// Timeout of a transfer: comm.train_timeout_seconds, longer in the first step. Any thread.
  std::function<std::chrono::milliseconds()> patience;
  /// Creates the same group over Gloo, for a fabric that is built on Gloo. Call it at most once.
  std::function<std::unique_ptr<Communicator>()> gloo;
};

using FabricMaker = std::function<std::unique_ptr<Fabric>(const FabricRequest&)>;

/// Sets the factory of fabrics; empty: Gloo. Call it before connect() (rendezvous.h), which calls the factory for
/// each group of several ranks.
void use_fabrics(FabricMaker maker);
const FabricMaker& fabric_maker();

}  // namespace titan::train
