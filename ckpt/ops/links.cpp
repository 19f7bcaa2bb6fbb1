#include "ckpt/ops/links.h"

#include <algorithm>
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

void Links::add(Fs& fs, const std::string& path) {
  const Result<FileInfo> info = fs.stat(path);
  if (!info.ok()) return;
  if (info->type == FileType::kFile) add_file(*info);
  if (info->type != FileType::kDirectory) return;
  const Result<std::vector<DirEntry>> entries = fs.list(path);
  if (!entries.ok()) return;
  for (const DirEntry& entry : *entries) add(fs, join_path(path, entry.name));
}

void Links::add_file(const FileInfo& info) {
  File& file = files_[{info.device, info.inode}];
  file.bytes = info.size;
  file.links = info.links;
  ++file.found;
  bytes_ += info.size;
  ++names_;
}

void Links::add(const Links& other) {
  for (const auto& [id, file] : other.files_) {
    File& mine = files_[id];
    mine.bytes = file.bytes;
    mine.links = file.links;
    mine.found += file.found;
  }
  bytes_ += other.bytes_;
  names_ += other.names_;
}

void Links::remove(const Links& other) {
  for (const auto& [id, file] : other.files_) {
    const auto mine = files_.find(id);
    if (mine == files_.end()) continue;
    mine->second.found -= std::min(file.found, mine->second.found);
    if (mine->second.found == 0) files_.erase(mine);
  }
  bytes_ -= other.bytes_;
  names_ -= other.names_;
}

std::uint64_t Links::once() const {
  std::uint64_t sum = 0;
  for (const auto& [id, file] : files_) sum += file.bytes;
  return sum;
}

std::uint64_t Links::freed() const {
  std::uint64_t sum = 0;
  for (const auto& [id, file] : files_)
    if (file.found >= file.links) sum += file.bytes;
  return sum;
}

}  // namespace titan::ckpt
