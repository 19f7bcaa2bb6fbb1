#include "ckpt/base/files.h"

#include <cerrno>
#include <memory>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"

namespace titan::ckpt {
namespace {

Status make_one_dir(Fs& fs, const std::string& path) {
  Result<FileInfo> info = fs.stat(path);
  if (info.ok()) {
    // A symbolic link may lead to a folder. If it does not, its first use fails.
    if (info->type != FileType::kFile) return ok_status();
    Status status = failed(path + ": expected a directory, found a file");
    status.error = ENOTDIR;
    return status;
  }
  if (info.status().code != Code::kNotFound) return info.status();
  if (Status made = fs.make_dir(path); !made.ok()) {
    // Another process may have made the folder first. Its name must be durable before this process continues.
    Result<FileInfo> again = fs.stat(path);
    if (!again.ok() || again->type != FileType::kDirectory) return made;
  }
  return fs.sync_dir(parent_path(path));
}

Result<std::vector<std::byte>> read_whole(File& file, const std::string& path, std::uint64_t limit) {
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file.size());
  if (size > limit)
    return corrupt(path + ": expected at most " + std::to_string(limit) + " bytes, found " + std::to_string(size));
  std::vector<std::byte> data(size);
  TITAN_RETURN_IF_ERROR(file.pread(0, data));
  TITAN_RETURN_IF_ERROR(file.close());
  return data;
}

}  // namespace

Result<std::vector<std::byte>> read_file(Fs& fs, const std::string& path, std::uint64_t limit) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.open_read(path));
  return read_whole(*file, path, limit);
}

Result<std::vector<std::byte>> read_member(Fs& fs, const std::string& folder, const std::string& member,
                                           std::uint64_t limit) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.open_member(folder, member));
  return read_whole(*file, join_path(folder, member), limit);
}

Status write_new_file(Fs& fs, const std::string& path, std::span<const std::byte> data) {
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, fs.create(path));
  if (!data.empty()) TITAN_RETURN_IF_ERROR(file->pwrite(0, data));
  TITAN_RETURN_IF_ERROR(file->datasync());
  return file->close();
}

Status finish_member(File& file) {
  if (const Status sealed = file.set_read_only(); !sealed.ok() && sealed.code != Code::kUnsupported) return sealed;
  TITAN_RETURN_IF_ERROR(file.datasync());
  return file.close();
}

Status write_member(Fs& fs, const std::string& path, std::span<const std::byte> data) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.create(path));
  if (!data.empty()) TITAN_RETURN_IF_ERROR(file->pwrite(0, data));
  return finish_member(*file);
}

Status make_dirs(Fs& fs, const std::string& path) {
  for (std::size_t end = 1; end < path.size(); ++end)
    if (path[end] == '/' && path[end - 1] != '/') TITAN_RETURN_IF_ERROR(make_one_dir(fs, path.substr(0, end)));
  if (path.empty() || path.back() == '/') return ok_status();
  return make_one_dir(fs, path);
}

Status remove_tree(Fs& fs, const std::string& path, const CancelToken& cancel) {
  Result<FileInfo> info = fs.stat(path);
  if (!info.ok()) return info.status().code == Code::kNotFound ? ok_status() : info.status();
  Status first;
  // After an entry that cannot be removed, continue with the others, and report the first failure.
  auto note = [&first](const Status& status) {
    if (first.ok() && !status.ok() && status.code != Code::kNotFound) first = status;
  };
  const auto remove_file = [&](const std::string& file) {
    const Status stop = cancel.check();
    return stop.ok() ? fs.remove_file(file) : stop;
  };
  if (info->type != FileType::kDirectory) {
    note(remove_file(path));
    return first;
  }
  TITAN_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries, fs.list(path));
  for (const DirEntry& entry : entries) {
    std::string child = join_path(path, entry.name);
    note(entry.type == FileType::kDirectory ? remove_tree(fs, child, cancel) : remove_file(child));
  }
  if (first.ok()) first = cancel.check();
  if (first.ok()) note(fs.remove_dir(path));
  return first;
}

// NFS repeats a mkdir whose reply was lost, and the second call fails because the folder exists. An empty folder of
// that name was made by this process, because no other process has the id of this save.
Status make_own_dir(Fs& fs, const std::string& path) {
  const Status made = fs.make_dir(path);
  if (made.ok()) return made;
  const auto info = fs.stat(path);
  const auto entries = fs.list(path);
  return info.ok() && info->type == FileType::kDirectory && entries.ok() && entries->empty() ? ok_status() : made;
}

Status link_refused(const std::string& path) {
  return corrupt(path + " is a symbolic link: nothing inside a checkpoint may be one")
      .with_hint("put the file or folder itself in its place; only the checkpoint's own folder may be a link");
}

}  // namespace titan::ckpt
