#include "ckpt/format/leaf_codec.h"

#include <zstd.h>

#include <cstring>
#include <vector>

#include "ckpt/format/byte_shuffle.h"

namespace titan::ckpt {
namespace {

// After the shuffle, matches do not help, so a very negative level, which hardly searches for any, is fastest. But
// negative levels store literals raw by default, although their entropy coding is the whole gain. The parameter that
// changes this, and its value 1 (always), have names only in the interface for static linking.
constexpr int kLevel = -1000;
constexpr auto kLiteralCompression = ZSTD_c_experimentalParam5;
constexpr int kAlways = 1;

constexpr int kWindowLogMax = 26;
static_assert(std::uint64_t{1} << kWindowLogMax == kMaxChunkBytes);

bool is_size(std::size_t element_size) {
  return element_size == 1 || element_size == 2 || element_size == 4 || element_size == 8;
}

bool fits(std::size_t raw_bytes, std::size_t element_size, std::size_t chunk_bytes) {
  return is_size(element_size) && raw_bytes <= chunk_bytes && raw_bytes % element_size == 0 &&
         chunk_bytes % element_size == 0 && chunk_bytes > 0 && chunk_bytes <= kMaxChunkBytes;
}

Status does_not_fit(std::size_t raw_bytes, std::size_t element_size, std::size_t chunk_bytes) {
  return invalid("a leaf of " + std::to_string(raw_bytes) + " bytes, elements of " + std::to_string(element_size) +
                 ", does not fit a chunk of " + std::to_string(chunk_bytes) + " bytes");
}

void (*g_spoil)(std::span<std::byte>) = nullptr;

}  // namespace

struct LeafEncoder::Impl {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  bool ready = context && !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(context, kLiteralCompression, kAlways)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1)) &&
               !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 0));
  std::vector<std::byte> planes, out;
  LeafDecoder decoder;  // for prove()

  ~Impl() { ZSTD_freeCCtx(context); }
};

LeafEncoder::LeafEncoder() : impl_(std::make_unique<Impl>()) {}
LeafEncoder::~LeafEncoder() = default;

Result<EncodedLeaf> LeafEncoder::encode(std::span<const std::byte> raw, std::size_t element_size,
                                        std::size_t chunk_bytes) {
  Impl& impl = *impl_;
  if (!fits(raw.size(), element_size, chunk_bytes)) return does_not_fit(raw.size(), element_size, chunk_bytes);
  if (!impl.ready) return failed("zstd could not be set up");
  if (impl.planes.size() < chunk_bytes) {
    impl.planes.resize(chunk_bytes);
    impl.out.resize(ZSTD_compressBound(chunk_bytes));
  }
  shuffle_bytes(raw, element_size, chunk_bytes / element_size, impl.planes.data());
  const std::size_t size =
      ZSTD_compress2(impl.context, impl.out.data(), impl.out.size(), impl.planes.data(), chunk_bytes);
  if (ZSTD_isError(size)) return failed(std::string("zstd could not compress a leaf: ") + ZSTD_getErrorName(size));
  if (g_spoil) g_spoil(std::span(impl.out).first(size));
  if (size < chunk_bytes) return EncodedLeaf{std::span(impl.out).first(size), kMaskBothFilters};
  if (raw.size() == chunk_bytes) return EncodedLeaf{raw, kMaskRaw};
  std::memcpy(impl.out.data(), raw.data(), raw.size());
  std::memset(impl.out.data() + raw.size(), 0, chunk_bytes - raw.size());
  return EncodedLeaf{std::span(impl.out).first(chunk_bytes), kMaskRaw};
}

Status LeafEncoder::prove(const EncodedLeaf& encoded, const Digest& raw, std::size_t raw_bytes,
                          std::size_t element_size, std::size_t chunk_bytes) {
  Impl& impl = *impl_;
  if (!fits(raw_bytes, element_size, chunk_bytes) || impl.planes.size() < chunk_bytes)
    return does_not_fit(raw_bytes, element_size, chunk_bytes);
  const std::span<std::byte> back = std::span(impl.planes).first(raw_bytes);  // encode() no longer needs its planes
  Status decoded = impl.decoder.decode(encoded.bytes, encoded.filter_mask, element_size, chunk_bytes, back);
  if (decoded.ok() && digest_of(back) == raw) return decoded;
  Status wrong = failed(
      "a leaf that was compressed does not decode to itself: this machine's processor or memory is not to be trusted");
  if (!decoded.ok()) wrong.causes.push_back(decoded.message);
  return wrong.with_hint("take this machine out of the run, and test its memory");
}

