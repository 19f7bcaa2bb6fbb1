#include "ckpt/ops/repair.h"

#include <algorithm>
#include <map>
#include <set>

#include "ckpt/base/files.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/ops/lost_leaves.h"
#include "ckpt/read/verifier.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/save/parity.h"
#include "ckpt/save/publish.h"
#include "ckpt/save/shard_writer.h"

namespace titan::ckpt {
namespace {

constexpr unsigned kRepairThreads = 4;  // threads that hash, encode and write a shard
constexpr std::size_t kNamedLost = 10'000;

/// The pieces of one shard, in the order of its table.
struct ShardParts {
  std::vector<TensorRef> refs;
  std::vector<Piece> pieces;
};

ShardParts shard_parts(const Manifest& manifest, std::uint32_t file) {
  std::map<std::uint64_t, std::pair<TensorRef, Piece>> by_row;
  const auto collect = [&](const TensorRef& ref) {
    for (const Piece& piece : manifest.stored(ref)->pieces)
      if (piece.file == file) by_row[piece.row] = {ref, piece};
  };
  for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
    if (manifest.parameters[i].model) collect({i, ""});
    for (const SlotTensor& slot : manifest.parameters[i].slots) collect({i, slot.name});
  }
  ShardParts parts;
  for (const auto& [row, part] : by_row) {
    parts.refs.push_back(part.first);
    parts.pieces.push_back(part.second);
  }
  return parts;
}

class Repairer {
 public:
  Repairer(Fs& fs, const RepairOptions& options, const CheckpointReader& source, Donors& donors, RepairReport& report)
      : fs_(fs), options_(options), source_(source), donors_(donors), leaves_(fs, source, donors), report_(report) {}

  /// Fills the temporary folder of DST; `broken` has the indexes of the files to rebuild. Records leaves that cannot be
  /// found in the report.
  Status run(Rewrite& rewrite, const std::set<std::uint32_t>& broken, const ParityFound& parity) {
    made_ = derived_manifest(fs_, source_, options_);
    std::uint64_t bytes = 0;
    for (const std::uint32_t file : broken) bytes += made_.files[file].bytes;
    for (const ParityGroup& group : parity_groups(made_)) bytes += parity.rows * group.largest;
    TITAN_RETURN_IF_ERROR(rewrite.need_space(bytes + bytes / 100 + (std::uint64_t{1} << 20)));
    for (const std::uint32_t file : broken) {
      report_.files.push_back(made_.files[file].path);
      TITAN_RETURN_IF_ERROR(rewrite.make_folder_of(made_.files[file].path));
    }
    const ParityHooks hooks{[&] { return rewrite.beat(options_.cancel); }, {}};
    std::set<std::uint32_t> rebuilt;
    if (parity.manifest)
      TITAN_RETURN_IF_ERROR(rebuild_members(fs_, source_.path(), parity, broken, rewrite.folder(), rebuilt, hooks));
    report_.by_parity += rebuilt.size();
    for (const std::uint32_t file : broken) {
      if (rebuilt.contains(file)) continue;
      const bool shard = made_.files[file].role == FileRole::kShard;
      TITAN_RETURN_IF_ERROR(shard ? write_leaves(rewrite, file) : write_whole(rewrite, file));
    }
    if (!report_.lost.empty()) return ok_status();
    for (const char* component : {kModel, kOptimizer})
      if (made_.component(component) != nullptr) ManifestBuilder(made_).sum_up(component);
    TITAN_RETURN_IF_ERROR(carry_members(rewrite, made_, report_.files, options_.cancel).status());
    if (parity.rows > 0) TITAN_RETURN_IF_ERROR(write_parity(fs_, rewrite.folder(), parity.rows, made_, hooks));
    TITAN_RETURN_IF_ERROR(write_manifest(fs_, rewrite.folder(), made_));
    TITAN_RETURN_IF_ERROR(prove(rewrite.folder()));
    return rewrite.publish(made_);
  }

 private:
  void lose(Damage place) {
    if (report_.lost.size() < kNamedLost) return report_.lost.push_back(std::move(place));
    ++report_.not_named;
  }

