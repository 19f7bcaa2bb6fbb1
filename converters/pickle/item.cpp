#include "converters/pickle/item.h"

#include <algorithm>

#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"

namespace titan::convert {
namespace {

struct DTypeRow {
  std::string_view name;
  std::uint64_t bytes;
  std::string_view storage;  // storage class of torch 1.x; empty if there is none
};
constexpr DTypeRow kDTypes[] = {
    {"float32", 4, "FloatStorage"},
    {"float64", 8, "DoubleStorage"},
    {"float16", 2, "HalfStorage"},
    {"bfloat16", 2, "BFloat16Storage"},
    {"int64", 8, "LongStorage"},
    {"int32", 4, "IntStorage"},
    {"int16", 2, "ShortStorage"},
    {"int8", 1, "CharStorage"},
    {"uint8", 1, "ByteStorage"},
    {"bool", 1, "BoolStorage"},
    {"complex64", 8, "ComplexFloatStorage"},
    {"complex128", 16, "ComplexDoubleStorage"},
    {"uint16", 2, ""},
    {"uint32", 4, ""},
    {"uint64", 8, ""},
    {"float8_e4m3fn", 1, ""},
    {"float8_e5m2", 1, ""},
    {"float8_e4m3fnuz", 1, ""},
    {"float8_e5m2fnuz", 1, ""},
    {"float8_e8m0fnu", 1, ""},
};
DTypeRow row_of(std::string_view name) {
  const auto* const row = std::ranges::find(kDTypes, name, &DTypeRow::name);
  return row == std::end(kDTypes) ? DTypeRow{} : *row;
}

constexpr std::uint64_t kMaxPickle = 256u << 20;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxValues = 250'000;
constexpr std::uint64_t kMaxText = 64u << 20;  // bytes of all strings of one value; a string may be referred to often
constexpr std::uint32_t kMaxNodes = 2'000'000;

struct Budget {
  std::size_t values = kMaxValues;
  std::uint64_t text = kMaxText;
};

// Converts Latin-1 text in UTF-8 back to bytes: protocol 2 encodes a bytes value in this form.
Result<std::string> latin1(const Pickle& pickle, std::string_view utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c < 0x80) {
      bytes.push_back(static_cast<char>(c));
    } else if ((c == 0xc2 || c == 0xc3) && i + 1 < utf8.size() &&
               (static_cast<unsigned char>(utf8[i + 1]) & 0xc0) == 0x80) {
      bytes.push_back(static_cast<char>((c & 3) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3f)));
    } else {
      return ckpt::corrupt(pickle.what() + ": a bytes value that is not Latin-1");
    }
  }
  return bytes;
}

Result<ItemValue> value_of(const Pickle& pickle, NodeId node, int depth, Budget& budget) {
  const auto too_large = [&] { return ckpt::unsupported(pickle.what() + ": a value that is too deep or too large"); };
  if (depth > kMaxDepth || budget.values == 0) return too_large();
  --budget.values;
  ItemValue value;
  switch (pickle.kind(node)) {
    case NodeKind::kNone: return value;
    case NodeKind::kBool: return ItemValue::boolean(pickle.boolean(node));
    case NodeKind::kInt: return ItemValue::of(pickle.integer(node));
    case NodeKind::kFloat: return ItemValue::of(pickle.real(node));
    case NodeKind::kText:
      value.kind = ItemValue::Kind::kText;
      if (pickle.text(node).size() > budget.text) return too_large();
      budget.text -= pickle.text(node).size();
      value.text = pickle.text(node);
      return value;
    case NodeKind::kTuple: value.kind = ItemValue::Kind::kTuple; break;
    case NodeKind::kList: value.kind = ItemValue::Kind::kList; break;
    case NodeKind::kDict: value.kind = ItemValue::Kind::kDict; break;
    case NodeKind::kCall:
      if (pickle.is_made_by(node, "_codecs", "encode")) {
        const NodeId arguments = pickle.arguments(node);
        if (pickle.size(arguments) == 2 && pickle.is(pickle.item(arguments, 0), NodeKind::kText) &&
            pickle.is(pickle.item(arguments, 1), NodeKind::kText) &&
            pickle.text(pickle.item(arguments, 1)) == "latin1") {
          value.kind = ItemValue::Kind::kBytes;
          const std::uint64_t size = pickle.text(pickle.item(arguments, 0)).size();
          if (size > budget.text) return too_large();
          budget.text -= size;
          TITAN_ASSIGN_OR_RETURN(value.text, latin1(pickle, pickle.text(pickle.item(arguments, 0))));
          return value;
        }
      }
      [[fallthrough]];
    default:
      return ckpt::unsupported(pickle.what() + ": " + pickle.describe(node) + " where a plain value is expected");
  }
  for (std::size_t i = 0; i < pickle.size(node); ++i) {
    TITAN_ASSIGN_OR_RETURN(ItemValue part, value_of(pickle, pickle.item(node, i), depth + 1, budget));
    value.parts.push_back(std::move(part));
  }
  return value;
}

