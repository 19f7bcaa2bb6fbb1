// titan-dcp-dump DIR OUT: every tensor of a DCP directory as OUT/<n>.bin, and OUT/index.txt with one line each: a
// number, dtype, dimensions, name; plain values as lines "value <name> <text>". Reads in pieces of ELEMENTS (default
// 1000), so that ranges cross chunks. A tool of tests/interop.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/model/leaf.h"
#include "converters/dcp/reader.h"

using namespace titan;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::uint64_t step = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1000;
  const auto fail = [](const ckpt::Status& status) {
    std::fputs((status.to_string() + "\n").c_str(), stderr);
    return ckpt::exit_code(status.code);
  };
  auto reader = convert::dcp::DcpReader::open(ckpt::posix_fs(), argv[1]);
  if (!reader.ok()) return fail(reader.status());
  const std::string out = argv[2];
  std::ofstream index(out + "/index.txt");
  std::size_t number = 0;
  for (const auto& tensor : (*reader)->metadata().tensors) {
    const std::uint64_t elements = ckpt::element_count(tensor.shape), unit = convert::torch_dtype_size(tensor.dtype);
    std::ofstream file(out + "/" + std::to_string(number) + ".bin", std::ios::binary);
    std::vector<std::byte> buffer;
    for (std::uint64_t first = 0; first < elements; first += step) {
      buffer.resize(std::min(step, elements - first) * unit);
      if (const ckpt::Status status = (*reader)->read(tensor, first, buffer); !status.ok()) return fail(status);
      file.write(reinterpret_cast<const char*>(buffer.data()), static_cast<std::streamsize>(buffer.size()));
    }
    index << number++ << ' ' << tensor.dtype << ' ';
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) index << (d > 0 ? "," : "") << tensor.shape[d];
    index << (tensor.shape.empty() ? "scalar " : " ") << tensor.name << '\n';
  }
  for (const auto& value : (*reader)->metadata().values) {
    const auto read = (*reader)->value(value.name);
    index << "value " << value.name << ' ' << (read.ok() ? read->to_string() : "<" + read.status().message + ">")
          << '\n';
  }
  const auto report = (*reader)->verify({});
  if (!report.ok()) return fail(report.status());
  for (const ckpt::Damage& damage : report->damage) index << "damage " << damage.tensor << ' ' << damage.detail << '\n';
  index << "end " << report->leaves << '\n';
  return index.good() ? 0 : 3;
}
