#include "ckpt/ops/slice.h"

#include <algorithm>
#include <optional>

#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/model/leaf.h"

namespace titan::ckpt {
namespace {

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts = split(text, separator);
  for (std::string& part : parts) part = std::string(trimmed(part));
  return parts;
}

// Reads the part of a slice for dimension `dim` of `size` elements.
Result<Slice::Extent> parse_extent(std::string_view part, std::size_t dim, std::uint64_t size) {
  const auto wrong = [&] {
    return invalid("`" + std::string(part) +
                   "` is not an index: expected a whole number, `a:b`, `a:`, `:b` or `:` for dimension " +
                   std::to_string(dim));
  };
  const std::vector<std::string> ends = parts_of(part, ':');
  if (ends.size() > 3) return wrong();
  if (ends.size() == 3) {
    return unsupported("`" + std::string(part) + "` asks for a step, which `cat` does not support")
        .with_hint("take `" + ends[0] + ":" + ends[1] + "` and pick from the result");
  }
  const auto signed_size = static_cast<std::int64_t>(size);
  if (ends.size() == 1) {
    const std::optional<std::int64_t> index = number_of<std::int64_t>(part);
    if (!index) return wrong();
    if (*index >= signed_size || *index < -signed_size) {
      return invalid("index " + std::to_string(*index) + " is out of range for dimension " + std::to_string(dim) +
                     ", which has " + std::to_string(size) + " elements");
    }
    const auto at = static_cast<std::uint64_t>(*index < 0 ? *index + signed_size : *index);
    return Slice::Extent{at, at + 1, true};
  }
  std::int64_t bounds[2] = {0, signed_size};
  for (std::size_t i = 0; i < 2; ++i) {
    if (ends[i].empty()) continue;
    const std::optional<std::int64_t> bound = number_of<std::int64_t>(ends[i]);
    if (!bound) return wrong();
    bounds[i] =
        std::clamp<std::int64_t>(*bound < 0 && *bound >= -signed_size ? *bound + signed_size : *bound, 0, signed_size);
  }
  bounds[1] = std::max(bounds[0], bounds[1]);
  return Slice::Extent{static_cast<std::uint64_t>(bounds[0]), static_cast<std::uint64_t>(bounds[1]), false};
}

}  // namespace

std::vector<std::uint64_t> Slice::shape() const {
  std::vector<std::uint64_t> shape;
  for (const Extent& extent : extents)
    if (!extent.dropped) shape.push_back(extent.size());
  return shape;
}

std::uint64_t Slice::elements() const {
  std::uint64_t count = 1;
  for (const Extent& extent : extents) count *= extent.size();
  return count;
}

bool Slice::whole() const {
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (extents[d].size() != source[d]) return false;
  return true;
}

std::uint64_t Slice::source_index(std::uint64_t i) const {
  std::uint64_t index = 0, stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    index += (extents[d].begin + i % extents[d].size()) * stride;
    i /= extents[d].size();
    stride *= source[d];
  }
  return index;
}

std::uint64_t Slice::run_length() const {
  std::uint64_t length = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    length *= extents[d].size();
    if (extents[d].size() != source[d]) break;
  }
  return length;
}

Slice whole_slice(const std::vector<std::uint64_t>& shape) {
  Slice slice{shape, {}};
  for (const std::uint64_t size : shape) slice.extents.push_back({0, size, false});
  return slice;
}

std::pair<std::string, std::string> split_slice(const std::string& text) {
  const std::size_t bracket = text.rfind('[');
  if (text.empty() || text.back() != ']' || bracket == std::string::npos) return {text, ""};
  return {text.substr(0, bracket), text.substr(bracket)};
}

Result<Slice> parse_slice(std::string_view text, const std::vector<std::uint64_t>& shape) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return invalid("`" + std::string(text) + "` is not a slice: expected `[..]`");
  const std::vector<std::string> parts = parts_of(text.substr(1, text.size() - 2), ',');
  if (parts.size() > shape.size()) {
    return invalid("`" + std::string(text) + "` has " + std::to_string(parts.size()) + " indices, the tensor has " +
                   counted(shape.size(), "dimension"));
  }
  Slice slice = whole_slice(shape);
  for (std::size_t d = 0; d < parts.size(); ++d) {
    TITAN_ASSIGN_OR_RETURN(slice.extents[d], parse_extent(parts[d], d, shape[d]));
  }
  return slice;
}

}  // namespace titan::ckpt