Result<std::vector<std::uint64_t>> numbers(const Pickle& pickle, NodeId node, const char* what) {
  if (pickle.is_made_by(node, "torch", "Size") && pickle.size(pickle.arguments(node)) == 1)
    node = pickle.item(pickle.arguments(node), 0);
  if (!pickle.is(node, NodeKind::kTuple))
    return ckpt::corrupt(pickle.what() + ": the tensor's " + what + " is " + pickle.describe(node));
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < pickle.size(node); ++i) {
    const NodeId part = pickle.item(node, i);
    if (!pickle.is(part, NodeKind::kInt) || pickle.integer(part) < 0)
      return ckpt::corrupt(pickle.what() + ": the tensor's " + what + " has " + pickle.describe(part));
    out.push_back(static_cast<std::uint64_t>(pickle.integer(part)));
  }
  return out;
}

// Reads the persistent id of a tensor's storage: ("storage", class, key, device, size).
Status read_storage(const Pickle& pickle, NodeId node, ItemTensor& tensor, std::string_view dtype_name) {
  const auto bad = [&](const std::string& message) { return ckpt::corrupt(pickle.what() + ": " + message); };
  if (!pickle.is(node, NodeKind::kPersistent) || !pickle.is(pickle.item(node, 0), NodeKind::kTuple) ||
      pickle.size(pickle.item(node, 0)) != 5) {
    return bad("the tensor's storage is " + pickle.describe(node));
  }
  const NodeId id = pickle.item(node, 0);
  const NodeId kind = pickle.item(id, 0), type = pickle.item(id, 1), key = pickle.item(id, 2),
               size = pickle.item(id, 4);
  if (!pickle.is(kind, NodeKind::kText) || pickle.text(kind) != "storage" || !pickle.is(key, NodeKind::kText) ||
      !pickle.is(type, NodeKind::kGlobal) || !pickle.is(size, NodeKind::kInt)) {
    return bad("a storage id of another form: " + pickle.describe(kind) + ", " + pickle.describe(type) + ", " +
               pickle.describe(key));
  }
  const std::string_view digits = pickle.text(key);
  if (digits.empty() || digits.size() > 20 || !std::all_of(digits.begin(), digits.end(), ckpt::is_digit)) {
    return bad("a storage key '" + std::string(digits.substr(0, 60)) + "'");
  }
  tensor.storage = "data/" + std::string(digits);
  if (!dtype_name.empty()) {
    if (!pickle.is_global(type, "torch.storage", "UntypedStorage"))
      return bad("storage class " + pickle.describe(type) + " in _rebuild_tensor_v3");
    tensor.dtype = dtype_name;
  } else {
    for (const DTypeRow& row : kDTypes)
      if (!row.storage.empty() && pickle.is_global(type, "torch", row.storage)) tensor.dtype = row.name;
    if (tensor.dtype.empty())
      return ckpt::unsupported(pickle.what() + ": storage class " + pickle.describe(type) + " is not known");
  }
  const std::uint64_t unit = dtype_name.empty() ? 1 : torch_dtype_size(dtype_name);
  if (pickle.integer(size) < 0) return bad("a storage of " + std::to_string(pickle.integer(size)) + " elements");
  const std::uint64_t elements = static_cast<std::uint64_t>(pickle.integer(size)) / unit;
  // Index of the last element that the tensor reaches. Every step is checked for overflow.
  std::uint64_t last = tensor.first, count = 1;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(count, tensor.shape[i], &count)) return bad("the tensor's shape overflows");
    if (tensor.shape[i] == 0) return {};
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.stride[i], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return bad("the tensor's strides overflow");
  }
  if (last >= elements)
    return bad("the tensor reaches element " + std::to_string(last) + " of a storage of " + std::to_string(elements));
  return {};
}

