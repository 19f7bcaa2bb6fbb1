#include "libtrain/job/start/look_ahead.h"

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/run/open_run.h"
#include "libtrain/job/data/dataset.h"
#include "libtrain/job/start/space.h"

namespace titan::train {
namespace {

Status look_at_metrics(ckpt::Fs& fs, const std::string& run_dir) {
  const std::string path = ckpt::join_path(run_dir, "metrics.jsonl");
  const Status may = fs.may_write(path);
  if (may.ok() || may.code == ckpt::Code::kNotFound) return ckpt::ok_status();
  return may.wrapped(path + " cannot be written")
      .with_hint(may.hint.empty() ? "`ls -l " + ckpt::shell_word(path) + "` shows its owner and rights" : may.hint);
}

TokenScan look_at_tokens(const StartPreview& preview, std::uint64_t start_step) {
  const recipe::Config& config = preview.loaded.config;
  if (preview.stored)
    if (Status status = preview.dataset->continue_from(preview.data); !status.ok())
      return {.refused = std::move(status)};
  return scan_tokens(*preview.dataset, config, static_cast<std::uint64_t>(preview.plan.batch.global), start_step + 1,
                     last_step_of(config), preview.seed.has_value());
}

}  // namespace

Outlook look_ahead(ckpt::Fs& fs, const StartPreview& preview) {
  Outlook outlook;
  const recipe::Config& config = preview.loaded.config;
  const std::uint64_t start_step = preview.decision.mode == StartMode::kResume ? preview.decision.step : 0;
  outlook.refused =
      ckpt::look_at_run(fs, config.job.dump_folder, ckpt::join_path(config.job.dump_folder, config.checkpoint.folder));
  if (outlook.refused.ok()) outlook.refused = look_at_metrics(fs, config.job.dump_folder);
  SpaceVerdict space = look_at_space(fs, config, preview.plan, start_step);
  if (outlook.refused.ok()) outlook.refused = space.refused;
  if (!space.warning.empty()) outlook.warnings.push_back(std::move(space.warning));
  if (preview.dataset == nullptr || config.training.dataset == "text") return outlook;
  outlook.scan = look_at_tokens(preview, start_step);
  if (outlook.refused.ok()) outlook.refused = outlook.scan.refused;
  if (!outlook.scan.warning.empty()) outlook.warnings.push_back(outlook.scan.warning);
  return outlook;
}

}  // namespace titan::train
