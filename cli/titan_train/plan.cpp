#include "cli/titan_train/plan.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/quoting.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/store/output_file.h"
#include "cli/kit/units.h"
#include "cli/titan_train/device.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/program.h"
#include "cli/titan_train/ranks.h"
#include "cli/titan_train/weights.h"
#include "libtrain/job/host/attention_choice.h"
#include "libtrain/job/host/cores.h"
#include "libtrain/job/launch/launch_env.h"
#include "libtrain/job/launch/process_state.h"
#include "libtrain/job/metrics/chrome_trace.h"
#include "libtrain/job/schedule/schedule_simulator.h"
#include "libtrain/job/start/finite_weights.h"
#include "libtrain/job/start/look_ahead.h"
#include "libtrain/job/start/space.h"
#include "libtrain/job/start/threads.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;
using recipe::Config;

struct Ranks {
  std::uint32_t count = 1;
  std::string from;
  std::uint32_t local = count;  ///< number of ranks on this host
  bool launched = false;        ///< another launcher has started this process as a rank
};

/// The number of ranks that `run` would have; without --nproc and launcher, the number that the mesh keys ask for.
Result<Ranks> count_ranks(const Command& command, const Config& config) {
  constexpr int kMost = 1'000'000;
  TITAN_ASSIGN_OR_RETURN(const int nproc, parse_nproc(command, kMost));
  TITAN_ASSIGN_OR_RETURN(const auto env, launch_env());
  TITAN_RETURN_IF_ERROR(train::check_process_limits());
  TITAN_RETURN_IF_ERROR(check_nproc(command, nproc, env));
  if (env.has_value())
    return Ranks{static_cast<std::uint32_t>(env->world), "as the launcher says",
                 static_cast<std::uint32_t>(env->local_world), true};
  if (command.has("nproc")) return Ranks{static_cast<std::uint32_t>(nproc), "as --nproc says"};
  const Config::Parallelism& p = config.parallelism;
  const double product = static_cast<double>(p.data_parallel_replicate_degree) *
                         static_cast<double>(p.pipeline_parallel_degree) *
                         static_cast<double>(std::max<std::int64_t>(1, p.data_parallel_shard_degree));
  if (product > kMost) return ckpt::invalid("the mesh keys ask for more than " + std::to_string(kMost) + " ranks");
  if (product == 1) return Ranks{1, "the default"};
  const auto count = static_cast<std::uint32_t>(product);
  return Ranks{count, "as the mesh keys say (run needs --nproc " + std::to_string(count) + ")"};
}

train::CoreShare share_of(const Ranks& ranks) {
  return ranks.launched ? train::core_share(static_cast<int>(ranks.local)) : train::CoreShare{train::allowed_cores()};
}

/// Threads of a rank that would run on this host.
int threads_of(const Ranks& ranks, const Config& config, const recipe::StoredRun* stored) {
  return train::threads_per_rank(config, stored ? &stored->state : nullptr, static_cast<int>(ranks.local),
                                 share_of(ranks));
}

/// A warning if the ranks on this host would have more threads in all than they may use cores; else empty.
std::string threads_warning(const Ranks& ranks, const Config& config, const recipe::StoredRun* stored) {
  return train::too_many_threads(static_cast<int>(ranks.local), threads_of(ranks, config, stored), share_of(ranks));
}

/// Checks what needs more than the settings: run folder, free disk space, token ids, speed of the previous attempt.
void check_run_conditions(PlanReport& report, const Ranks& ranks) {
  const train::StartPreview& start = *report.start;
  train::Outlook outlook = train::look_ahead(ckpt::posix_fs(), start);
  report.refused = outlook.refused;
  report.scan = outlook.scan;
  std::vector<std::string>& warnings = report.forecast.warnings;
  warnings.insert(warnings.end(), outlook.warnings.begin(), outlook.warnings.end());
  report.speed = train::guess_speed(ckpt::posix_fs(), report.run_folder, start.plan,
                                    threads_of(ranks, start.loaded.config, report.stored()));
}

/// With --device the plan is for a GPU, whatever training.device is. So a hint to train on the CPU is replaced by one
/// to leave out --device.
Status as_asked(const Status& refused, bool device) {
  const bool elsewhere = refused.hint.starts_with("--training.device=cpu");
  return device && elsewhere ? refused.with_hint("without --device it is planned for the CPU") : refused;
}

