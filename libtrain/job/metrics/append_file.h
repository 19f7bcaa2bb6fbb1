#pragma once
// A file that grows by whole records, and recovers from a store that refused.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ckpt/base/fs.h"

namespace titan::train {

/// One writer, not thread-safe.
class AppendFile {
 public:
  /// Goes on at `end` of an open file; all before is durable.
  AppendFile(ckpt::Fs& fs, std::unique_ptr<ckpt::File> file, std::string path, std::uint64_t end)
      : fs_(fs), file_(std::move(file)), path_(std::move(path)), end_(end), durable_(end) {}

  /// All of `record`, or nothing.
  ckpt::Status append(std::string_view record);
  /// Makes what was appended durable. After a failure the next call writes all of that anew: a kernel that reported it
  /// once would say yes, with the bytes lost.
  ckpt::Status sync();
  /// sync() and close; reports late errors.
  ckpt::Status close();

 private:
  ckpt::Status put(std::uint64_t at, std::string_view record);
  ckpt::Status open_anew();

  ckpt::Fs& fs_;
  std::unique_ptr<ckpt::File> file_;  ///< null: closed
  std::string path_;
  std::uint64_t end_, durable_;  ///< where the next record goes; up to where a sync has worked
  std::string since_;            ///< the bytes behind durable_
  bool lost_ = false;            ///< a sync has failed since
};

}  // namespace titan::train
