#include "recipe/plan/schedule_kind.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "ckpt/base/nearest.h"
#include "ckpt/base/printed.h"

namespace titan::recipe {
namespace {

using enum ScheduleKind;

std::string lower(std::string word) {
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

/// Whether floor(micro_batches / ranks) rounds (at least one) of equal length have all the micro-batches. The
/// interleaved schedules and ZB-H1 work in such rounds.
bool makes_whole_rounds(std::uint32_t ranks, std::uint32_t micro_batches) {
  return micro_batches % std::max(1U, micro_batches / ranks) == 0;
}

/// The number of micro-batches nearest to `wanted` that makes whole rounds; the lower one of two.
std::uint32_t nearest_whole_rounds(std::uint32_t ranks, std::uint32_t wanted) {
  for (std::uint32_t distance = 1;; ++distance) {
    if (wanted > distance && makes_whole_rounds(ranks, wanted - distance)) return wanted - distance;
    if (makes_whole_rounds(ranks, wanted + distance)) return wanted + distance;
  }
}

}  // namespace

const std::vector<ScheduleFacts>& schedules() {
  static const std::vector<ScheduleFacts> all = {
      {kGPipe, "GPipe", 1, 1},
      {k1F1B, "1F1B", 1, 1},
      {kZbH1, "ZB-H1", 1, 1, Placement::kLoop, true},
      {kInterleaved1F1B, "Interleaved1F1B", 2, 0},
      {kLoopedBfs, "LoopedBFS", 2, 0},
      {kInterleavedZeroBubble, "InterleavedZeroBubble", 2, 0, Placement::kLoop, true},
      {kZbvZeroBubble, "ZBVZeroBubble", 2, 2, Placement::kV, true},
      {kDualPipeV, "DualPipeV", 2, 2, Placement::kV, true},
  };
  return all;
}

const ScheduleFacts& facts_of(ScheduleKind kind) { return schedules()[static_cast<std::size_t>(kind)]; }

ckpt::Result<ScheduleKind> schedule_by_name(const std::string& name, bool from_file) {
  for (const auto& [of_files, kind] :
       {std::pair("PipelineScheduleSingle", k1F1B), {"PipelineScheduleMulti", kInterleaved1F1B}}) {
    if (lower(of_files) != lower(name)) continue;
    if (from_file) return kind;
    return ckpt::invalid("parallelism.pipeline_parallel_schedule = \"" + name +
                         "\" is one from a file, and there is none")
        .with_hint("set parallelism.pipeline_parallel_schedule_csv, or name a schedule such as 1F1B");
  }
  std::vector<std::string> lowered, names;
  std::string known;
  for (const ScheduleFacts& facts : schedules()) {
    lowered.push_back(lower(facts.name));
    if (lowered.back() == lower(name)) return facts.kind;
    names.push_back(facts.name);
    known += (known.empty() ? "" : ", ") + names.back();
  }
  std::string meant = ckpt::did_you_mean(name, names);
  if (const auto near = ckpt::nearest(lower(name), lowered, 1); meant.empty() && !near.empty())
    meant = "did you mean `" + names[static_cast<std::size_t>(std::ranges::find(lowered, near[0]) - lowered.begin())] +
            "`?";
  return ckpt::invalid("pipeline schedule '" + name + "' is unknown; known are " + known).with_hint(meant);
}

ckpt::Status check_shape(ScheduleKind kind, const PipelineShape& shape) {
  const ScheduleFacts& facts = facts_of(kind);
  if (shape.ranks == 0 || shape.chunks == 0 || shape.micro_batches == 0)
    return ckpt::invalid("a pipeline schedule needs at least one stage and one micro-batch, not " +
                         std::to_string(shape.stages()) + " and " + std::to_string(shape.micro_batches));
  if (shape.chunks < facts.least_chunks || (facts.most_chunks != 0 && shape.chunks > facts.most_chunks))
    return ckpt::invalid("schedule " + std::string(facts.name) + " has " + (facts.most_chunks == 0 ? "at least " : "") +
                         ckpt::counted(facts.least_chunks, "stage") + " on each rank, not " +
                         std::to_string(shape.chunks));
  const std::string of_each = " micro-batches of each data-parallel rank";
  if (kind == kInterleaved1F1B || kind == kInterleavedZeroBubble || kind == kZbH1) {
    if (makes_whole_rounds(shape.ranks, shape.micro_batches)) return ckpt::ok_status();
    return ckpt::invalid("schedule " + std::string(facts.name) + " on " + std::to_string(shape.ranks) +
                         " ranks goes in " + std::to_string(shape.micro_batches / shape.ranks) +
                         " rounds, which do not divide the " + std::to_string(shape.micro_batches) + of_each)
        .with_hint("the nearest number that it can carry out is " +
                   std::to_string(nearest_whole_rounds(shape.ranks, shape.micro_batches)));
  }
  if (kind == kDualPipeV && shape.micro_batches < shape.stages())
    return ckpt::invalid("schedule DualPipeV with " + std::to_string(shape.stages()) +
                         " stages needs at least as many" + of_each + ", not " + std::to_string(shape.micro_batches))
        .with_hint("the nearest number that it can carry out is " + std::to_string(shape.stages()));
  return ckpt::ok_status();
}

}  // namespace titan::recipe
