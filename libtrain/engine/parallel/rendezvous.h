#pragma once
// Rendezvous: how a rank finds and connects to its peers.
#include <chrono>
#include <functional>
#include <string>

#include "ckpt/base/result.h"
#include "ckpt/model/tensor_meta.h"
#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/launch/launch_env.h"

namespace titan::train {

/// What connect() needs.
struct ConnectOptions {
  LaunchEnv env;
  ckpt::Mesh mesh;
  std::chrono::milliseconds init_timeout{300'000};
  std::chrono::milliseconds train_timeout{100'000};
  std::chrono::milliseconds io_timeout{1'800'000};
  bool background_saves = false;  ///< whether to create World::save
  bool node_groups = false;       ///< whether to create World::node and World::between_nodes, if there are domains
  std::function<void(Control& all)>
      met;  ///< called once all ranks can communicate, before fabrics connect; an exception ends connect()
  std::function<void(const std::string&)> say;  ///< called after 10 s with what the start waits for; may be empty
};

/// Connects this rank to its peers, creates the groups of the mesh, and starts the heartbeat, which shows which rank
/// has died. If a rank gives no heartbeat for `train_timeout`, every collective in which another rank waits ends with
/// CommError, also in the groups with the longer `io_timeout`. World::shutdown ends within `io_timeout` plus a few
/// seconds. \error CommError: why MASTER_ADDR or MASTER_PORT does not work; which ranks did not arrive within
/// `init_timeout`, or left; or that a stop signal came. std::invalid_argument if the number of ranks is not that of the
/// mesh
World connect(const ConnectOptions& options);

}  // namespace titan::train
