#pragma once
// Files that came with a model (tokenizer, config.json, ...): members `<format>/<name>` of the role "derived". A run
// takes them over from the weights that it begins from, or from the checkpoint that it resumes, and writes them into
// each of its own.
// \source FORMAT.md, "manifest.json"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

/// What a run takes along at most, of all files together: it holds them in memory, and each save writes them.
inline constexpr std::uint64_t kMaxModelFilesBytes = std::uint64_t{64} << 20;

/// Where such a file lies: a member of a checkpoint of ours (with its digest), a file of another format, or nowhere: it
/// is made of what another format's file says.
struct ModelFilePlace {
  std::string folder;  ///< of the checkpoint; empty where `path` is not a member of ours
  std::string path;    ///< to be read
  std::string member;  ///< "hf/tokenizer.json"
  std::optional<Digest> digest;
  std::string made{};  ///< its content, where `path` is empty
  bool operator==(const ModelFilePlace&) const = default;
};

struct ModelFile {
  std::string member;
  std::vector<std::byte> bytes;
  Digest digest;
};

/// The places of those in the checkpoint `folder` with this manifest, by member.
std::vector<ModelFilePlace> model_files_in(const std::string& folder, const Manifest& manifest);

/// Reads one of at most `limit` bytes; its digest is not looked at. \error kNotFound, kCorrupt (it is larger),
/// kMediaError, kFailed
Result<std::vector<std::byte>> read_model_file(Fs& fs, const ModelFilePlace& place, std::uint64_t limit);

/// Reads them all, in order. One that would make the whole larger than `limit` is left out, and so is one of another
/// format that is no longer there; `notes` has a line for each. \error kCorrupt (a member of ours against its digest),
/// kMediaError, kFailed
Result<std::vector<ModelFile>> read_model_files(Fs& fs, const std::vector<ModelFilePlace>& places,
                                                std::vector<std::string>& notes,
                                                std::uint64_t limit = kMaxModelFilesBytes);

/// Writes them into the temporary `tmp_dir`, read-only, and syncs files and their folders; returns their entries.
/// \error kFailed
Result<std::vector<FileEntry>> write_model_files(Fs& fs, const std::string& tmp_dir,
                                                 const std::vector<ModelFile>& files);

}  // namespace titan::ckpt
