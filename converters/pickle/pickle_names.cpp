#include "converters/pickle/pickle_names.h"

namespace titan::convert {
namespace {

struct OpcodeName {
  char opcode;
  const char* name;
};
constexpr OpcodeName kOpcodes[] = {
    {'(', "MARK"},
    {'.', "STOP"},
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'J', "BININT"},
    {'K', "BININT1"},
    {'L', "LONG"},
    {'M', "BININT2"},
    {'N', "NONE"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {'R', "REDUCE"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},
    {'X', "BINUNICODE"},
    {'a', "APPEND"},
    {'b', "BUILD"},
    {'c', "GLOBAL"},
    {'d', "DICT"},
    {'}', "EMPTY_DICT"},
    {'e', "APPENDS"},
    {'g', "GET"},
    {'h', "BINGET"},
    {'i', "INST"},
    {'j', "LONG_BINGET"},
    {'l', "LIST"},
    {']', "EMPTY_LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {'q', "BINPUT"},
    {'r', "LONG_BINPUT"},
    {'s', "SETITEM"},
    {'t', "TUPLE"},
    {')', "EMPTY_TUPLE"},
    {'u', "SETITEMS"},
    {'G', "BINFLOAT"},
    {'\x80', "PROTO"},
    {'\x81', "NEWOBJ"},
    {'\x82', "EXT1"},
    {'\x83', "EXT2"},
    {'\x84', "EXT4"},
    {'\x85', "TUPLE1"},
    {'\x86', "TUPLE2"},
    {'\x87', "TUPLE3"},
    {'\x88', "NEWTRUE"},
    {'\x89', "NEWFALSE"},
    {'\x8a', "LONG1"},
    {'\x8b', "LONG4"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
    {'\x8c', "SHORT_BINUNICODE"},
    {'\x8d', "BINUNICODE8"},
    {'\x8e', "BINBYTES8"},
    {'\x8f', "EMPTY_SET"},
    {'\x90', "ADDITEMS"},
    {'\x91', "FROZENSET"},
    {'\x92', "NEWOBJ_EX"},
    {'\x93', "STACK_GLOBAL"},
    {'\x94', "MEMOIZE"},
    {'\x95', "FRAME"},
    {'\x96', "BYTEARRAY8"},
    {'\x97', "NEXT_BUFFER"},
    {'\x98', "READONLY_BUFFER"},
};

struct AllowedName {
  std::string_view module, name;
  Allowed how;
};
constexpr AllowedName kAllowed[] = {
    {kMetadataModule, "Metadata", Allowed::kInstance},
    {kMetadataModule, "TensorStorageMetadata", Allowed::kInstance},
    {kMetadataModule, "BytesStorageMetadata", Allowed::kInstance},
    {kMetadataModule, "ChunkStorageMetadata", Allowed::kInstance},
    {kMetadataModule, "TensorProperties", Allowed::kInstance},
    {kMetadataModule, "MetadataIndex", Allowed::kInstance},
    {kMetadataModule, "StorageMeta", Allowed::kInstance},
    {kMetadataModule, "_MEM_FORMAT_ENCODING", Allowed::kCall},
    {kOldMetadataModule, "TensorProperties", Allowed::kInstance},
    {kOldMetadataModule, "MEM_FORMAT_ENCODING", Allowed::kCall},
    {kFilesystemModule, "_StorageInfo", Allowed::kInstance},
    {"torch", "Size", Allowed::kCall},
    {"torch.serialization", "_get_layout", Allowed::kCall},
    {"torch._utils", "_rebuild_tensor_v2", Allowed::kCall},
    {"torch._utils", "_rebuild_tensor_v3", Allowed::kCall},
    {"torch._utils", "_rebuild_parameter", Allowed::kCall},
    {"pathlib", "PosixPath", Allowed::kCall},
    {"pathlib._local", "PosixPath", Allowed::kCall},
    {"_codecs", "encode", Allowed::kCall},
    {"builtins", "getattr", Allowed::kGetattr},
    {"collections", "OrderedDict", Allowed::kOrderedDict},
};

}  // namespace

std::string opcode_name(unsigned char opcode) {
  for (const OpcodeName& row : kOpcodes)
    if (static_cast<unsigned char>(row.opcode) == opcode) return row.name;
  constexpr char digits[] = "0123456789abcdef";
  return std::string("0x") + digits[opcode >> 4] + digits[opcode & 15];
}

Allowed allowed(std::string_view module, std::string_view name) {
  for (const AllowedName& row : kAllowed)
    if (row.name == name && row.module == module) return row.how;
  return Allowed::kNo;
}

}  // namespace titan::convert
