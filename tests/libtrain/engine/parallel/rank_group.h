#pragma once
// Ranks of a test as children of the test program: each runs the same role under the launcher's contract.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "libtrain/engine/parallel/rendezvous.h"
#include "tests/support/child_process.h"

namespace titan::test {

class RankGroup {
 public:
  /// Starts ranks 0..dp*pp-1 except those in `absent`; the port is whatever the kernel gives. With torchrun's variable
  /// TORCHELASTIC_USE_AGENT_STORE this process hosts the store, as torchrun's agent does.
  RankGroup(const char* role, int dp, int pp, ChildProcess::Environment environment = {},
            const std::vector<int>& absent = {}) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener, generic, length), 0);
    EXPECT_EQ(listen(listener, 16), 0);
    EXPECT_EQ(getsockname(listener, generic, &length), 0);
    environment["TITAN_TEST_ROLE"] = role;
    environment["TEST_DP"] = std::to_string(dp);
    environment["TEST_PP"] = std::to_string(pp);
    environment["WORLD_SIZE"] = std::to_string(dp * pp);
    environment["MASTER_ADDR"] = "127.0.0.1";
    environment["MASTER_PORT"] = std::to_string(ntohs(address.sin_port));
    const bool agent = environment.contains("TORCHELASTIC_USE_AGENT_STORE");
    if (!agent) environment["TITAN_LAUNCHER_PID"] = std::to_string(getpid());
    environment["TITAN_RUN_ID"] = "test";
    if (agent) {
      c10d::TCPStoreOptions options;
      options.port = ntohs(address.sin_port);
      options.isServer = true;
      options.waitWorkers = false;
      options.masterListenFd = listener;
      agent_store_ = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    }
    environment["OMP_NUM_THREADS"] = "1";
    for (int rank = 0; rank < dp * pp; ++rank) {
      environment["RANK"] = std::to_string(rank);
      environment["TITAN_MASTER_FD"] = std::to_string(listener);
      const bool missing = std::find(absent.begin(), absent.end(), rank) != absent.end();
      ranks_.push_back(
          missing ? nullptr : std::make_unique<ChildProcess>(this_program(), std::vector<std::string>{}, environment));
      if (rank == 0 && !agent) close(listener);
    }
  }

  ChildProcess& operator[](int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }
  int size() const { return static_cast<int>(ranks_.size()); }

  /// Expects every rank to end with 0 in time.
  void expect_success() {
    for (int rank = 0; rank < size(); ++rank)
      EXPECT_EQ((*this)[rank].wait(), 0) << "rank " << rank << ":\n" << (*this)[rank].output();
  }
  void expect_output_of_all(const std::string& text) {
    for (int rank = 0; rank < size(); ++rank)
      ASSERT_TRUE((*this)[rank].wait_for_output(text)) << "rank " << rank << ":\n" << (*this)[rank].output();
  }

 private:
  c10::intrusive_ptr<c10d::TCPStore> agent_store_;
  std::vector<std::unique_ptr<ChildProcess>> ranks_;
};

/// In a rank: how the test wants it to connect.
inline train::ConnectOptions connect_options() {
  const auto number = [](const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
  };
  train::ConnectOptions options;
  auto env = train::read_launch_env([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
  if (!env.ok() || !env->has_value()) std::_Exit(98);
  options.env = **env;
  options.mesh = {static_cast<std::uint32_t>(number("TEST_PP", 1)), static_cast<std::uint32_t>(number("TEST_DP", 1)),
                  1};
  options.init_timeout = std::chrono::milliseconds(number("TEST_INIT_MS", 30'000));
  options.train_timeout = std::chrono::milliseconds(number("TEST_TRAIN_MS", 30'000));
  options.io_timeout = std::chrono::milliseconds(number("TEST_IO_MS", 60'000));
  return options;
}

}  // namespace titan::test
