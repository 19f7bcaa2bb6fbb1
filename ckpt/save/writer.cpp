#include "ckpt/save/writer.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <set>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/size_text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/save/shard_writer.h"
#include "ckpt/store/named_file.h"

namespace titan::ckpt {
namespace {

Status check_settings(const char* what, const Settings& settings) {
  for (std::size_t i = 1; i < settings.size(); ++i) {
    if (settings[i].first <= settings[i - 1].first)
      return invalid(std::string(what) + ": keys are not sorted or '" + settings[i].first + "' is there twice");
  }
  return ok_status();
}

// Checks the snapshot for what would make the checkpoint unreadable.
Status check_snapshot(const Snapshot& snapshot) {
  const Mesh& mesh = snapshot.mesh;
  if (mesh.pp == 0 || mesh.dp == 0) return invalid("a degree of the mesh is 0");
  if (mesh.tp != 1) return unsupported("tensor parallelism (tp = " + std::to_string(mesh.tp) + ") cannot be saved yet");
  if (snapshot.leaf_elements == 0 || snapshot.leaf_elements > std::uint64_t{1} << 32)
    return invalid("leaf_elements is " + std::to_string(snapshot.leaf_elements) + ", expected 1 to 2^32");
  if (!snapshot.makers.empty() && snapshot.makers.size() != mesh.world())
    return invalid("makers of files are named for " + std::to_string(snapshot.makers.size()) + " ranks of " +
                   std::to_string(mesh.world()));
  for (std::uint32_t rank = 0; rank < snapshot.makers.size(); ++rank) {
    const std::uint32_t maker = snapshot.makers[rank];
    if (maker > rank || snapshot.makers[maker] != maker)
      return invalid("rank " + std::to_string(rank) + " writes into files of rank " + std::to_string(maker) +
                     ", which makes none for it");
  }
  std::set<std::string_view> names;
  for (const ParameterMeta& meta : snapshot.parameters) {
    TITAN_RETURN_IF_ERROR(check_parameter_name(meta.name));
    if (!names.insert(meta.name).second) return invalid("parameter '" + meta.name + "' is there twice");
    if (meta.stage >= mesh.pp)
      return invalid("parameter '" + meta.name + "' is on stage " + std::to_string(meta.stage) + " of " +
                     std::to_string(mesh.pp));
    std::uint64_t elements = 0;
    if (meta.shape.size() > 32 || !checked_elements(meta.shape, &elements) ||
        elements > (std::uint64_t{1} << 63) / dtype_size(snapshot.dtype))
      return invalid("the shape of parameter '" + meta.name + "' overflows");
    if (snapshot.codec == Codec::kZstd &&
        meta.grid(snapshot.leaf_elements).chunk_extent() > kMaxChunkBytes / dtype_size(snapshot.dtype))
      return invalid("the leaves of parameter '" + meta.name + "' are too large to be compressed")
          .with_hint("use smaller leaves, or no compression");
  }
  for (const LrPhase& phase : snapshot.lr.phases) {
    for (const double value : {phase.start, phase.end, phase.origin, phase.length}) {
      if (!std::isfinite(value)) return invalid("a phase of the LR schedule holds a number that is not finite");
    }
  }
  TITAN_RETURN_IF_ERROR(check_settings("config", snapshot.config));
  TITAN_RETURN_IF_ERROR(check_settings("accepted settings", snapshot.train.accepted));
  return check_settings("environment", snapshot.train.environment);
}

// The folder must exist: if its store was unmounted during the run, a new folder would be on another disk.
Status check_there(Fs& fs, const std::string& dir) {
  const Status status = stat_target(fs, dir).status();
  if (status.code != Code::kNotFound) return status;
  return failed("the folder of steps " + dir + " is gone")
      .with_hint("was its store unmounted, or the folder moved? start the run again when it is back");
}

// The size of one parity file for each group, estimated as that of a shard of the optimizer: a parity file is as large
// as the largest member of its group, and all ranks own about equally many elements.
std::uint64_t parity_estimate(const Snapshot& snapshot, std::uint64_t bytes) {
  std::set<std::uint32_t> makers;
  for (std::uint32_t rank = 0; rank < snapshot.mesh.world(); ++rank) makers.insert(maker_of(snapshot, rank));
  const std::uint64_t files = makers.size(), groups = 2 * files / kParityGroup + 1;
  return groups * (bytes / files + bytes / (4 * files));
}

// An approximate upper bound for the space of a save: compression that saves nothing adds padding and an index per
// tensor.
std::uint64_t estimate_bytes(const Snapshot& snapshot) {
  const bool zstd = snapshot.codec == Codec::kZstd;
  std::uint64_t bytes = std::uint64_t{1} << 20;
  for (const ParameterMeta& meta : snapshot.parameters) {
    const LeafGrid grid = meta.grid(snapshot.leaf_elements);
    const std::uint64_t elements = zstd ? grid.count() * grid.chunk_extent() : grid.elements;
    bytes += (1 + snapshot.slots.size()) * (elements * dtype_size(snapshot.dtype) +
                                            grid.count() * (kLeafRowBytes + (zstd ? 80 : 0)) + (zstd ? 4096 : 1024));
  }
  if (snapshot.model_files)
    for (const ModelFile& file : *snapshot.model_files) bytes += file.bytes.size() + 4096;
  bytes += std::uint64_t{16384} * snapshot.mesh.world();
  return bytes + snapshot.parity * parity_estimate(snapshot, bytes);
}

struct PlannedPiece {
  TensorRef ref;
  ShardPiece piece;
};

std::vector<PlannedPiece> plan_pieces(const Snapshot& snapshot, std::span<const OwnedPiece> owned,
                                      const std::vector<std::string>& slots) {
  std::vector<PlannedPiece> plan;
  for (const std::string& slot : slots) {
    for (const OwnedPiece& piece : owned) {
      const ParameterMeta& meta = snapshot.parameters[piece.parameter];
      const std::string name = slot.empty() ? meta.name : meta.name + "." + slot;
      plan.push_back({{piece.parameter, slot},
                      {name, snapshot.dtype, meta.grid(snapshot.leaf_elements), piece.leaves, snapshot.codec}});
    }
  }
  return plan;
}

Status write_component(Fs& fs, const std::string& tmp_dir, const char* component, const std::vector<PlannedPiece>& plan,
                       TensorSource& source, const ShardWriteOptions& options, RankReceipt& receipt) {
  if (plan.empty()) return ok_status();
  std::vector<ShardPiece> pieces;
  for (const PlannedPiece& planned : plan) pieces.push_back(planned.piece);
  TITAN_ASSIGN_OR_RETURN(WrittenShard written,
                         write_shard(
                             fs, tmp_dir, shard_path(component, receipt.rank), pieces,
                             [&](std::size_t piece, std::uint64_t leaf, std::span<std::byte> scratch) {
                               return source.leaf(plan[piece].ref, leaf, scratch);
                             },
                             options));
  const auto file = static_cast<std::uint32_t>(receipt.files.size());
  receipt.files.push_back(std::move(written.file));
  for (std::size_t i = 0; i < plan.size(); ++i) {
    written.pieces[i].file = file;
    receipt.items.push_back({plan[i].ref, written.pieces[i], std::move(written.leaves[i])});
  }
  return ok_status();
}

}  // namespace

std::uint64_t space_for_save(const Snapshot& snapshot) {
  const std::uint64_t estimate = estimate_bytes(snapshot);
  return estimate + estimate / 20;
}

Status check_space(Fs& fs, const std::string& checkpoint_dir, const Snapshot& snapshot) {
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t available, fs.free_bytes(checkpoint_dir));
  const std::uint64_t needed = space_for_save(snapshot);
  if (available >= needed) return ok_status();
  const std::string damaged = damaged_hint(fs, checkpoint_dir);
  Status full = failed("not enough space for a checkpoint in " + checkpoint_dir + ": it needs about " +
                       size_text(needed) + ", " + size_text(available) + " are free");
  full.error = ENOSPC;
  return full.with_hint("delete old checkpoints, or set checkpoint.keep_latest_k" +
                        (damaged.empty() ? "" : "; " + damaged));
}

