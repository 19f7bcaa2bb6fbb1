#pragma once
// Parity files, from which lost members are rebuilt with the help of the other members. The members of a checkpoint are
// divided into groups; each group has its own parity files. \source FORMAT.md, "Parity"
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

inline constexpr std::uint32_t kMostParity = 4;     ///< most parity files per group
inline constexpr std::uint32_t kParityGroup = 128;  ///< most members of a group
inline constexpr std::uint64_t kParityHeader = 64;  ///< bytes of the header
inline constexpr std::uint64_t kParityEnd = 16;     ///< bytes of the digest at the end, over all bytes before it

/// "parity/parity-%05u.bin".
std::string parity_path(std::uint32_t number);
/// Whether `member` is in the folder of the parity files.
bool is_parity(std::string_view member);
/// Whether `folder`, a checkpoint or the remains of one, has a parity file.
bool has_parity(Fs& fs, const std::string& folder);
/// The error (kNotFound) for a folder without a manifest. If the folder has parity files, the error says how to rebuild
/// the checkpoint from them.
Status no_manifest(Fs& fs, const std::string& folder);

/// The header of a parity file.
struct ParityHeader {
  std::uint32_t group = 0, rows = 0, row = 0;  ///< this is parity file `row` of the `rows` of group `group`
  std::uint64_t manifest_bytes = 0;  ///< bytes of the manifest that follows the header; it lists no parity files
  std::uint64_t parity_bytes = 0;    ///< bytes of the parity, which comes next: the size of the group's
                                     ///< largest member
  std::uint32_t number() const { return group * rows + row; }
  std::uint64_t payload() const { return kParityHeader + manifest_bytes; }
  std::uint64_t file_bytes() const { return payload() + parity_bytes + kParityEnd; }
  bool operator==(const ParityHeader&) const = default;
};
std::array<std::byte, kParityHeader> encode_parity_header(const ParityHeader& header);
/// Checks the header's version, and that it fits a file of `file_bytes` bytes. \error kCorrupt
Result<ParityHeader> decode_parity_header(std::span<const std::byte> bytes, std::uint64_t file_bytes);

/// `manifest` without the entries of parity files.
Manifest without_parity(Manifest manifest);
/// The number of parity files per group.
std::uint32_t parity_rows(const Manifest& manifest);
/// The warning of a tool that makes `dst` from the checkpoint of `source`, but without its parity files: one line with
/// the command that makes parity files for `dst`. Empty if the source has none.
std::vector<std::string> parity_left_out(const Manifest& source, const std::string& dst);

/// One group: the members [first, end) of a manifest without parity entries.
struct ParityGroup {
  std::uint32_t first = 0, end = 0;
  std::uint64_t largest = 0;  ///< bytes of its largest member
};
std::vector<ParityGroup> parity_groups(const Manifest& manifest);

}  // namespace titan::ckpt
