#include "libtrain/engine/parallel/run_store.h"

#include <cstdlib>
#include <future>
#include <thread>
#include <utility>

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "libtrain/engine/parallel/communicator.h"
#include "libtrain/job/launch/library_error.h"
#include "libtrain/job/launch/master.h"
#include "libtrain/job/launch/signals.h"

namespace titan::train {

using std::chrono::milliseconds;

c10::intrusive_ptr<c10d::Store> open_store(const LaunchEnv& env, bool serve, milliseconds timeout, Meeting& meeting) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(env.master_port);
  options.isServer = serve;
  options.waitWorkers = false;  // c10d's own wait would not say which ranks are missing
  options.timeout = timeout;
  const bool launched = env.source == "titan";  // Titan's launcher opens the port before it starts the ranks
  if (serve && env.master_fd >= 0) options.masterListenFd = env.master_fd;
  if (serve && !options.masterListenFd) {
    const auto fd = listen_on_master_port(env);
    if (!fd.ok()) throw CommError(fd.status());
    options.masterListenFd = *fd;
  }
  if (!launched) {
    const std::string connecting = "connecting to " + host_of_store(env) + " at " + master_text(env);
    meeting.now(connecting);
    ReachOptions reach;
    reach.timeout = timeout;
    reach.note = [&](const std::string& why) { meeting.now(connecting, why); };
    if (const ckpt::Status reached = reach_master(env, reach); !reached.ok()) throw CommError(reached);
  }
  meeting.now("waiting for the answer of " + host_of_store(env) + " at " + master_text(env) +
              ", which accepts connections (is that port another program's?)");
  try {
    return c10::make_intrusive<c10d::TCPStore>(env.master_addr, options);
  } catch (const std::exception& error) {
    if (serve)
      throw CommError("rank 0 cannot serve the rendezvous on " + master_text(env) + ": " + first_line(error.what()));
    throw CommError(rank_name(env) + " found no rendezvous at " + master_text(env) + " (" + host_of_store(env) +
                    ") within " + seconds_text(timeout) + ": " + first_line(error.what()));
  }
}

std::string prefix_of(const LaunchEnv& env) { return "titan/" + env.run_id + "/" + std::to_string(env.restart_count); }

void quieten_c10d() {
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  c10::initLogging();
}

std::string exchange_words(const LaunchEnv& env, const std::string& own) {
  std::promise<std::string> promise;
  std::future<std::string> word = promise.get_future();
  std::thread([env, own, promise = std::move(promise)]() mutable {
    try {
      Meeting nobody;
      c10d::PrefixStore store(prefix_of(env), open_store(env, false, kLeastOfStore, nobody));
      if (!own.empty()) leave_word(store, own);
      promise.set_value(own.empty() ? word_of_leaver(store) : "");
    } catch (const std::exception&) {
      promise.set_value("");
    }
  }).detach();
  return word.wait_for(2 * kLeastOfStore) == std::future_status::ready ? word.get() : "";
}

std::string word_of_rank_0(const LaunchEnv& env, milliseconds timeout, const std::function<std::string()>& ask) {
  if (!env.agent_store || env.world == 1) return ask();
  const std::string mine = env.rank == 0 ? ask() : "";
  quieten_c10d();
  // In a detached thread: a call to a store that accepts connections but does not answer blocks forever.
  std::promise<std::string> promise;
  std::future<std::string> word = promise.get_future();
  std::thread([env, timeout, mine, promise = std::move(promise)]() mutable {
    try {
      Meeting nobody;
      c10d::PrefixStore store(prefix_of(env), open_store(env, false, timeout, nobody));
      if (env.rank == 0)
        store.set("word", mine);
      else
        store.wait({"word"}, timeout);
      const auto bytes = store.get("word");
      promise.set_value({bytes.begin(), bytes.end()});
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  const auto deadline = std::chrono::steady_clock::now() + timeout + kLeastOfStore;
  try {
    while (!stop_requested() && std::chrono::steady_clock::now() < deadline)
      if (word.wait_for(kLookAtStore) == std::future_status::ready) return word.get();
  } catch (const std::exception&) {
    // connect() will report what is wrong with the rendezvous.
  }
  return env.rank == 0 ? mine : ask();
}

}  // namespace titan::train
