
#include "converters/gguf/gguf_checkpoint.h"

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"

namespace titan::convert {
namespace {

class GgufFormat final : public Format {
 public:
  const char* name() const override { return "gguf"; }
  const char* title() const override { return "GGUF"; }
  bool is_one_file() const override { return true; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> files, gguf_files(fs, path));
    return !files.empty();
  }
  Status near_miss(Fs& fs, const std::string& path) const override {
    const auto info = fs.stat(path);
    if (!info.ok() || info->type == ckpt::FileType::kFile) return {};
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, gguf_names(fs, path));
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> files, gguf_files(fs, path));
    if (names.empty() || !files.empty()) return {};
    return ckpt::not_found(path + " holds several GGUF files: " + listed(names))
        .with_hint("give one of them: " + ckpt::join_path(path, names[0]));
  }
  bool is_member(const std::string& name) const override { return name.ends_with(kGgufSuffix); }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    return open_gguf(fs, path);
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs& fs, const CheckpointReader& source,
                                                const ExportOptions& options) const override {
    return create_gguf(fs, source, options);
  }
};

}  // namespace

const Format& gguf_format() {
  static const GgufFormat format;
  return format;
}

}  // namespace titan::convert
