#pragma once
// One item of a .distcp file: a torch.save archive that holds a tensor or a plain value.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "converters/pickle/pickle.h"
#include "converters/pickle/zip.h"

namespace titan::convert {

/// A non-tensor value: None, bool, int, float, str, bytes, tuple or list, dict.
struct ItemValue {
  enum class Kind { kNone, kBool, kInt, kFloat, kText, kBytes, kTuple, kList, kDict };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;      ///< kBool, kInt
  double real = 0;               ///< kFloat
  std::string text;              ///< kText, kBytes
  std::vector<ItemValue> parts;  ///< elements; for a dict: key, value, key, ...
  bool operator==(const ItemValue&) const = default;

  bool is_number() const { return kind == Kind::kInt || kind == Kind::kFloat; }
  double number() const { return kind == Kind::kFloat ? real : static_cast<double>(integer); }
  std::string to_string() const;  ///< in Python's notation, shortened; of a dict and of bytes only the size

  static ItemValue none() { return {}; }
  static ItemValue boolean(bool v) { return {Kind::kBool, v ? 1 : 0, 0, {}, {}}; }
  static ItemValue of(std::int64_t v) { return {Kind::kInt, v, 0, {}, {}}; }
  static ItemValue of(double v) { return {Kind::kFloat, 0, v, {}, {}}; }
  static ItemValue of(std::string v) { return {Kind::kText, 0, 0, std::move(v), {}}; }
  static ItemValue tuple(std::vector<ItemValue> v) { return {Kind::kTuple, 0, 0, {}, std::move(v)}; }
  static ItemValue list(std::vector<ItemValue> v) { return {Kind::kList, 0, 0, {}, std::move(v)}; }
};

/// A tensor as data.pkl describes it; its bytes are in a storage entry.
struct ItemTensor {
  std::string dtype;  ///< torch's name: "float32", "bfloat16", ...
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> stride;  ///< in elements
  std::uint64_t first = 0;            ///< index of the first element in the storage
  std::string storage;                ///< entry name: "data/0"
  bool operator==(const ItemTensor&) const = default;

  bool contiguous() const;  ///< row-major without gaps
};

using ItemContent = std::variant<ItemValue, ItemTensor>;

/// Bytes per element of one of torch's dtypes; 0 for a name that is not known.
std::uint64_t torch_dtype_size(std::string_view name);

/// torch's storage class of a dtype ("FloatStorage"); empty when there is none.
std::string_view legacy_storage(std::string_view dtype);

/// Parses the content of a data.pkl; does not read storages. \error kCorrupt, kUnsupported (an unknown class or dtype)
Result<ItemContent> parse_item(const Pickle& pickle);
/// The tensor at `node`, which may be wrapped in a Parameter or a subclass of Tensor. \error kCorrupt, kUnsupported
Result<ItemTensor> parse_tensor(const Pickle& pickle, NodeId node);
/// The value at `node`, at most 64 levels deep, 250,000 values and 64 MiB of text. \error kUnsupported (a larger value,
/// or not a plain one), kCorrupt
Result<ItemValue> parse_value(const Pickle& pickle, NodeId node);
/// Reads the data.pkl of an archive. For a tensor, checks that its storage exists, is little-endian and large enough.
/// \error kCorrupt, kUnsupported
Result<ItemContent> read_item(const ZipArchive& zip);

}  // namespace titan::convert
