// The format "nanotron".
#include "converters/nanotron/nanotron_checkpoint.h"

namespace titan::convert::nanotron {
namespace {

class NanotronFormat final : public Format {
 public:
  const char* name() const override { return "nanotron"; }
  const char* title() const override { return "nanotron"; }
  bool writes() const override { return false; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const bool metadata, is_file(fs, ckpt::join_path(path, kMetadata)));
    if (!metadata) return false;
    const auto model = fs.stat(ckpt::join_path(path, "model"));
    if (!model.ok() && model.status().code != ckpt::Code::kNotFound) return model.status();
    return model.ok() && model->type == ckpt::FileType::kDirectory;
  }
  bool is_member(const std::string&) const override { return false; }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    auto checkpoint = std::make_unique<Checkpoint>(fs, path);
    TITAN_RETURN_IF_ERROR(checkpoint->open());
    return std::unique_ptr<ForeignCheckpoint>(std::move(checkpoint));
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs&, const CheckpointReader&, const ExportOptions&) const override {
    return ckpt::unsupported("nanotron's checkpoints are read, not written")
        .with_hint("--to hf writes a folder that nanotron's examples/llama/convert_hf_to_nanotron.py reads");
  }
};

}  // namespace

const Format& nanotron_format() {
  static const NanotronFormat format;
  return format;
}

}  // namespace titan::convert::nanotron
