#include "ckpt/read/verifier.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "ckpt/base/files.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/parallel.h"
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/shard_check.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kOpenTables = 64;
constexpr std::int64_t kNamed = 10'000;  // units that are listed; further ones are only counted

// The state of one member while threads check it.
struct Member {
  std::uint32_t index = 0;
  std::unique_ptr<ShardCheck> shard;  // null: a member with one digest of all its bytes
  bool handed_out = false;            // threads have taken all of its tasks
  std::uint64_t under_way = 0;
};

struct Task {
  std::shared_ptr<Member> member;
  bool check = true;    // false: all of its tasks are done, and it is to be finished
  ShardCheck::Run run;  // the run of a shard; unused for other members, which are one task
};

// The findings in one member.
struct Found {
  std::vector<Damage> damage, unreadable;
  std::uint64_t not_named = 0;
};

// One pass of several threads over all files. Each member that threads share names its lock.
class Verifier {
 public:
  Verifier(Fs& fs, const std::string& path, const Manifest& manifest, const VerifyProgress& progress,
           const CancelToken& cancel, VerifyReport& report)
      : fs_(fs),
        path_(path),
        manifest_(manifest),
        progress_(progress),
        cancel_(cancel),
        report_(report),
        by_file_(manifest.files.size()),
        found_(manifest.files.size()) {
    for (const FileEntry& file : manifest.files) total_ += file.bytes;
    for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
      if (manifest.parameters[i].model) collect({i, ""});
      for (const SlotTensor& slot : manifest.parameters[i].slots) collect({i, slot.name});
    }
  }

  Status run(unsigned threads) {
    TITAN_RETURN_IF_ERROR(parallel_for(threads, threads, [&](std::size_t) { return work(); }));
    for (Found& found : found_) {
      std::move(found.damage.begin(), found.damage.end(), std::back_inserter(report_.damage));
      std::move(found.unreadable.begin(), found.unreadable.end(), std::back_inserter(report_.unreadable));
      report_.not_named += found.not_named;
    }
    if (!report_.damage.empty() || !report_.unreadable.empty()) return ok_status();
    return check_sums();
  }

 private:
  void collect(const TensorRef& ref) {
    const StoredTensor& tensor = *manifest_.stored(ref);
    for (const Piece& piece : tensor.pieces) by_file_[piece.file].push_back({ref, &piece});
  }

  void count(std::uint64_t bytes) {
    const MutexLock lock(count_mutex_);
    report_.bytes += bytes;
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

  // What each thread does: tasks in the order of the files, so that at most a few files are open.
  Status work() {
    CheckTools tools;
    tools.large = &large_;
    tools.count = [this](std::uint64_t bytes) { count(bytes); };
    while (true) {
      TITAN_RETURN_IF_ERROR(cancel_.check());
      Task task;
      TITAN_ASSIGN_OR_RETURN(const bool more, next(task));
      if (!more) return ok_status();
      Member& member = *task.member;
      Status status;
      if (task.check) status = member.shard ? member.shard->check(task.run, tools) : check_whole(member, tools);
      const bool last = [&] {
        const MutexLock lock(mutex_);
        stopped_ = stopped_ || !status.ok();
        return --member.under_way == 0 && member.handed_out;
      }();
      if (status.ok() && last && member.shard) status = finish(member, tools);
      TITAN_RETURN_IF_ERROR(status);
    }
  }

  // Takes the next task. Returns false if none is left.
  Result<bool> next(Task& task) {
    const MutexLock lock(mutex_);
    const Result<bool> more = next_locked(task);
    stopped_ = stopped_ || !more.ok();
    return more;
  }

  Result<bool> next_locked(Task& task) TITAN_REQUIRES(mutex_) {
    while (!stopped_) {
      if (!present_ || present_->handed_out) {
        if (next_file_ == manifest_.files.size()) return false;
        TITAN_ASSIGN_OR_RETURN(const bool opened, begin(next_file_++));
        if (!opened) continue;
      }
      task = {present_};
      if (present_->shard) {
        const Result<bool> run = present_->shard->next(task.run);
        if (run.status().code == Code::kMediaError) {
          unreadable(present_->index, "table", run.status());
        } else {
          TITAN_RETURN_IF_ERROR(run.status());
        }
        if (!run.ok() || !*run) {
          present_->handed_out = true;
          if (present_->under_way > 0) continue;  // the thread that ends its last task finishes it
          task.check = false;
        }
      } else {
        present_->handed_out = true;
      }
      ++present_->under_way;
      return true;
    }
    return false;
  }

  // Records a finding in member `index`; past the limit it is only counted.
  void add(std::uint32_t index, std::vector<Damage> Found::*list, const char* unit, std::string detail) {
    const FileEntry& file = manifest_.files[index];
    if (room_.fetch_sub(1) > 0) {
      (found_[index].*list).push_back({file.path, unit, "", 0, 0, file.bytes, std::move(detail)});
    } else {
      ++found_[index].not_named;
    }
  }
  void unreadable(std::uint32_t index, const char* unit, const Status& why) {
    add(index, &Found::unreadable, unit, why.message);
  }

  // Opens the member `index`; returns false when nothing is left to check in it.
  Result<bool> begin(std::uint32_t index) TITAN_REQUIRES(mutex_) {
    const FileEntry& file = manifest_.files[index];
    const auto damaged = [&](const char* unit, std::string detail) {
      add(index, &Found::damage, unit, std::move(detail));
      return false;
    };
    const auto info = fs_.stat_member(path_, file.path);
    switch (info.status().code) {
      case Code::kOk: break;
      case Code::kNotFound: return damaged("missing", "the file is not there");
      case Code::kCorrupt: return damaged("link", info.status().message);
      case Code::kMediaError: unreadable(index, "file", info.status()); return false;
      default: return info.status();
    }
    if (info->type != FileType::kFile) return damaged("size", "not a regular file");
    if (info->size != file.bytes)
      return damaged("size", "it has " + std::to_string(info->size) + " bytes, expected " + std::to_string(file.bytes));
    auto member = std::make_shared<Member>();
    member->index = index;
    if (file.role == FileRole::kShard) {
      if (const Status there = check_table_on_disk(file, *info, join_path(path_, file.path)); !there.ok())
        return damaged("table", there.message);
      auto shard = ShardCheck::open(
          fs_, path_, manifest_, index, by_file_[index], [this](std::uint64_t bytes) { count(bytes); }, room_);
      if (shard.status().code == Code::kMediaError) {
        unreadable(index, "table", media_error(shard.status().message + "; its leaves cannot be checked"));
        return false;
      }
      TITAN_RETURN_IF_ERROR(shard.status());
      member->shard = std::move(*shard);
    }
    present_ = std::move(member);
    return true;
  }

  Status check_whole(const Member& member, CheckTools& tools) {
    const FileEntry& file = manifest_.files[member.index];
    const char* unit = file.role == FileRole::kJson ? "json" : "derived";
    const auto hash = [&]() -> Result<Digest> {
      TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> handle, fs_.open_member(path_, file.path));
      Hasher hasher;
      TITAN_RETURN_IF_ERROR(hash_range(*handle, 0, file.bytes, tools.buffer.all(), tools.count, hasher));
      return hasher.digest();
    };
    const Result<Digest> digest = hash();
    if (digest.status().code == Code::kMediaError) {
      unreadable(member.index, unit, digest.status());
      return ok_status();
    }
    TITAN_RETURN_IF_ERROR(digest.status());
    if (*digest != file.whole) add(member.index, &Found::damage, unit, "its bytes do not match their digest");
    return ok_status();
  }

  Status finish(Member& member, CheckTools& tools) {
    Found& found = found_[member.index];
    TITAN_RETURN_IF_ERROR(member.shard->finish(tools, found.damage, found.unreadable, found.not_named));
    const MutexLock lock(mutex_);
    report_.leaves += member.shard->leaves();
    member.shard.reset();
    by_file_[member.index] = {};
    return ok_status();
  }

  void damaged(const std::string& file, std::uint64_t bytes, const char* unit, std::string detail) {
    report_.damage.push_back({file, unit, "", 0, 0, bytes, std::move(detail)});
  }

  // Computes the digest of a tensor from its rows. The rows were checked before and are read again here, so that they
  // do not have to stay in memory. `present`: the file that was read last.
  Result<Digest> digest_of_rows(const StoredTensor& tensor, std::uint32_t& present) {
    Hasher hasher;
    for (const Piece& piece : tensor.pieces) {
      present = piece.file;
      const FileEntry& file = manifest_.files[piece.file];
      if (!tables_.contains(piece.file)) {
        if (tables_.size() == kOpenTables) tables_.clear();
        TITAN_ASSIGN_OR_RETURN(tables_[piece.file], fs_.open_member(path_, file.path));
      }
      for (std::uint64_t done = 0; done < piece.leaf_count; done += kRowsAtOnce) {
        TITAN_ASSIGN_OR_RETURN(
            const std::vector<LeafRow> rows,
            read_rows(*tables_[piece.file], file, piece.row + done, std::min(kRowsAtOnce, piece.leaf_count - done)));
        for (const LeafRow& row : rows) hasher.update(std::as_bytes(std::span(row.raw.bytes)));
      }
    }
    return hasher.digest();
  }

  // If the manifest and all tables are undamaged, they must give the digests of tensors, components and checkpoint. If
  // they do not, the writer made a mistake.
  Status check_sums() {
    const auto check_tensor = [&](const TensorRef& ref) -> Status {
      TITAN_RETURN_IF_ERROR(cancel_.check());
      std::uint32_t file = 0;
      const Result<Digest> digest = digest_of_rows(*manifest_.stored(ref), file);
      if (digest.status().code == Code::kMediaError) {
        report_.unreadable.push_back(
            {manifest_.files[file].path, "table", "", 0, 0, manifest_.files[file].bytes, digest.status().message});
        return ok_status();
      }
      TITAN_RETURN_IF_ERROR(digest.status());
      if (*digest != manifest_.stored(ref)->digest)
        damaged(kManifestFile, 0, "manifest",
                "the digest of tensor '" + manifest_.stored_name(ref) + "' is not that of its leaves");
      return ok_status();
    };
    for (std::uint32_t i = 0; i < manifest_.parameters.size(); ++i) {
      if (manifest_.parameters[i].model) TITAN_RETURN_IF_ERROR(check_tensor({i, ""}));
      for (const SlotTensor& slot : manifest_.parameters[i].slots) TITAN_RETURN_IF_ERROR(check_tensor({i, slot.name}));
      if (!report_.unreadable.empty())
        return ok_status();  // it could be read before and cannot be read now; it is reported already
    }
    tables_.clear();
    for (const char* name : {kModel, kOptimizer}) {
      const ComponentEntry* entry = manifest_.component(name);
      if (entry && entry->digest != component_digest(manifest_, name))
        damaged(kManifestFile, 0, "manifest",
                "the digest of component '" + std::string(name) + "' is not that of its tensors");
    }
    return check_id();
  }

  // A text that cannot be parsed is damage. A file that could be read before and cannot be read now is an error.
  template <typename T>
  Result<std::optional<T>> load(const char* component,
                                Result<T> (*decode)(const std::string& what, std::string_view text)) {
    const ComponentEntry* entry = manifest_.component(component);
    if (!entry) return std::optional<T>(T{});
    const std::string member = json_path(component);
    const auto bytes = read_member(fs_, path_, member, entry->bytes);
    if (bytes.status().code == Code::kMediaError) {
      report_.unreadable.push_back({member, "json", "", 0, 0, entry->bytes, bytes.status().message});
      return std::optional<T>();
    }
    if (!bytes.ok() && bytes.status().code != Code::kCorrupt) return bytes.status();
    if (bytes.ok()) {
      Result<T> decoded = decode(member, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
      if (decoded.ok()) return std::optional<T>(std::move(*decoded));
    }
    damaged(member, entry->bytes, "json", "it matches its digest but cannot be parsed");
    return std::optional<T>();
  }

  Status check_id() {
    std::uint64_t tokens = 0;
    {
      TITAN_ASSIGN_OR_RETURN(const std::optional<TrainState> train, load(kTrainState, decode_train_state));
      if (!train) return ok_status();
      tokens = train->tokens;
    }
    TITAN_ASSIGN_OR_RETURN(const std::optional<LrSchedule> lr, load(kLrScheduler, decode_lr_schedule));
    if (!lr) return ok_status();
    TITAN_ASSIGN_OR_RETURN(const std::optional<DataPosition> data, load(kDataloader, decode_data_position));
    if (!data) return ok_status();
    if (manifest_.excluded == data->excluded.empty())
      damaged(kManifestFile, 0, "manifest", "'requires' and the data position differ on whether samples are left out");
    if (manifest_.mixture == data->sets.empty())
      damaged(kManifestFile, 0, "manifest", "'requires' and the data position differ on whether data are mixed");
    if (checkpoint_id(manifest_, *lr, *data, tokens) != manifest_.id)
      damaged(kManifestFile, 0, "manifest", "the checkpoint's id is not that of its components");
    return ok_status();
  }

  Fs& fs_;
  const std::string& path_;
  const Manifest& manifest_;
  const VerifyProgress& progress_;
  const CancelToken& cancel_;
  VerifyReport& report_;
  std::vector<ShardCheck::Pieces> by_file_;
  std::vector<Found> found_;                 // by file, so that the order does not depend on threads
  std::atomic<std::int64_t> room_ = kNamed;  // how many more units may be named
  LargeLeafReader large_;
  std::map<std::uint32_t, std::unique_ptr<File>> tables_;

  std::uint64_t total_ = 0;  // bytes of the members
  Mutex mutex_;              // also guards the count of leaves
  std::uint32_t next_file_ TITAN_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Member> present_ TITAN_GUARDED_BY(mutex_);
  bool stopped_ TITAN_GUARDED_BY(mutex_) = false;  // after an error, no thread begins another task

  Mutex count_mutex_;
  std::uint64_t done_ TITAN_GUARDED_BY(count_mutex_) = 0;
};

