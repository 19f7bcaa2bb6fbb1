#include "ckpt/io/temporary.h"

#include <algorithm>
#include <random>

#include "ckpt/io/recover.h"
#include "ckpt/io/run_lock.h"

namespace titan::ckpt {
namespace {

// Takes the lock in `folder`, made when missing. The one who finishes removes the file while holding it: a lock on a file
// that has lost its name is worth nothing, so what we wrote must be what lies under the name.
Result<std::unique_ptr<FileLock>> lock_folder(Fs& fs, const std::string& folder, const std::string& dst) {
  const std::string path = join_path(folder, "lock");
  const std::string note = encode_lock_owner(this_process());
  const std::string text = std::to_string(std::random_device{}()) + std::to_string(std::random_device{}()) + " " + note;
  Status last;
  for (int attempt = 0; attempt < 20; ++attempt) {
    Status made = fs.make_dir(folder);  // may be there
    Result<std::unique_ptr<FileLock>> lock = fs.lock(path);
    if (!lock.ok()) {
      last = lock.status();
      if (last.code == Code::kLocked) {
        Status status = locked("another process is writing " + dst).with_hint("wait until it ends, or choose another name");
        const std::string& holder = last.causes.empty() ? note : last.causes.front();
        if (const auto owner = decode_lock_owner(holder.substr(std::min(holder.find('{'), holder.size()))); owner.ok())
          status.causes.push_back("process " + std::to_string(owner->pid) + " on host " + owner->host + " since " + owner->since);
        return status;
      }
      if (fs.stat(folder).ok()) {
        (void)fs.remove_dir(folder);  // only if it is empty, so only if it is ours
        return last;
      }
      if (!made.ok()) return made;
      continue;  // the other one has just removed the folder
    }
    TITAN_RETURN_IF_ERROR((*lock)->write(text));
    const auto back = read_file(fs, path, 64 * 1024);
    if (back.ok() && std::string(reinterpret_cast<const char*>(back->data()), back->size()) == text) return std::move(*lock);
    last = back.ok() ? locked("another process is writing " + dst) : back.status();
    if (last.code != Code::kNotFound && last.code != Code::kLocked) return last;
  }
  return last;
}

}  // namespace

Temporary::Temporary(Fs& fs, const std::string& dst)
    : fs_(fs), dst_(dst), folder_(dst + kRewriteSuffix), fresh_(rewrite_fresh(dst)), aside_(rewrite_aside(dst)) {}

Temporary::~Temporary() {
  if (!kept_) (void)remove();
}

Result<std::unique_ptr<Temporary>> Temporary::take(Fs& fs, const std::string& dst) {
  std::unique_ptr<Temporary> temporary(new Temporary(fs, dst));
  temporary->keep();  // nothing of ours is there yet
  TITAN_ASSIGN_OR_RETURN(temporary->lock_, lock_folder(fs, temporary->folder_, dst));
  const Status cleared = temporary->clear();
  // A checkpoint that could not go back stays where it is for the next tool.
  temporary->kept_ = !cleared.ok() && fs.stat(temporary->aside_).status().code != Code::kNotFound;
  TITAN_RETURN_IF_ERROR(cleared);
  return temporary;
}

// What was moved aside is somebody's only copy until DST is seen.
Status Temporary::clear() {
  TITAN_RETURN_IF_ERROR(put_back(fs_, dst_));
  TITAN_RETURN_IF_ERROR(remove_tree(fs_, aside_));
  return remove_tree(fs_, fresh_);
}

// The lock goes last: while its name is there the folder is ours.
std::vector<std::string> Temporary::remove() {
  kept_ = true;
  std::vector<std::string> failures;
  for (const std::string& path : {fresh_, aside_, join_path(folder_, "lock")}) {
    if (const Status removed = remove_tree(fs_, path); !removed.ok()) failures.push_back(removed.message);
  }
  if (const Status removed = fs_.remove_dir(folder_); !removed.ok() && removed.code != Code::kNotFound) failures.push_back(removed.message);
  lock_.reset();
  return failures;
}

}  // namespace titan::ckpt
