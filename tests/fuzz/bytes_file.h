#pragma once
// The input of a fuzz target as a file, and a folder of such files. A read beyond an end is an error, as on a real file
// system.
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "ckpt/base/read_only_fs.h"

namespace titan::fuzz {

class BytesFile final : public ckpt::File {
 public:
  explicit BytesFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  ckpt::Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) return ckpt::corrupt("the file ends");
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }
  ckpt::Status pwrite(std::uint64_t, std::span<const std::byte>) override { return ckpt::failed("read only"); }
  ckpt::Status truncate(std::uint64_t) override { return ckpt::failed("read only"); }
  ckpt::Result<std::uint64_t> size() override { return std::uint64_t{bytes_.size()}; }
  ckpt::Status datasync() override { return {}; }
  ckpt::Status close() override { return {}; }

 private:
  std::span<const std::byte> bytes_;
};

/// Files by path, all in one folder; nothing can be changed.
class BytesFolder final : public ckpt::ReadOnlyFs {
 public:
  explicit BytesFolder(std::map<std::string, std::span<const std::byte>> files) : files_(std::move(files)) {}
  ckpt::Result<std::unique_ptr<ckpt::File>> open_read(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return ckpt::not_found(path);
    return std::unique_ptr<ckpt::File>(std::make_unique<BytesFile>(found->second));
  }
  ckpt::Result<ckpt::FileInfo> stat(const std::string& path) override {
    const auto found = files_.find(path);
    ckpt::FileInfo info;
    info.type = ckpt::FileType::kDirectory;
    if (found == files_.end() && !list(path)->empty()) return info;
    if (found == files_.end()) return ckpt::not_found(path);
    info.type = ckpt::FileType::kFile;
    info.size = info.allocated = found->second.size();
    return info;
  }
  ckpt::Result<std::vector<ckpt::DirEntry>> list(const std::string& path) override {
    std::vector<ckpt::DirEntry> entries;
    for (const auto& [name, bytes] : files_)
      if (name.starts_with(path + "/")) entries.push_back({name.substr(path.size() + 1), ckpt::FileType::kFile});
    return entries;
  }

 private:
  std::map<std::string, std::span<const std::byte>> files_;
};

}  // namespace titan::fuzz
