#include "libtrain/engine/parallel/rendezvous.h"

#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "libtrain/engine/parallel/beat_ring.h"
#include "libtrain/engine/parallel/fabric_maker.h"
#include "libtrain/engine/parallel/gloo_communicator.h"
#include "libtrain/engine/parallel/local_communicator.h"
#include "libtrain/engine/parallel/meeting.h"
#include "libtrain/engine/parallel/roll_call.h"
#include "libtrain/engine/parallel/run_store.h"
#include "libtrain/job/control/heartbeat.h"
#include "libtrain/job/launch/library_error.h"
#include "libtrain/job/launch/master.h"
#include "libtrain/job/launch/network.h"
#include "libtrain/job/launch/process_state.h"
#include "libtrain/job/launch/signals.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

constexpr milliseconds kGoodbye{5'000};
// kSayAfter: time after which a slow start is reported. kGone: time without a heartbeat after which a rank counts as
// dead during a start; long, since hosts are overloaded while hundreds of ranks start.
constexpr milliseconds kSayAfter{10'000}, kGone{20'000};

constexpr const char* kProcess = "process ";

std::string key(const char* name, int rank) { return std::string(name) + "/" + std::to_string(rank); }

milliseconds left_until(Clock::time_point deadline) {
  return std::max(kLeastOfStore, std::chrono::duration_cast<milliseconds>(deadline - Clock::now()));
}

/// Stores `own` as the message of the first rank that left, unless there is one. Returns the stored message.
std::string first_words(c10d::Store& store, const std::string& own) {
  return store.compareSet("why", std::string(), own);
}

std::string left_the_start(const std::string& word) { return "another rank left before all had met: " + word; }

/// Throws CommError if another process has this rank number: the number was given twice, or the process belongs to
/// another run on the same port.
void claim_number(c10d::Store& store, const LaunchEnv& env) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string own = kProcess + std::to_string(getpid()) + " on host " + host;
  const std::string there = store.compareSet(key("process", env.rank), std::string(), own);
  if (there == own) return;
  ckpt::Status status = ckpt::failed(rank_name(env) + " is already at " + master_text(env) + ": " + there);
  throw CommError(
      status.with_hint("give every process a RANK of its own; where that process belongs to another run, give each run "
                       "a MASTER_PORT of its own"));
}

/// Process ids of all ranks, as stored by claim_number(); 0 if unreadable.
std::vector<pid_t> processes(c10d::Store& store, int world) {
  std::vector<pid_t> pids;
  for (int rank = 0; rank < world; ++rank) {
    const auto bytes = store.get(key("process", rank));
    const std::string text(bytes.begin(), bytes.end());
    pids.push_back(text.starts_with(kProcess) ? std::atoi(text.c_str() + std::string_view(kProcess).size()) : 0);
  }
  return pids;
}

/// Waits until every rank has registered.
void await_all(c10d::Store& store, const ConnectOptions& options, Clock::time_point deadline, Meeting& meeting) {
  const int world = options.env.world;
  RollCall roll(store, world);
  // Rank 0, which hosts the store, waits longer than its peers, so that they can still read who is missing.
  if (options.env.rank == 0) deadline += kLeastOfStore;
  std::vector<int> missing;
  meeting.now("waiting for the other ranks at " + master_text(options.env));
  for (bool first = true;; first = false) {
    std::string word;
    try {
      word = word_of_leaver(store);
      if (!first) missing = roll.missing(Clock::now() >= deadline);
    } catch (const std::exception& error) {
      const std::string absent = missing.empty() ? "" : "; " + name_ranks(missing) + " had not arrived";
      throw CommError("the rendezvous at " + master_text(options.env) + " was lost while waiting for all ranks" +
                      absent + ": " + first_line(error.what()));
    }
    // In the last two seconds the message of another rank is ignored, so that every rank names the missing ranks
    // itself.
    if (!word.empty() && Clock::now() + 2 * kLeastOfStore < deadline) throw CommError(left_the_start(word));
    if (!first && !missing.empty()) {
      const std::string there = std::to_string(world - static_cast<int>(missing.size())) + " of " +
                                std::to_string(world) + " ranks are there";
      meeting.now("waiting for " + name_ranks(missing) + " at " + master_text(options.env), there);
      if (Clock::now() >= deadline) {
        throw CommError(name_ranks(missing) + " did not arrive at " + master_text(options.env) + " within " +
                            seconds_text(options.init_timeout) + " (comm.init_timeout_seconds); " + there,
                        missing);
      }
    }
    try {
      roll.wait(kLeastOfStore);
      return;
    } catch (const std::exception&) {
      // Either the wait has timed out or the store is lost. The next iteration finds out.
    }
  }
}