Result<ItemTensor> tensor_of(const Pickle& pickle, NodeId arguments, bool v3) {
  const std::size_t least = v3 ? 7 : 6;
  if (pickle.size(arguments) < least)
    return ckpt::corrupt(pickle.what() + ": a tensor with " + std::to_string(pickle.size(arguments)) + " arguments");
  ItemTensor tensor;
  const NodeId first = pickle.item(arguments, 1);
  if (!pickle.is(first, NodeKind::kInt) || pickle.integer(first) < 0)
    return ckpt::corrupt(pickle.what() + ": storage offset " + pickle.describe(first));
  tensor.first = static_cast<std::uint64_t>(pickle.integer(first));
  TITAN_ASSIGN_OR_RETURN(tensor.shape, numbers(pickle, pickle.item(arguments, 2), "shape"));
  TITAN_ASSIGN_OR_RETURN(tensor.stride, numbers(pickle, pickle.item(arguments, 3), "stride"));
  if (tensor.shape.size() != tensor.stride.size())
    return ckpt::corrupt(pickle.what() + ": shape and stride differ in length");
  std::string_view dtype;
  if (v3) {
    const NodeId name = pickle.item(arguments, 6);
    if (!pickle.is(name, NodeKind::kGlobal) || pickle.module(name) != "torch" ||
        torch_dtype_size(pickle.name(name)) == 0) {
      return ckpt::unsupported(pickle.what() + ": element type " + pickle.describe(name) + " is not known");
    }
    dtype = pickle.name(name);
  }
  TITAN_RETURN_IF_ERROR(read_storage(pickle, pickle.item(arguments, 0), tensor, dtype));
  return tensor;
}

}  // namespace

std::uint64_t torch_dtype_size(std::string_view name) { return row_of(name).bytes; }

std::string_view legacy_storage(std::string_view dtype) { return row_of(dtype).storage; }