void LeafEncoder::spoil_for_test(void (*spoil)(std::span<std::byte>)) { g_spoil = spoil; }

struct LeafDecoder::Impl {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  bool ready = context && !ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kWindowLogMax));
  std::vector<std::byte> planes;

  ~Impl() { ZSTD_freeDCtx(context); }
};

LeafDecoder::LeafDecoder() = default;
LeafDecoder::~LeafDecoder() = default;

// Checks the stored form and, if it is a frame, decompresses it into `planes`.
Status LeafDecoder::decode_planes(std::span<const std::byte> stored, std::uint32_t filter_mask,
                                  std::size_t element_size, std::size_t chunk_bytes, std::size_t raw_bytes) {
  if (!fits(raw_bytes, element_size, chunk_bytes)) return does_not_fit(raw_bytes, element_size, chunk_bytes);
  if (!stored_form_ok(stored.size(), filter_mask, chunk_bytes)) {
    return corrupt("a compressed leaf cannot have " + std::to_string(stored.size()) + " bytes with filter mask " +
                   std::to_string(filter_mask) + "; its chunk has " + std::to_string(chunk_bytes));
  }
  if (filter_mask == kMaskRaw) return ok_status();
  if (!impl_) impl_ = std::make_unique<Impl>();
  Impl& impl = *impl_;
  if (!impl.ready) return failed("zstd could not be set up");
  // The size in a frame must be the one that follows from the shape, so that a forged frame cannot cause a large
  // allocation.
  const unsigned long long content = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (content == ZSTD_CONTENTSIZE_ERROR) return corrupt("a compressed leaf is no zstd frame");
  if (content != chunk_bytes) {
    return corrupt("a zstd frame claims " +
                   (content == ZSTD_CONTENTSIZE_UNKNOWN ? std::string("no") : std::to_string(content)) +
                   " bytes of content, expected " + std::to_string(chunk_bytes));
  }
  const std::size_t frame = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
  if (ZSTD_isError(frame))
    return corrupt(std::string("a zstd frame is cut off or malformed: ") + ZSTD_getErrorName(frame));
  if (frame != stored.size())
    return corrupt("there are " + std::to_string(stored.size() - frame) + " bytes after a zstd frame of " +
                   std::to_string(frame));
  if (impl.planes.size() < chunk_bytes) impl.planes.resize(chunk_bytes);
  const std::size_t size =
      ZSTD_decompressDCtx(impl.context, impl.planes.data(), chunk_bytes, stored.data(), stored.size());
  if (ZSTD_isError(size)) return corrupt(std::string("a zstd frame cannot be decoded: ") + ZSTD_getErrorName(size));
  if (size != chunk_bytes)
    return corrupt("a zstd frame held " + std::to_string(size) + " bytes, expected " + std::to_string(chunk_bytes));
  return ok_status();
}

Status LeafDecoder::decode(std::span<const std::byte> stored, std::uint32_t filter_mask, std::size_t element_size,
                           std::size_t chunk_bytes, std::span<std::byte> raw) {
  TITAN_RETURN_IF_ERROR(decode_planes(stored, filter_mask, element_size, chunk_bytes, raw.size()));
  if (filter_mask != kMaskRaw) {
    unshuffle_bytes(impl_->planes.data(), element_size, chunk_bytes / element_size, raw);
  } else if (!raw.empty()) {
    std::memcpy(raw.data(), stored.data(), raw.size());
  }
  return ok_status();
}

Result<Digest> LeafDecoder::digest(std::span<const std::byte> stored, std::uint32_t filter_mask,
                                   std::size_t element_size, std::size_t chunk_bytes, std::size_t raw_bytes) {
  TITAN_RETURN_IF_ERROR(decode_planes(stored, filter_mask, element_size, chunk_bytes, raw_bytes));
  if (filter_mask == kMaskRaw) return digest_of(stored.first(raw_bytes));
  constexpr std::size_t kElements = 8192;
  std::vector<std::byte> part(std::min(raw_bytes, kElements * element_size));
  Hasher hasher;
  for (std::size_t first = 0; first * element_size < raw_bytes; first += kElements) {
    const std::span<std::byte> out = std::span(part).first(std::min(part.size(), raw_bytes - first * element_size));
    unshuffle_bytes(impl_->planes.data() + first, element_size, chunk_bytes / element_size, out);
    hasher.update(out);
  }
  return hasher.digest();
}

}  // namespace titan::ckpt
