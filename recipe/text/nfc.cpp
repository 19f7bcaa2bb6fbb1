#include "recipe/text/nfc.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ckpt/base/utf8.h"
#include "recipe/text/byte_alphabet.h"
#include "recipe/text/new_codes.h"

namespace titan::recipe {
namespace {

struct CanonicalPair {
  std::uint32_t code, first, second;  ///< `code` decomposes to `first` and `second`; second 0: only to `first`
  bool composes;                      ///< `first` and `second` are composed to `code`
};
constexpr CanonicalPair kPairs[] = {
#include "recipe/text/tables/nfc_pairs.inc"
};
struct ClassRange {
  std::uint32_t first, last;
  std::uint8_t combining;
};
constexpr ClassRange kClasses[] = {
#include "recipe/text/tables/nfc_classes.inc"
};
// A text without any of these code points is in form C.
constexpr CodeRange kUnsure[] = {
#include "recipe/text/tables/nfc_unsure.inc"
};
constexpr std::uint32_t kFirstUnsure = kUnsure[0].first;

constexpr std::uint32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
constexpr std::uint32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr std::uint32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

template <typename Range, std::size_t n>
const Range* find_range(const Range (&ranges)[n], std::uint32_t code) {
  const Range* after = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                        [](std::uint32_t c, const Range& range) { return c < range.first; });
  return after != std::begin(ranges) && code <= (after - 1)->last ? after - 1 : nullptr;
}

std::uint8_t combining_class(std::uint32_t code) {
  if (code < kClasses[0].first) return 0;
  const ClassRange* range = find_range(kClasses, code);
  return range == nullptr ? 0 : range->combining;
}

struct Mark {
  std::uint32_t code;
  std::uint8_t combining;
};

void decompose(std::uint32_t code, std::vector<Mark>& out) {
  if (code - kSyllables < kSyllableCount) {
    const std::uint32_t index = code - kSyllables;
    out.push_back({kLeads + index / (kVowelCount * kTailCount), 0});
    out.push_back({kVowels + index % (kVowelCount * kTailCount) / kTailCount, 0});
    if (index % kTailCount != 0) out.push_back({kTails + index % kTailCount, 0});
    return;
  }
  const CanonicalPair* pair = std::lower_bound(std::begin(kPairs), std::end(kPairs), code,
                                               [](const CanonicalPair& p, std::uint32_t c) { return p.code < c; });
  if (pair == std::end(kPairs) || pair->code != code) return out.push_back({code, combining_class(code)});
  decompose(pair->first, out);
  if (pair->second != 0) decompose(pair->second, out);
}

/// The code point to which two are composed; 0: none.
std::uint32_t composed(std::uint32_t first, std::uint32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  if (first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0 && second > kTails &&
      second < kTails + kTailCount)
    return first + (second - kTails);
  static const auto* pairs = [] {
    auto* made = new std::unordered_map<std::uint64_t, std::uint32_t>;
    for (const CanonicalPair& pair : kPairs)
      if (pair.composes) made->emplace(std::uint64_t{pair.first} << 32 | pair.second, pair.code);
    return made;
  }();
  const auto at = pairs->find(std::uint64_t{first} << 32 | second);
  return at == pairs->end() ? 0 : at->second;
}

bool surely_composed(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    // The first such code point is U+0300, which begins with the byte 0xcc; smaller code points begin with smaller
    // bytes.
    if (static_cast<unsigned char>(text[at]) < 0xcc) {
      ++at;
      continue;
    }
    const ckpt::Utf8Char character = ckpt::decode_utf8(text.substr(at));
    if (character.code >= kFirstUnsure && find_range(kUnsure, character.code) != nullptr) return false;
    at += std::max<std::size_t>(character.bytes, 1);
  }
  return true;
}

/// Composes `marks`, which are in canonical order, in place.
void compose(std::vector<Mark>& marks) {
  std::size_t kept = 0, starter = marks.size();
  std::uint8_t last = 0;  // class of the last mark between the starter and the next one; 0: none
  for (const Mark mark : marks) {
    const bool free = starter < kept && (starter + 1 == kept || (last != 0 && last < mark.combining));
    const std::uint32_t both = free ? composed(marks[starter].code, mark.code) : 0;
    if (both != 0) {
      marks[starter].code = both;
      continue;
    }
    if (mark.combining == 0) starter = kept;
    last = mark.combining;
    marks[kept++] = mark;
  }
  marks.resize(kept);
}

}  // namespace

void append_nfc(std::string_view text, std::string& out) {
  if (surely_composed(text)) {
    out += text;
    return;
  }
  std::vector<Mark> marks;
  marks.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const ckpt::Utf8Char character = ckpt::decode_utf8(text.substr(at));
    decompose(character.code, marks);
    at += std::max<std::size_t>(character.bytes, 1);
  }
  for (auto begin = marks.begin(); begin != marks.end();) {
    begin = std::find_if(begin, marks.end(), [](const Mark& mark) { return mark.combining != 0; });
    const auto end = std::find_if(begin, marks.end(), [](const Mark& mark) { return mark.combining == 0; });
    std::stable_sort(begin, end, [](const Mark& a, const Mark& b) { return a.combining < b.combining; });
    begin = end;
  }
  compose(marks);
  for (const Mark& mark : marks) ckpt::append_utf8(out, mark.code);
}

}  // namespace titan::recipe
