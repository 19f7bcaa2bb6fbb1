#pragma once
// Remembers which part of which file gave a media error, and reads that part a second time.
#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/base/mutex.h"
#include "ckpt/base/read_only_fs.h"

namespace titan::ckpt {

/// The part of a file whose read ended with a media error (EIO).
struct UnreadablePlace {
  std::string folder, member;  ///< arguments of Fs::open_member; `member` is empty for a folder that cannot be listed
  std::uint64_t offset = 0, bytes = 0;  ///< bytes 0: open or stat failed
  bool operator==(const UnreadablePlace&) const = default;
};

/// One line of text, to send to another rank.
std::string encode_place(const UnreadablePlace& place);
/// Decodes a line of encode_place(). \error kCorrupt
Result<UnreadablePlace> decode_place(const std::string& text);
/// Reads `place` again from the store, not from the page cache. Returns ok if it can be read, else the error.
/// kMediaError confirms the first error.
Status read_again(Fs& fs, const UnreadablePlace& place);

/// A read-only Fs that passes calls to another Fs and records the last media error. Thread-safe. Must outlive its open
/// files.
class MediaWatch : public ReadOnlyFs {
 public:
  explicit MediaWatch(Fs& inner) : inner_(inner) {}
  /// Where the last media error occurred; nullopt: none since the beginning or forget().
  std::optional<UnreadablePlace> place() const;
  /// Forgets the last media error.
  void forget();

  Result<std::unique_ptr<File>> open_read(const std::string& path) override;
  Result<std::unique_ptr<File>> open_scan(const std::string& path) override;
  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                            Access access) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<FileInfo> stat_member(const std::string& folder, const std::string& member) override;
  Result<std::vector<DirEntry>> list(const std::string& path) override;
  Result<std::string> real_path(const std::string& path) override { return inner_.real_path(path); }
  Result<std::uint64_t> free_bytes(const std::string& path) override { return inner_.free_bytes(path); }

  /// Records `place` if `status` is a media error; returns `status`. Called by the files of this Fs.
  const Status& note(const Status& status, const UnreadablePlace& place);

 private:
  Result<std::unique_ptr<File>> watched(Result<std::unique_ptr<File>> opened, UnreadablePlace place);

  Fs& inner_;
  mutable Mutex mutex_;
  std::optional<UnreadablePlace> place_ TITAN_GUARDED_BY(mutex_);
};

/// A MediaWatch that always opens members with Access::kUncached, because the page cache may still hold the bytes as
/// they were written or read earlier.
class Uncached final : public MediaWatch {
 public:
  using MediaWatch::MediaWatch;
  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member, Access) override {
    return MediaWatch::open_member(folder, member, Access::kUncached);
  }
};

}  // namespace titan::ckpt