// Reads the manifest of the checkpoint at `path`, without keeping its text. Returns nullopt if it is damaged, and adds
// the damage to `report`.
Result<std::optional<Manifest>> read_manifest(Fs& fs, const std::string& path, VerifyReport& report) {
  const auto info = fs.stat_member(path, kManifestFile);
  const auto found = [&](std::vector<Damage>& list, const char* unit, const Status& status) {
    list.push_back({kManifestFile, unit, "", 0, 0, info.ok() ? info->size : 0, status.to_string()});
    return std::optional<Manifest>();
  };
  // Neither a media error nor damage is an error of the check: both go into the report.
  const auto judged = [&](const Status& status, const char* unit) -> Result<std::optional<Manifest>> {
    if (status.code == Code::kMediaError) return found(report.unreadable, unit, status);
    if (status.code == Code::kCorrupt) return found(report.damage, unit, status);
    return status;
  };
  if (info.status().code == Code::kNotFound) return no_manifest(fs, path);
  if (!info.ok()) return judged(info.status(), info.status().code == Code::kCorrupt ? "link" : "manifest");
  if (info->type != FileType::kFile) return judged(corrupt("not a regular file"), "manifest");
  const auto bytes = read_member(fs, path, kManifestFile, kMaxManifestBytes);
  if (!bytes.ok()) return judged(bytes.status(), "manifest");
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  // The self-digest first: a damaged version number must not be reported as a newer format.
  if (Status intact = check_self_digest(kManifestFile, text); !intact.ok()) return judged(intact, "manifest");
  auto manifest = decode_manifest(kManifestFile, text);
  if (!manifest.ok()) return judged(manifest.status(), "manifest");
  report.bytes = bytes->size();
  return std::optional<Manifest>(std::move(*manifest));
}

}  // namespace

Result<VerifyReport> verify_checkpoint(Fs& fs, const std::string& path, const VerifyProgress& progress,
                                       const CancelToken& cancel, unsigned threads) {
  VerifyReport report;
  TITAN_ASSIGN_OR_RETURN(const std::optional<Manifest> manifest, read_manifest(fs, path, report));
  if (!manifest) return report;
  report.id = manifest->id;
  TITAN_RETURN_IF_ERROR(Verifier(fs, path, *manifest, progress, cancel, report).run(io_threads(threads)));
  return report;
}

Result<VerifyReport> verify_members(Fs& fs, const std::string& path, const Manifest& manifest,
                                    const VerifyProgress& progress, const CancelToken& cancel, unsigned threads) {
  VerifyReport report;
  report.id = manifest.id;
  TITAN_RETURN_IF_ERROR(Verifier(fs, path, manifest, progress, cancel, report).run(io_threads(threads)));
  return report;
}

}  // namespace titan::ckpt
