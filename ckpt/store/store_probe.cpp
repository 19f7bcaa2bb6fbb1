#include "ckpt/store/store_probe.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/random_id.h"

namespace titan::ckpt {
namespace {

/// Writes far after the end of an empty file. The bytes before the written ones must read as zeros.
Status sparse_write(File& file) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 20;
  const std::byte mark[4] = {std::byte{'t'}, std::byte{'i'}, std::byte{'t'}, std::byte{'n'}};
  TITAN_RETURN_IF_ERROR(file.pwrite(kFar, mark));
  TITAN_ASSIGN_OR_RETURN(std::uint64_t size, file.size());
  if (size != kFar + sizeof mark)
    return failed("expected a size of " + std::to_string(kFar + sizeof mark) + ", found " + std::to_string(size));
  std::byte back[8];
  TITAN_RETURN_IF_ERROR(file.pread(kFar - sizeof mark, back));
  for (std::size_t i = 0; i < sizeof back; ++i)
    if (back[i] != (i < sizeof mark ? std::byte{0} : mark[i - sizeof mark]))
      return failed("read back other bytes than were written");
  return ok_status();
}

Status try_store(Fs& fs, const std::string& dir, const std::string& from, const std::string& to, std::string* doing) {
  *doing = "making a folder";
  TITAN_RETURN_IF_ERROR(fs.make_dir(from));
  *doing = "exclusive creation of a file";
  const std::string path = join_path(from, "file");
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.create(path));
  if (fs.create(path).ok()) return failed(path + ": created twice, expected the second call to fail");
  *doing = "a sparse positioned write";
  TITAN_RETURN_IF_ERROR(sparse_write(*file));
  *doing = "making a file durable";
  TITAN_RETURN_IF_ERROR(file->datasync());
  TITAN_RETURN_IF_ERROR(file->close());
  *doing = "renaming a folder";
  TITAN_RETURN_IF_ERROR(fs.rename_noreplace(from, to));
  TITAN_ASSIGN_OR_RETURN(FileInfo info, fs.stat(join_path(to, "file")));
  if (info.type != FileType::kFile || fs.stat(from).ok()) return failed(to + ": the folder did not move as one");
  *doing = "refusing to rename over an existing folder";
  TITAN_RETURN_IF_ERROR(fs.make_dir(from));
  if (fs.rename_noreplace(to, from).ok()) return failed(from + ": replaced by a rename that must not replace");
  *doing = "making a folder durable";
  TITAN_RETURN_IF_ERROR(fs.sync_dir(from));
  return fs.sync_dir(dir);
}

}  // namespace

Status probe_store(Fs& fs, const std::string& dir) {
  // The name is one of trash (is_trash()): if this process dies here, the next start removes the folder.
  const std::string base = join_path(dir, ".trash-probe-" + random_id());
  const std::string from = base + "-a", to = base + "-b";
  std::string doing;
  Status status = try_store(fs, dir, from, to, &doing);
  const Status removed[] = {remove_tree(fs, from), remove_tree(fs, to)};
  if (status.ok()) {
    doing = "removing files and folders";
    for (const Status& one : removed)
      if (status.ok()) status = one;
  }
  if (status.ok()) return status;
  std::string hint = status.hint.empty()
                         ? "checkpoints need POSIX semantics and write permission: choose another folder"
                         : status.hint;
  status.code = Code::kFailed;
  return status.wrapped("the store of " + dir + " failed at " + doing).with_hint(std::move(hint));
}

}  // namespace titan::ckpt
