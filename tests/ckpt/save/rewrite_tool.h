#pragma once
// A tool that rewrites checkpoints, for tests, and what to look at afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ckpt/base/fs.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "ckpt/save/rewrite.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"

namespace titan::ckpt::testing {

inline constexpr const char* kSrc = "/src/step-00000010";

inline void make(Fs& fs, const std::string& folder, std::uint64_t step = 10) {
  ASSERT_TRUE(save(fs, folder, make_snapshot({{"a", {300}}, {"b", {10, 5}}}, {1, 2, 1}, 100, step)).ok());
}

inline bool whole(Fs& fs, const std::string& path) {
  const auto report = verify_checkpoint(fs, path);
  return report.ok() && report->damage.empty();
}

// The simplest tool there is: every member of SRC carried, the manifest with another writer.
inline Status copy_checkpoint(Fs& fs, const std::string& src, const std::string& dst, bool force = false,
                              const char* writer = "copied") {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, src));
  Manifest manifest = reader.manifest();
  manifest.writer = writer;
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite, Rewrite::begin(fs, src, dst, force));
  for (const FileEntry& file : manifest.files) TITAN_RETURN_IF_ERROR(rewrite->carry(file.path).status());
  return rewrite->publish(manifest);
}

inline std::string writer_of(Fs& fs, const std::string& path) {
  const auto reader = CheckpointReader::open(fs, path);
  return reader.ok() ? reader->manifest().writer : "<" + reader.status().message + ">";
}

// Everything below `folder` as one value: names and contents.
inline std::map<std::string, std::string> contents(Fs& fs, const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const std::string& name : tree(fs, folder))
    all[name] = name.ends_with('/') ? "" : get_text(fs, folder + "/" + name);
  return all;
}

inline std::size_t temporaries(Fs& fs) {
  const auto entries = fs.list("/out");
  return static_cast<std::size_t>(std::count_if(
      entries->begin(), entries->end(), [](const DirEntry& e) { return e.name.find(".tmp-") != std::string::npos; }));
}

}  // namespace titan::ckpt::testing
