// The format "nanotron".
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/nanotron/nanotron_checkpoint.h"
#include "converters/run_names.h"

namespace titan::convert::nanotron {
namespace {

Result<bool> is_step(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool metadata, is_file(fs, ckpt::join_path(path, kMetadata)));
  if (!metadata) return false;
  const auto model = fs.stat(ckpt::join_path(path, "model"));
  if (!model.ok() && model.status().code != ckpt::Code::kNotFound) return model.status();
  return model.ok() && model->type == ckpt::FileType::kDirectory;
}

// The folder of the step: `path` itself, or the one that its latest.txt names; "" for other folders.
Result<std::string> find_step(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool itself, is_step(fs, path));
  if (itself) return path;
  const Result<std::string> word = latest_word(fs, ckpt::join_path(path, kLatestOfNanotron));
  if (!word.ok() || !ckpt::number_of<std::uint64_t>(*word)) return std::string();
  const std::string folder = ckpt::join_path(path, *word);
  TITAN_ASSIGN_OR_RETURN(const bool there, is_step(fs, folder));
  return there ? folder : std::string();
}

class NanotronFormat final : public Format {
 public:
  const char* name() const override { return "nanotron"; }
  const char* title() const override { return "nanotron"; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::string folder, find_step(fs, path));
    return !folder.empty();
  }
  // Only the files that Titan writes count, so a step with an optimizer is never replaced.
  bool is_member(const std::string& name) const override {
    return name == "model" || name == kModelConfig || name == kMetadata;
  }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::string folder, find_step(fs, path));
    return opened<Checkpoint>(fs, folder.empty() ? path : folder);
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs& fs, const CheckpointReader& source,
                                                const ExportOptions& options) const override {
    return create_nanotron(fs, source, options);
  }
};

}  // namespace

const Format& nanotron_format() {
  static const NanotronFormat format;
  return format;
}

}  // namespace titan::convert::nanotron
