#pragma once
// A file that grows by whole records, and recovers from refused writes.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::ckpt {
class File;
class Fs;
}  // namespace titan::ckpt

namespace titan::train {

/// One writer, not thread-safe.
class AppendFile {
 public:
  /// Appends at `end` of an open file. All bytes before `end` must be durable.
  AppendFile(ckpt::Fs& fs, std::unique_ptr<ckpt::File> file, std::string path, std::uint64_t end);
  AppendFile(AppendFile&& other) noexcept;
  ~AppendFile();

  /// Appends all of `record`, or nothing: after a failed write the file is cut to its length before.
  ckpt::Status append(std::string_view record);
  /// Makes the appended records durable. After a failure, the next append() or sync() first writes them again: the
  /// kernel reports a failure only once, so the next sync would succeed although the bytes are lost. For this, up to
  /// 64 MiB of records are kept in memory. If more are appended without a sync, all of them count as durable.
  ckpt::Status sync();
  /// sync() and close; reports late errors.
  ckpt::Status close();

 private:
  ckpt::Status put(std::uint64_t at, std::string_view record);
  ckpt::Status open_anew();

  ckpt::Fs& fs_;
  std::unique_ptr<ckpt::File> file_;  ///< null: closed
  std::string path_;
  std::uint64_t end_, durable_;  ///< end_: offset of the next record; durable_: end of what counts as durable
  std::string since_;            ///< bytes after durable_
  bool lost_ = false;            ///< a sync has failed since durable_ was set
};

}  // namespace titan::train
