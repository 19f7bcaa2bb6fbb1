#include "converters/gguf/gguf_file.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include "ckpt/base/fs.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/model/leaf.h"
#include "converters/little_endian.h"

namespace titan::convert {

using ckpt::corrupt;
using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::uint64_t kMaxKeys = 16384, kMaxTensors = 65536, kMaxHeader = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxKey = 256, kMaxName = 63, kMaxDimensions = 4, kMaxAlignment = 1 << 20;
constexpr int kMaxDepth = 4;  // nesting of lists
constexpr std::uint64_t kWindow = std::uint64_t{1} << 18;

enum Type : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

/// Bytes of a value of `type`; 0: not fixed.
std::uint64_t size_of(std::uint64_t type) {
  constexpr std::uint64_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[type];
}

// The double with the shortest digits of a float: 1e-05 for 9.99999975e-06.
double shortest(float value) {
  return ckpt::number_of<double>(ckpt::digits_of(value)).value_or(static_cast<double>(value));
}

class Parser {
 public:
  Parser(ckpt::File& file, const std::string& what) : file_(file), what_(what) {}

  Result<GgufHeader> run() {
    TITAN_ASSIGN_OR_RETURN(size_, file_.size());
    TITAN_RETURN_IF_ERROR(begin());
    for (std::uint64_t i = 0; i < keys_; ++i) TITAN_RETURN_IF_ERROR(key());
    TITAN_RETURN_IF_ERROR(find_alignment());
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < tensors_; ++i) {
      TITAN_RETURN_IF_ERROR(tensor());
      if (!names.insert(header_.tensors.back().name).second)
        return wrong("tensor '" + header_.tensors.back().name + "' is there twice");
    }
    TITAN_RETURN_IF_ERROR(place());
    return std::move(header_);
  }

 private:
  Status wrong(const std::string& why) const { return corrupt(what_ + ": " + why); }
  Status ends() const { return wrong("the file ends within the header, at byte " + std::to_string(size_)); }
  std::uint64_t left() const { return size_ - at_; }

  // Makes `count` bytes (a few hundred at most) of the file available in the window.
  Status need(std::uint64_t count) {
    if (count > left()) return ends();
    if (at_ + count > kMaxHeader)
      return ckpt::unsupported(what_ + ": its header has more than " + std::to_string(kMaxHeader) + " bytes");
    if (at_ >= start_ && at_ + count <= start_ + window_.size()) return {};
    window_.resize(std::min(kWindow, left()));
    start_ = at_;
    return file_.pread(start_, window_);
  }
  Result<std::uint64_t> number(std::uint64_t bytes) {
    TITAN_RETURN_IF_ERROR(need(bytes));
    const std::uint64_t value = get_le(ckpt::text_of(window_), at_ - start_, bytes);
    at_ += bytes;
    return value;
  }
  Result<std::string> text(std::uint64_t bytes) {
    TITAN_RETURN_IF_ERROR(need(bytes));
    std::string value(ckpt::text_of(window_).substr(at_ - start_, bytes));
    at_ += bytes;
    return value;
  }
  Status pass(std::uint64_t bytes) {
    if (bytes > left()) return ends();
    at_ += bytes;
    return {};
  }

