#include "ckpt/format/difference_codec.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "ckpt/base/integers.h"
#include "ckpt/format/byte_shuffle.h"

namespace titan::ckpt {
namespace {

// The first byte of an encoded piece: the part of a tensor that is encoded at once.
enum class Form : std::uint8_t {
  kEqual = 0,   // nothing follows: the piece equals its base
  kPlain = 1,   // the bytes of the piece follow
  kPlanes = 2,  // a zstd frame of the differences, as planes of their bytes
  kSteps = 3,   // a zstd frame: two bits per element, then as planes the differences that two bits cannot express
};

// Entropy coding without match search, as for compressed leaves (leaf_codec.cpp): matches do not help.
constexpr int kFastest = -1000;
constexpr auto kLiterals = ZSTD_c_experimentalParam5;
constexpr int kForced = 1;
constexpr int kPieceWindowLog = 23;  // content is at most 5/4 of a piece

constexpr std::size_t kBlock = 4096;  // elements per block: their differences stay in the first-level cache
constexpr std::size_t kSeldom = 8;    // kSteps is used only if at most 1 of this many elements is beyond two bits
constexpr std::uint8_t kBeyond = 3;   // the two bits of an element whose difference is in the planes

template <typename U>
U folded(U base, U target) {
  const U step = static_cast<U>(target - base);
  return static_cast<U>((step << 1) ^ static_cast<U>(-static_cast<U>(step >> (8 * sizeof(U) - 1))));
}

template <typename U>
U unfolded(U base, U fold) {
  return static_cast<U>(base + static_cast<U>((fold >> 1) ^ static_cast<U>(-static_cast<U>(fold & 1))));
}

/// Differences of `count` elements from `base`, or from zeros if it is null.
template <typename U>
void fold_block(const std::byte* base, const std::byte* target, std::size_t count, U* out) {
  if (base == nullptr)
    for (std::size_t i = 0; i < count; ++i) out[i] = folded<U>(0, element_at<U>(target, i));
  else
    for (std::size_t i = 0; i < count; ++i) out[i] = folded<U>(element_at<U>(base, i), element_at<U>(target, i));
}

/// Packs two bits per element into `packed`. Differences beyond two bits go into `beyond`, which has room for elements
/// / kSeldom of them; `count` gets their number. Returns false if there are more.
template <typename U>
bool take_steps(const std::byte* base, const std::byte* target, std::size_t elements, std::byte* packed, U* beyond,
                std::size_t& count) {
  constexpr std::uint64_t kLow = 0x0101010101010101;
  alignas(64) U folds[kBlock];
  alignas(64) std::uint8_t bits[kBlock];
  count = 0;
  for (std::size_t first = 0; first < elements; first += kBlock) {
    const std::size_t here = std::min(kBlock, elements - first);
    fold_block<U>(base + first * sizeof(U), target + first * sizeof(U), here, folds);
    for (std::size_t i = 0; i < here; ++i) bits[i] = static_cast<std::uint8_t>(std::min<U>(folds[i], kBeyond));
    std::fill(bits + here, bits + kBlock, std::uint8_t{0});
    for (std::size_t at = 0; at < here; at += 8) {
      std::uint64_t word;
      std::memcpy(&word, &bits[at], sizeof word);
      for (std::uint64_t far = word & word >> 1 & kLow; far != 0; far &= far - 1) {
        if (count == elements / kSeldom) return false;
        beyond[count++] = folds[at + static_cast<std::size_t>(std::countr_zero(far)) / 8];
      }
    }
    const std::size_t words = (here + 3) / 4;
    for (std::size_t i = 0; i < words; ++i) {
      std::uint32_t word;
      std::memcpy(&word, &bits[4 * i], sizeof word);
      packed[first / 4 + i] = static_cast<std::byte>(word | word >> 6 | word >> 12 | word >> 18);
    }
  }
  return true;
}

/// Computes elements from differences: the inverse of fold_block.
template <typename U>
void put_folds(const std::byte* base, const U* folds, std::size_t count, std::byte* target) {
  for (std::size_t i = 0; i < count; ++i) {
    const U value = unfolded<U>(base == nullptr ? U{0} : element_at<U>(base, i), folds[i]);
    std::memcpy(target + i * sizeof(U), &value, sizeof value);
  }
}

/// The four two-bit numbers in a byte.
template <typename U>
constexpr auto kUnpacked = [] {
  std::array<std::array<U, 4>, 256> all{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned i = 0; i < 4; ++i) all[byte][i] = static_cast<U>(byte >> 2 * i & kBeyond);
  return all;
}();

/// The inverse of take_steps; false if the number of `folds` is not that of the elements beyond two bits.
template <typename U>
bool put_steps(const std::byte* base, std::span<const std::byte> packed, std::span<const std::byte> folds,
               std::size_t elements, std::byte* target) {
  constexpr std::uint64_t kLowBits = 0x5555555555555555;
  alignas(64) U fold[kBlock];
  const std::size_t beyond = folds.size() / sizeof(U);
  std::size_t used = 0;
  for (std::size_t first = 0; first < elements; first += kBlock) {
    const std::size_t here = std::min(kBlock, elements - first);
    const std::size_t bytes = (here + 3) / 4;
    const std::byte* const bits = packed.data() + first / 4;
    for (std::size_t i = 0; i < bytes; ++i)
      std::memcpy(&fold[4 * i], &kUnpacked<U>[std::to_integer<unsigned>(bits[i])], 4 * sizeof(U));
    for (std::size_t i = 0; i < bytes; i += 8) {
      std::uint64_t far = 0;  // marks the numbers whose two bits are both set
      std::memcpy(&far, bits + i, std::min<std::size_t>(8, bytes - i));
      for (far &= far >> 1 & kLowBits; far != 0; far &= far - 1) {
        const std::size_t at = 4 * i + static_cast<std::size_t>(std::countr_zero(far)) / 2;
        if (used == beyond || at >= here) return false;
        fold[at] = element_at<U>(folds.data(), used++);
      }
    }
    put_folds<U>(base + first * sizeof(U), fold, here, target + first * sizeof(U));
  }
  return used == beyond;
}

/// Calls `work` with an unsigned integer of `size` bytes.
template <typename Work>
auto with_element(std::size_t size, const Work& work) {
  switch (size) {
    case 1: return work(std::uint8_t{});
    case 2: return work(std::uint16_t{});
    case 4: return work(std::uint32_t{});
    default: return work(std::uint64_t{});
  }
}

void grow(std::vector<std::byte>& bytes, std::size_t size) {
  if (bytes.size() < size) bytes.resize(size);
}

bool piece_fits(std::size_t base, std::size_t target, std::size_t element_size) {
  return (base == 0 || base == target) && target <= kMaxDifferencePiece &&
         (element_size == 1 || element_size == 2 || element_size == 4 || element_size == 8);
}

Status no_piece() { return invalid("a piece of a patch, its base and its elements do not fit each other"); }

std::byte form_byte(Form form) { return static_cast<std::byte>(form); }

}  // namespace

struct DifferenceEncoder::Impl {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  bool ready = context && !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kFastest)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(context, kLiterals, kForced)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0));
  std::vector<std::byte> content, folds, out;  // never shrink: growing again would clear the new bytes
  std::size_t size = 0;                        // of content

  ~Impl() { ZSTD_freeCCtx(context); }
  std::span<const std::byte> plain(std::span<const std::byte> target);
  Form fill(std::span<const std::byte> base, std::span<const std::byte> target, std::size_t element_size);
};

