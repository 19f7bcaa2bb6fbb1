#include "recipe/text/new_codes.h"

#include <algorithm>

namespace titan::recipe {
namespace {

struct NewCodes {
  std::uint32_t first, last;
  char major, minor;
};
constexpr NewCodes kNewCodes[] = {
#include "recipe/text/tables/new_codes.inc"
};

}  // namespace

std::vector<CodeRange> new_codes(std::string_view category) {
  std::vector<CodeRange> ranges;
  for (const NewCodes& codes : kNewCodes) {
    if (category[0] != codes.major || (category.size() > 1 && category[1] != codes.minor)) continue;
    if (!ranges.empty() && ranges.back().last + 1 == codes.first) {
      ranges.back().last = codes.last;
    } else {
      ranges.push_back({codes.first, codes.last});
    }
  }
  return ranges;
}

bool contains(const std::vector<CodeRange>& ranges, std::uint32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](std::uint32_t c, const CodeRange& range) { return c < range.first; });
  return after != ranges.begin() && code <= (after - 1)->last;
}

}  // namespace titan::recipe