// Checks that the initial weights are finite, as `run` does when it loads them. Weights of more than 1 GiB are not
// read; a warning says so.
Status look_at_values(train::StartPreview& start) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (!start.weight_source) return {};
  const std::uint64_t bytes = train::bytes_of(*start.weight_source, start.match);
  if (bytes <= kMost) return train::check_finite(*start.weight_source, start.match);
  start.warnings.push_back("the values of the weights are not read: " + format_bytes(bytes) +
                           ", of which a run refuses what is not finite");
  return {};
}

Status make_report(const Command& command, const recipe::LoadedConfig& given, PlanReport& report) {
  TITAN_ASSIGN_OR_RETURN(const std::optional<recipe::DeviceFigures> device, device_of(command));
  recipe::LoadedConfig loaded = given;
  if (device) loaded.config.training.device = "cuda";
  foresee_device(loaded.config);
  TITAN_ASSIGN_OR_RETURN(const Ranks ranks, count_ranks(command, loaded.config));
  auto start = train::preview_start(ckpt::posix_fs(), {loaded,
                                                       command.value("resume").value_or("auto"),
                                                       command.all("allow"),
                                                       ranks.count,
                                                       weight_opener(loaded.config),
                                                       true,
                                                       {},
                                                       device ? device->per_node : ranks.local});
  // Facts that do not depend on the start are shown even if the start is refused.
  const Config& config = start.ok() ? start->loaded.config : loaded.config;
  // Without its checkpoint the model is not known, so no further plan can be made.
  if (!start.ok() && (config.checkpoint.initial_load_path || !recipe::asks_for_model(loaded)))
    return as_asked(start.status(), device.has_value());
  auto made = start.ok() ? Result<recipe::RunPlan>(start->plan) : recipe::make_run_plan(config, ranks.count);
  if (!made.ok()) return as_asked(start.ok() ? made.status() : start.status(), device.has_value());
  const recipe::RunPlan plan = std::move(*made);
  if (config.training.device == "cuda" && report.refused.ok())
    report.refused = as_asked(train::attention_kernel(config).status(), device.has_value());
  report.ranks_from = ranks.from;
  report.config_file = command.positionals[0];
  report.run_folder = config.job.dump_folder;
  report.configured_steps = static_cast<std::uint64_t>(config.training.steps);
  report.lr = ckpt::schedule_from(plan.lr);
  if (config.debug.seed) report.seed = static_cast<std::uint64_t>(*config.debug.seed);

  std::uint64_t step = 0, tokens = 0;
  if (start.ok()) {
    step = start->decision.mode == train::StartMode::kResume ? start->decision.step : 0;
    tokens = start->stored ? start->stored->state.tokens : 0;
    report.lr = start->lr;
    report.seed = start->seed;
    if (report.refused.ok()) report.refused = start->verdict;
    if (report.refused.ok()) report.refused = look_at_values(*start);
    report.start = *start;
  } else {
    report.refused = start.status();
  }

  TITAN_ASSIGN_OR_RETURN(report.forecast, train::make_forecast(config, plan, step, tokens,
                                                               train::count_kept_steps(ckpt::posix_fs(), config)));
  train::Forecast& f = report.forecast;
  f.warnings.insert(f.warnings.begin(), loaded.warnings.begin(), loaded.warnings.end());
  Config here = config;
  here.training.device = given.config.training.device;  // the value before foresee_device() and --device changed it
  if (device) {
    TITAN_ASSIGN_OR_RETURN(report.device, make_device_report(config, plan, *device));
    if (here.training.device == "cpu")
      f.warnings.push_back(
          "training.device is \"cpu\", and --device sizes a run on GPUs: run would compute on the CPU");
  } else if (const Status fit = check_host(here, static_cast<int>(ranks.local)); !fit.ok()) {
    f.warnings.push_back(fit.message + "; run would not start on this host");
  } else if (std::string line = threads_warning(ranks, config, report.stored()); !line.empty()) {
    f.warnings.push_back(std::move(line));
  }
  if (!report.start) return ckpt::ok_status();
  f.warnings.insert(f.warnings.end(), report.start->warnings.begin(), report.start->warnings.end());
  const std::uint64_t steps = f.first_step > f.last_step ? 0 : f.last_step - f.first_step + 1;
  if (report.start->data.samples_per_epoch > 0)
    report.data = train::forecast_data(report.start->data, report.start->validation_samples,
                                       steps * static_cast<std::uint64_t>(plan.batch.global));
  if (!report.refused.ok() || report.complete() || steps == 0 || device) return ckpt::ok_status();
  check_run_conditions(report, ranks);
  return ckpt::ok_status();
}