std::span<const std::byte> DifferenceEncoder::Impl::plain(std::span<const std::byte> target) {
  grow(out, 1 + target.size());
  out[0] = form_byte(Form::kPlain);
  std::copy(target.begin(), target.end(), out.begin() + 1);
  return std::span(out).first(1 + target.size());
}

/// Fills `content` with the bytes to be compressed.
Form DifferenceEncoder::Impl::fill(std::span<const std::byte> base, std::span<const std::byte> target,
                                   std::size_t element_size) {
  const std::size_t elements = target.size() / element_size, whole = elements * element_size;
  const std::size_t packed = (elements + 3) / 4;
  const std::byte* from = base.empty() ? nullptr : base.data();
  grow(folds, whole);
  grow(content, packed + whole);
  return with_element(element_size, [&](auto zero) {
    using U = decltype(zero);
    U* const numbers = reinterpret_cast<U*>(folds.data());
    std::size_t beyond = 0;
    if (from != nullptr && take_steps<U>(from, target.data(), elements, content.data(), numbers, beyond)) {
      shuffle_bytes(std::span(folds).first(beyond * sizeof(U)), sizeof(U), beyond, content.data() + packed);
      size = packed + beyond * sizeof(U);
      return Form::kSteps;
    }
    fold_block<U>(from, target.data(), elements, numbers);
    shuffle_bytes(std::span(folds).first(whole), sizeof(U), elements, content.data());
    size = whole;
    return Form::kPlanes;
  });
}

DifferenceEncoder::DifferenceEncoder() : impl_(std::make_unique<Impl>()) {}
DifferenceEncoder::~DifferenceEncoder() = default;
DifferenceEncoder::DifferenceEncoder(DifferenceEncoder&&) noexcept = default;

Result<std::span<const std::byte>> DifferenceEncoder::encode(std::span<const std::byte> base,
                                                             std::span<const std::byte> target,
                                                             std::size_t element_size) {
  Impl& impl = *impl_;
  if (!piece_fits(base.size(), target.size(), element_size)) return no_piece();
  if (!impl.ready) return failed("zstd could not be set up");
  if (!base.empty() && std::memcmp(base.data(), target.data(), target.size()) == 0) {
    grow(impl.out, 1);
    impl.out[0] = form_byte(Form::kEqual);
    return std::span<const std::byte>(impl.out).first(1);
  }
  if (target.size() < element_size) return impl.plain(target);
  const std::size_t tail = target.size() % element_size;
  const Form form = impl.fill(base, target, element_size);
  const std::size_t bound = ZSTD_compressBound(impl.size);
  grow(impl.out, bound + 1 + tail);
  impl.out[0] = form_byte(form);
  std::copy(target.end() - static_cast<std::ptrdiff_t>(tail), target.end(), impl.out.begin() + 1);
  const std::size_t size =
      ZSTD_compress2(impl.context, impl.out.data() + 1 + tail, bound, impl.content.data(), impl.size);
  if (ZSTD_isError(size)) return failed(std::string("zstd could not compress a piece: ") + ZSTD_getErrorName(size));
  if (size + tail >= target.size()) return impl.plain(target);
  return std::span<const std::byte>(impl.out).first(1 + tail + size);
}

