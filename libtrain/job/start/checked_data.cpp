#include "libtrain/job/start/checked_data.h"

#include "libtrain/job/control/message.h"

namespace titan::train {

std::string encode_files(const std::vector<KnownFile>& files) {
  MessageWriter out;
  for (const auto& [file, ends, alone] : files)
    out.text(file.name).number(file.bytes).text(file.blocks.hex()).text(ends ? ends->hex() : "").number(alone);
  return out.take();
}

std::vector<KnownFile> decode_files(std::string_view bytes) {
  std::vector<KnownFile> files;
  for (MessageReader in(bytes); !in.at_end();) {
    ckpt::DataFile file{in.text(), in.number(), {}};
    file.blocks = ckpt::digest_from_hex(in.text()).value_or(ckpt::Digest{});
    const std::optional<ckpt::Digest> ends = ckpt::digest_from_hex(in.text());
    files.push_back({std::move(file), ends, in.number() != 0});
  }
  return files;
}

std::vector<KnownFile> known_files(std::vector<KnownFile> others, const ckpt::DataPosition* stored,
                                   const std::string& kind) {
  if (stored == nullptr || stored->kind != kind) return others;
  for (const ckpt::DataFile& file : stored->files) others.push_back({file, std::nullopt});
  return others;
}

}  // namespace titan::train
