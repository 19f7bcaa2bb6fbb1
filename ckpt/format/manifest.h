#pragma once
// The manifest as a value. Bytes: manifest_codec.h. \source FORMAT.md, "manifest.json"
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
/// the newest that this version knows; writers write the lowest that will do
inline constexpr std::uint32_t kFormatMinor = 3;

inline constexpr std::uint32_t kZstdMinor = 1, kExcludedMinor = 2, kMixtureMinor = 3;  ///< the first with a feature

enum class FileRole { kShard, kJson, kDerived };

/// A member file of a checkpoint. Shards: table and envelope; json and derived files: one whole-file digest.
struct FileEntry {
  std::string path;  ///< relative, '/' separated, no "..", e.g. "model/shard-00000.h5"
  FileRole role = FileRole::kShard;
  std::uint64_t bytes = 0;
  std::uint64_t table_offset = 0;  ///< of the per-leaf table in the file
  std::uint64_t table_rows = 0;
  Digest table;     ///< over the rows' bytes
  Digest envelope;  ///< over all bytes that are neither leaf data nor table, in file order
  Digest whole;     ///< json and derived files
  bool operator==(const FileEntry&) const = default;
};

/// A run of leaves of one tensor in one file. Raw: leaf i starts at offset + (i - first) * leaf bytes.
struct Piece {
  std::uint32_t file = 0;  ///< index into Manifest::files
  std::uint64_t first_leaf = 0;
  std::uint64_t leaf_count = 0;
  std::uint64_t offset = 0;  ///< of the first leaf's bytes in the file
  std::uint64_t row = 0;     ///< of the first leaf in the file's table
  Codec codec = Codec::kRaw;
  bool operator==(const Piece&) const = default;
};

struct StoredTensor {
  DType dtype = DType::kF32;
  std::uint64_t chunk = 0;    ///< chunk extent in elements: min(leaf, elements of the tensor)
  Digest digest;              ///< over the leaf digests in order
  std::vector<Piece> pieces;  ///< by first leaf; cover every leaf exactly once
  bool operator==(const StoredTensor&) const = default;
};

struct SlotTensor {
  std::string name;  ///< "exp_avg", "exp_avg_sq"
  StoredTensor tensor;
  bool operator==(const SlotTensor&) const = default;
};

/// One record per parameter, its optimizer slots inside.
struct ParameterRecord {
  ParameterMeta meta;
  std::optional<StoredTensor> model;  ///< absent when the component "model" is
  std::vector<SlotTensor> slots;      ///< empty when the component "optimizer" is absent
  std::uint64_t optimizer_step = 0;   ///< Adam's t of this parameter; in the component's digest
  bool operator==(const ParameterRecord&) const = default;
};

struct ComponentEntry {
  std::string name;         ///< "model", "optimizer", "lr_scheduler", "dataloader", "train_state"
  Digest digest;            ///< tensors: over (name, dtype, shape, tensor digest); JSON components: of the file
  std::uint64_t bytes = 0;  ///< raw bytes of its leaves, or of the file
  std::uint64_t stored_bytes = 0;
  std::uint32_t files = 0;
  bool operator==(const ComponentEntry&) const = default;
};

/// One of several checkpoints whose weighted sum a checkpoint is.
struct MergedSource {
  Digest id;  ///< zeros: of another format
  std::uint64_t step = 0;
  std::string path;
  double weight = 0;
  bool operator==(const MergedSource&) const = default;
};

struct DerivedFrom {
  Digest id;
  std::uint64_t step = 0;
  std::string path;
  std::vector<MergedSource> merged;  ///< in the order of the sum; empty: made from this one alone
  bool operator==(const DerivedFrom&) const = default;
};

/// The members of manifest.json, by FORMAT.md.
struct Manifest {
  std::uint32_t major = kFormatMajor, minor = 0;  ///< as read; when written, the minor is lowest_minor()
  Digest id;
  std::uint64_t step = 0;
  std::string created;  ///< RFC 3339 UTC
  std::string writer;   ///< program, version, git hash
  Mesh mesh;
  std::vector<std::uint32_t> stage_cuts;  ///< first layer group of stages 1..; recorded, never needed to load
  std::uint64_t leaf_elements = kDefaultLeafElements;
  bool excluded = false;                   ///< dataloader.json names samples that are left out
  bool mixture = false;                    ///< dataloader.json has the sets of a mixture
  std::vector<ComponentEntry> components;  ///< an absent component has no entry
  std::vector<FileEntry> files;
  std::vector<ParameterRecord> parameters;  ///< in model order
  Settings config;                          ///< the resolved configuration: dotted key -> TOML text of the value
  std::optional<DerivedFrom> derived_from;
  bool operator==(const Manifest&) const = default;

  const ComponentEntry* component(std::string_view name) const;
  /// The stored tensor of `ref`, or nullptr when it is absent.
  const StoredTensor* stored(const TensorRef& ref) const;
  StoredTensor* stored(const TensorRef& ref);
  std::string stored_name(const TensorRef& ref) const;  ///< "<parameter>" or "<parameter>.<slot>"
  bool uses(Codec codec) const;                         ///< whether any piece is stored so
  std::uint32_t lowest_minor() const;                   ///< the lowest minor version that can hold it
};

/// Parameters by name: built once for many questions, of models with tens of thousands of tensors. The manifest must
/// outlive it unchanged.
class ParameterIndex {
 public:
  explicit ParameterIndex(const Manifest& manifest);
  /// Index of the parameter called `name`, or nullopt.
  std::optional<std::uint32_t> find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
};

}  // namespace titan::ckpt
