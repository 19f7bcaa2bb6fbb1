#include "libtrain/job/start/shared_folder.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/lock/lock_owner.h"
#include "ckpt/lock/run_lock.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/control/message.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr double kLookSeconds = 0.25;
constexpr std::uint64_t kNoteLimit = 16 * 1024;
constexpr std::size_t kMostNamed = 12, kMostCauses = 4;

Result<ckpt::LockOwner> note_in(ckpt::Fs& fs, const std::string& folder) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                         ckpt::read_file(fs, ckpt::join_path(folder, ckpt::kRunLockFile), kNoteLimit));
  return ckpt::decode_lock_owner(std::string(ckpt::text_of(bytes)));
}

std::string found_text(ckpt::Fs& fs, const std::string& folder, const Result<ckpt::LockOwner>& note) {
  if (note.ok()) return "the lock there was taken by " + ckpt::describe(*note);
  if (note.status().code != ckpt::Code::kNotFound) return note.status().message;
  return fs.stat(folder).ok() ? "nobody has taken a lock there" : "there is no such folder";
}

std::string ranks_text(const std::vector<FolderView>& views) {
  std::string text = views.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(views.size(), kMostNamed); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(views[i].rank);
  return views.size() <= kMostNamed ? text : text + " and " + std::to_string(views.size() - kMostNamed) + " more";
}

std::string encode_view(const FolderView& view) {
  return view.same ? "" : MessageWriter().text(view.path).text(view.found).take();
}

FolderView decode_view(int rank, const std::string& bytes) {
  FolderView view{rank, bytes.empty(), "", ""};
  if (view.same) return view;
  MessageReader in(bytes);
  view.path = in.text();
  view.found = in.text();
  return view;
}

}  // namespace

FolderView view_folder(ckpt::Fs& fs, int rank, const std::string& checkpoint_dir, const std::string& mark,
                       const ckpt::LockWait& wait) {
  const double until = wait.now() + kFolderPatienceSeconds;
  while (true) {
    const Result<ckpt::LockOwner> note = note_in(fs, checkpoint_dir);
    if (note.ok() && note->mark == mark) return {rank, true, checkpoint_dir, ""};
    if (wait.now() >= until || wait.cancel.stopped())
      return {rank, false, checkpoint_dir, found_text(fs, checkpoint_dir, note)};
    wait.sleep(kLookSeconds);
    // Listing a folder makes a network file system's client ask its server again what the folder contains.
    (void)fs.list(checkpoint_dir);
  }
}

Status judge_folders(const std::string& path_of_root, const std::vector<FolderView>& views) {
  std::vector<FolderView> elsewhere, blind;
  for (const FolderView& view : views)
    if (!view.same) (view.path == path_of_root ? blind : elsewhere).push_back(view);
  if (elsewhere.empty() && blind.empty()) return ckpt::ok_status();
  const bool typed = !elsewhere.empty();
  const std::vector<FolderView>& named = typed ? elsewhere : blind;
  Status status = typed ? ckpt::incompatible(ranks_text(named) + (named.size() == 1 ? " has" : " have") +
                                             " another run folder than rank 0: " + named[0].path + " there, " +
                                             path_of_root + " on rank 0")
                              .with_hint("give every rank the same job.dump_folder and checkpoint.folder")
                        : ckpt::failed(ranks_text(named) + (named.size() == 1 ? " does" : " do") +
                                       " not see the folder that rank 0 sees: " + path_of_root +
                                       " is another folder on " + (named.size() == 1 ? "its host" : "their hosts"))
                              .with_hint(
                                  "checkpoints need a store that all hosts share: mount it at that path on every host, "
                                  "or choose a job.dump_folder on one");
  for (std::size_t i = 0; i < std::min(named.size(), kMostCauses); ++i)
    status.causes.push_back("rank " + std::to_string(named[i].rank) + ": " + named[i].path + ": " + named[i].found);
  return status;
}

Status check_shared_folder(Control& all, ckpt::Fs& fs, const std::string& checkpoint_dir, const std::string& mark,
                           const ckpt::LockWait& wait) {
  if (all.size() == 1) return ckpt::ok_status();
  const std::string of_root =
      all.broadcast(all.rank() == 0 ? MessageWriter().text(mark).text(checkpoint_dir).take() : "", 0);
  MessageReader in(of_root);
  const std::string wanted = in.text(), path_of_root = in.text();
  FolderView mine{0, true, checkpoint_dir, ""};
  if (all.rank() != 0) mine = view_folder(fs, all.rank(), checkpoint_dir, wanted, wait);
  if (!first_rank(all, !mine.same)) return ckpt::ok_status();
  const std::vector<std::string> texts = all.all_gather(encode_view(mine));
  std::vector<FolderView> views;
  for (std::size_t i = 0; i < texts.size(); ++i) views.push_back(decode_view(static_cast<int>(i), texts[i]));
  return judge_folders(path_of_root, views);
}

}  // namespace titan::train