struct DifferenceDecoder::Impl {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  bool ready = context && !ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kPieceWindowLog));
  std::vector<std::byte> content, scratch;  // never shrink
  std::size_t size = 0;                     // of content

  ~Impl() { ZSTD_freeDCtx(context); }
  Status unpack(std::span<const std::byte> frame, std::size_t least, std::size_t most);
};

/// Decodes `frame`, whose content has `least` to `most` bytes, into `content`.
Status DifferenceDecoder::Impl::unpack(std::span<const std::byte> frame, std::size_t least, std::size_t most) {
  if (!ready) return failed("zstd could not be set up");
  const unsigned long long claimed = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (claimed == ZSTD_CONTENTSIZE_ERROR || claimed == ZSTD_CONTENTSIZE_UNKNOWN || claimed < least || claimed > most)
    return corrupt("a piece of a patch claims another size than it can have");
  if (const std::size_t used = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
      ZSTD_isError(used) || used != frame.size())
    return corrupt("a piece of a patch is cut off or malformed");
  size = claimed;
  grow(content, size);
  const std::size_t found = ZSTD_decompressDCtx(context, content.data(), size, frame.data(), frame.size());
  if (ZSTD_isError(found)) return corrupt(std::string("a piece cannot be decoded: ") + ZSTD_getErrorName(found));
  return found == size ? ok_status() : corrupt("a piece of a patch is shorter than it says");
}

DifferenceDecoder::DifferenceDecoder() : impl_(std::make_unique<Impl>()) {}
DifferenceDecoder::~DifferenceDecoder() = default;
DifferenceDecoder::DifferenceDecoder(DifferenceDecoder&&) noexcept = default;

Status DifferenceDecoder::decode(std::span<const std::byte> stored, std::span<const std::byte> base,
                                 std::size_t element_size, std::span<std::byte> target) {
  Impl& impl = *impl_;
  if (!piece_fits(base.size(), target.size(), element_size)) return no_piece();
  if (stored.empty()) return corrupt("a piece of a patch is empty");
  const Form form = static_cast<Form>(stored[0]);
  std::span<const std::byte> rest = stored.subspan(1);
  if (form == Form::kEqual) {
    if (base.empty() || !rest.empty()) return corrupt("a piece that is equal to its base has no base, or more");
    std::copy(base.begin(), base.end(), target.begin());
    return ok_status();
  }
  if (form == Form::kPlain) {
    if (rest.size() != target.size()) return corrupt("a plain piece of a patch has another size than its bytes");
    std::copy(rest.begin(), rest.end(), target.begin());
    return ok_status();
  }
  if (form != Form::kPlanes && form != Form::kSteps) return corrupt("a piece of a patch has a form that is not known");
  const std::size_t elements = target.size() / element_size, whole = elements * element_size;
  const std::size_t tail = target.size() - whole, packed = form == Form::kSteps ? (elements + 3) / 4 : 0;
  if (elements == 0 || rest.size() < tail || (form == Form::kSteps && base.empty()))
    return corrupt("a piece of a patch has a form that it cannot have");
  std::copy_n(rest.begin(), tail, target.begin() + static_cast<std::ptrdiff_t>(whole));
  TITAN_RETURN_IF_ERROR(form == Form::kSteps
                            ? impl.unpack(rest.subspan(tail), packed, packed + elements / kSeldom * element_size)
                            : impl.unpack(rest.subspan(tail), whole, whole));
  const std::size_t folds = impl.size - packed;
  if (folds % element_size != 0) return corrupt("a piece of a patch has a part of a number");
  grow(impl.scratch, folds);
  const std::span<std::byte> numbers = std::span(impl.scratch).first(folds);
  unshuffle_bytes(impl.content.data() + packed, element_size, folds / element_size, numbers);
  const bool fits = with_element(element_size, [&](auto zero) {
    using U = decltype(zero);
    if (form == Form::kSteps)
      return put_steps<U>(base.data(), std::span(impl.content).first(packed), numbers, elements, target.data());
    const std::byte* from = base.empty() ? nullptr : base.data();
    put_folds<U>(from, reinterpret_cast<const U*>(impl.scratch.data()), elements, target.data());
    return true;
  });
  return fits ? ok_status() : corrupt("a piece of a patch has more or fewer large differences than it says");
}

}  // namespace titan::ckpt
