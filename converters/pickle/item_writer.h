#pragma once
// Writes the items of a .distcp file as torch.save would: same entries, same order, same alignment.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converters/pickle/item.h"
#include "converters/write_behind.h"

namespace titan::ckpt {
class File;
class Fs;
}  // namespace titan::ckpt

namespace titan::convert {

/// Fills `out` completely.
using FillBytes = std::function<Status(std::span<std::byte> out)>;

/// Appends to a new file in large writes, made by a separate thread.
class AppendFile {
 public:
  /// Creates the file. \error kFailed
  static Result<std::unique_ptr<AppendFile>> create(ckpt::Fs& fs, const std::string& path);
  ~AppendFile();
  std::uint64_t size() const { return begin_ + used_; }
  Status append(std::span<const std::byte> bytes);
  Status append(std::string_view text) { return append(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Appends `bytes` bytes, which `fill` provides, and returns them; they are valid until the next call. \error
  /// kFailed; errors of `fill`
  Result<std::span<const std::byte>> append(std::uint64_t bytes, const FillBytes& fill);
  /// Writes the rest, makes the file durable and closes it.
  Status finish();

 private:
  explicit AppendFile(std::unique_ptr<ckpt::File> file);
  Status reserve(std::uint64_t bytes);

  std::unique_ptr<ckpt::File> file_;
  WriteBehind behind_;
  WriteBehind::Block block_;
  std::uint64_t begin_ = 0, used_ = 0;  // of the block: its offset in the file, and how much of it is filled
};

/// Takes the next `bytes` bytes of a tensor, which `fill` provides.
using PutBytes = std::function<Status(std::uint64_t bytes, const FillBytes& fill)>;
/// Provides a tensor's bytes: calls `put` for consecutive parts, together as many bytes as the tensor has.
using TensorBytes = std::function<Status(const PutBytes& put)>;

/// The bytes of an item in its file.
struct ItemRange {
  std::uint64_t offset = 0, length = 0;
};

/// Appends a plain value. \error kFailed
Result<ItemRange> append_value(AppendFile& file, const ItemValue& value);
/// Appends a contiguous tensor whose bytes are in memory. \error kFailed
Result<ItemRange> append_tensor(AppendFile& file, std::string_view dtype, const std::vector<std::uint64_t>& shape,
                                std::span<const std::byte> bytes);
/// Appends a contiguous tensor whose bytes are provided in parts. \error kFailed; errors of `bytes`
Result<ItemRange> append_tensor(AppendFile& file, std::string_view dtype, const std::vector<std::uint64_t>& shape,
                                const TensorBytes& bytes);

}  // namespace titan::convert
