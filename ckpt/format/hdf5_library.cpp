#include "ckpt/format/hdf5_library.h"

#include "ckpt/base/mutex.h"

namespace titan::ckpt {
namespace {

Mutex& library_mutex() {
  static Mutex mutex;
  return mutex;
}

}  // namespace

Hdf5Session::Hdf5Session() : lock_(library_mutex()) {
  static const bool once = [] {
    H5dont_atexit();
    H5open();
    H5PLset_loading_state(0);  // never loads plugins from HDF5_PLUGIN_PATH
    return true;
  }();
  (void)once;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // per thread
}

Status hdf5_failed(const std::string& what) { return failed("libhdf5 could not " + what); }

Hdf5Handle make_element_type(DType dtype, hid_t file) {
  switch (dtype) {
    case DType::kF32: return {H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
    case DType::kF64: return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose};
    case DType::kI64: return {H5Tcopy(H5T_STD_I64LE), H5Tclose};
    case DType::kI32: return {H5Tcopy(H5T_STD_I32LE), H5Tclose};
    case DType::kU8: return {H5Tcopy(H5T_STD_U8LE), H5Tclose};
    case DType::kF16:
    case DType::kBF16: break;
  }
  // The order of these calls matters: each must leave a valid type.
  Hdf5Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  const bool bf16 = dtype == DType::kBF16;
  const bool set = type.ok() &&
                   (bf16 ? H5Tset_fields(type, 15, 7, 8, 0, 7) : H5Tset_fields(type, 15, 10, 5, 0, 10)) >= 0 &&
                   H5Tset_offset(type, 0) >= 0 && H5Tset_precision(type, 16) >= 0 && H5Tset_size(type, 2) >= 0 &&
                   H5Tset_ebias(type, bf16 ? 127 : 15) >= 0;
  if (!set) return {-1, H5Tclose};
  if (bf16 && file >= 0) {
    const Hdf5Handle creation(H5Pcreate(H5P_DATATYPE_CREATE), H5Pclose);
    if (H5Pset_obj_track_times(creation, 0) < 0 ||
        H5Tcommit2(file, "bfloat16", type, H5P_DEFAULT, creation, H5P_DEFAULT) < 0)
      return {-1, H5Tclose};
  }
  return type;
}

namespace {

Hdf5Handle create_file(MemoryImage* image, hsize_t block, bool stream) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  const bool ready = access.ok() && creation.ok() && use_memory_image(access, image) &&
                     H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110) >= 0 &&
                     H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
                     (stream ? H5Pset_small_data_block_size(access, 0) : H5Pset_alignment(access, 65536, 4096)) >= 0 &&
                     H5Pset_meta_block_size(access, block) >= 0 && H5Pset_obj_track_times(creation, 0) >= 0;
  if (!ready) return {-1, H5Fclose};
  return {H5Fcreate("memory", H5F_ACC_TRUNC, creation, access), H5Fclose};
}

}  // namespace

Hdf5Handle create_in_memory(MemoryImage* image, std::size_t metadata_bytes) {
  return create_file(image, (metadata_bytes + 4095) / 4096 * 4096, false);
}
Hdf5Handle create_stream_in_memory(MemoryImage* image, std::size_t block) { return create_file(image, block, true); }

}  // namespace titan::ckpt
