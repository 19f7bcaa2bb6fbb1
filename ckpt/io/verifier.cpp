#include "ckpt/io/verifier.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "ckpt/base/parallel.h"
#include "ckpt/format/layout.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/io/shard_check.h"

namespace titan::ckpt {
namespace {

// One member: what is known of it while threads work on it.
struct Member {
  std::uint32_t index = 0;
  std::unique_ptr<ShardCheck> shard;  // null: a member with one digest for all its bytes
  bool handed_out = false;            // nothing more to begin
  std::uint64_t under_way = 0;
};

struct Task {
  std::shared_ptr<Member> member;
  ShardCheck::Run run;                // of a shard
  bool whole = false;                 // of any other member: all of it
};

class Verifier {
 public:
  Verifier(Fs& fs, const std::string& path, const Manifest& manifest, const VerifyProgress& progress, const CancelToken& cancel, VerifyReport& report)
      : fs_(fs), path_(path), manifest_(manifest), progress_(progress), cancel_(cancel), report_(report), by_file_(manifest.files.size()), damage_(manifest.files.size()) {
    for (const FileEntry& file : manifest.files) total_ += file.bytes;
    for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
      if (manifest.parameters[i].model) collect({i, ""});
      for (const SlotTensor& slot : manifest.parameters[i].slots) collect({i, slot.name});
    }
  }

  Status run(unsigned threads) {
    TITAN_RETURN_IF_ERROR(parallel_for(threads, threads, [&](std::size_t) { return work(); }));
    for (std::vector<Damage>& damage : damage_) std::move(damage.begin(), damage.end(), std::back_inserter(report_.damage));
    check_sums();
    return ok_status();
  }

 private:
  void collect(const TensorRef& ref) {
    const StoredTensor& tensor = *manifest_.stored(ref);
    for (const Piece& piece : tensor.pieces) by_file_[piece.file].push_back({ref, &piece});
  }

  void count(std::uint64_t bytes) {
    const std::lock_guard lock(count_mutex_);
    report_.bytes += bytes;
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

  // What each thread does: tasks in the order of the files, so that at most a few files are open.
  Status work() {
    CheckBuffer memory;
    const std::span<std::byte> buffer = memory.bytes();
    CompressedLeafReader reader;
    const ShardCheck::Count counted = [this](std::uint64_t bytes) { count(bytes); };
    while (true) {
      TITAN_RETURN_IF_ERROR(cancel_.check());
      Task task;
      TITAN_ASSIGN_OR_RETURN(const bool more, next(task));
      if (!more) return ok_status();
      Status status = task.whole ? check_whole(*task.member, buffer, counted) : task.member->shard->check(task.run, buffer, reader, counted);
      const bool last = [&] {
        const std::lock_guard lock(mutex_);
        stopped_ = stopped_ || !status.ok();
        return --task.member->under_way == 0 && task.member->handed_out;
      }();
      if (status.ok() && last && task.member->shard) status = finish(*task.member, buffer, counted);
      TITAN_RETURN_IF_ERROR(status);
    }
  }

  // False when there is nothing more to begin.
  Result<bool> next(Task& task) {
    const std::lock_guard lock(mutex_);
    while (!stopped_) {
      if (!present_ || present_->handed_out) {
        if (next_file_ == manifest_.files.size()) return false;
        Result<bool> opened = begin(next_file_++);
        stopped_ = !opened.ok();
        if (!opened.ok()) return opened;
        if (!*opened) continue;
      }
      task.member = present_;
      task.whole = present_->shard == nullptr;
      if (task.whole) {
        present_->handed_out = true;
      } else {
        present_->shard->next(task.run);
        present_->handed_out = task.run.end == present_->shard->leaves().size();
      }
      ++present_->under_way;
      return true;
    }
    return false;
  }

  // Opens the member `index`; false when there is nothing in it to check but the damage that was found already.
  Result<bool> begin(std::uint32_t index) {
    const FileEntry& file = manifest_.files[index];
    const auto damaged = [&](const char* unit, std::string detail) {
      damage_[index].push_back({file.path, unit, "", 0, 0, file.bytes, std::move(detail)});
      return false;
    };
    const auto info = fs_.stat(join_path(path_, file.path));
    if (!info.ok() && info.status().code != Code::kNotFound) return info.status();
    if (!info.ok()) return damaged("missing", "the file is not there");
    if (info->type != FileType::kFile) return damaged("size", "not a regular file");
    if (info->size != file.bytes) return damaged("size", "it has " + std::to_string(info->size) + " bytes, expected " + std::to_string(file.bytes));
    present_ = std::make_shared<Member>();
    present_->index = index;
    if (file.role == FileRole::kShard) {
      TITAN_ASSIGN_OR_RETURN(present_->shard, ShardCheck::open(fs_, path_, manifest_, index, by_file_[index], [this](std::uint64_t bytes) { count(bytes); }));
    }
    return true;
  }

  Status check_whole(const Member& member, std::span<std::byte> buffer, const ShardCheck::Count& counted) {
    const FileEntry& file = manifest_.files[member.index];
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> handle, fs_.open_read(join_path(path_, file.path)));
    Hasher hasher;
    TITAN_RETURN_IF_ERROR(hash_range(*handle, 0, file.bytes, buffer, counted, hasher));
    if (hasher.digest() != file.whole)
      damage_[member.index].push_back({file.path, file.role == FileRole::kJson ? "json" : "derived", "", 0, 0, file.bytes, "its bytes do not match their digest"});
    return ok_status();
  }

