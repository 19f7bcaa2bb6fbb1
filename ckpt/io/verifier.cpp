#include "ckpt/io/verifier.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "ckpt/format/layout.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/format/state_codec.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

// One leaf of a shard, as the manifest describes it.
struct Expected {
  TensorRef ref;
  std::uint64_t leaf = 0, offset = 0, bytes = 0, row = 0;
};

class Verifier {
 public:
  Verifier(Fs& fs, const std::string& path, const Manifest& manifest, const VerifyProgress& progress, const CancelToken& cancel, VerifyReport& report)
      : fs_(fs), path_(path), manifest_(manifest), progress_(progress), cancel_(cancel), report_(report), by_file_(manifest.files.size()), buffer_(kChunk) {
    for (const FileEntry& file : manifest.files) total_ += file.bytes;
    for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
      if (manifest.parameters[i].model) collect({i, ""});
      for (const SlotTensor& slot : manifest.parameters[i].slots) collect({i, slot.name});
    }
  }

  Status run() {
    for (std::uint32_t i = 0; i < manifest_.files.size(); ++i) TITAN_RETURN_IF_ERROR(member(i));
    check_sums();
    return ok_status();
  }

 private:
  void collect(const TensorRef& ref) {
    const StoredTensor& tensor = *manifest_.stored(ref);
    for (const Piece& piece : tensor.pieces) by_file_[piece.file].push_back({ref, &piece});
  }

  // Records damage; `unit` covers [offset, offset + bytes) of the file.
  Damage& damage(const FileEntry& file, const char* unit, std::uint64_t offset, std::uint64_t bytes, std::string detail) {
    report_.damage.push_back({file.path, unit, "", 0, offset, bytes, std::move(detail)});
    return report_.damage.back();
  }

  // Feeds [begin, end) of the file to `hasher`.
  Status hash(File& file, std::uint64_t begin, std::uint64_t end, Hasher& hasher) {
    while (begin < end) {
      TITAN_RETURN_IF_ERROR(cancel_.check());
      const std::span<std::byte> part = std::span(buffer_).first(std::min(kChunk, end - begin));
      TITAN_RETURN_IF_ERROR(file.pread(begin, part));
      hasher.update(part);
      begin += part.size();
      count(part.size());
    }
    return ok_status();
  }

  void count(std::uint64_t bytes) {
    report_.bytes += bytes;
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

  Status member(std::uint32_t index) {
    const FileEntry& file = manifest_.files[index];
    const std::string path = join_path(path_, file.path);
    const auto info = fs_.stat(path);
    if (!info.ok()) {
      if (info.status().code != Code::kNotFound) return info.status();
      damage(file, "missing", 0, file.bytes, "the file is not there");
      return ok_status();
    }
    if (info->type != FileType::kFile || info->size != file.bytes) {
      damage(file, "size", 0, file.bytes,
             info->type != FileType::kFile ? "not a regular file"
                                           : "it has " + std::to_string(info->size) + " bytes, expected " + std::to_string(file.bytes));
      return ok_status();
    }
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> handle, fs_.open_read(path));
    if (file.role == FileRole::kShard) return shard(index, *handle);
    Hasher hasher;
    TITAN_RETURN_IF_ERROR(hash(*handle, 0, file.bytes, hasher));
    if (hasher.digest() != file.whole) damage(file, file.role == FileRole::kJson ? "json" : "derived", 0, file.bytes, "its bytes do not match their digest");
    return ok_status();
  }

  // The leaves of a shard by row.
  std::vector<Expected> expected_leaves(std::uint32_t index) const {
    std::vector<Expected> leaves(manifest_.files[index].table_rows);
    for (const auto& [ref, piece] : by_file_[index]) {
      const LeafGrid grid = manifest_.parameters[ref.index].meta.grid(manifest_.leaf_elements);
      const std::uint64_t size = dtype_size(manifest_.stored(ref)->dtype);
      std::uint64_t offset = piece->offset;
      for (std::uint64_t i = 0; i < piece->leaf_count; ++i) {
        const std::uint64_t bytes = grid.length(piece->first_leaf + i) * size;
        leaves[piece->row + i] = {ref, piece->first_leaf + i, offset, bytes, piece->row + i};
        offset += bytes;
      }
    }
    return leaves;
  }

  Status shard(std::uint32_t index, File& handle) {
    const FileEntry& file = manifest_.files[index];
    const std::uint64_t table_bytes = file.table_rows * kLeafRowBytes;
    std::vector<std::byte> table(table_bytes);
    TITAN_RETURN_IF_ERROR(handle.pread(file.table_offset, table));
    count(table_bytes);
    const std::vector<LeafRow> stored = decode_leaf_table(table);

    // What the table must say, from the manifest's places and the bytes that are there.
    const std::vector<Expected> leaves = expected_leaves(index);
    std::vector<LeafRow> actual;
    std::vector<ByteRange> covered{{file.table_offset, file.table_offset + table_bytes}};
    for (const Expected& leaf : leaves) {
      Hasher hasher;
      TITAN_RETURN_IF_ERROR(hash(handle, leaf.offset, leaf.offset + leaf.bytes, hasher));
      const Digest digest = hasher.digest();
      actual.push_back({leaf.offset, leaf.bytes, leaf.bytes, 0, digest, digest});
      covered.push_back({leaf.offset, leaf.offset + leaf.bytes});
      ++report_.leaves;
    }
    const bool table_intact = digest_of(table) == file.table;
    // Both may be read back from each other: a table rebuilt from whole leaves has the expected digest.
    const bool leaves_intact = table_intact ? actual == stored : digest_of(encode_leaf_table(actual)) == file.table;
    if (!table_intact) damage(file, "table", file.table_offset, table_bytes, "the leaf table does not match its digest" + std::string(leaves_intact ? "; the leaves are whole" : ""));
    for (std::size_t row = 0; !leaves_intact && row < leaves.size(); ++row) {
      if (actual[row] == stored[row]) continue;
      const Expected& leaf = leaves[row];
      Damage& entry = damage(file, "leaf", leaf.offset, leaf.bytes,
                             table_intact ? "its bytes do not match their digest" : "its bytes or its row in the damaged leaf table are wrong");
      entry.tensor = manifest_.stored_name(leaf.ref);
      entry.leaf = leaf.leaf;
    }
    Hasher envelope;
    for (const ByteRange& range : uncovered(std::move(covered), file.bytes)) TITAN_RETURN_IF_ERROR(hash(handle, range.begin, range.end, envelope));
    if (envelope.digest() != file.envelope)
      damage(file, "envelope", 0, file.bytes, "the bytes outside of leaves and leaf table (HDF5 structure, gaps) do not match their digest");
    if (table_intact) keep_digests(leaves, stored);
    return ok_status();
  }

  void keep_digests(const std::vector<Expected>& leaves, const std::vector<LeafRow>& rows) {
    for (const Expected& leaf : leaves) {
      std::vector<Digest>& digests = digests_[{leaf.ref.index, leaf.ref.slot}];
      if (digests.size() <= leaf.leaf) digests.resize(leaf.leaf + 1);
      digests[leaf.leaf] = rows[leaf.row].raw;
    }
  }

  // Whole tables under a whole manifest must add up to its tensor, component and checkpoint digests; if they do not, the
  // writer was wrong.
  void check_sums() {
    if (!report_.damage.empty()) return;
    const FileEntry manifest_file{kManifestFile};
    const auto check_tensor = [&](const TensorRef& ref) {
      const auto found = digests_.find({ref.index, ref.slot});
      const Digest digest = found == digests_.end() ? tensor_digest({}) : tensor_digest(found->second);
      if (digest != manifest_.stored(ref)->digest)
        damage(manifest_file, "manifest", 0, 0, "the digest of tensor '" + manifest_.stored_name(ref) + "' is not that of its leaves");
    };
    for (std::uint32_t i = 0; i < manifest_.parameters.size(); ++i) {
      if (manifest_.parameters[i].model) check_tensor({i, ""});
      for (const SlotTensor& slot : manifest_.parameters[i].slots) check_tensor({i, slot.name});
    }
    for (const char* name : {kModel, kOptimizer}) {
      const ComponentEntry* entry = manifest_.component(name);
      if (entry && entry->digest != component_digest(manifest_, name))
        damage(manifest_file, "manifest", 0, 0, "the digest of component '" + std::string(name) + "' is not that of its tensors");
    }
    check_id(manifest_file);
  }

  void check_id(const FileEntry& manifest_file) {
    LrSchedule lr;
    DataPosition data;
    TrainState train;
    const auto load = [&](const char* component, auto decode, auto& value) {
      if (!manifest_.component(component)) return true;
      const std::string member = json_path(component);
      const auto bytes = read_file(fs_, join_path(path_, member), manifest_.component(component)->bytes);
      if (bytes.ok()) {
        auto decoded = decode(member, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
        if (decoded.ok()) return value = std::move(*decoded), true;
      }
      FileEntry file;
      file.path = member;
      damage(file, "json", 0, manifest_.component(component)->bytes, "it matches its digest but cannot be parsed");
      return false;
    };
    if (!load(kLrScheduler, decode_lr_schedule, lr) || !load(kDataloader, decode_data_position, data) || !load(kTrainState, decode_train_state, train)) return;
    if (checkpoint_id(manifest_, lr, data, train.tokens) != manifest_.id)
      damage(manifest_file, "manifest", 0, 0, "the checkpoint's id is not that of its components");
  }

  Fs& fs_;
  const std::string& path_;
  const Manifest& manifest_;
  const VerifyProgress& progress_;
  const CancelToken& cancel_;
  VerifyReport& report_;
  std::vector<std::vector<std::pair<TensorRef, const Piece*>>> by_file_;
  std::vector<std::byte> buffer_;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<Digest>> digests_;
  std::uint64_t done_ = 0, total_ = 0;  // of the members
};

}  // namespace

