#include "converters/trainer/hf_format.h"

#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_writer.h"
#include "converters/trainer/trainer_checkpoint.h"

namespace titan::convert {
namespace {

class HfFormat final : public Format {
 public:
  const char* name() const override { return "hf"; }
  const char* title() const override { return "Hugging Face safetensors"; }
  Result<bool> probe(Fs& fs, const std::string& path) const override { return probe_hf(fs, path); }
  Status near_miss(Fs& fs, const std::string& path) const override { return near_miss_hf(fs, path); }
  bool is_member(const std::string& name) const override {
    return is_companion(name) || name == kHfIndex || name.ends_with(".safetensors");
  }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    return open_hf_with_state(fs, path);
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs& fs, const CheckpointReader& source,
                                                const ExportOptions& options) const override {
    return create_hf(fs, source, options);
  }
};

}  // namespace

const Format& hf_format() {
  static const HfFormat format;
  return format;
}

}  // namespace titan::convert
