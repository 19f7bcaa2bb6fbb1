#pragma once
// A store in memory that counts the keys that it is asked for.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace titan::test {

class CountingStore final : public c10d::HashStore {
 public:
  std::atomic<std::uint64_t> keys{0};
  std::function<void()> before_reads = [] {};  ///< what others do just before several keys are read

  using c10d::HashStore::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override {
    ++keys;
    c10d::HashStore::set(key, value);
  }
  std::vector<std::uint8_t> get(const std::string& key) override {
    ++keys;
    return c10d::HashStore::get(key);
  }
  std::int64_t add(const std::string& key, std::int64_t value) override {
    ++keys;
    return c10d::HashStore::add(key, value);
  }
  bool check(const std::vector<std::string>& asked) override {
    keys += asked.size();
    return c10d::HashStore::check(asked);
  }
  std::vector<std::vector<std::uint8_t>> multiGet(const std::vector<std::string>& asked) override {
    keys += asked.size();
    before_reads();
    return c10d::HashStore::multiGet(asked);
  }
};

}  // namespace titan::test
