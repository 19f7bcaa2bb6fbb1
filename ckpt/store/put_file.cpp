#include "ckpt/store/put_file.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/random_id.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

constexpr std::string_view kMark = ".tmp-";
constexpr std::size_t kIdDigits = 12;  // of random_id()

Status write_temporary(Fs& fs, const std::string& temporary, std::string_view text, Lasting lasting) {
  const auto bytes = std::as_bytes(std::span(text));
  if (lasting != Lasting::kNo) return write_new_file(fs, temporary, bytes);
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.create(temporary));
  TITAN_RETURN_IF_ERROR(file->pwrite(0, bytes));
  return file->close();
}

}  // namespace

std::string temporary_path(const std::string& path) { return path + std::string(kMark) + random_id(); }

Status put_file(Fs& fs, const std::string& path, std::string_view text, Lasting lasting) {
  const std::string temporary = temporary_path(path);
  Status status = write_temporary(fs, temporary, text, lasting);
  if (status.ok()) status = fs.rename(temporary, path);
  if (!status.ok()) (void)fs.remove_file(temporary);
  return status.ok() && lasting == Lasting::kYes ? fs.sync_dir(parent_path(path)) : status;
}

Status remove_stale_temporaries(Fs& fs, const std::string& path) {
  const std::string folder = parent_path(path), begin = base_name(path) + std::string(kMark);
  TITAN_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries, fs.list(folder));
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kFile || entry.name.size() != begin.size() + kIdDigits ||
        !entry.name.starts_with(begin) || !is_save_id(std::string_view(entry.name).substr(begin.size())))
      continue;
    const Status removed = fs.remove_file(join_path(folder, entry.name));
    if (!removed.ok() && removed.code != Code::kNotFound) return removed;
  }
  return ok_status();
}

}  // namespace titan::ckpt
