#include "ckpt/save/step_copy.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "ckpt/base/files.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/random_id.h"
#include "ckpt/base/size_text.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/shard_reader.h"
#include "ckpt/read/verifier.h"
#include "ckpt/save/read_back.h"
#include "ckpt/save/writer.h"
#include "ckpt/store/media_watch.h"

namespace titan::ckpt {
namespace {

constexpr const char* kManifestOnItsWay = "manifest.json.tmp";

// A member of the copy, and the ranges of it that were written.
class Target {
 public:
  Target(std::unique_ptr<File> file, std::uint64_t size) : file_(std::move(file)), size_(size) {}

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) {
    TITAN_RETURN_IF_ERROR(file_->pwrite(offset, bytes));
    const MutexLock lock(mutex_);
    std::uint64_t begin = offset, end = offset + bytes.size();
    auto next = written_.upper_bound(begin);
    if (next != written_.begin() && std::prev(next)->second >= begin) next = std::prev(next);
    while (next != written_.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = written_.erase(next);
    }
    written_[begin] = end;
    return ok_status();
  }

  Status finish(const std::string& path) {
    {
      const MutexLock lock(mutex_);
      const bool all = size_ == 0 || (written_.size() == 1 && written_.contains(0) && written_.at(0) == size_);
      if (!all) return failed(path + " was not read whole: its copy would have holes");
    }
    return finish_member(*file_);
  }

 private:
  const std::unique_ptr<File> file_;
  const std::uint64_t size_;
  Mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> written_ TITAN_GUARDED_BY(mutex_);  // begin -> end; ranges do not touch
};

// A file of the source: all bytes read from it are also written into its copy.
class CopiedFile final : public File {
 public:
  CopiedFile(std::unique_ptr<File> source, Target& target) : source_(std::move(source)), target_(target) {}
  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    TITAN_RETURN_IF_ERROR(source_->pread(offset, out));
    return target_.write(offset, out);
  }
  Status pwrite(std::uint64_t, std::span<const std::byte>) override { return no(); }
  Status truncate(std::uint64_t) override { return no(); }
  Result<std::uint64_t> size() override { return source_->size(); }
  Status datasync() override { return no(); }
  Status close() override { return source_->close(); }

 private:
  static Status no() { return failed("a step that is copied is only read"); }
  const std::unique_ptr<File> source_;
  Target& target_;
};

// Opens the members of a checkpoint for the verifier; all bytes that it reads are also written into the folder `to`.
class CopyingFs final : public MediaWatch {
 public:
  CopyingFs(Fs& fs, std::string to) : MediaWatch(fs), fs_(fs), to_(std::move(to)) {}

  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                            Access access) override {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> source, MediaWatch::open_member(folder, member, access));
    const MutexLock lock(mutex_);
    std::unique_ptr<Target>& target = targets_[member];
    if (!target) {
      TITAN_ASSIGN_OR_RETURN(target, make(member, *source));
    }
    return std::unique_ptr<File>(std::make_unique<CopiedFile>(std::move(source), *target));
  }

  // Makes everything that was written durable, except the name of the folder.
  Status finish() {
    const MutexLock lock(mutex_);
    for (const auto& [member, target] : targets_) TITAN_RETURN_IF_ERROR(target->finish(member));
    for (const std::string& folder : folders_) TITAN_RETURN_IF_ERROR(fs_.sync_dir(folder));
    return fs_.sync_dir(to_);
  }

 private:
  Result<std::unique_ptr<Target>> make(const std::string& member, File& source) TITAN_REQUIRES(mutex_) {
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, source.size());
    const std::string path = join_path(to_, member == kManifestFile ? kManifestOnItsWay : member);
    if (const std::string folder = parent_path(path); folder != to_ && folders_.insert(folder).second)
      TITAN_RETURN_IF_ERROR(make_dirs(fs_, folder));
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs_.create(path));
    return std::make_unique<Target>(std::move(file), size);
  }

  Fs& fs_;
  const std::string to_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Target>> targets_ TITAN_GUARDED_BY(mutex_);
  std::set<std::string> folders_ TITAN_GUARDED_BY(mutex_);
};

