#pragma once
// The report of a conversion or of a dry run: one line per tensor.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/model/dtype.h"
#include "ckpt/ops/convert_dtype.h"

namespace titan::convert {

enum class Fate {
  kWritten,  ///< written under the name TensorReport::to
  kTied,     ///< not written: another tensor, TensorReport::to, has the same elements
  kDropped,  ///< not written: the format cannot hold it, or its value follows from the configuration or is kept
             ///< elsewhere
  kSkipped,  ///< not written: the user asked for that
};
const char* fate_name(Fate fate);  ///< "written", "tied", "dropped", "skipped"

/// The rounding error of all casts of a conversion.
struct Rounding {
  ckpt::RoundingError error;  ///< over all tensors; `at` is an element of `tensor`
  std::string tensor;         ///< the tensor with the largest error; empty if no value was rounded
  std::string overflowing;    ///< the first tensor with an element that became infinite: element `error.overflow_at`
  /// Adds `part`, the error of a piece of the tensor `name` that begins at element `first`. Positions in `part` count
  /// from there.
  void add(const ckpt::RoundingError& part, const std::string& name, std::uint64_t first);
};

struct TensorReport {
  std::string from, to;  ///< names; `to` is empty if the tensor has no counterpart
  Fate fate = Fate::kWritten;
  ckpt::DType from_dtype = ckpt::DType::kF32, to_dtype = ckpt::DType::kF32;
  std::vector<std::uint64_t> shape;
  bool permuted = false;  ///< its rows were reordered
  std::string quantised;  ///< the type in the destination if Titan has no such type: "Q8_0"
  bool renamed() const { return fate == Fate::kWritten && from != to; }
  bool cast() const { return fate == Fate::kWritten && (from_dtype != to_dtype || !quantised.empty()); }
  bool operator==(const TensorReport&) const = default;
};

/// The type of the tensor's elements in the destination.
std::string type_name(const TensorReport& tensor);

/// The report of a tensor that keeps its element type.
TensorReport uncast(std::string from, Fate fate, ckpt::DType dtype, std::vector<std::uint64_t> shape);

struct ConversionReport {
  std::string source, destination;
  std::string from_format, to_format;  ///< "titan", "hf", "dcp", ...
  bool dry_run = false;                ///< nothing was written
  std::uint64_t step = 0;
  std::optional<ckpt::Digest> id;    ///< of the written checkpoint, if it is Titan's
  std::uint64_t bytes = 0;           ///< of tensors, in the destination
  std::optional<Rounding> rounding;  ///< if something was cast and written
  std::vector<std::string> files;    ///< of the destination, relative; empty in a dry run
  std::vector<TensorReport> tensors;
  std::vector<std::string> notes;
  /// The number of tensors for which `test` is true.
  template <typename Test>
  std::uint64_t count(Test&& test) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(tensors, test));
  }
};

/// Joins the reports of two chained conversions: each line of `first` with its line in `second`. A joined line has the
/// names and types of the first source and of the second destination.
std::vector<TensorReport> joined(const std::vector<TensorReport>& first, const std::vector<TensorReport>& second);

/// The first five names in quotes, and the number of further ones: for messages.
std::string listed(const std::vector<std::string>& names);

}  // namespace titan::convert
