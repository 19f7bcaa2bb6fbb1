#pragma once
// How this process was launched: by Titan's launcher, by torchrun (or a script that sets its variables), or by hand.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::train {

struct LaunchEnv {
  int rank = 0, world = 1, local_rank = 0, local_world = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;  ///< 0: world is 1, and no port is needed
  std::uint32_t restart_count = 0;
  std::string run_id;           ///< prefix for store keys, with restart_count; unique per job if the launcher gives one
  std::string source = "none";  ///< "titan", "torchrun", "none"
  int threads = 0;              ///< per rank, chosen by Titan's launcher for all its ranks; 0: each rank chooses itself
  int master_fd = -1;           ///< rank 0 of Titan's launcher: the inherited listening socket of master_port
  bool agent_store = false;     ///< torchrun's agent already hosts a store on master_port: every rank is a client

  /// Whether this rank prints to its own stderr. Ranks of Titan's launcher share one stderr, and one rank prints for
  /// all.
  bool own_terminal() const { return source != "titan"; }
};

using GetEnv = std::function<std::optional<std::string>(const char*)>;

/// Reads the environment variables that describe a rank (RANK, WORLD_SIZE, ...). Returns nullopt if none is set: this
/// process then starts local ranks. \error kInvalid: a variable is malformed; only some variables are set; or there are
/// several Slurm / Open MPI tasks without RANK and WORLD_SIZE (naming what to set).
ckpt::Result<std::optional<LaunchEnv>> read_launch_env(const GetEnv& get);

/// "rank 3".
std::string rank_name(const LaunchEnv& env);
/// Which process serves the store through which ranks meet: "torchrun's agent" or "rank 0".
std::string host_of_store(const LaunchEnv& env);

/// Whether the variable `name` describes a rank of a job (for Titan or torch). Programs started by a rank must not
/// inherit it.
bool is_of_rank(std::string_view name);

}  // namespace titan::train
