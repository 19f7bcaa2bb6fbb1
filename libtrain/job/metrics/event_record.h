#pragma once
// Records of a TensorBoard event file: protobuf in TFRecord framing, encoded by hand. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace titan::train {

/// A point of a curve.
struct BoardScalar {
  std::string tag;
  double value = 0;  ///< stored as a float
  bool operator==(const BoardScalar&) const = default;
};

/// The first record of a file. `wall_time`: seconds since 1970, in all functions here.
std::string file_version_record(double wall_time);
/// SessionLog START: points of `step` and later steps in earlier files are superseded.
std::string start_record(double wall_time, std::uint64_t step);
/// All points of one step in one record, so that a reader sees all of them or none.
std::string scalars_record(double wall_time, std::uint64_t step, const std::vector<BoardScalar>& scalars);

/// CRC-32C (Castagnoli).
std::uint32_t crc32c(std::string_view data);

}  // namespace titan::train
