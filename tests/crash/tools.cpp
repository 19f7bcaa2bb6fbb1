#include "tests/crash/tools.h"

#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/parity_set.h"
#include "ckpt/ops/prune.h"
#include "ckpt/ops/repair.h"
#include "ckpt/ops/reshard.h"
#include "ckpt/ops/scrub.h"
#include "ckpt/ops/strip.h"
#include "ckpt/read/reader.h"
#include "converters/convert.h"
#include "converters/hf/hf_config.h"
#include "tests/converters/hf/folder.h"
#include "tests/support/files.h"

namespace titan::crash {

using ckpt::ok_status;
using ckpt::Status;

namespace {

constexpr const char* kWriter = "explorer";
constexpr const char* kCreated = "2026-01-02T03:04:05Z";

template <typename Options>
Options rewrite_options(const std::string& src, const std::string& dst, bool force) {
  Options options;
  options.src = src;
  options.dst = dst;
  options.force = force;
  options.writer = kWriter;
  options.created = kCreated;
  return options;
}

// What a tool could not clean up is a violation here: nothing stands in its way.
Status no_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    if (!warning.starts_with("parity files are left out")) return ckpt::failed("warning: " + warning);
  return ok_status();
}

}  // namespace

Status reshard(CrashFs& fs, const std::string& src, const std::string& dst, std::uint32_t dp, bool force) {
  ckpt::ReshardOptions options;
  options.source = src;
  options.dst = dst;
  options.target.dp = dp;
  options.memory = std::uint64_t{4} << 20;
  options.force = force;
  options.writer = kWriter;
  options.created = kCreated;
  TITAN_ASSIGN_OR_RETURN(const ckpt::ReshardReport report, ckpt::reshard_checkpoint(fs, options));
  return no_warnings(report.warnings);
}

Status strip(CrashFs& fs, const std::string& src, const std::string& dst, bool force) {
  const auto options = rewrite_options<ckpt::StripOptions>(src, dst, force);
  TITAN_ASSIGN_OR_RETURN(ckpt::StripReport report, ckpt::plan_strip(fs, options));
  TITAN_RETURN_IF_ERROR(ckpt::write_strip(fs, options, report));
  return no_warnings(report.warnings);
}

Status lr_set(CrashFs& fs, const std::string& src, const std::string& dst, bool force) {
  auto options = rewrite_options<ckpt::LrSetOptions>(src, dst, force);
  options.steps = 200;
  options.policy = ckpt::LrPolicy::kRescale;
  TITAN_ASSIGN_OR_RETURN(ckpt::LrSetReport report, ckpt::plan_lr_set(fs, options));
  TITAN_RETURN_IF_ERROR(ckpt::write_lr_set(fs, options, report));
  return no_warnings(report.warnings);
}

Status prune(CrashFs& fs) {
  ckpt::PruneOptions options;
  options.run = kRun;
  options.rules.keep_last = 1;
  TITAN_ASSIGN_OR_RETURN(const ckpt::PruneReport report, ckpt::prune_run(fs, options));
  TITAN_RETURN_IF_ERROR(report.blocked);
  return no_warnings(report.failures);
}

Status thin(CrashFs& fs) {
  ckpt::PruneOptions options;
  options.run = kRun;
  options.rules.thin = 1;
  options.writer = kWriter;
  options.created = kCreated;
  TITAN_ASSIGN_OR_RETURN(const ckpt::PruneReport report, ckpt::prune_run(fs, options));
  TITAN_RETURN_IF_ERROR(report.blocked);
  return no_warnings(report.failures);
}

Status repair(CrashFs& fs, const std::string& src, const std::string& dst, const std::vector<std::string>& donors,
              bool force) {
  auto options = rewrite_options<ckpt::RepairOptions>(src, dst, force);
  options.donors = donors;
  options.open = ckpt::CheckpointReader::open;
  options.threads = 1;
  TITAN_ASSIGN_OR_RETURN(const ckpt::RepairReport report, ckpt::repair_checkpoint(fs, options));
  if (!report.written) return ckpt::failed("nothing was repaired");
  return no_warnings(report.warnings);
}

Status set_parity(CrashFs& fs, const std::string& path) {
  ckpt::ParityOptions options;
  options.ckpt = path;
  options.files = 1;
  options.threads = 1;
  TITAN_ASSIGN_OR_RETURN(const ckpt::ParityReport report, ckpt::set_parity(fs, options));
  return no_warnings(report.warnings);
}

Status scrub(CrashFs& fs, const std::string& status) {
  ckpt::ScrubOptions options;
  options.run = kRun;
  options.status = status;
  options.now = [] { return std::uint64_t{1000}; };
  TITAN_ASSIGN_OR_RETURN(const ckpt::ScrubReport report, ckpt::scrub_run(fs, options));
  const auto written = ckpt::parse_scrub(ckpt::testing::get_text(fs, status));
  if (!written || *written != report.status || !written->complete) return ckpt::failed(status + " says something else");
  return report.verified.damage == 0 ? ok_status() : ckpt::corrupt("scrub finds a damaged step");
}

Status convert(CrashFs& fs, const std::string& src, const std::string& dst, const std::string& to, bool force) {
  convert::ConvertOptions options;
  options.source = src;
  options.destination = dst;
  options.to = to;
  options.force = force;
  options.created = kCreated;
  options.writer = kWriter;
  return convert::convert_checkpoint(fs, options).status();
}

Status make_hf(CrashFs& fs, const std::string& folder) {
  const recipe::ModelDims model{.dim = 8,
                                .n_layers = 1,
                                .n_heads = 2,
                                .n_kv_heads = 1,
                                .head_dim = 4,
                                .ffn_dim = 12,
                                .vocab_size = 19,
                                .norm_eps = 1e-5,
                                .rope_theta = 10000};
  TITAN_RETURN_IF_ERROR(ckpt::testing::put_text(
      fs, folder + "/model.safetensors", convert::testing::safetensors_file(convert::testing::model_tensors(model))));
  return ckpt::testing::put_text(fs, folder + "/config.json", convert::write_hf_config(model, {}, {}).write());
}

}  // namespace titan::crash
