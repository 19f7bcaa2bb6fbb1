#pragma once
// Reads a file or a stream from its first byte to its last, and decompresses gzip and zstd.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// A stream of bytes that is read once, in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Writes the next bytes to the beginning of `out`, which must not be empty. Returns their number, which may be less
  /// than the size of `out`; 0 at the end of the stream. \error kFailed, kMediaError, kCorrupt (damaged compression, or
  /// the file became shorter), kInterrupted, kTerminated (standard input)
  virtual ckpt::Result<std::size_t> read(std::span<char> out) = 0;
};

/// A function with the contract of ByteSource::read.
using ReadBytes = std::function<ckpt::Result<std::size_t>(std::span<char> out)>;

/// A ByteSource that calls `read`.
std::unique_ptr<ByteSource> source_of(ReadBytes read);
/// Opens the file at `path`; follows symbolic links. \error kInvalid: the file does not exist; else as Fs::open_read
ckpt::Result<std::unique_ptr<ByteSource>> file_source(ckpt::Fs& fs, const std::string& path);

/// A source, and what its first 4 KiB (ckpt::kSignatureBytes) tell about its content. For a compressed file both the
/// source and the other members are about the decompressed bytes.
struct ExaminedSource {
  std::unique_ptr<ByteSource> source;  ///< still returns the examined bytes: reads from the first byte on
  ckpt::FileKind kind = ckpt::FileKind::kUnknown;
  bool json_lines = false;  ///< the first line begins with `{"`; it ends with `}` or is longer than 4 KiB
  bool marked = false;      ///< the content begins with a UTF-8 byte order mark (BOM)
  bool json = false;        ///< the content begins like a JSON object, or like a list of objects, lists or strings
};
/// Examines the beginning of `source`. If `source` is compressed with gzip or zstd, the result reads the decompressed
/// bytes of all gzip members or zstd frames, one after the other. `name`: for messages. \error as ByteSource::read
ckpt::Result<ExaminedSource> examine(const std::string& name, std::unique_ptr<ByteSource> source);

}  // namespace titan::corpus
