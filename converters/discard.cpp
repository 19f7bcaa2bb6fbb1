#include "converters/discard.h"

namespace titan::convert {
namespace {

class Nowhere final : public ckpt::File {
 public:
  explicit Nowhere(std::string path) : path_(std::move(path)) {}
  ckpt::Status pread(std::uint64_t, std::span<std::byte>) override {
    return ckpt::failed(path_ + " was not kept: nothing of it can be read");
  }
  ckpt::Status pwrite(std::uint64_t, std::span<const std::byte>) override { return {}; }
  ckpt::Status truncate(std::uint64_t) override { return {}; }
  ckpt::Result<std::uint64_t> size() override { return std::uint64_t{0}; }
  ckpt::Status datasync() override { return {}; }
  ckpt::Status close() override { return {}; }

 private:
  const std::string path_;
};

}  // namespace

ckpt::Result<std::unique_ptr<ckpt::File>> Discard::create(const std::string& path) {
  return std::unique_ptr<ckpt::File>(std::make_unique<Nowhere>(path));
}

}  // namespace titan::convert
