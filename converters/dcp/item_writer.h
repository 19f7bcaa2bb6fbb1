#pragma once
// Writes the items of a .distcp file as torch.save would: same entries, same order, same alignment.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "converters/dcp/item.h"

namespace titan::convert::dcp {

/// Appends to a new file in large writes.
class AppendFile {
 public:
  /// \error kFailed
  static Result<std::unique_ptr<AppendFile>> create(ckpt::Fs& fs, const std::string& path);
  std::uint64_t size() const { return flushed_ + buffer_.size(); }
  Status append(std::span<const std::byte> bytes);
  Status append(std::string_view text) { return append(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Writes what is left, makes it durable, closes.
  Status finish();

 private:
  explicit AppendFile(std::unique_ptr<ckpt::File> file) : file_(std::move(file)) {}
  Status flush();

  std::unique_ptr<ckpt::File> file_;
  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;
};

/// Hands out a tensor's bytes: calls `put` with consecutive parts, in all as many bytes as the tensor has.
using PutBytes = std::function<Status(std::span<const std::byte>)>;
using TensorBytes = std::function<Status(const PutBytes& put)>;

struct ItemRange {
  std::uint64_t offset = 0, length = 0;
};

/// Appends a plain value. \error kFailed
Result<ItemRange> append_value(AppendFile& file, const Value& value);
/// Appends a contiguous tensor, streamed. \error kFailed, whatever `bytes` returns
Result<ItemRange> append_tensor(AppendFile& file, std::string_view dtype, const std::vector<std::uint64_t>& shape, const TensorBytes& bytes);

}  // namespace titan::convert::dcp
