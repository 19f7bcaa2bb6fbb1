#pragma once
// Rendezvous: how a rank finds and connects to its peers.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

struct ConnectOptions {
  LaunchEnv env;
  ckpt::Mesh mesh;
  std::chrono::milliseconds init_timeout{300'000};
  std::chrono::milliseconds train_timeout{100'000};
  std::chrono::milliseconds io_timeout{1'800'000};
  bool background_saves = false;  ///< whether World::save is needed, which has connections of its own
  bool node_groups = false;       ///< whether the groups within and between nodes are needed
  std::function<void(Control& all)>
      met;  ///< runs once ranks have met, before a device's fabrics connect; an exception ends connect()
  std::function<void(const std::string&)> say;  ///< gets one message about what a slow start waits for; may be empty
};

/// Connects this rank to its peers over Gloo, builds the groups of the mesh, and starts the heartbeat, which shows
/// which rank is silent. A rank whose heartbeat stops for `train_timeout` ends any collective, also of the I/O group.
/// World::shutdown ends within the I/O timeout plus a few seconds. \error CommError: why MASTER_ADDR or MASTER_PORT
/// does not work, which ranks did not arrive within init_timeout or left, or that a stop signal came.
/// std::invalid_argument if the mesh does not fit the world.
World connect(const ConnectOptions& options);

}  // namespace titan::train
