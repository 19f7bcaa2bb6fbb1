#include "ckpt/plan/reshard_plan.h"

#include <algorithm>

#include "ckpt/format/member_names.h"
#include "ckpt/plan/ownership.h"
#include "ckpt/plan/partition.h"
#include "ckpt/plan/stage_layout.h"

namespace titan::ckpt {
namespace {

constexpr std::uint32_t kThreads = 4;                      // enough to keep a disk busy while other threads hash
constexpr std::uint64_t kBuffer = std::uint64_t{4} << 20;  // larger was not faster; smaller needs more calls
constexpr std::uint64_t kSmallestBuffer = std::uint64_t{64} << 10;
constexpr std::size_t kOpenFiles = 128;
constexpr std::uint64_t kLeafBookkeeping = kLeafRowBytes + 24;  // a row of the new table and a moved leaf
constexpr std::uint64_t kDatasetBookkeeping = 1024;             // memory of libhdf5 while it lays out a file
constexpr std::uint64_t kCoderBytes = std::uint64_t{1} << 20;   // tables of zstd

std::vector<ParameterMeta> parameters_of(const Manifest& manifest) {
  std::vector<ParameterMeta> parameters;
  for (const ParameterRecord& record : manifest.parameters) parameters.push_back(record.meta);
  return parameters;
}

// The first group of stages 1, 2, ...; a stage is a contiguous range of groups.
std::vector<std::uint32_t> cuts_of(const std::vector<ParameterMeta>& parameters, const ModelGroups& groups,
                                   std::uint32_t pp) {
  std::vector<std::uint32_t> cuts(pp, UINT32_MAX);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    cuts[parameters[i].stage] = std::min(cuts[parameters[i].stage], groups.group_of[i]);
  cuts.erase(cuts.begin());
  return cuts;
}

Status infeasible(std::vector<ParameterMeta> parameters, std::uint32_t pp) {
  std::uint32_t largest = 1;
  if (const Result<ModelGroups> groups = group_parameters(parameters); groups.ok()) {
    largest = std::min(pp - 1, static_cast<std::uint32_t>(groups->costs.size()));
    while (largest > 1 && !assign_stages(parameters, largest).ok()) --largest;
  }
  return incompatible(std::to_string(pp) +
                      " pipeline stages do not fit this model: the largest feasible pipeline degree is " +
                      std::to_string(largest))
      .with_hint("use --pp " + std::to_string(largest));
}

/// Assigns the stages that `cuts` separates to the pipeline ranks.
Status deal_out(std::vector<ParameterMeta>& parameters, const ModelGroups& groups,
                const std::vector<std::uint32_t>& cuts, std::uint32_t pp, Placement placement) {
  const std::size_t stages = cuts.size() + 1;
  if (stages % pp != 0)
    return invalid("it has " + std::to_string(stages) + " stages, which is no multiple of " + std::to_string(pp) +
                   " pipeline ranks");
  if (placement == Placement::kV && stages != 2 * std::size_t{pp})
    return invalid("it has " + std::to_string(stages) + " stages; a V on " + std::to_string(pp) +
                   " pipeline ranks has two on each, " + std::to_string(2 * pp) + " in all");
  std::vector<bool> held(stages);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto stage =
        static_cast<std::uint32_t>(std::upper_bound(cuts.begin(), cuts.end(), groups.group_of[i]) - cuts.begin());
    held[stage] = true;
    parameters[i].stage = rank_of_stage(placement, pp, stage);
  }
  const auto empty = std::find(held.begin(), held.end(), false);
  if (empty != held.end()) return invalid("stage " + std::to_string(empty - held.begin()) + " would hold no parameter");
  return ok_status();
}

Status assign(std::vector<ParameterMeta>& parameters, const Manifest& source, const ReshardTarget& target,
              ReshardPlan& plan) {
  const Result<ModelGroups> groups = group_parameters(parameters);
  if (groups.ok()) plan.layers = groups->layers;
  const std::uint32_t pp = plan.mesh.pp;
  const bool several = !target.stages.empty() || target.placement;
  if (several && !groups.ok())
    return groups.status().wrapped(std::string(target.stages.empty() ? "--placement" : "--stages") +
                                   " needs a model of numbered layers");
  const Placement placement = target.placement.value_or(Placement::kLoop);
  if (!target.stages.empty()) {
    TITAN_ASSIGN_OR_RETURN(plan.stage_cuts, parse_stage_layout(target.stages, groups->layers));
    Status dealt = deal_out(parameters, *groups, plan.stage_cuts, pp, placement);
    if (!dealt.ok()) dealt.message = "stages `" + target.stages + "`: " + dealt.message;
    return dealt;
  }
  if (target.placement) {
    Result<std::vector<std::uint32_t>> cuts = partition_stages(groups->costs, 2 * pp);
    if (!cuts.ok())
      return incompatible(std::to_string(2 * pp) +
                          " stages, two on each pipeline rank, do not fit this model: it has " +
                          std::to_string(groups->costs.size()) + " parts")
          .with_hint("use --pp " + std::to_string(groups->costs.size() / 2) + " or less");
    plan.stage_cuts = std::move(*cuts);
    return deal_out(parameters, *groups, plan.stage_cuts, pp, placement);
  }
  if (!target.pp) {
    plan.stage_cuts = source.stage_cuts;
    return ok_status();
  }
  if (!assign_stages(parameters, pp).ok()) return infeasible(parameters, pp);
  if (pp > 1) plan.stage_cuts = cuts_of(parameters, *groups, pp);
  return ok_status();
}

class Planner {
 public:
  Planner(const Manifest& source, const ReshardTarget& target, ReshardPlan& plan)
      : source_(source), target_(target), plan_(plan) {
    for (const ParameterRecord& record : source.parameters) {
      for (const SlotTensor& slot : record.slots) {
        if (std::find(slots_.begin(), slots_.end(), slot.name) == slots_.end()) slots_.push_back(slot.name);
      }
    }
  }

