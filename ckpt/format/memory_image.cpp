#include "ckpt/format/memory_image.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace titan::ckpt {

void MemoryImage::write(std::uint64_t address, const void* data, std::size_t size) {
  if (size == 0) return;
  const auto* bytes = static_cast<const std::byte*>(data);
  end = std::max(end, address + size);
  // An extent that begins at or before the address and reaches it takes the bytes; if there is none, a new extent does.
  auto home = extents.upper_bound(address);
  if (home != extents.begin() && std::prev(home)->first + std::prev(home)->second.size() >= address) {
    --home;
  } else {
    home = extents.emplace(address, std::vector<std::byte>()).first;
  }
  std::vector<std::byte>& target = home->second;
  const std::uint64_t at = address - home->first;
  if (target.size() < at + size) target.resize(at + size);
  std::memcpy(target.data() + at, bytes, size);
  // Merges the following extents that it now touches, and keeps their bytes after the new ones.
  for (auto next = std::next(home); next != extents.end() && next->first <= home->first + target.size();
       next = extents.erase(next)) {
    const std::uint64_t have = home->first + target.size() - next->first;
    if (have < next->second.size())
      target.insert(target.end(), next->second.begin() + static_cast<std::ptrdiff_t>(have), next->second.end());
  }
}

void MemoryImage::read(std::uint64_t address, void* data, std::size_t size) const {
  auto* out = static_cast<std::byte*>(data);
  std::memset(out, 0, size);
  auto it = extents.upper_bound(address);
  if (it != extents.begin()) --it;
  for (; it != extents.end() && it->first < address + size; ++it) {
    const std::uint64_t begin = std::max(address, it->first);
    const std::uint64_t stop = std::min(address + size, it->first + it->second.size());
    if (begin < stop) std::memcpy(out + (begin - address), it->second.data() + (begin - it->first), stop - begin);
  }
}

std::uint64_t MemoryImage::allocate(bool raw, std::uint64_t size) {
  if (raw && raw_at) return *std::exchange(raw_at, std::nullopt);
  const std::uint64_t address = allocated;
  // Addresses between the first block and `metadata_from` are assigned only by `raw_at`.
  allocated = std::max(address + size, metadata_from);
  return address;
}

namespace {

// libhdf5 treats a driver's file as an H5FD_t that is followed by the driver's own fields.
struct ImageFile {
  H5FD_t base;
  MemoryImage* image;
};

MemoryImage& image_of(const H5FD_t* file) { return *reinterpret_cast<const ImageFile*>(file)->image; }

H5FD_t* image_open(const char*, unsigned, hid_t fapl, haddr_t) {
  const void* info = H5Pget_driver_info(fapl);
  if (!info) return nullptr;
  auto* file = new (std::nothrow) ImageFile{};
  if (!file) return nullptr;
  std::memcpy(&file->image, info, sizeof file->image);
  return &file->base;
}

herr_t image_close(H5FD_t* file) {
  delete reinterpret_cast<ImageFile*>(file);
  return 0;
}

herr_t image_query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t image_alloc(H5FD_t* file, H5FD_mem_t type, hid_t, hsize_t size) {
  return image_of(file).allocate(type == H5FD_MEM_DRAW, size);
}

haddr_t image_get_eoa(const H5FD_t* file, H5FD_mem_t) { return image_of(file).allocated; }

herr_t image_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  image_of(file).allocated = address;
  return 0;
}

haddr_t image_get_eof(const H5FD_t* file, H5FD_mem_t) { return image_of(file).end; }

herr_t image_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  image_of(file).read(address, buffer, size);
  return 0;
}

herr_t image_write(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  // libhdf5 is C, so no exception may pass through it.
  try {
    if (type == H5FD_MEM_DRAW && !image_of(file).keep_raw)
      image_of(file).raw_writes.push_back({address, size});
    else
      image_of(file).write(address, buffer, size);
  } catch (const std::bad_alloc&) {
    return -1;
  }
  return 0;
}

herr_t image_truncate(H5FD_t* file, hid_t, hbool_t) {
  image_of(file).end = image_of(file).allocated;
  return 0;
}

H5FD_class_t image_class() {
  H5FD_class_t driver{};
  driver.name = "titan_image";
  driver.maxaddr = (haddr_t{1} << 62);
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(MemoryImage*);
  driver.open = image_open;
  driver.close = image_close;
  driver.query = image_query;
  driver.alloc = image_alloc;
  driver.get_eoa = image_get_eoa;
  driver.set_eoa = image_set_eoa;
  driver.get_eof = image_get_eof;
  driver.read = image_read;
  driver.write = image_write;
  driver.truncate = image_truncate;
  const H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
  static_assert(sizeof map == sizeof driver.fl_map);
  std::memcpy(driver.fl_map, map, sizeof map);
  return driver;
}

}  // namespace

bool use_memory_image(hid_t fapl, MemoryImage* image) {
  static const H5FD_class_t driver = image_class();
  static const hid_t id = H5FDregister(&driver);
  return id >= 0 && H5Pset_driver(fapl, id, &image) >= 0;
}

}  // namespace titan::ckpt
