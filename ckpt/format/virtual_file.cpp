#include "ckpt/format/virtual_file.h"

#include <algorithm>
#include <cstring>
#include <list>

#include "ckpt/format/hdf5_library.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt {
namespace {

// libhdf5 expands "%b" in the names of source files and reads "%%" as "%".
std::string literal(const std::string& name) {
  std::string text;
  for (const char c : name) text += c == '%' ? "%%" : std::string(1, c);
  return text;
}

// "." is HDF5's name for the group itself.
std::string link_name(const std::string& tensor) { return tensor == "." ? "%2E" : escaped_name(tensor); }

// The value of a piece whose shard is missing: NaN, because libhdf5 reports no error. Integers have no NaN and read 0.
bool set_fill(hid_t creation, DType dtype, hid_t type) {
  std::byte nan[8] = {};
  const auto put = [&](auto bits) { std::memcpy(nan, &bits, sizeof bits); };
  switch (dtype) {
    case DType::kF32: put(std::uint32_t{0x7FC00000}); break;
    case DType::kF64: put(std::uint64_t{0x7FF8000000000000}); break;
    case DType::kF16: put(std::uint16_t{0x7E00}); break;
    case DType::kBF16: put(std::uint16_t{0x7FC0}); break;
    case DType::kI64:
    case DType::kI32:
    case DType::kU8: break;
  }
  return H5Pset_fill_value(creation, type, nan) >= 0;
}

Hdf5Handle make_space(const std::vector<std::uint64_t>& shape) {
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose};
}

// Selects one box of `space` and the elements of `source` that are mapped to it, and adds the mapping.
bool map_box(hid_t creation, hid_t space, const Box& box, const std::string& file, const std::string& dataset,
             hid_t source, hsize_t source_begin) {
  const std::vector<hsize_t> start(box.start.begin(), box.start.end()), block(box.count.begin(), box.count.end());
  const std::vector<hsize_t> once(start.size(), 1);
  const hsize_t one = 1, run = box.elements();
  if (!start.empty() &&
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, once.data(), block.data()) < 0)
    return false;
  return H5Sselect_hyperslab(source, H5S_SELECT_SET, &source_begin, nullptr, &one, &run) >= 0 &&
         H5Pset_virtual(creation, space, file.c_str(), dataset.c_str(), source) >= 0;
}

bool map_piece(hid_t creation, hid_t space, const VirtualTensor& tensor, const VirtualPiece& piece) {
  const LeafGrid grid{element_count(tensor.shape), tensor.leaf_elements};
  const std::uint64_t begin = grid.begin(piece.leaves.first);
  const hsize_t elements = grid.begin(piece.leaves.end()) - begin;
  const Hdf5Handle source(H5Screate_simple(1, &elements, nullptr), H5Sclose);
  if (!source.ok()) return false;
  const std::string file = literal(piece.file), dataset = literal(dataset_name(tensor.name, piece.leaves.first));
  hsize_t done = 0;
  for (const Box& box : row_major_boxes(tensor.shape, begin, elements)) {
    if (!map_box(creation, space, box, file, dataset, source, done)) return false;
    done += box.elements();
  }
  return true;
}

// Shared by all datasets of one element type.
struct Kind {
  explicit Kind(DType d)
      : dtype(d),
        type(make_element_type(d, -1)),
        creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose),
        link(H5Pcreate(H5P_LINK_CREATE), H5Pclose) {
    ready = type.ok() && creation.ok() && link.ok() && H5Pset_obj_track_times(creation, 0) >= 0 &&
            set_fill(creation, dtype, type) && H5Pset_char_encoding(link, H5T_CSET_UTF8) >= 0;
  }
  DType dtype;
  Hdf5Handle type, creation, link;  // the type is not committed: that would take the name of a tensor
  bool ready = false;
};

Status add_dataset(hid_t file, const Kind& kind, const VirtualTensor& tensor) {
  const Hdf5Handle space = make_space(tensor.shape);
  bool ready = kind.ready && space.ok() &&
               H5Pset_layout(kind.creation, H5D_CONTIGUOUS) >= 0;  // removes the mappings of the previous dataset
  for (const VirtualPiece& piece : tensor.pieces) ready = ready && map_piece(kind.creation, space, tensor, piece);
  if (!ready) return hdf5_failed("prepare the virtual dataset '" + tensor.name + "'");
  if (!tensor.shape.empty()) H5Sselect_all(space);
  const Hdf5Handle dataset(
      H5Dcreate2(file, link_name(tensor.name).c_str(), kind.type, space, kind.link, kind.creation, H5P_DEFAULT),
      H5Dclose);
  if (!dataset.ok()) return hdf5_failed("create the virtual dataset '" + tensor.name + "'");
  return ok_status();
}

}  // namespace

std::vector<Box> row_major_boxes(const std::vector<std::uint64_t>& shape, std::uint64_t begin, std::uint64_t count) {
  const std::size_t rank = shape.size();
  std::vector<std::uint64_t> stride(rank, 1);  // elements per index of each dimension
  for (std::size_t d = rank; d-- > 1;) stride[d - 1] = stride[d] * shape[d];
  std::vector<Box> boxes;
  if (rank == 0 && count > 0) boxes.emplace_back();
  for (const std::uint64_t end = begin + count; rank > 0 && begin < end;) {
    // Finds the outermost dimension in which a whole index starts here and fits. The innermost one always fits.
    std::size_t d = 0;
    while (begin % stride[d] != 0 || end - begin < stride[d]) ++d;
    Box box{std::vector<std::uint64_t>(rank), shape};
    for (std::size_t i = 0; i < rank; ++i) box.start[i] = begin / stride[i] % shape[i];
    for (std::size_t i = 0; i < d; ++i) box.count[i] = 1;
    box.count[d] = std::min((end - begin) / stride[d], shape[d] - box.start[d]);
    begin += box.elements();
    boxes.push_back(std::move(box));
  }
  return boxes;
}

Result<std::vector<std::byte>> make_virtual_file(const std::vector<VirtualTensor>& tensors) {
  const Hdf5Session session;
  MemoryImage image;
  image.keep_raw = true;
  Hdf5Handle file = create_in_memory(&image, 600 * tensors.size());
  if (!file.ok()) return hdf5_failed("create a file in memory");
  {
    std::list<Kind> kinds;
    for (const VirtualTensor& tensor : tensors) {
      auto known =
          std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.dtype == tensor.dtype; });
      if (known == kinds.end()) known = kinds.emplace(kinds.end(), tensor.dtype);
      TITAN_RETURN_IF_ERROR(add_dataset(file, *known, tensor));
    }
  }
  if (!file.close()) return hdf5_failed("close a file in memory");
  std::vector<std::byte> bytes(std::max(image.end, image.allocated));
  for (const auto& [offset, extent] : image.extents)
    std::copy(extent.begin(), extent.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  return bytes;
}

}  // namespace titan::ckpt
