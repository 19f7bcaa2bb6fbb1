#include <array>

#include "ckpt/format/layout.h"
#include "converters/dcp/dcp_format.h"
#include "converters/format.h"
#include "converters/hf/hf_format.h"

namespace titan::convert {

std::span<const Format* const> formats() {
  static const std::array<const Format*, 2> all{&hf_format(), &dcp_format()};
  return all;
}

Result<const Format*> find_format(const std::string& name) {
  std::string known = "titan";
  for (const Format* format : formats()) {
    if (name == format->name()) return format;
    known += std::string(", ") + format->name();
  }
  return ckpt::invalid("format `" + name + "` is not known, expected one of " + known);
}

const Format* detect_format(Fs& fs, const std::string& path) {
  if (fs.stat(ckpt::join_path(path, ckpt::kManifestFile)).ok()) return nullptr;
  for (const Format* format : formats())
    if (format->probe(fs, path)) return format;
  return nullptr;
}

Status explained(Fs& fs, const std::string& path, const Status& absent) {
  if (absent.code != ckpt::Code::kNotFound) return absent;
  for (const Format* format : formats()) TITAN_RETURN_IF_ERROR(format->near_miss(fs, path));
  return absent;
}

}  // namespace titan::convert
