#pragma once
// The stored leaves of a checkpoint's shards: tables that are checked before use, and positioned reads of stored bytes.
// For tools that move leaves without looking into them; readers of values use reader.h.
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt {

class LeafSource {
 public:
  /// `manifest` outlives the source.
  LeafSource(Fs& fs, std::string folder, const Manifest& manifest)
      : fs_(fs), folder_(std::move(folder)), manifest_(manifest) {}

  const Manifest& manifest() const { return manifest_; }
  std::string file_path(std::uint32_t file) const { return join_path(folder_, manifest_.files[file].path); }

  /// Reads the leaf table of shard `file` and checks it against its digest. \error kCorrupt, kFailed, kNotFound
  Result<std::vector<LeafRow>> table(std::uint32_t file);

  /// Checks that row `row` of the table is what the manifest says of leaf `leaf` of `ref` in a piece of `codec`: its
  /// raw length, and a place inside the file; raw leaves lie at `raw_offset`. \error kCorrupt naming the leaf
  Status check_row(const LeafRow& row, const TensorRef& ref, std::uint64_t leaf, std::uint32_t file, Codec codec,
                   std::uint64_t raw_offset) const;

  /// Opens shard `file`, or returns it where it is open. Thread-safe.
  Result<std::shared_ptr<File>> open(std::uint32_t file);

  /// "<what>: leaf 3 of tensor 'x' in y, offset 0, 16 bytes", as kCorrupt.
  Status damaged(const std::string& what, const TensorRef& ref, std::uint64_t leaf, std::uint32_t file,
                 const LeafRow& row) const;

 private:
  Fs& fs_;
  std::string folder_;
  const Manifest& manifest_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<File>> files_;
  std::list<std::uint32_t> order_;
};

}  // namespace titan::ckpt