bool ItemTensor::contiguous() const {
  std::uint64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && stride[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

std::string ItemValue::to_string() const {
  std::string out;
  switch (kind) {
    case Kind::kNone: return "None";
    case Kind::kBool: return integer != 0 ? "True" : "False";
    case Kind::kInt: return std::to_string(integer);
    case Kind::kFloat: return ckpt::digits_of(real);
    case Kind::kText: return "'" + text.substr(0, 60) + "'";
    case Kind::kBytes: return "bytes of " + std::to_string(text.size());
    case Kind::kDict: return "dict of " + std::to_string(parts.size() / 2);
    case Kind::kTuple:
    case Kind::kList: break;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 8); ++i)
    out += (i > 0 ? ", " : "") + parts[i].to_string();
  if (parts.size() > 8) out += ", ...";
  return kind == Kind::kTuple ? "(" + out + ")" : "[" + out + "]";
}

Result<ItemTensor> parse_tensor(const Pickle& pickle, NodeId node) {
  const auto wrong = [&] { return ckpt::corrupt(pickle.what() + ": " + pickle.describe(node) + " is no tensor"); };
  if (pickle.is_made_by(node, "torch._utils", "_rebuild_parameter") && pickle.size(pickle.arguments(node)) > 0)
    node = pickle.item(pickle.arguments(node), 0);
  // A subclass is pickled as (function, class, arguments, state); the arguments contain the tensor.
  if (pickle.is_made_by(node, "torch._tensor", "_rebuild_from_type_v2")) {
    const NodeId parts = pickle.arguments(node);
    if (pickle.size(parts) != 4 || !pickle.is_global(pickle.item(parts, 0), "torch._utils", "_rebuild_tensor_v2") ||
        !pickle.is(pickle.item(parts, 2), NodeKind::kTuple))
      return wrong();
    return tensor_of(pickle, pickle.item(parts, 2), false);
  }
  if (pickle.is_made_by(node, "torch._utils", "_rebuild_tensor_v2"))
    return tensor_of(pickle, pickle.arguments(node), false);
  if (pickle.is_made_by(node, "torch._utils", "_rebuild_tensor_v3"))
    return tensor_of(pickle, pickle.arguments(node), true);
  return wrong();
}

Result<ItemValue> parse_value(const Pickle& pickle, NodeId node) {
  Budget budget;
  return value_of(pickle, node, 0, budget);
}

Result<ItemContent> parse_item(const Pickle& pickle) {
  NodeId node = pickle.root();
  if (pickle.is_made_by(node, "torch._utils", "_rebuild_parameter")) {
    if (pickle.size(pickle.arguments(node)) < 1) return ckpt::corrupt(pickle.what() + ": a parameter without a tensor");
    node = pickle.item(pickle.arguments(node), 0);
  }
  if (pickle.is_made_by(node, "torch._utils", "_rebuild_tensor_v2") ||
      pickle.is_made_by(node, "torch._utils", "_rebuild_tensor_v3")) {
    TITAN_ASSIGN_OR_RETURN(ItemTensor tensor, parse_tensor(pickle, node));
    return ItemContent(std::move(tensor));
  }
  TITAN_ASSIGN_OR_RETURN(ItemValue value, parse_value(pickle, node));
  return ItemContent(std::move(value));
}

Result<ItemContent> read_item(const ZipArchive& zip) {
  const ZipEntry* pkl = zip.find("data.pkl");
  if (pkl == nullptr) return ckpt::corrupt(zip.what() + ": no data.pkl in the archive");
  TITAN_ASSIGN_OR_RETURN(std::string bytes, zip.read(*pkl, kMaxPickle));
  PickleLimits limits;
  limits.text = static_cast<std::uint32_t>(kMaxPickle);
  limits.nodes = kMaxNodes;
  TITAN_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::decode(zip.what() + ": data.pkl", std::move(bytes), limits));
  TITAN_ASSIGN_OR_RETURN(ItemContent content, parse_item(pickle));
  const auto* tensor = std::get_if<ItemTensor>(&content);
  if (tensor == nullptr) return content;
  if (const ZipEntry* order = zip.find("byteorder"); order != nullptr) {
    TITAN_ASSIGN_OR_RETURN(const std::string text, zip.read(*order, 16));
    if (text != "little")
      return ckpt::unsupported(zip.what() + ": byte order '" + text + "', only little-endian tensors are read");
  }
  const ZipEntry* storage = zip.find(tensor->storage);
  if (storage == nullptr) return ckpt::corrupt(zip.what() + ": no entry " + tensor->storage + " in the archive");
  std::uint64_t last = tensor->first;
  for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
    if (tensor->shape[i] == 0) return content;
    last += (tensor->shape[i] - 1) * tensor->stride[i];
  }
  if (storage->bytes / torch_dtype_size(tensor->dtype) <= last) {
    return ckpt::corrupt(zip.what() + ": the tensor reaches element " + std::to_string(last) + ", entry " +
                         storage->name + " has " + std::to_string(storage->bytes) + " bytes");
  }
  return content;
}

}  // namespace titan::convert
