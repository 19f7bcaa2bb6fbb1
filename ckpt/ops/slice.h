#pragma once
// A part of a tensor in NumPy's notation: "[0:10, :, -1]". Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {

/// A parsed slice of a tensor of known shape.
struct Slice {
  /// One dimension: indices [begin, end); a single index drops the dimension from the result.
  struct Extent {
    std::uint64_t begin = 0, end = 0;
    bool dropped = false;
    std::uint64_t size() const { return end - begin; }
    bool operator==(const Extent&) const = default;
  };
  std::vector<std::uint64_t> source;  ///< shape of the whole tensor
  std::vector<Extent> extents;        ///< one per dimension of `source`
  bool operator==(const Slice&) const = default;

  std::vector<std::uint64_t> shape() const;  ///< of the result
  std::uint64_t elements() const;            ///< of the result
  bool whole() const;  ///< every element is in the result (dropping a dimension of size 1 loses none)
  /// Row-major index in the source of element `i` of the result.
  std::uint64_t source_index(std::uint64_t i) const;
  /// A number n such that each block of n elements of the result, beginning at a multiple of n, is consecutive in the
  /// source.
  std::uint64_t run_length() const;
};

/// The slice of all elements.
Slice whole_slice(const std::vector<std::uint64_t>& shape);

/// Splits "name[..]" at the last '[' when the text ends with ']'; else the second part is empty.
std::pair<std::string, std::string> split_slice(const std::string& text);

/// Parses "[..]" for a tensor of `shape`: per dimension an index, "a:b", "a:", ":b" or ":". Negative numbers count from
/// the end; missing trailing dimensions mean ":". As in NumPy, a range is clipped to the dimension, and an index
/// outside is an error. \error kInvalid (syntax, too many dimensions, an index out of range), kUnsupported ("a:b:c")
Result<Slice> parse_slice(std::string_view text, const std::vector<std::uint64_t>& shape);

}  // namespace titan::ckpt