/// What World::shutdown closes, in order.
struct Session {
  StorePtr store;
  std::shared_ptr<Heartbeat> heartbeat;
  std::shared_ptr<const std::atomic<bool>> next_is_gone;  ///< the next rank has died; null if all fabrics use Gloo
  std::vector<std::function<void()>> closers;
  int rank = 0, world = 1;
  bool serves = false;

  void close() {
    for (auto& closer : closers) closer();
    closers.clear();
    heartbeat.reset();
    try {
      if (serves) {
        // The host of the store leaves last, since a peer that still uses the store would see a broken connection.
        std::vector<std::string> keys;
        for (int i = 1; i < world; ++i) keys.push_back(key("left", i));
        store->wait(keys, kGoodbye);
      } else if (store) {
        store->set(key("left", rank), "1");
      }
    } catch (const std::exception&) {
      // A peer that died after the last barrier needs no handling.
    }
    store.reset();
  }
};

class Connector {
 public:
  Connector(ConnectOptions options, std::shared_ptr<Meeting> meeting)
      : options_(std::move(options)), meeting_(std::move(meeting)), deadline_(Clock::now() + options_.init_timeout) {}

  World connect() {
    try {
      return meet_and_group();
    } catch (const std::exception& error) {
      if (may_speak_) leave_word(*store_, (names_itself_ ? "" : rank_name(options_.env) + ": ") + error.what());
      // If this process hosts the store, it waits: the others look for the message once a second.
      if (session_->serves) std::this_thread::sleep_for(2 * kLeastOfStore);
      throw;
    }
  }

 private:
  World meet_and_group() {
    const LaunchEnv& env = options_.env;
    World world;
    world.rank = env.rank;
    world.size = env.world;
    const int dp = static_cast<int>(options_.mesh.dp);
    world.stage = env.rank / dp;
    world.dp_rank = env.rank % dp;
    session_ = std::make_shared<Session>();
    if (env.world > 1) meet();
    // The first step may take longer: memory is used for the first time, and libraries choose kernels.
    const milliseconds first = std::max(options_.init_timeout, options_.train_timeout);
    connect_all(world, first);
    if (options_.met) options_.met(*world.io);
    const int pp = static_cast<int>(options_.mesh.pp);
    world.dp = group("dp/" + std::to_string(world.stage), FabricUse::kExchange, world.dp_rank, dp, first);
    world.pp = group("pp/" + std::to_string(world.dp_rank), FabricUse::kPipeline, world.stage, pp, first);
    settle_nodes(world);
    if (options_.node_groups) group_nodes(world, first);
    world.first_step_done = [deadlines = std::move(deadlines_), timeout = options_.train_timeout] {
      for (const auto& set : deadlines) set(timeout);
    };
    if (session_->heartbeat)
      world.leave = [watched = std::weak_ptr(session_)](const std::string& words) {
        const std::shared_ptr<Session> session = watched.lock();
        return !session || !session->heartbeat || session->heartbeat->leave(words);
      };
    world.shutdown = [session = session_, io = world.io.get()] {
      if (!session) return;
      // The barrier has the timeout of checkpoint I/O, since slow storage may delay a peer. A dead peer is detected
      // earlier, by its heartbeat.
      if (session->store) io->barrier();
      session->close();
    };
    return world;
  }

  void meet() {
    const LaunchEnv& env = options_.env;
    const bool serve = env.rank == 0 && !env.agent_store;
    const StorePtr tcp = open_store(env, serve, options_.init_timeout, *meeting_);
    session_->serves = serve;
    const std::string prefix = prefix_of(env);
    store_ = c10::make_intrusive<c10d::PrefixStore>(prefix, tcp);
    claim_number(*store_, env);
    may_speak_ = true;
    device_ = own_device(env);
    names_itself_ = true;
    const StorePtr own_line =
        c10::make_intrusive<c10d::PrefixStore>(prefix, open_store(env, false, options_.init_timeout, *meeting_));
    names_itself_ = false;
    BeatRing::prepare(*store_, env.rank);
    RollCall::arrive(*store_, env.rank, env.world);
    await_all(*store_, options_, deadline_, *meeting_);
    session_->store = store_;
    session_->rank = env.rank;
    session_->world = env.world;
    HeartbeatOptions beat;
    beat.rank = env.rank;
    beat.world = env.world;
    beat.store_on_rank_0 = !env.agent_store;
    beat.train_timeout = options_.train_timeout;
    // A rank learns of a rank that it does not watch a few beats later.
    if (env.world - 1 > BeatRing::kNeighbours) beat.patience += (BeatRing::kQuietBeats + 2) * beat.beat;
    // Ranks of one launcher can look at each other's processes. This is used only where each rank watches all others.
    if (env.source == "titan" && env.world - 1 <= BeatRing::kNeighbours)
      beat.ended = [pids = processes(*store_, env.world)](int rank) {
        return has_ended(pids[static_cast<std::size_t>(rank)]);
      };
    beat.words = [own_line](const std::string& own) { return first_words(*own_line, own); };
    // A separate connection, so that a wait on the other one does not delay heartbeats.
    session_->heartbeat = std::make_shared<Heartbeat>(beat, BeatRing(own_line, env.rank, env.world));
    meeting_->watch(session_->heartbeat);
    meeting_->now("connecting to its peers");
  }

