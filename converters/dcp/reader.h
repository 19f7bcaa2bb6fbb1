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

/// Thread-safe. Keeps in memory: the metadata, up to 64 open files, the locations of recently read chunks, and the
/// elements of a chunk that is not stored row-major.
class DcpReader {
 public:
  /// Reads the metadata of each of the checkpoint's parts (parts.h): its `.metadata`, or the headers of its safetensors
  /// shards. Then checks that every file exists and is long enough for its items. Reads no item. \error kNotFound:
  /// neither `.metadata` nor items; kCorrupt: also items without `.metadata`; kUnsupported: another kind of file, what
  /// parse_metadata and read_shards refuse, or a save in a form that is not read (one `.metadata` per rank, or
  /// `.distcp` items that are safetensors files); kFailed
  static Result<std::unique_ptr<DcpReader>> open(ckpt::Fs& fs, const std::string& path);

  const std::string& path() const { return path_; }
  ckpt::Fs& fs() const { return fs_; }
  const Metadata& metadata() const { return metadata_; }

  /// Reads elements of `tensor` from `first` on, as many as `out` holds. Checks the CRC of a chunk (torch does not)
  /// once all of it was read in ascending order, over any number of calls. Chunks in safetensors files have no CRC.
  /// \error kInvalid (no such elements), kCorrupt naming file and item, kUnsupported, kFailed
  Status read(const TensorEntry& tensor, std::uint64_t first, std::span<std::byte> out) const;

  /// The value under `name`: a bytes item, or a tensor without dimensions as a number. \error kNotFound, kCorrupt,
  /// kUnsupported
  Result<ItemValue> value(const std::string& name) const;

  /// Reads every item. Checks the CRC of every entry of an item, and compares the element type and shape of a tensor's
  /// item with the metadata. Items in safetensors files have no CRC: they are only read. Damage is added to the report;
  /// an I/O error, or an error of `progress`, ends the check.
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
