#include "libtrain/job/launch/launch_env.h"

#include <algorithm>
#include <iterator>

#include "ckpt/base/text.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char* kContract =
    "set RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT for every task, as torchrun does; "
    "or unset them all and use --nproc N";

std::optional<std::string> value_of(const GetEnv& get, const char* name) {
  auto value = get(name);
  return value && !value->empty() ? value : std::nullopt;
}

Result<int> integer(const char* name, const std::string& text, int lowest, int highest) {
  const std::optional<int> value = ckpt::number_of<int>(text);
  if (!value || *value < lowest || *value > highest) {
    return ckpt::invalid("environment variable " + std::string(name) + "='" + text + "': expected an integer from " +
                         std::to_string(lowest) + " to " + std::to_string(highest));
  }
  return *value;
}

/// Reads `name` into `out` when it is set.
Status read(const GetEnv& get, const char* name, int lowest, int highest, int& out) {
  if (auto text = value_of(get, name)) {
    TITAN_ASSIGN_OR_RETURN(out, integer(name, *text, lowest, highest));
  }
  return ckpt::ok_status();
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0; }

Status half_set(const char* set, const char* missing) {
  return ckpt::invalid("the launch environment is half set: " + std::string(set) + " is set, " + missing + " is not")
      .with_hint(kContract);
}

/// Several tasks of a batch system without RANK would silently become several runs with one rank each.
Status check_foreign_tasks(const GetEnv& get) {
  struct Contract {
    const char* system;
    const char* rank;
    const char* count;
  };
  constexpr Contract kOpenMpi{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};
  constexpr Contract kSlurmStep{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};
  constexpr Contract kSlurmJob{"Slurm", "SLURM_PROCID", "SLURM_NTASKS"};
  // SLURM_NTASKS counts the job's tasks; inside a step, the step's own count applies.
  const Contract& slurm = value_of(get, kSlurmStep.count) ? kSlurmStep : kSlurmJob;
  for (const Contract& contract : {kOpenMpi, slurm}) {
    const auto count = value_of(get, contract.count);
    if (!count || !value_of(get, contract.rank)) continue;
    TITAN_ASSIGN_OR_RETURN(const int tasks, integer(contract.count, *count, 1, 1 << 20));
    if (tasks > 1) {
      return ckpt::invalid(std::string(contract.system) + " started " + std::to_string(tasks) + " tasks (" +
                           contract.count + "), but RANK and WORLD_SIZE are not set")
          .with_hint(std::string("in every task: export RANK=$") + contract.rank + " WORLD_SIZE=$" + contract.count +
                     " MASTER_ADDR=<first host> MASTER_PORT=<port>; or start one task per node that runs torchrun "
                     "--no-python");
    }
  }
  return ckpt::ok_status();
}

}  // namespace

Result<std::optional<LaunchEnv>> read_launch_env(const GetEnv& get) {
  const auto rank = value_of(get, "RANK"), world = value_of(get, "WORLD_SIZE");
  if (!rank && !world) {
    for (const char* name : {"LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
      if (value_of(get, name)) return half_set(name, "RANK");
    }
    TITAN_RETURN_IF_ERROR(check_foreign_tasks(get));
    return std::optional<LaunchEnv>();
  }
  if (!rank) return half_set("WORLD_SIZE", "RANK");
  if (!world) return half_set("RANK", "WORLD_SIZE");

  LaunchEnv env;
  TITAN_ASSIGN_OR_RETURN(env.world, integer("WORLD_SIZE", *world, 1, 1 << 20));
  TITAN_ASSIGN_OR_RETURN(env.rank, integer("RANK", *rank, 0, env.world - 1));

  const auto address = value_of(get, "MASTER_ADDR"), port = value_of(get, "MASTER_PORT");
  if (env.world > 1 && !address) return half_set("WORLD_SIZE", "MASTER_ADDR");
  if (env.world > 1 && !port) return half_set("WORLD_SIZE", "MASTER_PORT");
  if (address) env.master_addr = *address;
  TITAN_RETURN_IF_ERROR(read(get, "MASTER_PORT", 1, 65535, env.master_port));

  const bool local_rank = value_of(get, "LOCAL_RANK").has_value();
  const bool local_world = value_of(get, "LOCAL_WORLD_SIZE").has_value();
  if (local_rank != local_world) {
    return local_rank ? half_set("LOCAL_RANK", "LOCAL_WORLD_SIZE") : half_set("LOCAL_WORLD_SIZE", "LOCAL_RANK");
  }
  // A loopback master means that all ranks are on this host.
  env.local_world = is_loopback(env.master_addr) ? env.world : 1;
  env.local_rank = is_loopback(env.master_addr) ? env.rank : 0;
  TITAN_RETURN_IF_ERROR(read(get, "LOCAL_WORLD_SIZE", 1, env.world, env.local_world));
  TITAN_RETURN_IF_ERROR(read(get, "LOCAL_RANK", 0, env.local_world - 1, env.local_rank));

  int restarts = 0;
  TITAN_RETURN_IF_ERROR(read(get, "TORCHELASTIC_RESTART_COUNT", 0, 1 << 30, restarts));
  env.restart_count = static_cast<std::uint32_t>(restarts);
  if (value_of(get, "TITAN_LAUNCHER_PID")) {
    env.source = "titan";
    env.run_id = value_of(get, "TITAN_RUN_ID").value_or("");
    TITAN_RETURN_IF_ERROR(read(get, "TITAN_THREADS_PER_RANK", 1, 1 << 16, env.threads));
    TITAN_RETURN_IF_ERROR(read(get, "TITAN_MASTER_FD", 0, 1 << 20, env.master_fd));
    if (env.rank != 0) env.master_fd = -1;
  } else {
    env.source = "torchrun";
    env.run_id = value_of(get, "TORCHELASTIC_RUN_ID").value_or("");
    const auto agent = value_of(get, "TORCHELASTIC_USE_AGENT_STORE");
    env.agent_store = agent == "True" || agent == "true" || agent == "1";
  }
  return std::optional<LaunchEnv>(std::move(env));
}

std::string rank_name(const LaunchEnv& env) { return "rank " + std::to_string(env.rank); }

std::string host_of_store(const LaunchEnv& env) { return env.agent_store ? "torchrun's agent" : "rank 0"; }

bool is_of_rank(std::string_view name) {
  constexpr std::string_view kNames[] = {"RANK",
                                         "WORLD_SIZE",
                                         "LOCAL_RANK",
                                         "LOCAL_WORLD_SIZE",
                                         "GROUP_RANK",
                                         "GROUP_WORLD_SIZE",
                                         "ROLE_RANK",
                                         "ROLE_WORLD_SIZE",
                                         "ROLE_NAME",
                                         "MASTER_ADDR",
                                         "MASTER_PORT",
                                         "OMP_NUM_THREADS",
                                         "MKL_NUM_THREADS",
                                         "MKL_CBWR",
                                         "SLURM_PROCID",
                                         "SLURM_LOCALID",
                                         "SLURM_NODEID",
                                         "TITAN_LAUNCHER_PID",
                                         "TITAN_RUN_ID",
                                         "TITAN_FRONT",
                                         "TITAN_MASTER_FD",
                                         "TITAN_REPORT_FD",
                                         "TITAN_THREADS_PER_RANK",
                                         "TITAN_THREAD_ENV_SET"};
  constexpr std::string_view kFamilies[] = {"TORCHELASTIC_", "OMPI_COMM_WORLD_", "PMI_", "PMIX_"};
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kFamilies, [&](std::string_view family) { return name.starts_with(family); });
}

}  // namespace titan::train
