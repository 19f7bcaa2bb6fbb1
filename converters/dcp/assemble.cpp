#include "converters/dcp/assemble.h"

#include <algorithm>

namespace titan::convert::dcp {

std::vector<Run> chunk_runs(const std::vector<std::uint64_t>& shape, const Chunk& chunk, std::uint64_t first,
                            std::uint64_t count) {
  std::vector<Run> runs;
  const std::size_t rank = shape.size();
  if (count == 0) return runs;
  if (rank == 0) return {{0, 0, 1}};
  // The chunk has all of the tensor's indices in dimensions from `whole` on. So one run spans these dimensions, and a
  // range of the dimension before them.
  std::size_t whole = rank;
  std::uint64_t run = 1;
  while (whole > 0 && chunk.sizes[whole - 1] == shape[whole - 1]) run *= shape[--whole];
  if (whole > 0) run *= chunk.sizes[--whole];
  std::uint64_t outer = 1;
  for (std::size_t d = 0; d < whole; ++d) outer *= chunk.sizes[d];
  // The index in the tensor of the first element of the chunk's run number `index`; ascends with `index`.
  const auto start = [&](std::uint64_t index) {
    std::vector<std::uint64_t> at(whole);
    for (std::size_t d = whole; d-- > 0; index /= chunk.sizes[d]) at[d] = index % chunk.sizes[d];
    std::uint64_t element = 0;
    for (std::size_t d = 0; d < rank; ++d) element = element * shape[d] + chunk.offsets[d] + (d < whole ? at[d] : 0);
    return element;
  };
  std::uint64_t low = 0, high = outer;  // the first run that ends after `first`
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (start(middle) + run <= first)
      low = middle + 1;
    else
      high = middle;
  }
  for (std::uint64_t index = low; index < outer; ++index) {
    const std::uint64_t begin = start(index);
    if (begin >= first + count) break;
    const std::uint64_t from = std::max(begin, first), to = std::min(begin + run, first + count);
    runs.push_back({index * run + (from - begin), from, to - from});
  }
  return runs;
}

}  // namespace titan::convert::dcp
