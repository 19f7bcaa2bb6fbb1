#pragma once
// Files that came with a model (tokenizer, config.json, ...): members `<format>/<name>` of role "derived". A run copies
// them from its initial weights, or from the checkpoint that it resumes, into each of its checkpoints.
// \source FORMAT.md, "manifest.json"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

/// The largest total size, in bytes, of the files that a run copies. Rank 0 holds them in memory, and each save writes
/// them.
inline constexpr std::uint64_t kMaxModelFilesBytes = std::uint64_t{64} << 20;

/// Where a model file's content (tokenizer.json, config.json) comes from: a member of a Titan checkpoint (with its
/// digest), a file of another format, or text derived from such a file.
struct ModelFilePlace {
  std::string folder;  ///< the Titan checkpoint with the member; else empty
  std::string path;    ///< the file to read; empty: `made` is the content
  std::string member;  ///< member name in the run's checkpoints: "hf/tokenizer.json"
  std::optional<Digest> digest;
  std::string made{};  ///< the content if `path` is empty
  bool operator==(const ModelFilePlace&) const = default;
};

/// A model file with its content.
struct ModelFile {
  std::string member;
  std::vector<std::byte> bytes;
  Digest digest;
};

/// The model files of the checkpoint `folder` with this manifest, in order of member name.
std::vector<ModelFilePlace> model_files_in(const std::string& folder, const Manifest& manifest);

/// Reads the content of one file of at most `limit` bytes; does not check its digest. \error kNotFound, kCorrupt (the
/// file is larger), kMediaError, kFailed
Result<std::vector<std::byte>> read_model_file(Fs& fs, const ModelFilePlace& place, std::uint64_t limit);

/// Reads all files, in order. Skips a file that would make the total larger than `limit` bytes, and a file of another
/// format that cannot be read; `notes` gets a line for each. \error kCorrupt (a member of a Titan checkpoint is missing
/// or does not match its digest), kMediaError, kFailed
Result<std::vector<ModelFile>> read_model_files(Fs& fs, const std::vector<ModelFilePlace>& places,
                                                std::vector<std::string>& notes,
                                                std::uint64_t limit = kMaxModelFilesBytes);

/// Writes `files` read-only into the temporary folder `tmp_dir`, and syncs files and folders. Returns their manifest
/// entries. \error kFailed
Result<std::vector<FileEntry>> write_model_files(Fs& fs, const std::string& tmp_dir,
                                                 const std::vector<ModelFile>& files);

}  // namespace titan::ckpt
