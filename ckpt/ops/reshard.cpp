#include "ckpt/ops/reshard.h"

#include <set>

#include "ckpt/base/quoting.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/ops/derive.h"
#include "ckpt/plan/partition.h"
#include "ckpt/plan/stage_layout.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/save/reshard_io.h"
#include "ckpt/save/rewrite.h"

namespace titan::ckpt {

namespace {

// "none", "zstd" or "mixed".
std::string codec_text(const std::set<Codec>& codecs) {
  if (codecs.size() > 1) return "mixed";
  return codecs.contains(Codec::kZstd) ? "zstd" : "none";
}

std::string codec_of(const Manifest& manifest) {
  std::set<Codec> codecs;
  const auto look = [&](const StoredTensor& tensor) {
    for (const Piece& piece : tensor.pieces) codecs.insert(piece.codec);
  };
  for (const ParameterRecord& record : manifest.parameters) {
    if (record.model) look(*record.model);
    for (const SlotTensor& slot : record.slots) look(slot.tensor);
  }
  return codec_text(codecs);
}

std::string codec_of(const ReshardPlan& plan) {
  std::set<Codec> codecs;
  for (const ReshardFile& file : plan.files)
    for (const ReshardPiece& piece : file.pieces) codecs.insert(piece.shard.codec);
  return codec_text(codecs);
}

std::uint64_t stored_bytes(const Manifest& manifest, std::uint64_t* files) {
  std::uint64_t bytes = 0;
  for (const FileEntry& file : manifest.files) {
    if (file.role != FileRole::kShard) continue;
    bytes += file.bytes;
    ++*files;
  }
  return bytes;
}

StorageLayout layout_of(const Manifest& manifest) {
  StorageLayout layout;
  layout.mesh = manifest.mesh;
  std::vector<ParameterMeta> parameters;
  for (const ParameterRecord& record : manifest.parameters) parameters.push_back(record.meta);
  if (const Result<ModelGroups> groups = group_parameters(parameters); groups.ok())
    layout.stages = stage_layout_text(manifest.stage_cuts, groups->layers);
  layout.codec = codec_of(manifest);
  layout.stored_bytes = stored_bytes(manifest, &layout.files);
  return layout;
}

ReshardReport planned_report(const ReshardOptions& options, const CheckpointReader& source, const ReshardPlan& plan,
                             const MovePlan& moves) {
  const Manifest& manifest = source.manifest();
  ReshardReport report;
  report.source = source.path();
  report.dst = options.dst;
  report.dry_run = options.dry_run;
  report.id = manifest.id;
  report.step = manifest.step;
  report.before = layout_of(manifest);
  report.after.mesh = plan.mesh;
  if (!report.before.stages.empty()) report.after.stages = stage_layout_text(plan.stage_cuts, plan.layers);
  report.after.codec = codec_of(plan);
  report.after.files = plan.files.size();
  for (const ReshardFile& file : plan.files)
    report.files.push_back({file.path, file.pieces.size(), file.leaves, file.bytes});
  static_cast<ReshardCounts&>(report) = plan;
  report.threads = moves.threads;
  report.memory = moves.memory;
  report.hidden_from_resume = hidden_from_resume(options.dst, manifest.step);
  report.warnings = parity_left_out(manifest, options.dst);
  return report;
}

// Bytes of disk space for the shards. The size of compressed shards is not known in advance; they are larger than raw
// ones by at most the padding of their leaves.
std::uint64_t space_needed(const ReshardPlan& plan, const Manifest& source) {
  std::uint64_t files = 0;
  const std::uint64_t before = stored_bytes(source, &files);
  const bool kept = plan.to_encode + plan.to_decode == 0;
  return (kept ? before : plan.bytes) + plan.leaves * kLeafRowBytes + std::uint64_t{16384} * plan.files.size() +
         (std::uint64_t{1} << 20);
}

}  // namespace

Result<ReshardReport> reshard_checkpoint(Fs& fs, const ReshardOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string path, resolve_checkpoint(fs, options.source));
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader source, CheckpointReader::open(fs, path));
  TITAN_ASSIGN_OR_RETURN(const ReshardPlan plan, plan_reshard(source.manifest(), options.target));
  TITAN_ASSIGN_OR_RETURN(const MovePlan moves, plan_moves(source.manifest(), plan, options.memory, options.threads));
  ReshardReport report = planned_report(options, source, plan, moves);
  if (options.dry_run) {
    TITAN_RETURN_IF_ERROR(check_rewrite(fs, path, options.dst, options.force));
    return report;
  }

  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite, Rewrite::begin(fs, path, options.dst, options.force));
  TITAN_RETURN_IF_ERROR(rewrite->need_space(space_needed(plan, source.manifest())));
  std::uint64_t done = 0;
  MoveHooks hooks;
  hooks.check = [&] { return rewrite->beat(options.cancel); };
  hooks.advanced = [&](std::uint64_t bytes) {
    done += bytes;
    if (options.progress) options.progress(done, plan.bytes);
  };
  const auto hinted = [&](Status status) {
    if (status.code == Code::kCorrupt)
      status = status.wrapped("nothing was written to " + options.dst + ": the source is damaged")
                   .with_hint("`titan-ckpt verify " + shell_word(path) + "` names every damaged place");
    return status;
  };
  Result<Manifest> made = write_resharded(fs, source, plan, moves, rewrite->folder(), hooks, report.moved);
  if (!made.ok()) return hinted(made.status());
  made->writer = options.writer;
  made->created = options.created;
  made->derived_from = derived_from(fs, source);
  for (const FileEntry& file : source.manifest().files) {
    if (!came_with_model(file)) continue;
    if (const Status carried = rewrite->carry(file, options.cancel).status(); !carried.ok()) return hinted(carried);
    made->files.push_back(file);
    report.carried.push_back(file.path);
  }
  TITAN_RETURN_IF_ERROR(options.cancel.check());
  TITAN_RETURN_IF_ERROR(rewrite->publish(*made));
  std::uint64_t files = 0;
  report.after.stored_bytes = stored_bytes(*made, &files);
  report.warnings.insert(report.warnings.end(), rewrite->warnings().begin(), rewrite->warnings().end());
  return report;
}

}  // namespace titan::ckpt
