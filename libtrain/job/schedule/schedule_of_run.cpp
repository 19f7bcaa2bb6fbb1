#include "libtrain/job/schedule/schedule_of_run.h"

#include <algorithm>
#include <string>

#include "libtrain/job/schedule/schedule_csv.h"
#include "libtrain/job/schedule/schedule_simulator.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

using ckpt::Status;

/// Whether the file fits this pipeline and this number of micro-batches.
Status check_size(const ScheduleCsv& csv, const recipe::RunPlan& plan, std::uint32_t micro_batches) {
  if (csv.table.size() != plan.mesh.pp)
    return ckpt::invalid("the file has " + std::to_string(csv.table.size()) +
                         " rows; expected is one for each of the " + std::to_string(plan.mesh.pp) +
                         " ranks of the pipeline");
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < csv.table.size(); ++rank) {
    for (std::size_t i = 0; i < csv.table[rank].size(); ++i) {
      const Action& action = csv.table[rank][i];
      count = std::max(count, action.micro_batch + 1);
      if (action.stage >= plan.stage_count())
        return ckpt::invalid(csv.where(rank, i) + ": stage " + std::to_string(action.stage) + " of " +
                             std::to_string(plan.stage_count()))
            .with_hint(
                "set parallelism.pipeline_parallel_schedule=PipelineScheduleMulti and "
                "parallelism.pipeline_parallel_layers_per_stage for more stages");
      if (plan.rank_of(action.stage) != rank)
        return ckpt::invalid(csv.where(rank, i) + ": stage " + std::to_string(action.stage) + " is on rank " +
                             std::to_string(plan.rank_of(action.stage)) + ", whose row is line " +
                             std::to_string(csv.lines[plan.rank_of(action.stage)]))
            .with_hint(
                "stages of a V (ZBVZeroBubble, DualPipeV) are on other ranks than those of a loop: "
                "parallelism.pipeline_parallel_schedule says which");
    }
  }
  if (count == micro_batches) return ckpt::ok_status();
  return ckpt::invalid("the file is for " + std::to_string(count) + " micro-batches; a data-parallel rank has " +
                       std::to_string(micro_batches))
      .with_hint("set --training.global_batch_size=" + std::to_string(count * plan.batch.micro * plan.mesh.dp) +
                 ", or write a file for " + std::to_string(micro_batches));
}

ckpt::Result<ScheduleTable> from_file(const std::string& csv_text, const recipe::RunPlan& plan,
                                      std::uint32_t micro_batches) {
  TITAN_ASSIGN_OR_RETURN(ScheduleCsv csv, parse_schedule_csv(csv_text));
  TITAN_RETURN_IF_ERROR(check_size(csv, plan, micro_batches));
  const auto where = [&](std::size_t rank, std::size_t action) { return csv.where(rank, action); };
  TITAN_RETURN_IF_ERROR(simulate(csv.table, ScheduleCosts::equal(plan.stage_count(), 1, 1, 1), where).status());
  return std::move(csv.table);
}

}  // namespace

ckpt::Result<ScheduleTable> schedule_of(const recipe::RunPlan& plan, std::uint32_t micro_batches) {
  if (!plan.has_schedule_file()) return make_schedule(plan.schedule, plan.pipeline(micro_batches));
  auto table = from_file(plan.schedule_file.text, plan, micro_batches);
  if (!table.ok())
    return table.status().wrapped("parallelism.pipeline_parallel_schedule_csv " + plan.schedule_file.path);
  return table;
}

}  // namespace titan::train
