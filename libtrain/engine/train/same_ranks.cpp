#include "libtrain/engine/train/same_ranks.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/plan/lr_settings.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/train/status_error.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/host/gpu_checks.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/run/same_settings.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

/// The first 40 bits of the digest of `values`, so that a sum over up to 2^23 ranks does not overflow.
std::int64_t digest_number(const at::Tensor& values) {
  const ckpt::Digest digest = ckpt::digest_of(host_bytes(device().to_host(values)));
  std::uint64_t bits = 0;
  std::memcpy(&bits, digest.bytes.data(), sizeof bits);
  return static_cast<std::int64_t>(bits >> 24);
}

}  // namespace

ckpt::Status agree_on_weights(Control& all, const recipe::RunPlan& plan, const RankStages& stages) {
  // For each parameter: the sum of the digests of all ranks that have it, and the number of these ranks. All digests
  // are equal if each rank's digest times that number equals the sum.
  const std::size_t count = plan.parameters.size();
  std::vector<std::int64_t> mine(count), sums(2 * count);
  for (const StageParameter* parameter : stages.parameters()) {
    mine[parameter->index] = digest_number(parameter->master);
    sums[parameter->index] = mine[parameter->index];
    sums[count + parameter->index] = 1;
  }
  all.sum(sums);
  ckpt::Status status;
  for (const StageParameter* parameter : stages.parameters()) {
    const std::size_t i = parameter->index;
    if (sums[i] == mine[i] * sums[count + i]) continue;
    status = ckpt::incompatible("ranks have different values in their copies of " + plan.parameters[i].name)
                 .with_hint("give every rank the same copy of the weights");
    break;
  }
  return agree(all, status);
}

void check_devices(Control& all) {
  // First one number per rank, which is all that thousands of ranks on CPUs send. Only ranks on GPUs send texts.
  std::int64_t gpus = device().name() == "cpu" ? 0 : 1;
  all.sum({&gpus, 1});
  if (gpus == 0) return;
  check(check_one_model(all.all_gather(device().name())));
  check(check_own_gpus(all.all_gather(device().unit())));
  ckpt::Settings rows = device().environment();
  const std::string driver = ckpt::setting(rows, "driver");
  std::erase_if(rows, [](const auto& row) { return row.first == "driver"; });
  ckpt::Status apart = agree_on_settings(all, rows);
  apart.hint = "give every rank the same settings, environment variables and libraries";
  check(apart);
  const std::string differ = drivers_differ(all.all_gather(driver));
  if (all.rank() == 0 && !differ.empty()) log_warn(differ);
}

}  // namespace titan::train