/// Measures the compute times of the model's parts on this host, and stores them in the run folder.
Status measure(const Request& request, const Config& config) {
  TITAN_ASSIGN_OR_RETURN(const Ranks ranks, count_ranks(request.command, config));
  Config any_cost = config;
  any_cost.parallelism.stage_cost = "flops";
  TITAN_ASSIGN_OR_RETURN(const recipe::RunPlan plan, recipe::make_run_plan(any_cost, ranks.count));
  return measure_costs(request, config, plan, threads_of(ranks, config, nullptr));
}

/// Shortens an error whose details the report has already shown.
Status in_short(Status status, const PlanReport& report) {
  if (report.start && !report.start->continuation.changes.empty()) status.causes.clear();
  return status;
}

/// Microseconds per unit of the simulated schedule: from the step time that an earlier attempt measured, else 1000, so
/// that the forward pass of an average stage takes a millisecond.
double unit_us(const PlanReport& report, double makespan) {
  const auto seconds = report.speed.seconds_per_step;
  return seconds > 0 ? seconds * 1e6 / makespan : 1000;
}

Result<std::string> trace_of(const PlanReport& report) {
  const train::DrawnSchedule& schedule = report.forecast.schedule;
  TITAN_ASSIGN_OR_RETURN(const train::Simulation simulation,
                         train::simulate(schedule.table, train::stage_costs(report.forecast.plan)));
  const double unit = unit_us(report, simulation.makespan);
  std::vector<train::TraceSpan> spans;
  for (std::size_t rank = 0; rank < schedule.table.size(); ++rank) {
    for (std::size_t i = 0; i < schedule.table[rank].size(); ++i) {
      const train::Action& action = schedule.table[rank][i];
      const train::Span& span = simulation.spans[rank][i];
      spans.push_back({static_cast<int>(rank), train::to_csv(action), train::category_of(action.kind),
                       span.start * unit, (span.finish - span.start) * unit});
    }
  }
  return train::chrome_trace(spans, report.forecast.plan.schedule_name() + " (simulated)");
}

Status write(ckpt::Fs& fs, const std::string& path, const std::string& text) {
  if (fs.stat(path).ok()) return ckpt::invalid(path + " exists").with_hint("choose another name, or move it away");
  return ckpt::write_output(fs, path, text);
}

/// Writes the files of --schedule-csv and --trace, and returns a line for each. \error kInvalid: a file exists, or the
/// step has so many micro-batches that its schedule is only simulated in part
Result<std::vector<std::string>> write_plan_files(const Request& request, const PlanReport& report) {
  const auto csv = request.command.value("schedule-csv"), trace = request.command.value("trace");
  std::vector<std::string> lines;
  if (!csv && !trace) return lines;
  const train::DrawnSchedule& schedule = report.forecast.schedule;
  if (schedule.cut)
    return ckpt::invalid("the schedule of a step of so many micro-batches is not simulated whole")
        .with_hint("take a smaller training.global_batch_size");
  if (csv) {
    TITAN_RETURN_IF_ERROR(write(request.fs, *csv, train::to_csv(schedule.table)));
    lines.push_back("wrote " + *csv + ": --parallelism.pipeline_parallel_schedule_csv=" + ckpt::shell_word(*csv) +
                    " runs it");
  }
  if (trace) {
    TITAN_ASSIGN_OR_RETURN(const std::string text, trace_of(report));
    TITAN_RETURN_IF_ERROR(write(request.fs, *trace, text));
    lines.push_back("wrote " + *trace + ": for chrome://tracing or ui.perfetto.dev");
  }
  return lines;
}

}  // namespace

ckpt::Result<Answer> run_plan(const Request& request) {
  const Command& command = request.command;
  Status refused;
  TITAN_ASSIGN_OR_RETURN(const auto loaded,
                         recipe::load_run_config(command.positionals[0], command.overrides, &refused));
  if (command.has("measure")) TITAN_RETURN_IF_ERROR(measure(request, loaded.config));
  PlanReport report;
  TITAN_RETURN_IF_ERROR(make_report(command, loaded, report));
  if (!refused.ok()) report.refused = refused;
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> written, write_plan_files(request, report));
  if (request.json) return Answer{.text = plan_json(report), .error = report.refused};
  return Answer{
      .text = plan_text(report, request.style.palette), .notes = written, .error = in_short(report.refused, report)};
}

}  // namespace titan::cli