  Status finish(Member& member, std::span<std::byte> buffer, const ShardCheck::Count& counted) {
    TITAN_RETURN_IF_ERROR(member.shard->finish(buffer, counted, damage_[member.index]));
    const std::lock_guard lock(mutex_);
    report_.leaves += member.shard->leaves().size();
    if (!member.shard->proven_rows().empty()) keep_digests(member.shard->leaves(), member.shard->proven_rows());
    member.shard.reset();
    return ok_status();
  }

  void keep_digests(const std::vector<ShardCheck::Expected>& leaves, const std::vector<LeafRow>& rows) {
    for (const ShardCheck::Expected& leaf : leaves) {
      std::vector<Digest>& digests = digests_[{leaf.ref.index, leaf.ref.slot}];
      if (digests.size() <= leaf.leaf) digests.resize(leaf.leaf + 1);
      digests[leaf.leaf] = rows[leaf.row].raw;
    }
  }

  void damaged(const FileEntry& file, const char* unit, std::string detail) {
    report_.damage.push_back({file.path, unit, "", 0, 0, file.bytes, std::move(detail)});
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
        damaged(manifest_file, "manifest", "the digest of tensor '" + manifest_.stored_name(ref) + "' is not that of its leaves");
    };
    for (std::uint32_t i = 0; i < manifest_.parameters.size(); ++i) {
      if (manifest_.parameters[i].model) check_tensor({i, ""});
      for (const SlotTensor& slot : manifest_.parameters[i].slots) check_tensor({i, slot.name});
    }
    for (const char* name : {kModel, kOptimizer}) {
      const ComponentEntry* entry = manifest_.component(name);
      if (entry && entry->digest != component_digest(manifest_, name))
        damaged(manifest_file, "manifest", "the digest of component '" + std::string(name) + "' is not that of its tensors");
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
      file.bytes = manifest_.component(component)->bytes;
      damaged(file, "json", "it matches its digest but cannot be parsed");
      return false;
    };
    if (!load(kLrScheduler, decode_lr_schedule, lr) || !load(kDataloader, decode_data_position, data) || !load(kTrainState, decode_train_state, train)) return;
    if (checkpoint_id(manifest_, lr, data, train.tokens) != manifest_.id)
      damaged(manifest_file, "manifest", "the checkpoint's id is not that of its components");
  }

  Fs& fs_;
  const std::string& path_;
  const Manifest& manifest_;
  const VerifyProgress& progress_;
  const CancelToken& cancel_;
  VerifyReport& report_;
  std::vector<ShardCheck::Pieces> by_file_;
  std::vector<std::vector<Damage>> damage_;  // by file, so that threads do not change the order
  std::map<std::pair<std::uint32_t, std::string>, std::vector<Digest>> digests_;

  std::mutex mutex_;                         // of what follows, of digests_ and of the counts of leaves
  std::uint32_t next_file_ = 0;
  std::shared_ptr<Member> present_;
  bool stopped_ = false;                     // by an error: no thread begins anything more

  std::mutex count_mutex_;
  std::uint64_t done_ = 0, total_ = 0;       // bytes of the members
};

}  // namespace

Result<VerifyReport> verify_checkpoint(Fs& fs, const std::string& path, const VerifyProgress& progress, const CancelToken& cancel,
                                       unsigned threads) {
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
  TITAN_RETURN_IF_ERROR(Verifier(fs, path, *manifest, progress, cancel, report).run(io_threads(threads)));
  return report;
}

}  // namespace titan::ckpt
