#pragma once
// Opens a DCP directory, or a folder of safetensors shards, for reading. Reads any range of a tensor's elements,
// however the tensor is sharded, and plain values.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ckpt/model/dtype.h"
#include "ckpt/read/verifier.h"
#include "converters/dcp/metadata.h"
#include "converters/pickle/item.h"

namespace titan::ckpt {
class File;
class Fs;
}  // namespace titan::ckpt

namespace titan::convert::dcp {

/// Thread-safe. Keeps the metadata, a few open files, and the locations of recently read chunks.
class DcpReader {
 public:
  /// Reads `.metadata`, or the `.metadata` files of the checkpoint's parts (parts.h), and checks that every file exists
  /// and is long enough for its items. Reads no item. \error kNotFound (no `.metadata`), kCorrupt, kUnsupported
  /// (Pickle::decode, parse_metadata)
  static Result<std::unique_ptr<DcpReader>> open(ckpt::Fs& fs, const std::string& path);

  const std::string& path() const { return path_; }
  ckpt::Fs& fs() const { return fs_; }
  const Metadata& metadata() const { return metadata_; }

  /// Reads elements of `tensor` from `first` on, as many as `out` holds. Checks the CRC of a chunk if all of it is read
  /// in ascending order, over any number of calls (torch does not check it). \error kCorrupt naming file and item,
  /// kUnsupported, kFailed
  Status read(const TensorEntry& tensor, std::uint64_t first, std::span<std::byte> out) const;

  /// The value under `name`: a bytes item, or a tensor without dimensions as a number. \error kNotFound, kCorrupt,
  /// kUnsupported
  Result<Value> value(const std::string& name) const;

  /// Checks the CRC of every entry of every item, and compares each item with the metadata. Damage is added to the
  /// report; an error of `progress` ends the check.
  Result<ckpt::VerifyReport> verify(
      const std::function<Status(std::uint64_t done, std::uint64_t total)>& progress) const;

 private:
  struct OpenChunk;
  DcpReader(ckpt::Fs& fs, std::string path, Metadata metadata);
  Status check_files();
  Result<std::shared_ptr<ckpt::File>> file(std::uint32_t index) const;
  std::string item_name(const ItemPlace& place, const std::string& name) const;
  Result<std::shared_ptr<OpenChunk>> open_chunk(const TensorEntry& tensor, std::size_t index) const;
  std::shared_ptr<OpenChunk> remember(const TensorEntry* tensor, std::size_t index,
                                      std::shared_ptr<OpenChunk> open) const;
  Status read_chunk(const TensorEntry& tensor, std::size_t index, std::uint64_t first, std::span<std::byte> out) const;
  Status verify_item(const ItemPlace& place, const std::string& name, const TensorEntry* tensor, const Chunk* chunk,
                     ckpt::VerifyReport& report) const;

  ckpt::Fs& fs_;
  std::string path_;
  Metadata metadata_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint32_t, std::shared_ptr<ckpt::File>> files_;
  mutable std::map<std::pair<const TensorEntry*, std::size_t>, std::shared_ptr<OpenChunk>> chunks_;
};

}  // namespace titan::convert::dcp