Result<VerifyReport> verify_checkpoint(Fs& fs, const std::string& path, const VerifyProgress& progress, const CancelToken& cancel) {
  const std::string manifest_path = join_path(path, kManifestFile);
  const auto info = fs.stat(manifest_path);
  if (!info.ok()) {
    if (info.status().code == Code::kNotFound) return not_found("no checkpoint at " + path + ": it has no " + kManifestFile);
    return info.status();
  }
  VerifyReport report;
  const auto manifest_damaged = [&](const Status& status) {
    report.damage.push_back({kManifestFile, "manifest", "", 0, 0, info->size, status.to_string()});
    return report;
  };
  if (info->type != FileType::kFile) return manifest_damaged(corrupt("not a regular file"));
  const auto bytes = read_file(fs, manifest_path, kMaxManifestBytes);
  if (!bytes.ok()) {
    if (bytes.status().code != Code::kCorrupt) return bytes.status();
    return manifest_damaged(bytes.status());
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  // A damaged version number must not pass for a newer format here.
  if (Status intact = check_self_digest(kManifestFile, text); !intact.ok()) return manifest_damaged(intact);
  const auto manifest = decode_manifest(kManifestFile, text);
  if (!manifest.ok()) {
    if (manifest.status().code != Code::kCorrupt) return manifest.status();
    return manifest_damaged(manifest.status());
  }
  report.bytes = bytes->size();
  TITAN_RETURN_IF_ERROR(Verifier(fs, path, *manifest, progress, cancel, report).run());
  return report;
}

}  // namespace titan::ckpt
