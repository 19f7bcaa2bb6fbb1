#include "ckpt/ops/strip.h"

#include <algorithm>
#include <map>
#include <set>

#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/save/shard_writer.h"

namespace titan::ckpt {
namespace {

constexpr unsigned kThreads = 4;  // threads that hash, encode and write a converted shard

bool keeps(const StripOptions& options, const std::string& component) {
  return options.keep == StripKeep::kModel ? component == kModel : component != kOptimizer;
}

// The files of the parameters, and the files of the slots.
std::pair<std::set<std::uint32_t>, std::set<std::uint32_t>> tensor_files(const Manifest& manifest) {
  std::pair<std::set<std::uint32_t>, std::set<std::uint32_t>> files;
  for (const ParameterRecord& record : manifest.parameters) {
    if (record.model)
      for (const Piece& piece : record.model->pieces) files.first.insert(piece.file);
    for (const SlotTensor& slot : record.slots)
      for (const Piece& piece : slot.tensor.pieces) files.second.insert(piece.file);
  }
  return files;
}

bool converts(const ParameterRecord& record, DType to) {
  return record.model && is_float(record.model->dtype) && record.model->dtype != to;
}

// One shard of DST. Its pieces keep the order of the source's table.
struct ShardPlan {
  std::string member;
  std::vector<ShardPiece> pieces;
  std::vector<std::pair<std::uint32_t, std::size_t>> from;  ///< parameter, and index into its pieces
};

std::vector<ShardPlan> plan_shards(const Manifest& manifest, DType to) {
  std::map<std::uint32_t, std::map<std::uint64_t, std::pair<std::uint32_t, std::size_t>>> by_file;
  for (std::uint32_t p = 0; p < manifest.parameters.size(); ++p) {
    if (!manifest.parameters[p].model) continue;
    const std::vector<Piece>& pieces = manifest.parameters[p].model->pieces;
    for (std::size_t i = 0; i < pieces.size(); ++i) by_file[pieces[i].file][pieces[i].row] = {p, i};
  }
  std::vector<ShardPlan> plans;
  for (const auto& [file, rows] : by_file) {
    ShardPlan plan;
    plan.member = manifest.files[file].path;
    for (const auto& [row, from] : rows) {
      const ParameterRecord& record = manifest.parameters[from.first];
      const Piece& piece = record.model->pieces[from.second];
      const DType dtype = converts(record, to) ? to : record.model->dtype;
      plan.pieces.push_back({record.meta.name,
                             dtype,
                             record.meta.grid(manifest.leaf_elements),
                             {piece.first_leaf, piece.leaf_count},
                             piece.codec});
      plan.from.push_back(from);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

class Converter {
 public:
  Converter(const CheckpointReader& source, const StripOptions& options, StripReport& report)
      : source_(source), options_(options), report_(report) {}

  /// Writes the shards of `manifest` again into `rewrite`, and puts their pieces and digests into `manifest`.
  Status run(Fs& fs, Rewrite& rewrite, Manifest& manifest) {
    const std::vector<ShardPlan> plans = plan_shards(manifest, *options_.dtype);
    for (const ShardPlan& plan : plans)
      for (const ShardPiece& piece : plan.pieces) total_ += piece.bytes();
    TITAN_RETURN_IF_ERROR(rewrite.need_space(total_ + total_ / 100 + (std::uint64_t{1} << 20)));
    std::vector<std::map<std::uint64_t, std::vector<Digest>>> leaves(manifest.parameters.size());
    for (const ShardPlan& plan : plans) {
      TITAN_RETURN_IF_ERROR(rewrite.make_folder_of(plan.member));
      TITAN_ASSIGN_OR_RETURN(WrittenShard shard, write(fs, rewrite, plan));
      const auto entry = std::ranges::find(manifest.files, plan.member, &FileEntry::path);
      *entry = shard.file;
      for (std::size_t i = 0; i < plan.from.size(); ++i) {
        const auto [parameter, index] = plan.from[i];
        Piece& piece = manifest.parameters[parameter].model->pieces[index];
        const std::uint32_t file = piece.file;
        piece = shard.pieces[i];
        piece.file = file;
        leaves[parameter][piece.first_leaf] = std::move(shard.leaves[i]);
      }
      report_.rewritten.push_back(plan.member);
    }
    for (std::size_t p = 0; p < manifest.parameters.size(); ++p) {
      ParameterRecord& record = manifest.parameters[p];
      if (!record.model) continue;
      std::vector<Digest> all;
      for (auto& [first, digests] : leaves[p]) all.insert(all.end(), digests.begin(), digests.end());
      if (converts(record, *options_.dtype)) record.model->dtype = *options_.dtype;
      record.model->digest = tensor_digest(all);
    }
    return ok_status();
  }

 private:
  Result<WrittenShard> write(Fs& fs, Rewrite& rewrite, const ShardPlan& plan) {
    const Manifest& manifest = source_.manifest();
    return write_shard(
        fs, rewrite.folder(), plan.member, plan.pieces,
        [&](std::size_t p, std::uint64_t leaf, std::span<std::byte> scratch) -> Result<std::span<const std::byte>> {
          TITAN_RETURN_IF_ERROR(rewrite.beat(options_.cancel));
          const std::uint32_t index = plan.from[p].first;
          const DType from = manifest.parameters[index].model->dtype, to = plan.pieces[p].dtype;
          const std::uint64_t length = plan.pieces[p].grid.length(leaf);
          buffer_.resize(length * dtype_size(from));
          TITAN_RETURN_IF_ERROR(source_.read({index, ""}, {leaf, 1}, buffer_));
          done_ += scratch.size();
          if (options_.progress) options_.progress(done_, total_);
          if (from == to) return std::span<const std::byte>(buffer_);
          note(convert_elements(from, buffer_, to, scratch), plan.pieces[p].tensor, plan.pieces[p].grid.begin(leaf));
          return std::span<const std::byte>(scratch);
        },
        {kThreads});
  }

  void note(const RoundingError& error, const std::string& tensor, std::uint64_t first) {
    report_.error.rounded += error.rounded;
    if (report_.error.overflowed == 0 && error.overflowed > 0) {
      report_.error.overflow_at = first + error.overflow_at;
      report_.overflowing = tensor;
    }
    report_.error.overflowed += error.overflowed;
    if (error.largest <= report_.error.largest) return;
    report_.error.largest = error.largest;
    report_.error.at = first + error.at;
    report_.worst_tensor = tensor;
  }

  const CheckpointReader& source_;
  const StripOptions& options_;
  StripReport& report_;
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0, total_ = 0;
};

Result<Manifest> stripped(Fs& fs, const CheckpointReader& reader, const StripOptions& options) {
  Manifest manifest = derived_manifest(fs, reader, options);
  TITAN_RETURN_IF_ERROR(drop_components(manifest, options));
  return manifest;
}

}  // namespace

Status drop_components(Manifest& manifest, const StripOptions& options) {
  const auto [model, optimizer] = tensor_files(manifest);
  std::vector<std::uint32_t> shared;
  std::set_intersection(model.begin(), model.end(), optimizer.begin(), optimizer.end(), std::back_inserter(shared));
  if (!shared.empty())
    return unsupported("the file " + manifest.files[shared.front()].path + " holds leaves of both model and optimizer")
        .with_hint("`titan-ckpt reshard` writes a file per component: strip its result");
  std::vector<FileEntry> files;
  std::map<std::uint32_t, std::uint32_t> moved;
  for (std::uint32_t i = 0; i < manifest.files.size(); ++i) {
    const FileEntry& file = manifest.files[i];
    bool keep = file.role == FileRole::kShard ? model.contains(i) : true;
    if (is_parity(file.path)) keep = false;  // it is over the old files
    if (file.role == FileRole::kJson) keep = keeps(options, file.path.substr(0, file.path.size() - 5));
    if (!keep) continue;
    moved[i] = static_cast<std::uint32_t>(files.size());
    files.push_back(file);
  }
  manifest.files = std::move(files);
  std::erase_if(manifest.components, [&](const ComponentEntry& entry) { return !keeps(options, entry.name); });
  for (ParameterRecord& record : manifest.parameters) {
    record.slots.clear();
    record.optimizer_step = 0;
    if (!record.model) continue;
    for (Piece& piece : record.model->pieces) piece.file = moved.at(piece.file);
  }
  return ok_status();
}

Status seal_stripped(Manifest& manifest, const CheckpointReader& source) {
  TITAN_ASSIGN_OR_RETURN(const IdState state, id_state(source, manifest));
  ManifestBuilder(manifest).seal(state);
  return ok_status();
}

Result<StripReport> plan_strip(Fs& fs, const StripOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string path, resolve_checkpoint(fs, options.src));
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, path));
  const Manifest& source = reader.manifest();
  if (!source.component(kModel)) return incompatible(path + " has no parameters: there is nothing to strip to");
  TITAN_RETURN_IF_ERROR(check_rewrite(fs, path, options.dst, options.force));
  TITAN_ASSIGN_OR_RETURN(Manifest manifest, stripped(fs, reader, options));
  StripReport report;
  report.src = path;
  report.dst = options.dst;
  report.step = source.step;
  report.old_id = source.id;
  for (const ComponentEntry& entry : source.components) {
    (keeps(options, entry.name) ? report.kept : report.dropped).push_back(entry.name);
    if (!keeps(options, entry.name)) report.dropped_bytes += entry.stored_bytes;
    if (entry.name == kModel) report.model_bytes = entry.bytes;
  }
  if (missing_components(source).empty()) report.full_from = path;
  report.warnings = parity_left_out(source, options.dst);
  if (options.dtype) {
    const auto changes = [&](const ParameterRecord& record) { return converts(record, *options.dtype); };
    if (std::ranges::any_of(source.parameters, changes)) report.dtype = options.dtype;
  }
  if (!report.dtype) {
    TITAN_RETURN_IF_ERROR(seal_stripped(manifest, reader));
    report.new_id = manifest.id;
  }
  TITAN_ASSIGN_OR_RETURN(report.verified, verify_source(fs, path, options));
  return report;
}

Status write_strip(Fs& fs, const StripOptions& options, StripReport& report) {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, report.src));
  if (reader.manifest().id != report.old_id) return failed(report.src + " has changed since it was looked at");
  TITAN_ASSIGN_OR_RETURN(Manifest manifest, stripped(fs, reader, options));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite,
                         Rewrite::begin(fs, report.src, options.dst, options.force));
  if (report.dtype) {
    TITAN_RETURN_IF_ERROR(Converter(reader, options, report).run(fs, *rewrite, manifest));
    ManifestBuilder(manifest).sum_up(kModel);
    for (FileEntry& file : manifest.files) {
      if (file.path != kVirtualModel) continue;
      TITAN_ASSIGN_OR_RETURN(file, write_virtual_model(fs, rewrite->folder(), manifest));
      report.rewritten.push_back(file.path);
    }
  }
  TITAN_ASSIGN_OR_RETURN(report.files, carry_members(*rewrite, manifest, report.rewritten, options.cancel));
  TITAN_RETURN_IF_ERROR(seal_stripped(manifest, reader));
  TITAN_RETURN_IF_ERROR(options.cancel.check());
  TITAN_RETURN_IF_ERROR(rewrite->publish(manifest));
  report.new_id = manifest.id;
  report.warnings.insert(report.warnings.end(), rewrite->warnings().begin(), rewrite->warnings().end());
  report.written = true;
  return ok_status();
}

}  // namespace titan::ckpt