Status check_room(Fs& fs, const Manifest& manifest, const std::string& checkpoint_dir) {
  std::uint64_t needed = 0;
  for (const FileEntry& file : manifest.files) needed += file.bytes;
  needed += needed / 20;
  const auto available = fs.free_bytes(checkpoint_dir);
  if (!available.ok() || *available >= needed) return available.status();
  Status full = failed("not enough space for " + step_name(manifest.step) + " in " + checkpoint_dir +
                       ": it needs about " + size_text(needed) + ", " + size_text(*available) + " are free");
  full.error = ENOSPC;
  return full;
}

// The verifier reads every byte, which is written into the copy at the same time.
Status fill(Fs& fs, const std::string& from, const std::string& to, const StepCopyOptions& options) {
  CopyingFs copying(fs, to);
  TITAN_ASSIGN_OR_RETURN(const VerifyReport report,
                         verify_checkpoint(copying, from, {}, options.cancel, options.threads));
  if (!report.damage.empty()) {
    const Damage& first = report.damage.front();
    return corrupt(join_path(from, first.file) + " is damaged (" + first.unit + "): " + first.detail);
  }
  if (!report.unreadable.empty())
    return media_error(join_path(from, report.unreadable.front().file) +
                       " cannot be read: " + report.unreadable.front().detail);
  return copying.finish();
}

// Reads the copy back from the store, as a save reads back what it wrote.
Status read_copy(Fs& fs, const std::string& to, const Manifest& manifest, const StepCopyOptions& options) {
  if (options.read_back == ReadBack::kOff) return ok_status();
  for (const FileEntry& file : manifest.files) {
    TITAN_RETURN_IF_ERROR(options.cancel.check());
    if (file.role == FileRole::kShard) {
      std::vector<LeafRow> rows;
      TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> handle, fs.open_member(to, file.path));
      for (std::uint64_t first = 0; first < file.table_rows; first += kRowsAtOnce) {
        TITAN_ASSIGN_OR_RETURN(const std::vector<LeafRow> some,
                               read_rows(*handle, file, first, std::min(kRowsAtOnce, file.table_rows - first)));
        rows.insert(rows.end(), some.begin(), some.end());
      }
      TITAN_RETURN_IF_ERROR(read_back(fs, to, file, rows, options.read_back, options.threads));
    } else if (file.role == FileRole::kJson || options.read_back == ReadBack::kAll) {
      TITAN_RETURN_IF_ERROR(read_back_whole(fs, to, file));
    }
  }
  return ok_status();
}

}  // namespace

Result<Published> copy_step(Fs& fs, const std::string& from, const std::string& checkpoint_dir,
                            const StepCopyOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const Manifest manifest, read_manifest(fs, from));
  TITAN_RETURN_IF_ERROR(check_room(fs, manifest, checkpoint_dir));
  const std::string to = join_path(checkpoint_dir, temporary_name(manifest.step, random_id()));
  TITAN_RETURN_IF_ERROR(make_own_dir(fs, to));
  const auto work = [&]() -> Result<Published> {
    TITAN_RETURN_IF_ERROR(fill(fs, from, to, options));
    TITAN_RETURN_IF_ERROR(read_copy(fs, to, manifest, options));
    TITAN_RETURN_IF_ERROR(fs.rename(join_path(to, kManifestOnItsWay), join_path(to, kManifestFile)));
    TITAN_RETURN_IF_ERROR(fs.sync_dir(to));
    TITAN_ASSIGN_OR_RETURN(const Manifest copied, read_manifest(fs, to));
    if (copied != manifest) return failed(from + " has become another checkpoint while it was copied");
    return publish(fs, checkpoint_dir, to, manifest, options.commit);
  };
  Result<Published> published = work();
  if (!published.ok()) abandon_save(fs, to);
  if (published.ok()) published->read_whole = published->already_there || options.read_back == ReadBack::kAll;
  return published;
}

}  // namespace titan::ckpt