  Status write_leaves(Rewrite& rewrite, std::uint32_t file) {
    const ShardParts parts = shard_parts(made_, file);
    const std::string member = made_.files[file].path;
    std::vector<ShardPiece> pieces;
    for (std::size_t i = 0; i < parts.pieces.size(); ++i) {
      const Piece& piece = parts.pieces[i];
      const TensorRef& ref = parts.refs[i];
      pieces.push_back({made_.stored_name(ref),
                        made_.stored(ref)->dtype,
                        made_.parameters[ref.index].meta.grid(made_.leaf_elements),
                        {piece.first_leaf, piece.leaf_count},
                        piece.codec});
    }
    const auto leaf = [&](std::size_t p, std::uint64_t index,
                          std::span<std::byte> scratch) -> Result<std::span<const std::byte>> {
      TITAN_RETURN_IF_ERROR(rewrite.beat(options_.cancel));
      TITAN_ASSIGN_OR_RETURN(const bool found, leaves_.read(parts.refs[p], parts.pieces[p], index, scratch));
      const PieceLeaves place(made_, parts.refs[p], parts.pieces[p]);
      if (!found)
        lose({member, "leaf", pieces[p].tensor, index, place.at(index).offset.value_or(0), pieces[p].raw_bytes(index),
              "no donor has it"});
      return std::span<const std::byte>(scratch);
    };
    TITAN_ASSIGN_OR_RETURN(const WrittenShard written,
                           write_shard(fs_, rewrite.folder(), member, pieces, leaf, {kRepairThreads}));
    made_.files[file] = written.file;
    for (std::size_t i = 0; i < parts.pieces.size(); ++i) put_piece(parts.refs[i], parts.pieces[i], written.pieces[i]);
    return ok_status();
  }

  /// Replaces the piece `old` in the manifest by `now`.
  void put_piece(const TensorRef& ref, const Piece& old, Piece now) {
    now.file = old.file;
    for (Piece& piece : made_.stored(ref)->pieces)
      if (piece == old) piece = now;
  }

  Status write_whole(Rewrite& rewrite, std::uint32_t index) {
    const FileEntry& file = made_.files[index];
    if (file.path == kVirtualModel) {
      TITAN_ASSIGN_OR_RETURN(made_.files[index], write_virtual_model(fs_, rewrite.folder(), source_.manifest()));
      return ok_status();
    }
    TITAN_ASSIGN_OR_RETURN(const std::optional<std::vector<std::byte>> bytes, donors_.member(file));
    if (bytes) return write_member(fs_, join_path(rewrite.folder(), file.path), *bytes);
    lose({file.path, file.role == FileRole::kJson ? "json" : "derived", "", 0, 0, file.bytes, "no donor has it"});
    return ok_status();
  }

  /// Checks every byte of the new checkpoint, and its id, before it is published.
  Status prove(const std::string& folder) {
    if (options_.begin) options_.begin("verify " + options_.dst);
    TITAN_ASSIGN_OR_RETURN(const VerifyReport found,
                           verify_checkpoint(fs_, folder, options_.progress, options_.cancel, options_.threads));
    if (found.damage.empty() && found.unreadable.empty() && found.id == report_.id) return ok_status();
    const Damage* first = !found.damage.empty()       ? &found.damage.front()
                          : !found.unreadable.empty() ? &found.unreadable.front()
                                                      : nullptr;
    return failed("what was repaired does not verify" +
                  (first == nullptr ? "" : ": " + first->file + ": " + first->detail) + "; nothing was written to " +
                  options_.dst);
  }

