#include "libtrain/engine/train/same_devices.h"

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/plan/lr_settings.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/train/status_error.h"
#include "libtrain/job/host/gpu_checks.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/run/same_settings.h"

namespace titan::train {

void check_devices(Control& all) {
  // A number, for the CPUs of thousands of ranks; texts are for GPUs.
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