  static std::shared_ptr<GlooDevice> own_device(const LaunchEnv& env) {
    const char* wanted = std::getenv("GLOO_SOCKET_IFNAME");
    const auto addresses = choose_addresses(look_at_network(env.master_addr), env, wanted ? wanted : "");
    if (!addresses.ok()) throw CommError(addresses.status());
    return GlooDevice::create(*addresses);
  }

  /// Creates the groups of all ranks. `all` and `io` share connections, since connections between all ranks limit the
  /// number of ranks.
  void connect_all(World& world, milliseconds first) {
    if (world.size == 1) {
      world.all = std::make_unique<LocalCommunicator>();
      world.io = std::make_unique<LocalCommunicator>();
      if (options_.background_saves) world.save = std::make_unique<LocalCommunicator>();
      return;
    }
    auto all = training_group("all", world.rank, world.size, std::max(first, options_.io_timeout));
    world.io = all->duplicate("io", options_.io_timeout);
    all->deadline()(first);
    if (fabric_maker()) session_->next_is_gone = all->watch((world.rank + 1) % world.size);
    world.all = std::move(all);
    if (options_.background_saves) world.save = gloo_group("save", world.rank, world.size, options_.io_timeout);
  }

  /// Sets World::node_ranks: the largest number of consecutive ranks that never span two nodes, even if nodes have
  /// different numbers of ranks.
  void settle_nodes(World& world) {
    for (const std::string& ranks : world.all->all_gather(std::to_string(options_.env.local_world)))
      world.node_ranks = std::gcd(world.node_ranks, static_cast<std::uint32_t>(std::stoul(ranks)));
  }

  void group_nodes(World& world, milliseconds first) {
    const int dp = static_cast<int>(options_.mesh.dp), domain = std::gcd(static_cast<int>(world.node_ranks), dp);
    if (domain == 1 || domain == dp) return;
    const int number = world.dp_rank / domain, place = world.dp_rank % domain;
    const std::string stage = std::to_string(world.stage) + "/";
    const auto use = FabricUse::kExchange;
    world.node = group("node/" + stage + std::to_string(number), use, place, domain, first);
    world.between_nodes = group("between/" + stage + std::to_string(place), use, number, dp / domain, first);
  }

  std::unique_ptr<Fabric> group(const std::string& name, FabricUse use, int rank, int size, milliseconds timeout) {
    if (size == 1) return std::make_unique<LocalCommunicator>();
    if (!fabric_maker()) return training_group(name, rank, size, timeout);
    FabricRequest request{.name = name, .use = use, .rank = rank, .size = size, .global_rank = options_.env.rank};
    request.store = c10::make_intrusive<c10d::PrefixStore>("fabric/" + name, store_);
    request.init_timeout = left_until(deadline_);
    request.expect_timeout = options_.init_timeout;
    request.check_peers = peer_check(session_);
    auto patience = std::make_shared<std::atomic<milliseconds>>(timeout);
    deadlines_.push_back([patience](milliseconds deadline) { *patience = deadline; });
    request.patience = [patience] { return patience->load(); };
    request.gloo = [&] { return training_group(name, rank, size, timeout); };
    return fabric_maker()(request);
  }

  /// FabricRequest::check_peers. While a device waits for a peer, only the host can notice that the peer has died. The
  /// rank before the dead one notices it at once, since its connection closes; the others hear of it through that
  /// rank's heartbeat.
  static std::function<void()> peer_check(const std::weak_ptr<Session>& watched) {
    return [watched] {
      const std::shared_ptr<Session> session = watched.lock();
      if (!session || !session->heartbeat) return;
      Heartbeat* const heartbeat = session->heartbeat.get();
      const char* const what = "a wait for the device";
      if (const auto overdue = heartbeat->overdue(); !overdue.empty()) {
        LostRanks loss = heartbeat->explain(what, overdue);
        throw CommError(loss.text, std::move(loss.ranks));
      }
      // A rank that leaves may do so because another rank has died. Then diagnose() names the dead one.
      if (!*session->next_is_gone && heartbeat->leaving().empty()) return;
      LostRanks loss = heartbeat->diagnose(what, /*timed_out=*/false, milliseconds(0));
      throw CommError(loss.text, std::move(loss.ranks));
    };
  }

