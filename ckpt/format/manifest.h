#pragma once
// The manifest as a value. manifest_codec.h encodes it. \source FORMAT.md, "manifest.json"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/model/codec.h"
#include "ckpt/model/settings.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::ckpt {

inline constexpr std::uint32_t kFormatMajor = 1;
/// The newest minor version that this program knows. Writers write the lowest one that suffices.
inline constexpr std::uint32_t kFormatMinor = 3;

inline constexpr std::uint32_t kZstdMinor = 1, kExcludedMinor = 2, kMixtureMinor = 3;  ///< the first minor version with
                                                                                       ///< each feature

enum class FileRole { kShard, kJson, kDerived };

/// A member file of a checkpoint. A shard has digests of its table and envelope; a JSON or derived file has one digest
/// of the whole file.
struct FileEntry {
  std::string path;  ///< relative, '/' separated, no "..", e.g. "model/shard-00000.h5"
  FileRole role = FileRole::kShard;
  std::uint64_t bytes = 0;
  std::uint64_t table_offset = 0;  ///< where the leaf table begins in the file
  std::uint64_t table_rows = 0;
  Digest table;     ///< digest of the table's bytes
  Digest envelope;  ///< digest of all bytes that are neither leaf data nor table, in file order
  Digest whole;     ///< digest of the whole file, for JSON and derived files
  bool operator==(const FileEntry&) const = default;
};

/// Consecutive leaves of one tensor in one file. In a raw piece, leaf i begins at offset + (i - first_leaf) * bytes of
/// a leaf.
struct Piece {
  std::uint32_t file = 0;  ///< index into Manifest::files
  std::uint64_t first_leaf = 0;
  std::uint64_t leaf_count = 0;
  std::uint64_t offset = 0;  ///< where the first leaf begins in the file, in bytes
  std::uint64_t row = 0;     ///< row of the first leaf in the file's leaf table
  Codec codec = Codec::kRaw;
  bool operator==(const Piece&) const = default;
};

/// A parameter or slot as stored.
struct StoredTensor {
  DType dtype = DType::kF32;
  std::uint64_t chunk = 0;    ///< elements of one chunk: min(leaf, elements of the tensor)
  Digest digest;              ///< digest of the leaf digests in order
  std::vector<Piece> pieces;  ///< in order of the first leaf; together they cover every leaf exactly once
  bool operator==(const StoredTensor&) const = default;
};

struct SlotTensor {
  std::string name;  ///< "exp_avg", "exp_avg_sq", "ema"
  StoredTensor tensor;
  bool operator==(const SlotTensor&) const = default;
};

/// One record per parameter, with its optimizer slots.
struct ParameterRecord {
  ParameterMeta meta;
  std::optional<StoredTensor> model;  ///< absent when the component "model" is absent
  std::vector<SlotTensor> slots;      ///< empty when the component "optimizer" is absent
  std::uint64_t optimizer_step = 0;   ///< Adam's t of this parameter; part of the component's digest
  bool operator==(const ParameterRecord&) const = default;
};

/// The totals of one component.
struct ComponentEntry {
  std::string name;                ///< "model", "optimizer", "lr_scheduler", "dataloader", "train_state"
  Digest digest;                   ///< tensors: component_digest() (checkpoint_id.h); JSON components: of the file
  std::uint64_t bytes = 0;         ///< raw bytes of all leaves, or bytes of the file
  std::uint64_t stored_bytes = 0;  ///< size of the files that hold the component
  std::uint32_t files = 0;         ///< number of these files
  bool operator==(const ComponentEntry&) const = default;
};

/// One source of a weighted sum of checkpoints (`titan-ckpt merge`).
struct MergedSource {
  Digest id;  ///< zeros: a checkpoint of another format
  std::uint64_t step = 0;
  std::string path;
  double weight = 0;
  bool operator==(const MergedSource&) const = default;
};

/// The checkpoint from which a tool made this one.
struct DerivedFrom {
  Digest id;
  std::uint64_t step = 0;
  std::string path;
  /// Sources of the weighted sum that this checkpoint is, or was made from, in the order of summation; else empty.
  std::vector<MergedSource> merged;
  bool operator==(const DerivedFrom&) const = default;
};

/// The content of manifest.json, as FORMAT.md specifies it.
struct Manifest {
  std::uint32_t major = kFormatMajor, minor = 0;  ///< as read; the writer uses lowest_minor()
  Digest id;
  std::uint64_t step = 0;
  std::string created;                    ///< RFC 3339 UTC
  std::string writer;                     ///< program, version, git hash
  Mesh mesh;                              ///< of the writing run, or of the reshard
  std::vector<std::uint32_t> stage_cuts;  ///< first layer group of stages 1, 2, ...; not needed to load
  std::uint64_t leaf_elements = kDefaultLeafElements;
  bool excluded = false;                   ///< dataloader.json has excluded samples
  bool mixture = false;                    ///< dataloader.json has the sets of a mixture
  std::vector<ComponentEntry> components;  ///< an absent component has no entry
  std::vector<FileEntry> files;
  std::vector<ParameterRecord> parameters;  ///< in model order
  Settings config;                          ///< the resolved configuration: dotted key -> TOML text of the value
  std::optional<DerivedFrom> derived_from;
  bool operator==(const Manifest&) const = default;

  const ComponentEntry* component(std::string_view name) const;
  /// The stored tensor of `ref`; nullptr if absent.
  const StoredTensor* stored(const TensorRef& ref) const;
  StoredTensor* stored(const TensorRef& ref);
  std::string stored_name(const TensorRef& ref) const;  ///< "<parameter>" or "<parameter>.<slot>"
  bool uses(Codec codec) const;                         ///< whether any piece has this codec
  std::uint32_t lowest_minor() const;                   ///< the lowest minor version that can express this manifest
};

/// Parameters by name, for many look-ups in models with tens of thousands of tensors. The manifest must outlive the
/// index and must not change meanwhile.
class ParameterIndex {
 public:
  explicit ParameterIndex(const Manifest& manifest);
  /// Index of the parameter called `name`, or nullopt.
  std::optional<std::uint32_t> find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
};

}  // namespace titan::ckpt