  void run(const std::vector<ParameterMeta>& parameters) {
    const Ownership ownership(parameters, source_.leaf_elements, plan_.mesh);
    if (source_.component(kModel)) component(kModel, ownership, {""});
    if (source_.component(kOptimizer)) component(kOptimizer, ownership, slots_);
  }

 private:
  void component(const char* name, const Ownership& ownership, const std::vector<std::string>& slots) {
    for (std::uint32_t rank = 0; rank < plan_.mesh.pp * plan_.mesh.dp; ++rank) {
      ReshardFile file;
      file.path = shard_path(name, rank);
      for (const std::string& slot : slots) {
        for (const OwnedPiece& owned : ownership.of(rank)) add({owned.parameter, slot}, owned.leaves, file);
      }
      if (file.pieces.empty()) continue;
      plan_.leaves += file.leaves;
      plan_.bytes += file.bytes;
      plan_.files.push_back(std::move(file));
    }
  }

  // Adds `leaves` of a stored tensor to `file`: one dataset, or several if the codec changes within them.
  void add(const TensorRef& ref, LeafRange leaves, ReshardFile& file) {
    const StoredTensor* tensor = source_.stored(ref);
    if (!tensor) return;  // the parameter has no such slot
    const LeafGrid grid = source_.parameters[ref.index].meta.grid(source_.leaf_elements);
    bool begun = false;
    for (const Piece& piece : tensor->pieces) {
      const std::uint64_t from = std::max(leaves.first, piece.first_leaf),
                          to = std::min(leaves.end(), piece.first_leaf + piece.leaf_count);
      if (from >= to) continue;
      const Codec codec = target_.codec.value_or(piece.codec);
      if (!begun || file.pieces.back().shard.codec != codec)
        file.pieces.push_back(
            {ref, {source_.stored_name(ref), tensor->dtype, grid, {from, 0}, codec}, file.leaves, {}});
      begun = true;
      ReshardPiece& planned = file.pieces.back();
      planned.moves.push_back({piece.file, piece.row + (from - piece.first_leaf), {from, to - from}, piece.codec});
      planned.shard.leaves.count += to - from;
      file.leaves += to - from;
      file.bytes += (grid.begin(to) - grid.begin(from)) * dtype_size(tensor->dtype);
      ++plan_.ranges;
      if (codec == piece.codec) continue;
      (codec == Codec::kRaw ? plan_.to_decode : plan_.to_encode) += to - from;
      if (codec == Codec::kZstd) file.to_encode += to - from;
    }
  }

