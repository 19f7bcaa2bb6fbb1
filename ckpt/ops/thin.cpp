#include "ckpt/ops/thin.h"

#include <algorithm>

#include "ckpt/ops/derive.h"
#include "ckpt/ops/strip.h"
#include "ckpt/save/rewrite.h"

namespace titan::ckpt {
namespace {

Result<Manifest> model_alone(const Manifest& source) {
  Manifest manifest = source;
  StripOptions options;
  options.keep = StripKeep::kModel;
  TITAN_RETURN_IF_ERROR(drop_components(manifest, options));
  return manifest;
}

}  // namespace

bool has_model(const Manifest& manifest) { return manifest.component(kModel) != nullptr && model_alone(manifest).ok(); }

std::vector<std::string> thinned_members(const Manifest& manifest) {
  std::vector<std::string> gone;
  const Result<Manifest> left = model_alone(manifest);
  if (!left.ok()) return gone;
  for (const FileEntry& file : manifest.files)
    if (std::find(left->files.begin(), left->files.end(), file) == left->files.end()) gone.push_back(file.path);
  return gone;
}

Status thin_step(Fs& fs, const std::string& path, const ThinOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, path));
  TITAN_ASSIGN_OR_RETURN(Manifest manifest, model_alone(reader.manifest()));
  manifest.writer = options.writer;
  manifest.created = options.created;
  TITAN_RETURN_IF_ERROR(seal_stripped(manifest, reader));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite, Rewrite::begin_in_place(fs, path));
  TITAN_RETURN_IF_ERROR(carry_members(*rewrite, manifest, {}, options.cancel).status());
  TITAN_RETURN_IF_ERROR(options.cancel.check());
  return rewrite->publish(manifest);
}

}  // namespace titan::ckpt