  /// A group whose timeout changes after the first step.
  std::unique_ptr<GlooCommunicator> training_group(const std::string& name, int rank, int size, milliseconds timeout) {
    auto communicator = gloo_group(name, rank, size, timeout);
    deadlines_.push_back(communicator->deadline());
    return communicator;
  }

  std::unique_ptr<GlooCommunicator> gloo_group(const std::string& name, int rank, int size, milliseconds timeout) {
    GlooGroupOptions options;
    options.name = name;
    options.rank = rank;
    options.size = size;
    options.init_timeout = left_until(deadline_);
    options.timeout = timeout;
    options.heartbeat = session_->heartbeat;
    auto communicator =
        GlooCommunicator::create(c10::make_intrusive<c10d::PrefixStore>(name, store_), device_, std::move(options));
    session_->closers.push_back(communicator->closer());
    return communicator;
  }

  ConnectOptions options_;
  std::shared_ptr<Meeting> meeting_;
  Clock::time_point deadline_;
  StorePtr store_;
  bool may_speak_ = false;     // whether leave_word() may be called: the store is this run's, the rank number is ours
  bool names_itself_ = false;  // whether errors of the present operation name this rank already
  std::shared_ptr<GlooDevice> device_;
  std::shared_ptr<Session> session_;
  std::vector<std::function<void(milliseconds)>> deadlines_;  ///< set the timeouts of the groups that training uses
};

[[noreturn]] void end_by_signal(const LaunchEnv& env, const Meeting& meeting) {
  const std::string text = rank_name(env) + " was stopped by a signal while it was " + meeting.text();
  exchange_words(env, text);
  throw CommError(stop_signal() == SIGINT ? ckpt::interrupted(text) : ckpt::terminated(text));
}

/// Throws if a peer is known to have died while the groups are built.
void look_for_lost_ranks(const LaunchEnv& env, const Meeting& meeting) {
  const std::shared_ptr<Heartbeat> heartbeat = meeting.heartbeat();
  if (!heartbeat) return;
  if (const std::vector<int> leaving = heartbeat->leaving(); !leaving.empty()) {
    const std::string word = exchange_words(env, "");
    throw word.empty() ? CommError(name_ranks(leaving) + " met an error and left before all had met", leaving)
                       : CommError(left_the_start(word));
  }
  if (const auto silent = heartbeat->silent_for(kGone); !silent.empty()) {
    std::vector<int> ranks;
    for (const SilentRank& rank : silent) ranks.push_back(rank.rank);
    throw CommError(name_ranks(ranks) + " gave no sign of life for " + seconds_text(silent[0].since) +
                        " after all had arrived, noticed by " + rank_name(env),
                    ranks);
  }
}

World await_world(std::future<World>& world, const ConnectOptions& options, const Meeting& meeting) {
  const auto began = Clock::now();
  const milliseconds bound = options.init_timeout + kGoodbye;
  bool said = false;
  while (world.wait_for(kLookAtStore) != std::future_status::ready) {
    if (stop_requested()) end_by_signal(options.env, meeting);
    look_for_lost_ranks(options.env, meeting);
    const auto spent = Clock::now() - began;
    if (spent >= bound)
      throw CommError(rank_name(options.env) + " did not meet its peers within " + seconds_text(bound) +
                      ": it was still " + meeting.text());
    if (spent >= kSayAfter && !std::exchange(said, true) && options.say)
      options.say(rank_name(options.env) + " is " + meeting.text() + ", and gives up after " +
                  seconds_text(options.init_timeout) + " (comm.init_timeout_seconds)");
  }
  return world.get();
}

}  // namespace

World connect(const ConnectOptions& options) {
  const LaunchEnv& env = options.env;
  if (options.mesh.world() != static_cast<std::uint32_t>(env.world) || options.mesh.tp != 1 || env.rank < 0 ||
      env.rank >= env.world) {
    throw std::invalid_argument("rank " + std::to_string(env.rank) + " of " + std::to_string(env.world) +
                                " does not fit a mesh of dp " + std::to_string(options.mesh.dp) + " x pp " +
                                std::to_string(options.mesh.pp));
  }
  const auto meeting = std::make_shared<Meeting>();
  if (env.world == 1) return Connector(options, meeting).connect();
  // A write of Gloo to a dead peer's socket must not end the process by SIGPIPE; it becomes a CommError.
  std::signal(SIGPIPE, SIG_IGN);
  quieten_c10d();
  // c10d's calls to a store that accepts connections but does not answer block forever, so they run in a thread that
  // can be abandoned.
  std::promise<World> promise;
  std::future<World> world = promise.get_future();
  std::thread([options, meeting, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(Connector(options, meeting).connect());
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  return await_world(world, options, *meeting);
}

}  // namespace titan::train