  const Manifest& source_;
  const ReshardTarget& target_;
  ReshardPlan& plan_;
  std::vector<std::string> slots_;
};

}  // namespace

Result<ReshardPlan> plan_reshard(const Manifest& source, const ReshardTarget& target) {
  if (source.mesh.tp != 1)
    return unsupported("the checkpoint has tensor parallelism (tp = " + std::to_string(source.mesh.tp) +
                       "), which cannot be resharded yet");
  ReshardPlan plan;
  plan.mesh = {target.pp.value_or(source.mesh.pp), target.dp.value_or(source.mesh.dp), 1};
  const std::string mesh = "a mesh of " + std::to_string(plan.mesh.dp) + "x" + std::to_string(plan.mesh.pp);
  if (plan.mesh.dp == 0 || plan.mesh.pp == 0) return invalid(mesh + ": degrees begin at 1");
  if (std::uint64_t{plan.mesh.dp} * plan.mesh.pp > kMaxRanks)
    return incompatible(mesh + " has more than " + std::to_string(kMaxRanks) + " ranks");
  std::vector<ParameterMeta> parameters = parameters_of(source);
  TITAN_RETURN_IF_ERROR(assign(parameters, source, target, plan));
  for (const ParameterMeta& parameter : parameters) plan.stages.push_back(parameter.stage);
  Planner(source, target, plan).run(parameters);
  return plan;
}

Result<MovePlan> plan_moves(const Manifest& source, const ReshardPlan& plan, std::uint64_t limit, unsigned threads) {
  MovePlan moves;
  moves.threads = threads != 0 ? threads : kThreads;
  std::uint64_t table = 0, datasets = 0, largest_leaf = 0;
  for (const FileEntry& file : source.files) table = std::max(table, 2 * file.table_rows * kLeafRowBytes);
  for (const ReshardFile& file : plan.files) {
    datasets = std::max<std::uint64_t>(datasets, file.pieces.size() * kDatasetBookkeeping);
    for (const ReshardPiece& piece : file.pieces)
      largest_leaf = std::max(largest_leaf, piece.shard.grid.chunk_extent() * dtype_size(piece.shard.dtype));
  }
  // Groups of files: as many as may be open together, with their tables in a quarter of the memory.
  std::uint64_t leaves = 0, most_leaves = 0;
  std::size_t open = 0;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (open == 0 || open == kOpenFiles || (leaves + plan.files[i].leaves) * kLeafBookkeeping > limit / 4) {
      moves.groups.push_back(i);
      open = leaves = 0;
    }
    ++open;
    leaves += plan.files[i].leaves;
    most_leaves = std::max(most_leaves, leaves);
  }
  const std::uint64_t fixed = table + datasets + most_leaves * kLeafBookkeeping;
  const bool recode = plan.to_encode + plan.to_decode > 0;
  moves.coder_bytes = recode ? 4 * largest_leaf + kCoderBytes : 0;
  // a leaf is read whole; in stored form it is at most as long as its chunk
  const std::uint64_t smallest = std::max(kSmallestBuffer, largest_leaf);
  const std::uint64_t wanted = std::max(std::min(kBuffer, plan.bytes), smallest);
  const std::uint64_t needed = fixed + smallest + moves.coder_bytes;
  if (needed > limit)
    return invalid("--memory " + std::to_string(limit) + " is too little: this checkpoint needs " +
                   std::to_string(needed) + " bytes");
  while (moves.threads > 1 && fixed + moves.threads * (smallest + moves.coder_bytes) > limit) --moves.threads;
  moves.buffer_bytes = std::clamp((limit - fixed) / moves.threads - moves.coder_bytes, smallest, wanted);
  moves.memory = fixed + moves.threads * (moves.buffer_bytes + moves.coder_bytes);
  return moves;
}

}  // namespace titan::ckpt
