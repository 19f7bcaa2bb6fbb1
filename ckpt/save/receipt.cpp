#include "ckpt/save/receipt.h"

// Encoding of a RankReceipt: magic, then the fields in order, then the digest of both; integers are u64 little-endian,
// strings have a u64 length. The digest detects changes on the network; without it, a wrong leaf digest would be found
// only at the next load. Receipts are sent between ranks of one save and never stored, so the encoding needs no
// version.

#include <algorithm>
#include <cstring>

#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

constexpr std::string_view kMagic = "TITANRC1";

class Out {
 public:
  void u64(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(value >> shift & 0xFF));
  }
  void str(std::string_view text) {
    u64(text.size());
    bytes += text;
  }
  void digest(const Digest& digest) {
    bytes.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  }
  std::string bytes{kMagic};
};

// After the first read past the end, every value is empty and ok is false.
class In {
 public:
  explicit In(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) {
      ok = false;
      rest_ = {};
      return {};
    }
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }
  std::uint64_t u64() {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(8)) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << shift;
      shift += 8;
    }
    return value;
  }
  std::uint32_t u32() {
    const std::uint64_t value = u64();
    if (value > 0xFFFFFFFF) ok = false;
    return static_cast<std::uint32_t>(value);
  }
  Digest digest() {
    Digest digest;
    const std::string_view bytes = take(digest.bytes.size());
    if (ok) std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
    return digest;
  }
  /// Reads a number of elements, each of which takes at least `least` bytes.
  std::uint64_t count(std::uint64_t least) {
    const std::uint64_t value = u64();
    if (value > rest_.size() / least) ok = false;
    return ok ? value : 0;
  }
  bool at_end() const { return rest_.empty(); }
  bool ok = true;

 private:
  std::string_view rest_;
};

}  // namespace

std::string encode_receipt(const RankReceipt& receipt) {
  Out out;
  out.u64(receipt.rank);
  out.u64(receipt.files.size());
  for (const FileEntry& file : receipt.files) {
    out.str(file.path);
    out.u64(static_cast<std::uint64_t>(file.role));
    for (const std::uint64_t value : {file.bytes, file.table_offset, file.table_rows}) out.u64(value);
    for (const Digest* digest : {&file.table, &file.envelope, &file.whole}) out.digest(*digest);
  }
  out.u64(receipt.items.size());
  for (const RankReceipt::Item& item : receipt.items) {
    out.u64(item.ref.index);
    out.str(item.ref.slot);
    const Piece& piece = item.piece;
    for (const std::uint64_t value :
         {std::uint64_t{piece.file}, piece.first_leaf, piece.leaf_count, piece.offset, piece.row})
      out.u64(value);
    out.u64(static_cast<std::uint64_t>(piece.codec));
    out.u64(item.leaves.size());
    for (const Digest& leaf : item.leaves) out.digest(leaf);
  }
  out.digest(digest_of(std::string_view(out.bytes)));
  return std::move(out.bytes);
}

Result<RankReceipt> decode_receipt(std::string_view bytes) {
  const std::string_view body = bytes.substr(0, bytes.size() - std::min(bytes.size(), sizeof(Digest::bytes)));
  In in(body);
  if (in.take(kMagic.size()) != kMagic) return corrupt("the receipt of a rank does not begin with its magic");
  if (In(bytes.substr(body.size())).digest() != digest_of(body))
    return corrupt("the receipt of a rank was changed on its way: its digest does not match its " +
                   std::to_string(bytes.size()) + " bytes");
  RankReceipt receipt;
  receipt.rank = in.u32();
  for (std::uint64_t left = in.count(88); left > 0 && in.ok; --left) {
    FileEntry& file = receipt.files.emplace_back();
    file.path = in.take(in.u64());
    if (in.ok && !check_member_path(file.path).ok()) in.ok = false;
    const std::uint64_t role = in.u64();
    if (role > static_cast<std::uint64_t>(FileRole::kDerived)) in.ok = false;
    file.role = static_cast<FileRole>(role);
    for (std::uint64_t* value : {&file.bytes, &file.table_offset, &file.table_rows}) *value = in.u64();
    for (Digest* digest : {&file.table, &file.envelope, &file.whole}) *digest = in.digest();
  }
  for (std::uint64_t left = in.count(72); left > 0 && in.ok; --left) {
    RankReceipt::Item& item = receipt.items.emplace_back();
    item.ref.index = in.u32();
    item.ref.slot = in.take(in.u64());
    item.piece.file = in.u32();
    for (std::uint64_t* value : {&item.piece.first_leaf, &item.piece.leaf_count, &item.piece.offset, &item.piece.row})
      *value = in.u64();
    const std::uint64_t codec = in.u64();
    if (codec > static_cast<std::uint64_t>(Codec::kZstd)) in.ok = false;
    item.piece.codec = static_cast<Codec>(codec);
    item.leaves.resize(in.count(16));
    for (Digest& leaf : item.leaves) leaf = in.digest();
  }
  if (!in.ok || !in.at_end())
    return corrupt("the receipt of a rank is cut off or malformed (" + std::to_string(bytes.size()) + " bytes)");
  return receipt;
}

}  // namespace titan::ckpt
