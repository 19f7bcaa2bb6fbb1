#pragma once
// A parity file: from it and the other members, lost members can be made again. \source FORMAT.md, "Parity"
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

inline constexpr std::uint32_t kMostParity = 4;
inline constexpr std::uint32_t kParityGroup = 128;  ///< members of a group, at most
inline constexpr std::uint64_t kParityHeader = 64;
inline constexpr std::uint64_t kParityEnd = 16;  ///< the digest of all bytes before it

/// "parity/parity-%05u.bin".
std::string parity_path(std::uint32_t number);
bool is_parity(std::string_view member);
/// Whether `folder`, a checkpoint or what is left of one, has a parity file.
bool has_parity(Fs& fs, const std::string& folder);
/// What is said of a folder without a manifest: no checkpoint is there (kNotFound); where parity files are left, what
/// makes one of them.
Status no_manifest(Fs& fs, const std::string& folder);

struct ParityHeader {
  std::uint32_t group = 0, rows = 0, row = 0;  ///< this is parity file `row` of the `rows` of group `group`
  std::uint64_t manifest_bytes = 0;            ///< size of the manifest without parity files, which follows the header
  std::uint64_t parity_bytes = 0;              ///< size of the parity after it: that of the group's largest member
  std::uint32_t number() const { return group * rows + row; }
  std::uint64_t payload() const { return kParityHeader + manifest_bytes; }
  std::uint64_t file_bytes() const { return payload() + parity_bytes + kParityEnd; }
  bool operator==(const ParityHeader&) const = default;
};
std::array<std::byte, kParityHeader> encode_parity_header(const ParityHeader& header);
/// Checks that the header is of this version and fits a file of `file_bytes`. \error kCorrupt
Result<ParityHeader> decode_parity_header(std::span<const std::byte> bytes, std::uint64_t file_bytes);

/// `manifest` without its parity files.
Manifest without_parity(Manifest manifest);
/// How many parity files each group has.
std::uint32_t parity_rows(const Manifest& manifest);
/// The warning of a tool that copies a checkpoint with this manifest to `dst` without its parity files: one line with
/// the command that makes them for `dst`. Empty if the checkpoint has none.
std::vector<std::string> parity_left_out(const Manifest& source, const std::string& dst);

/// One group: the members [first, end) of a manifest without parity files.
struct ParityGroup {
  std::uint32_t first = 0, end = 0;
  std::uint64_t largest = 0;  ///< bytes of its largest member
};
std::vector<ParityGroup> parity_groups(const Manifest& manifest);

}  // namespace titan::ckpt
