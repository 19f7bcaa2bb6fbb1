#include "converters/torch_save/torch_file.h"

#include <algorithm>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/text.h"
#include "ckpt/model/leaf.h"
#include "ckpt/ops/element.h"
#include "converters/other_programs.h"

namespace titan::convert {

using ckpt::corrupt;
using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::uint64_t kMaxPickle = std::uint64_t{256} << 20;
constexpr std::uint32_t kMaxNodes = 8'000'000;
constexpr std::size_t kHeaderLength = 8;  // bytes before the JSON of a safetensors file

// The kind of a non-archive file by its first bytes; nullptr if they do not show it.
const char* kind_of_plain(std::string_view head) {
  if (head.size() > kHeaderLength && head[kHeaderLength] == '{' && head[kHeaderLength - 1] == 0)
    return "a safetensors file";
  const bool text = !head.empty() && std::ranges::all_of(head, [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  });
  if (!text) return nullptr;
  return head[0] == '{' || head[0] == '[' ? "JSON" : "text";
}

}  // namespace

Result<ckpt::DType> dtype_of_torch(const std::string& what, const std::string& name) {
  const Result<ckpt::DType> dtype = ckpt::parse_dtype(name);
  if (dtype.ok()) return dtype;
  return ckpt::unsupported(what + " has elements of torch." + name + ", which a Titan checkpoint cannot have");
}

Result<TorchFile> TorchFile::open(ckpt::Fs& fs, const std::string& path) {
  TorchFile out;
  out.path_ = path;
  TITAN_RETURN_IF_ERROR(file_there(fs, path).status());
  TITAN_ASSIGN_OR_RETURN(out.file_, fs.open_read(path));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, out.file_->size());
  TITAN_RETURN_IF_ERROR(out.read(0, size));
  return out;
}

Result<TorchFile> TorchFile::open_item(ckpt::Fs& fs, const std::string& path, std::uint64_t offset,
                                       std::uint64_t length) {
  TorchFile out;
  out.path_ = path;
  TITAN_ASSIGN_OR_RETURN(out.file_, fs.open_read(path));
  TITAN_RETURN_IF_ERROR(out.read(offset, length));
  return out;
}

TorchFile::TorchFile() = default;
TorchFile::TorchFile(TorchFile&& other) noexcept = default;
TorchFile& TorchFile::operator=(TorchFile&& other) noexcept = default;
TorchFile::~TorchFile() = default;

Status TorchFile::read(std::uint64_t offset, std::uint64_t length) {
  std::byte head[2] = {};
  if (length >= sizeof head) TITAN_RETURN_IF_ERROR(file_->pread(offset, head));
  if (head[0] == std::byte{0x80} && head[1] == std::byte{2})
    return ckpt::unsupported(path_ + " was saved in the form of torch before 1.6: not supported")
        .with_hint("load and save it again with a newer torch");
  const auto wrong = [&](const Status& error) {
    if (offset != 0) return error;
    const Status said = or_wrong_file_kind(path_, *file_, error, ckpt::FileKind::kTorch);
    std::vector<std::byte> begin(std::min<std::uint64_t>(length, 32));
    const char* const kind =
        said == error && file_->pread(0, begin).ok() ? kind_of_plain(ckpt::text_of(begin)) : nullptr;
    if (kind == nullptr) return said;
    return ckpt::unsupported(path_ + " is " + kind + ", whatever its name says: expected a file of torch.save")
        .with_hint("fetch or copy the file again");
  };
  Result<ZipArchive> zip = ZipArchive::open(*file_, path_, offset, length);
  if (!zip.ok()) return wrong(zip.status());
  zip_ = std::make_unique<ZipArchive>(*std::move(zip));
  if (const ZipEntry* order = zip_->find("byteorder")) {
    TITAN_ASSIGN_OR_RETURN(const std::string text, zip_->read(*order, 16));
    if (text != "little") return ckpt::unsupported(path_ + " holds big-endian tensors: not supported");
  }
  const ZipEntry* tree = zip_->find("data.pkl");
  if (tree == nullptr) return wrong(corrupt(path_ + ": no data.pkl in the archive"));
  TITAN_ASSIGN_OR_RETURN(std::string bytes, zip_->read(*tree, kMaxPickle));
  TITAN_ASSIGN_OR_RETURN(pickle_, Pickle::decode(path_, std::move(bytes), {.nodes = kMaxNodes, .inert = true}));
  return {};
}

Result<NodeId> TorchFile::at(NodeId node, const std::string& key) const {
  const NodeId found = pickle_.find(node, key);
  if (found != kNoNode) return found;
  return corrupt(path_ + ": no '" + key + "' in " + pickle_.describe(node));
}

Result<StoredTensor> TorchFile::tensor(NodeId node) const {
  TITAN_ASSIGN_OR_RETURN(const ItemTensor item, parse_tensor(pickle_, node));
  if (!item.contiguous()) return ckpt::unsupported(path_ + ": a tensor that is not contiguous: not supported");
  StoredTensor out{item.dtype, item.shape, 0, ckpt::element_count(item.shape)};
  if (out.elements == 0) return out;
  const std::uint64_t unit = torch_dtype_size(item.dtype);
  const ZipEntry* storage = zip_->find(item.storage);
  if (storage == nullptr) return corrupt(path_ + ": no entry " + item.storage + " in the archive");
  if (storage->bytes / unit < out.elements || item.first > storage->bytes / unit - out.elements)
    return corrupt(path_ + ": a tensor reaches beyond entry " + item.storage + ", which has " +
                   std::to_string(storage->bytes) + " bytes");
  auto known = payloads_.find(item.storage);
  if (known == payloads_.end()) {
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t payload, zip_->payload(*storage));
    known = payloads_.emplace(item.storage, payload).first;
  }
  out.offset = known->second + item.first * unit;
  out.crc = storage->crc;
  return out;
}

Result<double> TorchFile::number(NodeId node) const {
  if (pickle_.is(node, NodeKind::kInt)) return static_cast<double>(pickle_.integer(node));
  if (pickle_.is(node, NodeKind::kFloat)) return pickle_.real(node);
  if (!pickle_.is(node, NodeKind::kCall) && !pickle_.is(node, NodeKind::kInstance))
    return ckpt::incompatible(path_ + ": " + pickle_.describe(node) + " stands where a number is expected");
  TITAN_ASSIGN_OR_RETURN(const StoredTensor stored, tensor(node));
  TITAN_ASSIGN_OR_RETURN(const ckpt::DType dtype, dtype_of_torch(path_ + ": a number", stored.dtype));
  if (stored.elements != 1)
    return corrupt(path_ + ": a tensor of " + std::to_string(stored.elements) + " elements where a number is expected");
  std::byte bytes[8] = {};
  TITAN_RETURN_IF_ERROR(file_->pread(stored.offset, std::span(bytes).first(ckpt::dtype_size(dtype))));
  return ckpt::element_value(dtype, bytes);
}

}  // namespace titan::convert
