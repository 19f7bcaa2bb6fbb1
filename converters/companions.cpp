#include "converters/companions.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"

namespace titan::convert {

using ckpt::FileEntry;
using ckpt::join_path;

namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;

// Copies a companion and hashes the bytes while copying, so the digest is that of the bytes written. `size` is set to
// the number of bytes copied.
Result<ckpt::Digest> copy(Fs& fs, const Companion& companion, ckpt::File& to, std::uint64_t& size) {
  if (companion.path.empty()) {
    const auto text = std::as_bytes(std::span(companion.text));
    size = text.size();
    TITAN_RETURN_IF_ERROR(to.pwrite(0, text));
    return ckpt::digest_of(text);
  }
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> from, fs.open_read(companion.path));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t bytes, from->size());
  size = bytes;
  std::vector<std::byte> buffer(std::min(kChunk, bytes));
  ckpt::Hasher hasher;
  for (std::uint64_t at = 0; at < bytes; at += kChunk) {
    const auto part = std::span(buffer).first(std::min(kChunk, bytes - at));
    TITAN_RETURN_IF_ERROR(from->pread(at, part));
    hasher.update(part);
    TITAN_RETURN_IF_ERROR(to.pwrite(at, part));
  }
  return hasher.digest();
}

}  // namespace

std::string through_link(Fs& fs, const std::string& path) {
  const auto info = fs.stat(path);
  if (!info.ok() || info->type != ckpt::FileType::kLink) return path;
  const Result<std::string> real = fs.real_path(path);
  return real.ok() ? *real : path;
}

Result<std::vector<FileEntry>> take_companions(Fs& fs, const std::vector<Companion>& companions,
                                               const std::string& checkpoint) {
  std::vector<FileEntry> entries;
  if (companions.empty()) return entries;
  TITAN_RETURN_IF_ERROR(fs.make_dir(join_path(checkpoint, kCompanionFolder)));
  for (const Companion& companion : companions) {
    FileEntry entry;
    entry.path = join_path(kCompanionFolder, companion.name);
    entry.role = ckpt::FileRole::kDerived;
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> to, fs.create(join_path(checkpoint, entry.path)));
    TITAN_ASSIGN_OR_RETURN(entry.whole, copy(fs, companion, *to, entry.bytes));
    TITAN_RETURN_IF_ERROR(ckpt::finish_member(*to));
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<Companion> companions_of(const CheckpointReader& checkpoint) {
  const std::string folder = kCompanionFolder;
  std::vector<Companion> list;
  for (const FileEntry& entry : checkpoint.manifest().files) {
    const std::string name = entry.path.substr(std::min(folder.size() + 1, entry.path.size()));
    if (entry.role != ckpt::FileRole::kDerived || entry.path != folder + "/" + name ||
        name.find('/') != std::string::npos)
      continue;
    list.push_back({join_path(checkpoint.path(), entry.path), name, entry.whole});
  }
  return list;
}

Result<std::string> read_companion(Fs& fs, const Companion& companion, std::uint64_t limit) {
  if (companion.path.empty()) return companion.text;
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ckpt::read_file(fs, companion.path, limit));
  if (companion.digest && ckpt::digest_of(bytes) != *companion.digest)
    return ckpt::corrupt(companion.path + " does not match its digest");
  return std::string(ckpt::text_of(bytes));
}

Result<std::string> read_companion(Fs& fs, const std::vector<Companion>& companions, const std::string& name,
                                   std::uint64_t limit) {
  const auto known = std::ranges::find(companions, name, &Companion::name);
  return known == companions.end() ? std::string() : read_companion(fs, *known, limit);
}

Status copy_companions(Fs& fs, const std::vector<Companion>& companions, const std::string& destination,
                       const std::function<bool(const std::string& name)>& wanted) {
  for (const Companion& companion : companions) {
    if (!wanted(companion.name)) continue;
    std::uint64_t bytes = 0;
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> to, fs.create(join_path(destination, companion.name)));
    TITAN_ASSIGN_OR_RETURN(const ckpt::Digest digest, copy(fs, companion, *to, bytes));
    if (companion.digest && digest != *companion.digest)
      return ckpt::corrupt(companion.path + " does not match its digest");
    TITAN_RETURN_IF_ERROR(to->datasync());
    TITAN_RETURN_IF_ERROR(to->close());
  }
  return ckpt::ok_status();
}

}  // namespace titan::convert
