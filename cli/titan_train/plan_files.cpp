#include "cli/titan_train/plan.h"

#include <span>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/shell_word.h"
#include "libtrain/job/metrics/chrome_trace.h"
#include "libtrain/job/schedule/schedule_simulator.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

/// A step's time as an earlier attempt measured it; else a forward of an average stage takes a millisecond.
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
  return ckpt::write_new_file(fs, path, std::as_bytes(std::span(text)));
}

}  // namespace

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

}  // namespace titan::cli
