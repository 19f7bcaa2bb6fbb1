#include "libtrain/start/checked_data.h"

#include "libtrain/parallel/message.h"

namespace titan::train {

std::string encode_files(const std::vector<ckpt::DataFile>& files) {
  MessageWriter out;
  for (const ckpt::DataFile& file : files) out.text(file.name).number(file.bytes).text(file.blocks.hex());
  return out.take();
}

std::vector<ckpt::DataFile> decode_files(std::string_view bytes) {
  std::vector<ckpt::DataFile> files;
  for (MessageReader in(bytes); !in.at_end();) {
    ckpt::DataFile file{in.text(), in.number(), {}};
    file.blocks = ckpt::digest_from_hex(in.text()).value_or(ckpt::Digest{});
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<ckpt::DataFile> known_files(std::vector<ckpt::DataFile> others, const ckpt::DataPosition* stored,
                                        const std::string& kind) {
  if (stored != nullptr && stored->kind == kind)
    others.insert(others.end(), stored->files.begin(), stored->files.end());
  return others;
}

}  // namespace titan::train
