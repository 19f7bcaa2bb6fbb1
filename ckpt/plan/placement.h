#pragma once
// Which pipeline rank has which stages, if there are several stages per rank. Pure.
#include <cstdint>

namespace titan::ckpt {

enum class Placement : std::uint8_t {
  kLoop,  ///< stage s on rank s mod ranks
  kV,     ///< two stages per rank: rank r holds r and 2 * ranks - 1 - r
};

/// The rank (of `ranks`) that holds `stage`.
constexpr std::uint32_t rank_of_stage(Placement placement, std::uint32_t ranks, std::uint32_t stage) {
  const std::uint32_t place = stage % ranks;
  return placement == Placement::kV && stage >= ranks ? ranks - 1 - place : place;
}

/// The stage with index `chunk` (from 0, in model order) among the stages of `rank`.
constexpr std::uint32_t stage_of_chunk(Placement placement, std::uint32_t ranks, std::uint32_t rank,
                                       std::uint32_t chunk) {
  return placement == Placement::kV && chunk == 1 ? 2 * ranks - 1 - rank : chunk * ranks + rank;
}

}  // namespace titan::ckpt
