#include "libtrain/dist/rendezvous.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <thread>
#include <unistd.h>
#include <utility>

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "libtrain/dist/gloo_communicator.h"
#include "libtrain/dist/heartbeat.h"
#include "libtrain/dist/local_communicator.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

// A store that answers does so within milliseconds; what is left of a deadline is never given as less than this.
constexpr milliseconds kLeast{1'000};
constexpr milliseconds kGoodbye{5'000};

std::string master(const LaunchEnv& env) { return env.master_addr + ":" + std::to_string(env.master_port); }

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string key(const char* name, int rank) { return std::string(name) + "/" + std::to_string(rank); }

milliseconds left_until(Clock::time_point deadline) {
  return std::max(kLeast, std::chrono::duration_cast<milliseconds>(deadline - Clock::now()));
}

StorePtr open_store(const LaunchEnv& env, bool serve, milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(env.master_port);
  options.isServer = serve;
  options.waitWorkers = false;  // its own waiting would not say who is missing
  options.timeout = timeout;
  if (serve && env.master_fd >= 0) options.masterListenFd = env.master_fd;
  try {
    return c10::make_intrusive<c10d::TCPStore>(env.master_addr, options);
  } catch (const std::exception& error) {
    if (serve) throw CommError("rank 0 cannot serve the rendezvous on " + master(env) + ": " + first_line(error.what()));
    throw CommError("rank " + std::to_string(env.rank) + " found no rendezvous at " + master(env) + " (" +
                    (env.agent_store ? "torchrun's agent" : "rank 0") + ") within " + seconds_text(timeout) + ": " +
                    first_line(error.what()));
  }
}

std::string prefix_of(const LaunchEnv& env) { return "titan/" + env.run_id + "/" + std::to_string(env.restart_count); }

// c10d's own warnings about lost peers would bury the one message that names them. C++ programs must ask for the level.
void quieten_c10d() {
  setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
  c10::initLogging();
}

std::vector<int> missing_ranks(c10d::Store& store, int world) {
  std::vector<int> missing;
  for (int rank = 0; rank < world; ++rank) {
    if (!store.check({key("arrived", rank)})) missing.push_back(rank);
  }
  return missing;
}

/// Waits until every rank has registered.
void await_all(c10d::Store& store, const ConnectOptions& options, Clock::time_point deadline) {
  const int world = options.env.world;
  std::vector<std::string> keys;
  for (int rank = 0; rank < world; ++rank) keys.push_back(key("arrived", rank));
  // The host of the store stays a little longer than its peers, so that they can still ask it who is missing.
  if (options.env.rank == 0) deadline += kLeast;
  std::vector<int> missing;
  while (true) {
    try {
      store.wait(keys, kLeast);
      return;
    } catch (const std::exception&) {
      // Either the slice is over or the store is lost; the next call tells.
    }
    try {
      missing = missing_ranks(store, world);
    } catch (const std::exception& error) {
      const std::string absent = missing.empty() ? "" : "; " + name_ranks(missing) + " had not arrived";
      throw CommError("the rendezvous at " + master(options.env) + " was lost while waiting for all ranks" + absent + ": " +
                      first_line(error.what()));
    }
    if (missing.empty()) return;
    if (Clock::now() >= deadline) {
      throw CommError(name_ranks(missing) + " did not arrive at " + master(options.env) + " within " +
                      seconds_text(options.init_timeout) + " (comm.init_timeout_seconds); " +
                      std::to_string(world - static_cast<int>(missing.size())) + " of " + std::to_string(world) + " ranks are there");
    }
  }
}

/// The heartbeat's own connection: a wait on the other one must not hold it up.
Heartbeat::Exchange exchange_over(StorePtr store, int rank, int world) {
  std::vector<std::string> keys;
  for (int i = 0; i < world; ++i) keys.push_back(key("beat", i));
  return [store = std::move(store), own_key = keys[rank], keys](const std::string& own) {
    store->set(own_key, own);
    std::vector<std::string> values;
    for (const auto& bytes : store->multiGet(keys)) values.emplace_back(bytes.begin(), bytes.end());
    return values;
  };
}

/// What must be closed in order, whoever owns the communicators.
struct Session {
  StorePtr store;
  std::shared_ptr<Heartbeat> heartbeat;
  std::vector<std::function<void()>> closers;
  int rank = 0, world = 1;
  bool serves = false;

  void close() {
    for (auto& closer : closers) closer();
    closers.clear();
    heartbeat.reset();
    try {
      if (serves) {
        // The store's host leaves last: a peer that still talks to it would see a broken connection.
        std::vector<std::string> keys;
        for (int i = 1; i < world; ++i) keys.push_back(key("left", i));
        store->wait(keys, kGoodbye);
      } else if (store) {
        store->set(key("left", rank), "1");
      }
    } catch (const std::exception&) {
      // A peer that died after the last barrier: there is nothing left to do with it.
    }
    store.reset();
  }
};

class Connector {
 public:
  explicit Connector(ConnectOptions options) : options_(std::move(options)), deadline_(Clock::now() + options_.init_timeout) {}

  World connect() {
    const LaunchEnv& env = options_.env;
    World world;
    world.rank = env.rank;
    world.size = env.world;
    const int dp = static_cast<int>(options_.mesh.dp);
    world.stage = env.rank / dp;
    world.dp_rank = env.rank % dp;
    session_ = std::make_shared<Session>();
    if (env.world > 1) meet();
    world.all = group("all", env.rank, env.world, options_.train_timeout);
    world.io = group("io", env.rank, env.world, options_.io_timeout);
    world.dp = group("dp/" + std::to_string(world.stage), world.dp_rank, dp, options_.train_timeout);
    world.pp = group("pp/" + std::to_string(world.dp_rank), world.stage, static_cast<int>(options_.mesh.pp), options_.train_timeout);
    world.shutdown = [session = session_, io = world.io.get()] {
      if (!session) return;
      // Slow storage may hold a peer up here, hence the longer deadline; a silent one is noticed earlier by its heartbeat.
      if (session->store) io->barrier();
      session->close();
    };
    return world;
  }

 private:
  void meet() {
    const LaunchEnv& env = options_.env;
    const bool serve = env.rank == 0 && !env.agent_store;
    const StorePtr tcp = open_store(env, serve, options_.init_timeout);
    const std::string prefix = prefix_of(env);
    store_ = c10::make_intrusive<c10d::PrefixStore>(prefix, tcp);
    const StorePtr own_line = c10::make_intrusive<c10d::PrefixStore>(prefix, open_store(env, false, options_.init_timeout));
    store_->set(key("beat", env.rank), std::string("0"));
    store_->set(key("arrived", env.rank), std::to_string(getpid()));
    await_all(*store_, options_, deadline_);
    session_->store = store_;
    session_->rank = env.rank;
    session_->world = env.world;
    session_->serves = serve;
    HeartbeatOptions beat;
    beat.rank = env.rank;
    beat.world = env.world;
    beat.store_on_rank_0 = !env.agent_store;
    beat.train_timeout = options_.train_timeout;
    session_->heartbeat = std::make_shared<Heartbeat>(beat, exchange_over(own_line, env.rank, env.world));
    device_ = GlooDevice::create(is_loopback(env.master_addr));
  }

  std::unique_ptr<Communicator> group(const std::string& name, int rank, int size, milliseconds timeout) {
    if (size == 1) return std::make_unique<LocalCommunicator>();
    GlooGroupOptions options;
    options.name = name;
    options.rank = rank;
    options.size = size;
    options.init_timeout = left_until(deadline_);
    options.timeout = timeout;
    options.heartbeat = session_->heartbeat;
    auto communicator = GlooCommunicator::create(c10::make_intrusive<c10d::PrefixStore>(name, store_), device_, std::move(options));
    session_->closers.push_back(communicator->closer());
    return communicator;
  }

  ConnectOptions options_;
  Clock::time_point deadline_;
  StorePtr store_;
  std::shared_ptr<GlooDevice> device_;
  std::shared_ptr<Session> session_;
};

}  // namespace

World connect(const ConnectOptions& options) {
  const LaunchEnv& env = options.env;
  if (options.mesh.world() != static_cast<std::uint32_t>(env.world) || options.mesh.tp != 1 || env.rank < 0 || env.rank >= env.world) {
    throw std::invalid_argument("rank " + std::to_string(env.rank) + " of " + std::to_string(env.world) + " does not fit a mesh of dp " +
                                std::to_string(options.mesh.dp) + " x pp " + std::to_string(options.mesh.pp));
  }
  if (env.world == 1) return Connector(options).connect();
  // Gloo writes to a dead peer's socket with writev: that must become a CommError, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  quieten_c10d();
  // c10d's calls to a store that accepts but does not answer block for ever, so they run in a thread that can be left.
  std::promise<World> promise;
  std::future<World> world = promise.get_future();
  std::thread([options, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(Connector(options).connect());
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  const milliseconds bound = options.init_timeout + kGoodbye;
  if (world.wait_for(bound) != std::future_status::ready) {
    throw CommError("rank " + std::to_string(env.rank) + " did not meet its peers within " + seconds_text(bound) +
                    ": the rendezvous at " + master(env) + " accepts but does not answer (" +
                    (env.agent_store ? "torchrun's agent" : "rank 0") + " is silent)");
  }
  return world.get();
}

std::string word_of_rank_0(const LaunchEnv& env, milliseconds timeout, const std::function<std::string()>& ask) {
  if (!env.agent_store || env.world == 1) return ask();
  const std::string mine = env.rank == 0 ? ask() : "";
  quieten_c10d();
  // In a thread that can be left, as in connect().
  std::promise<std::string> promise;
  std::future<std::string> word = promise.get_future();
  std::thread([env, timeout, mine, promise = std::move(promise)]() mutable {
    try {
      c10d::PrefixStore store(prefix_of(env), open_store(env, false, timeout));
      if (env.rank == 0) store.set("word", mine);
      else store.wait({"word"}, timeout);
      const auto bytes = store.get("word");
      promise.set_value({bytes.begin(), bytes.end()});
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  try {
    if (word.wait_for(timeout + kLeast) == std::future_status::ready) return word.get();
  } catch (const std::exception&) {
    // connect() will say what is wrong with the rendezvous.
  }
  return env.rank == 0 ? mine : ask();
}

}  // namespace titan::train
