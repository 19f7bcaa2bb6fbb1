#pragma once
// A parity file: what is needed beside the other members to make lost ones anew. \source FORMAT.md, "Parity"
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/result.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

inline constexpr std::uint32_t kMostParity = 4;
inline constexpr std::uint32_t kParityGroup = 128;  ///< members that one set of parity files is made of, at most
inline constexpr std::uint64_t kParityHeader = 64;
inline constexpr std::uint64_t kParityEnd = 16;  ///< the digest of all before it

/// "parity/parity-%05u.bin".
std::string parity_path(std::uint32_t number);
bool is_parity(std::string_view member);
/// Whether a parity file lies in `folder`, be it a checkpoint or what is left of one.
bool has_parity(Fs& fs, const std::string& folder);
/// What is said of a folder without a manifest: no checkpoint is there (kNotFound); where parity files are left, what
/// makes one of them.
Status no_manifest(Fs& fs, const std::string& folder);

struct ParityHeader {
  std::uint32_t group = 0, rows = 0, row = 0;  ///< row `row` of `rows` of the members of group `group`
  std::uint64_t manifest_bytes = 0;            ///< of the manifest as it is without parity, which follows the header
  std::uint64_t parity_bytes = 0;              ///< of what follows that: the size of the largest member of the group
  std::uint32_t number() const { return group * rows + row; }
  std::uint64_t payload() const { return kParityHeader + manifest_bytes; }
  std::uint64_t file_bytes() const { return payload() + parity_bytes + kParityEnd; }
  bool operator==(const ParityHeader&) const = default;
};
std::array<std::byte, kParityHeader> encode_parity_header(const ParityHeader& header);
/// \error kCorrupt: none of this version, or not of a file of `file_bytes`
Result<ParityHeader> decode_parity_header(std::span<const std::byte> bytes, std::uint64_t file_bytes);

/// `manifest` without its parity files.
Manifest without_parity(Manifest manifest);
/// How many parity files each group has.
std::uint32_t parity_rows(const Manifest& manifest);
/// What a tool says that makes `dst` of a checkpoint with this manifest, and no parity files: one line, or none where
/// it had none.
std::vector<std::string> parity_left_out(const Manifest& source, const std::string& dst);

/// Members [first, end) of a manifest without parity: one group.
struct ParityGroup {
  std::uint32_t first = 0, end = 0;
  std::uint64_t largest = 0;  ///< bytes
};
std::vector<ParityGroup> parity_groups(const Manifest& manifest);

}  // namespace titan::ckpt
