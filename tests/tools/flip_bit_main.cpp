// titan-flip-bit SRC DST TENSOR ELEMENT BIT: writes the checkpoint SRC anew as DST with one bit of one parameter
// flipped and every digest and the id made right again: a fault that no digest finds.
#include <cstdio>
#include <string>
#include <vector>

#include "ckpt/base/fs_posix.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/range_reader.h"
#include "ckpt/save/component_writer.h"
#include "ckpt/save/rewrite.h"

namespace titan::ckpt::testing {
namespace {

struct Flip {
  std::string tensor;
  std::uint64_t element = 0;
  unsigned bit = 0;
};

Status write_tensors(Fs& fs, const CheckpointReader& reader, const char* component, const Flip& flip, Rewrite& rewrite,
                     Manifest& made) {
  std::vector<TensorRef> refs;
  for (std::uint32_t i = 0; i < made.parameters.size(); ++i) {
    if (component == std::string(kModel)) {
      refs.push_back({i, ""});
    } else {
      for (const SlotTensor& slot : made.parameters[i].slots) refs.push_back({i, slot.name});
    }
  }
  TITAN_RETURN_IF_ERROR(rewrite.make_folder_of(shard_path(component, 0)));
  const auto elements = [&](std::size_t tensor, std::uint64_t first,
                            std::span<std::byte> out) -> Result<std::span<const std::byte>> {
    RangeReader source(reader, refs[tensor]);
    TITAN_RETURN_IF_ERROR(source.read(first, out));
    const std::uint64_t size = source.element_size(), end = first + out.size() / size;
    if (made.stored_name(refs[tensor]) == flip.tensor && first <= flip.element && flip.element < end)
      out[(flip.element - first) * size + flip.bit / 8] ^= std::byte{1} << static_cast<int>(flip.bit % 8);
    return std::span<const std::byte>(out);
  };
  return write_component(fs, rewrite.folder(), component, refs, elements, made, 1);
}

Status flip_bit(const std::string& src, const std::string& dst, const Flip& flip) {
  Fs& fs = posix_fs();
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, src));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite, Rewrite::begin(fs, src, dst, false));
  Manifest made = reader.manifest();
  std::vector<FileEntry> kept;
  for (const FileEntry& file : made.files)
    if (file.role == FileRole::kJson) kept.push_back(file);
  made.files = kept;
  made.mesh = {};
  made.stage_cuts.clear();
  for (ParameterRecord& record : made.parameters) {
    record.meta.stage = 0;
    record.model->pieces.clear();
    for (SlotTensor& slot : record.slots) slot.tensor.pieces.clear();
  }
  for (const FileEntry& file : kept) TITAN_RETURN_IF_ERROR(rewrite->carry(file).status());
  for (const char* component : {kModel, kOptimizer})
    TITAN_RETURN_IF_ERROR(write_tensors(fs, reader, component, flip, *rewrite, made));
  TITAN_ASSIGN_OR_RETURN(const IdState state, id_state(reader, made));
  ManifestBuilder(made).seal(state);
  return rewrite->publish(made);
}

}  // namespace
}  // namespace titan::ckpt::testing

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const titan::ckpt::Status status = titan::ckpt::testing::flip_bit(
      argv[1], argv[2], {argv[3], std::stoull(argv[4]), static_cast<unsigned>(std::stoul(argv[5]))});
  if (!status.ok()) std::fprintf(stderr, "titan-flip-bit: %s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
