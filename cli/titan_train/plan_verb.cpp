#include <cstdlib>
#include <set>

#include "ckpt/io/reader.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "cli/titan_train/plan_report.h"
#include "cli/titan_train/verbs.h"
#include "cli/ui/errors.h"
#include "cli/ui/output.h"
#include "cli/ui/reports.h"
#include "libtrain/config/loader.h"
#include "libtrain/config/run_plan.h"
#include "libtrain/data/dataset.h"
#include "libtrain/launch/launch_env.h"

namespace titan::train_cli {
namespace {

using ckpt::Result;
using ckpt::Status;
using train::Config;

struct Ranks {
  std::uint32_t count = 1;
  std::string from;
};

/// As `run` counts them; without --nproc and launcher the mesh that the keys describe.
Result<Ranks> count_ranks(const ui::Command& command, const Config& config) {
  constexpr int kMost = 1'000'000;
  TITAN_ASSIGN_OR_RETURN(const int nproc, parse_nproc(command, kMost));
  if (command.has("nproc")) return Ranks{static_cast<std::uint32_t>(nproc), "--nproc"};
  TITAN_ASSIGN_OR_RETURN(const auto env, train::read_launch_env([](const char* name) {
                           const char* value = std::getenv(name);
                           return value == nullptr ? std::nullopt : std::optional<std::string>(value);
                         }));
  if (env.has_value()) return Ranks{static_cast<std::uint32_t>(env->world), "the launcher"};
  const Config::Parallelism& p = config.parallelism;
  const double product = static_cast<double>(p.data_parallel_replicate_degree) * static_cast<double>(p.pipeline_parallel_degree) *
                         static_cast<double>(std::max<std::int64_t>(1, p.data_parallel_shard_degree));
  if (product > kMost) return ckpt::invalid("the mesh keys ask for more than " + std::to_string(kMost) + " ranks");
  if (product == 1) return Ranks{1, "the default of --nproc"};
  const auto count = static_cast<std::uint32_t>(product);
  return Ranks{count, "the mesh keys (run needs --nproc " + std::to_string(count) + ")"};
}

/// What the checkpoint says that a run would resume from.
struct Stored {
  ckpt::LrSchedule lr;
  ckpt::DataPosition data;
  ckpt::TrainState state;
  ckpt::Mesh mesh;
};

Result<Stored> read_stored(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::CheckpointReader reader, ckpt::CheckpointReader::open(fs, path));
  Stored stored;
  TITAN_ASSIGN_OR_RETURN(stored.lr, reader.lr_schedule());
  TITAN_ASSIGN_OR_RETURN(stored.data, reader.data_position());
  TITAN_ASSIGN_OR_RETURN(stored.state, reader.train_state());
  stored.mesh = reader.manifest().mesh;
  return stored;
}

/// Chooses the start as a run does: a step that turns out to be damaged is left for the next older one. Tensors are not read.
Status choose_start(const train::StartRequest& request, PlanReport& report, std::optional<Stored>& stored) {
  ckpt::Fs& fs = ckpt::posix_fs();
  std::set<std::uint64_t> damaged;
  while (true) {
    TITAN_ASSIGN_OR_RETURN(report.start, train::decide_start(fs, request, damaged));
    if (report.start.path.empty()) return ckpt::ok_status();
    auto opened = read_stored(fs, report.start.path);
    if (opened.ok()) {
      stored = std::move(*opened);
      report.start.step = stored->state.step;
      report.stored_layout = ui::mesh_text(stored->mesh);
      return ckpt::ok_status();
    }
    if (opened.status().code != ckpt::Code::kCorrupt || !report.start.may_fall_back) return opened.status();
    damaged.insert(report.start.step);
  }
}

void set_data(const Config& config, const train::RunPlan& plan, const std::optional<Stored>& stored, PlanReport& report) {
  const std::uint64_t seed = report.seed.value_or(0);
  auto dataset = train::Dataset::open(config, seed, static_cast<std::uint64_t>(plan.dims.vocab_size));
  if (!dataset.ok()) {
    report.refused = dataset.status();
    return;
  }
  if (stored) {
    report.drift = train::find_drift(stored->state.accepted, train::accepted_settings(config, plan, seed, (*dataset)->origin()));
    if (!report.drift.empty() && report.refused.ok()) report.refused = train::drift_error(report.drift, report.start.path);
    (*dataset)->continue_from(stored->data);
  }
  const train::Forecast& f = report.forecast;
  const std::uint64_t steps = f.first_step > f.last_step ? 0 : f.last_step - f.first_step + 1;
  report.data = train::forecast_data((*dataset)->origin(), (*dataset)->validation_samples(), steps * static_cast<std::uint64_t>(plan.batch.global));
}

Status make_report(const Arguments& arguments, const train::LoadedConfig& loaded, PlanReport& report) {
  const Config& config = loaded.config;
  TITAN_ASSIGN_OR_RETURN(const Ranks ranks, count_ranks(arguments.command, config));
  TITAN_ASSIGN_OR_RETURN(train::RunPlan plan, train::make_run_plan(config, ranks.count));
  report.ranks_from = ranks.from;
  report.config_file = arguments.command.positionals[0];
  report.run_folder = config.job.dump_folder;
  report.configured_steps = static_cast<std::uint64_t>(config.training.steps);

  std::optional<Stored> stored;
  const train::StartRequest request{arguments.command.value("resume").value_or("auto"), config.checkpoint.load_step,
                                    ckpt::join_path(config.job.dump_folder, config.checkpoint.folder)};
  TITAN_RETURN_IF_ERROR(choose_start(request, report, stored));
  if (config.debug.seed) report.seed = static_cast<std::uint64_t>(*config.debug.seed);
  report.lr = ckpt::schedule_from(plan.lr);
  if (stored) {
    if (!report.seed) report.seed = stored->state.seed;
    report.lr = stored->lr;
    report.complete = report.start.step == report.configured_steps;
    if (report.start.step > report.configured_steps)
      report.refused = ckpt::incompatible("the checkpoint is at step " + std::to_string(report.start.step) + ", beyond training.steps = " +
                                          std::to_string(report.configured_steps))
                           .with_hint("raise training.steps to more than " + std::to_string(report.start.step));
    const std::string batch = ckpt::setting(stored->state.accepted, "training.global_batch_size");
    if (batch != ckpt::kNotSet) {
      TITAN_ASSIGN_OR_RETURN(plan, train::make_run_plan(config, ranks.count, std::stoll(batch)));
    }
  }
  TITAN_ASSIGN_OR_RETURN(report.forecast, train::make_forecast(config, plan, report.start.step, stored ? stored->state.tokens : 0));
  report.forecast.warnings.insert(report.forecast.warnings.begin(), loaded.warnings.begin(), loaded.warnings.end());
  if (!report.complete) set_data(config, plan, stored, report);
  return ckpt::ok_status();
}

}  // namespace

int plan_verb(const Arguments& arguments) {
  const bool json = arguments.command.has("json");
  const auto color = parse_color(arguments.command);
  const auto fail = [&](const Status& status) { return ui::report_error(status, json, color.ok() ? *color : ui::ColorChoice::kAuto); };
  if (!color.ok()) return fail(color.status());
  const auto loaded = train::load_config(arguments.command.positionals[0], arguments.overrides);
  if (!loaded.ok()) return fail(loaded.status());
  PlanReport report;
  Status status = make_report(arguments, *loaded, report);
  if (!status.ok()) return fail(status);
  ui::deliver(1, json ? plan_json(report) : plan_text(report, ui::Palette{ui::color_of_process(1, *color)}), &status);
  if (!status.ok()) return fail(status);
  return report.refused.ok() ? 0 : fail(report.refused);
}

}  // namespace titan::train_cli
