#pragma once
// Who makes the groups that carry tensors between ranks: Gloo, unless the device of the process has a way of its own.
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
  int rank = 0, size = 1;                             ///< in the group; size is at least 2
  int global_rank = 0;                                ///< for messages
  c10::intrusive_ptr<c10d::Store> store;              ///< of this group alone, the same for all of its members
  std::chrono::milliseconds init_timeout{300'000};    ///< what is left of it
  std::chrono::milliseconds expect_timeout{300'000};  ///< for Fabric::expect
  /// Throws CommError where a rank of the run is gone. To be called now and then while the host waits; any thread.
  std::function<void()> look;
  /// How long a transfer may take: comm.train_timeout_seconds, more in the first step. Any thread.
  std::function<std::chrono::milliseconds()> patience;
  /// The same group over Gloo, for a fabric that stands on it. At most once.
  std::function<std::unique_ptr<Communicator>()> gloo;
};

using FabricMaker = std::function<std::unique_ptr<Fabric>(const FabricRequest&)>;

/// Before connect(). Empty: Gloo. Groups of one rank are not asked for.
void use_fabrics(FabricMaker maker);
const FabricMaker& fabric_maker();

}  // namespace titan::train