Result<std::string> begin_save(Fs& fs, const std::string& checkpoint_dir, const Snapshot& snapshot,
                               const std::string& save_id) {
  TITAN_RETURN_IF_ERROR(check_snapshot(snapshot));
  if (save_id.empty() || save_id.size() > 64 ||
      save_id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
          std::string::npos)
    return invalid("save id '" + save_id + "' is not 1 to 64 letters, digits, '-' or '_'");
  TITAN_RETURN_IF_ERROR(check_there(fs, checkpoint_dir));
  TITAN_RETURN_IF_ERROR(check_space(fs, checkpoint_dir, snapshot));
  const std::string tmp_dir = join_path(checkpoint_dir, temporary_name(snapshot.train.step, save_id));
  TITAN_RETURN_IF_ERROR(make_own_dir(fs, tmp_dir));
  Status made = make_own_dir(fs, join_path(tmp_dir, kModel));
  if (made.ok() && !snapshot.slots.empty()) made = make_own_dir(fs, join_path(tmp_dir, kOptimizer));
  if (!made.ok()) {
    abandon_save(fs, tmp_dir);
    return made;
  }
  return tmp_dir;
}

Result<RankReceipt> write_rank(Fs& fs, const std::string& tmp_dir, const Snapshot& snapshot, std::uint32_t rank,
                               TensorSource& source, unsigned threads) {
  if (rank >= snapshot.mesh.world())
    return invalid("rank " + std::to_string(rank) + " is outside the mesh of " + std::to_string(snapshot.mesh.world()));
  RankReceipt receipt;
  receipt.rank = rank;
  const std::shared_ptr<const Ownership> ownership = ownership_of(snapshot);
  const std::span<const OwnedPiece> owned = ownership->of(rank);
  std::optional<VirtualModelBuild> derived;
  if (rank == 0) derived.emplace(snapshot);  // in a thread, while the model's shard is written
  TITAN_RETURN_IF_ERROR(write_component(fs, tmp_dir, kModel, plan_pieces(snapshot, owned, {""}), source,
                                        {threads, snapshot.prove, snapshot.read_back}, receipt));
  if (derived) {
    TITAN_ASSIGN_OR_RETURN(FileEntry file, derived->write(fs, tmp_dir));
    receipt.files.push_back(std::move(file));
  }
  if (!receipt.files.empty()) TITAN_RETURN_IF_ERROR(fs.sync_dir(join_path(tmp_dir, kModel)));
  const std::vector<PlannedPiece> slots = plan_pieces(snapshot, owned, snapshot.slots);
  TITAN_RETURN_IF_ERROR(
      write_component(fs, tmp_dir, kOptimizer, slots, source, {threads, snapshot.prove, snapshot.read_back}, receipt));
  if (!slots.empty()) TITAN_RETURN_IF_ERROR(fs.sync_dir(join_path(tmp_dir, kOptimizer)));
  return receipt;
}

void abandon_save(Fs& fs, const std::string& tmp_dir) { (void)remove_tree(fs, tmp_dir); }

}  // namespace titan::ckpt