  Status begin() {
    if (size_ < 4) return wrong("has " + std::to_string(size_) + " bytes, too few for a GGUF file");
    TITAN_ASSIGN_OR_RETURN(const std::string magic, text(4));
    if (magic != "GGUF") return wrong("does not begin as a GGUF file does");
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t version, number(4));
    if (version == 0x02000000 || version == 0x03000000)
      return ckpt::unsupported(what_ + " is a GGUF file for big-endian machines");
    if (version != 2 && version != 3)
      return ckpt::unsupported(what_ + " is a GGUF file of version " + std::to_string(version) + ", expected 2 or 3");
    TITAN_ASSIGN_OR_RETURN(tensors_, number(8));
    TITAN_ASSIGN_OR_RETURN(keys_, number(8));
    constexpr std::uint64_t kLeastKey = 8 + 4 + 1, kLeastTensor = 8 + 4 + 4 + 8;
    if (keys_ > left() / kLeastKey || tensors_ > left() / kLeastTensor)
      return wrong("claims " + std::to_string(tensors_) + " tensors and " + std::to_string(keys_) +
                   " keys, more than the file can hold");
    if (keys_ > kMaxKeys || tensors_ > kMaxTensors)
      return ckpt::unsupported(what_ + " has " + std::to_string(tensors_) + " tensors and " + std::to_string(keys_) +
                               " keys, expected at most " + std::to_string(kMaxTensors) + " and " +
                               std::to_string(kMaxKeys));
    return {};
  }

  Status key() {
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t length, number(8));
    if (length == 0 || length > kMaxKey) return wrong("a key has " + std::to_string(length) + " bytes");
    TITAN_ASSIGN_OR_RETURN(const std::string name, text(length));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t type, number(4));
    TITAN_ASSIGN_OR_RETURN(GgufValue read, value(name, type));
    if (!header_.values.emplace(name, std::move(read)).second) return wrong("key '" + name + "' is there twice");
    return {};
  }

  Result<GgufValue> value(const std::string& name, std::uint64_t type) {
    GgufValue value;
    if (type > kF64) return wrong("key '" + name + "' has a value of type " + std::to_string(type));
    if (type == kArray) {
      value.kind = GgufValue::Kind::kList;
      TITAN_ASSIGN_OR_RETURN(value.count, list(name, 1));
      return value;
    }
    if (type == kString) {
      value.kind = GgufValue::Kind::kText;
      TITAN_ASSIGN_OR_RETURN(value.count, number(8));
      if (value.count > kMaxGgufText) {
        TITAN_RETURN_IF_ERROR(pass(value.count));
      } else {
        TITAN_ASSIGN_OR_RETURN(value.text, text(value.count));
      }
      return value;
    }
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t bits, number(size_of(type)));
    if (type == kF32 || type == kF64) {
      value.kind = GgufValue::Kind::kReal;
      value.real =
          type == kF64 ? std::bit_cast<double>(bits) : shortest(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      return value;
    }
    if (type == kBool) value.kind = GgufValue::Kind::kFlag;
    const std::uint64_t unused = 64 - 8 * size_of(type);
    const bool is_signed = type == kI8 || type == kI16 || type == kI32 || type == kI64;
    value.whole =
        is_signed ? static_cast<std::int64_t>(bits << unused) >> unused
                  : static_cast<std::int64_t>(std::min<std::uint64_t>(bits, std::numeric_limits<std::int64_t>::max()));
    return value;
  }

  // Skips a list; returns its number of elements.
  Result<std::uint64_t> list(const std::string& name, int depth) {
    if (depth > kMaxDepth)
      return wrong("key '" + name + "' has lists in lists, deeper than " + std::to_string(kMaxDepth));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t type, number(4));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t count, number(8));
    if (type > kF64) return wrong("key '" + name + "' has a list of type " + std::to_string(type));
    const std::uint64_t least = type == kString ? 8 : type == kArray ? 12 : size_of(type);
    if (count > left() / least)
      return wrong("key '" + name + "' claims " + std::to_string(count) + " elements, more than the file can hold");
    if (type != kString && type != kArray) TITAN_RETURN_IF_ERROR(pass(count * least));
    for (std::uint64_t i = 0; i < count && type == kString; ++i) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t length, number(8));
      TITAN_RETURN_IF_ERROR(pass(length));
    }
    for (std::uint64_t i = 0; i < count && type == kArray; ++i) TITAN_RETURN_IF_ERROR(list(name, depth + 1).status());
    return count;
  }

  Status find_alignment() {
    const auto at = header_.values.find("general.alignment");
    if (at == header_.values.end()) return {};
    const std::int64_t value = at->second.whole;
    if (at->second.kind != GgufValue::Kind::kWhole || value < 1 || value > static_cast<std::int64_t>(kMaxAlignment) ||
        !std::has_single_bit(static_cast<std::uint64_t>(value)))
      return wrong("general.alignment is no power of two up to " + std::to_string(kMaxAlignment));
    alignment_ = static_cast<std::uint64_t>(value);
    return {};
  }

  Status tensor() {
    GgufTensor tensor;
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t length, number(8));
    if (length == 0 || length > kMaxName) return wrong("the name of a tensor has " + std::to_string(length) + " bytes");
    TITAN_ASSIGN_OR_RETURN(tensor.name, text(length));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t dimensions, number(4));
    const std::string name = "tensor '" + tensor.name + "'";
    if (dimensions > kMaxDimensions) return wrong(name + " has " + std::to_string(dimensions) + " dimensions");
    for (std::uint64_t i = 0; i < dimensions; ++i) {
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t extent, number(8));
      tensor.shape.insert(tensor.shape.begin(), extent);
    }
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t id, number(4));
    TITAN_ASSIGN_OR_RETURN(tensor.offset, number(8));
    tensor.type = ggml_type(static_cast<std::uint32_t>(id));
    std::uint64_t elements = 0;
    if (!ckpt::checked_elements(tensor.shape, &elements) || elements > std::numeric_limits<std::uint64_t>::max() / 8)
      return wrong(name + " has more elements than there can be");
    if (tensor.offset % alignment_ != 0)
      return wrong(name + " begins at " + std::to_string(tensor.offset) + ", which " + std::to_string(alignment_) +
                   " does not divide");
    if (tensor.type != nullptr) {
      const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
      if (row % tensor.type->elements != 0)
        return wrong(name + " has rows of " + std::to_string(row) + " elements, which no blocks of " +
                     tensor.type->name + " fill");
      tensor.bytes = elements / tensor.type->elements * tensor.type->bytes;
    } else if (unread_.empty()) {
      unread_ = name + " of " + what_ + " has elements of type " + ggml_type_name(static_cast<std::uint32_t>(id));
    }
    header_.tensors.push_back(std::move(tensor));
    return {};
  }

  // Converts offsets to file offsets, and checks that tensors are inside the file and do not overlap.
  Status place() {
    header_.data_offset = ckpt::round_up(at_, alignment_);
    // Checked last, so that a damaged file is reported as damaged, not as unsupported.
    if (!unread_.empty()) return ckpt::unsupported(unread_ + ": not supported");
    std::vector<const GgufTensor*> order;
    for (GgufTensor& tensor : header_.tensors) {
      const std::uint64_t room = size_ - std::min(size_, header_.data_offset);
      if (tensor.offset > room || tensor.bytes > room - tensor.offset)
        return wrong("tensor '" + tensor.name + "' ends beyond the end of the file, at byte " + std::to_string(size_));
      tensor.offset += header_.data_offset;
      if (tensor.bytes > 0) order.push_back(&tensor);
    }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i - 1]->offset + order[i - 1]->bytes > order[i]->offset)
        return wrong("tensors '" + order[i - 1]->name + "' and '" + order[i]->name + "' overlap");
    return {};
  }

  ckpt::File& file_;
  const std::string& what_;
  std::uint64_t size_ = 0, at_ = 0, start_ = 0;
  std::vector<std::byte> window_;
  std::uint64_t keys_ = 0, tensors_ = 0, alignment_ = 32;
  std::string unread_;  // name of the first tensor of an unsupported type
  GgufHeader header_;
};

}  // namespace

const GgufValue* GgufHeader::find(const std::string& key, GgufValue::Kind kind) const {
  const auto at = values.find(key);
  return at == values.end() || at->second.kind != kind ? nullptr : &at->second;
}

std::optional<std::string> GgufHeader::text(const std::string& key) const {
  const GgufValue* value = find(key, GgufValue::Kind::kText);
  return value == nullptr ? std::nullopt : std::optional(value->text);
}

Result<GgufHeader> read_gguf_header(ckpt::File& file, const std::string& what) { return Parser(file, what).run(); }

}  // namespace titan::convert