  Fs& fs_;
  const RepairOptions& options_;
  const CheckpointReader& source_;
  Donors& donors_;
  LostLeaves leaves_;
  RepairReport& report_;
  Manifest made_;
};

/// The files in which something is damaged or cannot be read.
std::set<std::uint32_t> broken_files(const Manifest& manifest, const VerifyReport& report) {
  std::set<std::string> names;
  for (const Damage& place : report.damage) names.insert(place.file);
  for (const Damage& place : report.unreadable) names.insert(place.file);
  std::set<std::uint32_t> files;
  for (std::uint32_t i = 0; i < manifest.files.size(); ++i)
    // If not all damaged units were listed, any shard may be damaged.
    if (names.contains(manifest.files[i].path) || (report.not_named > 0 && manifest.files[i].role == FileRole::kShard))
      files.insert(i);
  return files;
}

/// The state of a damaged checkpoint: its manifest without parity files, the damage of its members, its parity files.
struct Survey {
  Manifest manifest;
  VerifyReport found;
  ParityFound parity;
};

/// A folder without a manifest is treated as a damaged checkpoint if its parity files contain the manifest.
Result<VerifyReport> verify_source_of(Fs& fs, const std::string& path, const RepairOptions& options) {
  Result<VerifyReport> found = verify_checkpoint(fs, path, options.progress, options.cancel, options.threads);
  if (found.status().code != Code::kNotFound || !has_parity(fs, path)) return found;
  VerifyReport report;
  report.damage.push_back({kManifestFile, "missing", "", 0, 0, 0, found.status().message});
  return report;
}

bool names_manifest(const std::vector<Damage>& places) {
  return std::any_of(places.begin(), places.end(), [](const Damage& one) { return one.file == kManifestFile; });
}

/// If the manifest is lost, the only other copy is in the parity files.
Result<std::optional<Survey>> survey(Fs& fs, const RepairOptions& options, VerifyReport found, RepairReport& report) {
  Survey seen;
  const ParityHooks hooks{[&] { return options.cancel.check(); }, {}};
  if (names_manifest(found.damage) || names_manifest(found.unreadable)) {
    TITAN_ASSIGN_OR_RETURN(seen.parity, find_parity(fs, report.src, std::nullopt, hooks));
    if (!seen.parity.manifest) {
      report.lost = std::move(found.damage);
      report.lost.insert(report.lost.end(), found.unreadable.begin(), found.unreadable.end());
      return std::optional<Survey>();
    }
    seen.manifest = *seen.parity.manifest;
    TITAN_ASSIGN_OR_RETURN(
        seen.found, verify_members(fs, report.src, seen.manifest, options.progress, options.cancel, options.threads));
    report.id = seen.manifest.id;
    report.places += seen.found.damage.size() + seen.found.unreadable.size() + seen.found.not_named;
    report.files.emplace_back(kManifestFile);
    report.by_parity = 1;
    return std::optional(std::move(seen));
  }
  TITAN_ASSIGN_OR_RETURN(Manifest manifest, read_manifest(fs, report.src));
  const std::uint32_t rows = parity_rows(manifest);
  seen.manifest = without_parity(std::move(manifest));
  if (rows > 0) {
    TITAN_ASSIGN_OR_RETURN(seen.parity, find_parity(fs, report.src, seen.manifest, hooks));
    seen.parity.rows = rows;
  }
  for (const std::vector<Damage>* places : {&found.damage, &found.unreadable})
    for (const Damage& place : *places)
      if (is_parity(place.file)) report.files.push_back(place.file);
  seen.found = std::move(found);
  return std::optional(std::move(seen));
}

}  // namespace

Result<RepairReport> repair_checkpoint(Fs& fs, const RepairOptions& options) {
  RepairReport report;
  TITAN_ASSIGN_OR_RETURN(report.src, resolve_checkpoint(fs, options.src));
  report.dst = options.dst;
  // Wrong arguments are refused before every byte of SRC is read.
  TITAN_RETURN_IF_ERROR(check_rewrite(fs, report.src, options.dst, options.force));
  if (const auto manifest = read_manifest(fs, report.src); manifest.ok()) {
    report.step = manifest->step;
    TITAN_RETURN_IF_ERROR(check_step_name(options.dst, report.step));
  }
  TITAN_ASSIGN_OR_RETURN(Donors donors, Donors::open(fs, options.donors, options.open, options.resolve));
  if (options.begin) options.begin("verify " + report.src);
  TITAN_ASSIGN_OR_RETURN(VerifyReport found, verify_source_of(fs, report.src, options));
  report.id = found.id;
  report.places = found.damage.size() + found.unreadable.size() + found.not_named;
  if (report.whole()) return report;
  TITAN_ASSIGN_OR_RETURN(std::optional<Survey> seen, survey(fs, options, std::move(found), report));
  if (!seen) return report;
  const CheckpointReader source = CheckpointReader::known(fs, report.src, std::move(seen->manifest));
  report.step = source.manifest().step;
  TITAN_RETURN_IF_ERROR(check_step_name(options.dst, report.step));
  donors.look_for(source.manifest());
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite,
                         Rewrite::begin(fs, report.src, options.dst, options.force));
  if (options.begin) options.begin("repair " + options.dst);
  Repairer repairer(fs, options, source, donors, report);
  TITAN_RETURN_IF_ERROR(repairer.run(*rewrite, broken_files(source.manifest(), seen->found), seen->parity));
  report.given = donors.given();
  report.written = report.lost.empty();
  report.warnings = rewrite->warnings();
  return report;
}

}  // namespace titan::ckpt
