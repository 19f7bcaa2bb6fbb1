#include "cli/titan_ckpt/carried.h"

#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {

std::string carried_text(const std::vector<ckpt::CarriedFile>& files, bool verified, const TextStyle& style) {
  std::uint64_t linked = 0, bytes = 0;
  std::string others;
  for (const ckpt::CarriedFile& file : files) {
    if (file.method == ckpt::LinkMethod::kLink) {
      ++linked;
      bytes += file.bytes;
    } else {
      others += "  " + std::string(ckpt::link_method_name(file.method)) + "  " + escape(file.member) + "  " +
                format_bytes(file.bytes, style.exact_bytes) + "  (no hard link: " + escape(file.reason) + ")\n";
    }
  }
  std::string out;
  if (linked > 0)
    out = "  hard links of " + std::to_string(linked) + (linked == 1 ? " file, " : " files, ") +
          format_bytes(bytes, style.exact_bytes) + "\n";
  out += others;
  if (verified) return out + "  verified: every digest of the source holds\n";
  return files.empty()
             ? out
             : out +
                   folded_line(
                       "  not verified: these files were taken over unchecked; --verify checks every digest first",
                       style.palette, 4) +
                   "\n";
}

void carried_json(JsonOut& json, const std::vector<ckpt::CarriedFile>& files) {
  json.each("files", files, [&](const ckpt::CarriedFile& file) {
    json.path("path", file.member);
    json.members("bytes", file.bytes, "method", ckpt::link_method_name(file.method), "reason", file.reason);
  });
}

std::string rounding_text(const ckpt::RoundingError& error, const std::string& tensor, const std::string& overflowing) {
  std::string text = format_count(error.rounded) + (error.rounded == 1 ? " element" : " elements") + " changed";
  if (!tensor.empty())
    text += "; largest absolute error " + format_rounded(error.largest, 6) + " in " + escape(tensor) + " at element " +
            format_count(error.at);
  if (error.overflowed > 0)
    text += "; " + format_count(error.overflowed) + " became infinite, the first in " + escape(overflowing) +
            " at element " + format_count(error.overflow_at);
  return text;
}

void rounding_json(JsonOut& json, const ckpt::RoundingError& error, const std::string& tensor) {
  json.members("changed", error.rounded, "overflowed", error.overflowed, "largest_error", error.largest);
  json.members("tensor", tensor, "element", error.at);
}

}  // namespace titan::cli
