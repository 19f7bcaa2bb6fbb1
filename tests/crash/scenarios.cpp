// The scenarios of the crash explorer.
#include "ckpt/base/files.h"
#include "ckpt/run/run_folder.h"
#include "tests/crash/scenario.h"
#include "tests/crash/tools.h"
#include "tests/support/files.h"

namespace titan::crash {
namespace {

using ckpt::Mesh;
using ckpt::ok_status;
using ckpt::Status;

constexpr Mesh kFourWriters{2, 2, 1}, kTwoWriters{1, 2, 1}, kOneWriter{1, 1, 1};
constexpr const char* kDst = "/out/made";

// A run that has saved `steps` and ended; the same steps in /src; folders for tools to write into.
Status make_world(CrashFs& fs, const std::vector<std::uint64_t>& steps, Mesh mesh = kOneWriter) {
  TITAN_RETURN_IF_ERROR(fs.make_dir("/elsewhere"));
  TITAN_RETURN_IF_ERROR(fs.make_dir("/out"));
  TITAN_RETURN_IF_ERROR(fs.make_dir("/src"));
  if (steps.empty()) return ok_status();
  TITAN_ASSIGN_OR_RETURN(LiveRun run, start_run(fs));
  for (const std::uint64_t step : steps) TITAN_RETURN_IF_ERROR(go_on(fs, run, step, mesh, 0));
  return ok_status();
}

Status pin(CrashFs& fs, std::uint64_t step) { return ckpt::testing::put_text(fs, step_path(step) + "/.keep", ""); }

// What `cp -r` does.
Status copy_unsynced(CrashFs& fs, const std::string& from, const std::string& to) {
  TITAN_RETURN_IF_ERROR(fs.make_dir(to));
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(from));
  for (const ckpt::DirEntry& entry : entries) {
    const std::string source = from + "/" + entry.name, target = to + "/" + entry.name;
    if (entry.type == ckpt::FileType::kDirectory) {
      TITAN_RETURN_IF_ERROR(copy_unsynced(fs, source, target));
      continue;
    }
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ckpt::read_file(fs, source, std::uint64_t{1} << 20));
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.create(target));
    TITAN_RETURN_IF_ERROR(file->pwrite(0, bytes));
  }
  return ok_status();
}

// One run saves `step` and keeps the newest `keep`.
Status run_and_save(CrashFs& fs, std::uint64_t step, Mesh mesh, std::uint64_t keep,
                    ckpt::Codec codec = ckpt::Codec::kRaw, Files files = Files::kOwn) {
  TITAN_ASSIGN_OR_RETURN(LiveRun run, start_run(fs));
  return go_on(
      fs, run, step, mesh, keep, [&] { fs.mark(saved_mark(step)); }, codec, files);
}

// Saves of step 20 after step 10, with a tool that writes the same step.
Scenario save_scenario(const std::string& name, const std::function<Status(CrashFs&)>& more) {
  Scenario s;
  s.name = name;
  s.proved = 10;
  s.sources = {source_path(20)};
  s.prepare = [more](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10}));
    TITAN_RETURN_IF_ERROR(save_step(fs, "/src", 20, kTwoWriters, "src"));
    return more ? more(fs) : ok_status();
  };
  s.act = [](CrashFs& fs) { return run_and_save(fs, 20, kFourWriters, 0); };
  s.tool = [](CrashFs& fs) { return reshard(fs, source_path(20), step_path(20), 1, true); };
  return s;
}

void add_saves(std::vector<Scenario>& all) {
  all.push_back(save_scenario("save-by-4-writers", {}));

  Scenario shared = save_scenario("save-by-4-writers-into-shared-files", {});
  shared.act = [](CrashFs& fs) { return run_and_save(fs, 20, kFourWriters, 0, ckpt::Codec::kRaw, Files::kShared); };
  all.push_back(shared);

  Scenario first = save_scenario("first-save-of-a-run", {});
  first.proved = 0;
  first.prepare = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {}));
    return save_step(fs, "/src", 20, kTwoWriters, "src");
  };
  all.push_back(first);

  // `latest` is advice: the commit stands without it, and without its sync.
  Scenario advice = save_scenario("save-that-cannot-write-latest", {});
  advice.act = [](CrashFs& fs) -> Status {
    fs.refuse_creation("/latest.tmp");
    return run_and_save(fs, 20, kTwoWriters, 0);
  };
  all.push_back(advice);

  Scenario compressed = save_scenario("save-compressed", {});
  compressed.act = [](CrashFs& fs) { return run_and_save(fs, 20, kFourWriters, 0, ckpt::Codec::kZstd); };
  all.push_back(compressed);

  all.push_back(save_scenario("save-over-a-stale-temporary", [](CrashFs& fs) -> Status {
    const std::string tmp = std::string(kSteps) + "/step-00000020.tmp-deaddeaddead";
    TITAN_RETURN_IF_ERROR(ckpt::testing::put_text(fs, tmp + "/model/shard-00000.h5", "half a shard"));
    TITAN_RETURN_IF_ERROR(
        ckpt::testing::put_text(fs, std::string(kSteps) + "/.trash-step-00000005-x/manifest.json", "{}"));
    return ckpt::testing::put_text(fs, std::string(kSteps) + "/latest.tmp", "step-0");
  }));

  Scenario damaged = save_scenario("save-over-a-damaged-step", [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(save_step(fs, kSteps, 20, kTwoWriters, "old"));
    fs.damage(step_path(20) + "/model/shard-00000.h5", true);
    return ok_status();
  });
  damaged.damaged = {20};
  all.push_back(damaged);

  Scenario leaf = save_scenario("save-over-a-step-damaged-in-a-leaf", [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(save_step(fs, kSteps, 20, kTwoWriters, "old"));
    fs.damage(step_path(20) + "/optimizer/shard-00001.h5", false);
    return ok_status();
  });
  leaf.damaged = {20};
  all.push_back(leaf);

  Scenario equal = save_scenario("save-over-an-equal-step",
                                 [](CrashFs& fs) { return save_step(fs, kSteps, 20, kTwoWriters, "old"); });
  equal.proved = 20;
  equal.act = [](CrashFs& fs) -> Status {
    // A run that went on from 10 by name meets its own step 20.
    TITAN_ASSIGN_OR_RETURN(LiveRun run, start_run(fs));
    return go_on(fs, run, 20, kFourWriters, 0, [&] { fs.mark(saved_mark(20)); });
  };
  all.push_back(equal);

  Scenario pinned = save_scenario("save-over-a-pinned-damaged-step", [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(save_step(fs, kSteps, 20, kTwoWriters, "old"));
    fs.damage(step_path(20) + "/optimizer/shard-00001.h5", false);
    return pin(fs, 20);
  });
  pinned.damaged = {20};
  pinned.pinned = {20};
  all.push_back(pinned);

  // Retention of the last save runs while the next one is written, and a save before was given up.
  Scenario background = save_scenario("save-in-the-background-beside-retention", {});
  background.proved = 30;
  background.prepare = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20, 30}));
    return save_step(fs, "/src", 50, kTwoWriters, "src");
  };
  background.sources = {source_path(50)};
  background.act = [](CrashFs& fs) -> Status {
    TITAN_ASSIGN_OR_RETURN(LiveRun run, start_run(fs));
    return go_on_in_background(fs, run, 40, 50, kFourWriters, 1, [&] { fs.mark(saved_mark(50)); });
  };
  background.tool = [](CrashFs& fs) { return reshard(fs, source_path(50), step_path(50), 1, true); };
  all.push_back(background);

  Scenario retention = save_scenario("save-and-retention", {});
  retention.proved = 30;
  retention.pinned = {10};
  retention.prepare = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20, 30}));
    TITAN_RETURN_IF_ERROR(save_step(fs, "/src", 40, kTwoWriters, "src"));
    return pin(fs, 10);
  };
  retention.sources = {source_path(40)};
  retention.act = [](CrashFs& fs) { return run_and_save(fs, 40, kTwoWriters, 1); };
  retention.tool = [](CrashFs& fs) { return reshard(fs, source_path(40), step_path(40), 1, true); };
  all.push_back(retention);
}

Scenario prune_scenario() {
  Scenario s;
  s.name = "prune";
  s.proved = 40;
  s.pinned = {20};
  s.prepare = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20, 30, 40}, kFourWriters));
    return pin(fs, 20);
  };
  s.act = [](CrashFs& fs) { return prune(fs); };
  s.tool = [](CrashFs& fs) { return prune(fs); };
  return s;
}

// Retention, and prune, of steps in which somebody keeps notes.
void add_files_of_users(std::vector<Scenario>& all) {
  const auto note = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(ckpt::testing::put_text(fs, step_path(20) + "/notes/why.md", "because"));
    return ckpt::testing::put_text(fs, step_path(20) + "/model/mine", "a note beside the shards");
  };
  Scenario s = save_scenario("retention-of-a-step-with-files-of-a-user", {});
  s.proved = 30;
  s.files = {"step-00000020/notes/why.md", "step-00000020/model/mine"};
  s.prepare = [note](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {20, 30}));
    TITAN_RETURN_IF_ERROR(save_step(fs, "/src", 40, kTwoWriters, "src"));
    return note(fs);
  };
  s.sources = {source_path(40)};
  s.act = [](CrashFs& fs) { return run_and_save(fs, 40, kTwoWriters, 1); };
  s.tool = [](CrashFs& fs) { return reshard(fs, source_path(40), step_path(40), 1, true); };
  all.push_back(s);

  Scenario pruned = prune_scenario();
  pruned.name = "prune-of-a-step-with-files-of-a-user";
  pruned.pinned = {};
  pruned.files = s.files;
  pruned.prepare = [note](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {20, 30, 40}));
    return note(fs);
  };
  all.push_back(pruned);
}

// A tool that replaces step 20 of the run, the newest, by the same checkpoint for another mesh.
Scenario rewrite_scenario(const std::string& name, FsLimits limits) {
  Scenario s;
  s.name = name;
  s.limits = limits;
  s.proved = 20;
  s.sources = {source_path(20)};
  s.prepare = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20}));
    return save_step(fs, "/src", 20, kTwoWriters, "src");
  };
  s.act = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(reshard(fs, source_path(20), step_path(20), 2, true));
    fs.mark(saved_mark(20));
    return ok_status();
  };
  s.tool = [](CrashFs& fs) { return reshard(fs, source_path(20), step_path(20), 1, true); };
  return s;
}

// A tool that makes DST outside of the run from the run's step 20.
using Maker = std::function<Status(CrashFs&, const std::string& dst, bool force)>;
Scenario outside_scenario(const std::string& name, FsLimits limits, bool before, const Maker& tool,
                          Mesh mesh = kOneWriter) {
  Scenario s;
  s.name = name;
  s.limits = limits;
  s.proved = 20;
  s.dst = kDst;
  s.dst_before = before;
  s.prepare = [before, tool, mesh](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20}, mesh));
    return before ? tool(fs, kDst, false) : ok_status();
  };
  s.act = [tool, before](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(tool(fs, kDst, before));
    fs.mark(kDstMark);
    return ok_status();
  };
  s.tool = [tool](CrashFs& fs) { return tool(fs, kDst, true); };
  return s;
}

void add_tools(std::vector<Scenario>& all) {
  all.push_back(rewrite_scenario("rewrite-with-exchange", {}));
  all.push_back(rewrite_scenario("rewrite-without-exchange", {.exchange = false}));
  const std::string newest = std::string(kRun) + "@latest";
  const auto resharded = [newest](CrashFs& fs, const std::string& dst, bool force) {
    return reshard(fs, newest, dst, 2, force);
  };
  all.push_back(outside_scenario("reshard-to-a-new-folder", {}, false, resharded));
  all.push_back(outside_scenario("reshard-over-an-old-folder-without-exchange", {.exchange = false}, true, resharded));
  const auto stripped = [newest](CrashFs& fs, const std::string& dst, bool force) {
    return strip(fs, newest, dst, force);
  };
  all.push_back(outside_scenario("strip-by-links", {}, true, stripped, kFourWriters));
  all.push_back(outside_scenario("strip-by-copies", {.link = false}, false, stripped, kFourWriters));
  const auto bent = [newest](CrashFs& fs, const std::string& dst, bool force) {
    return lr_set(fs, newest, dst, force);
  };
  all.push_back(outside_scenario("lr-set", {}, true, bent, kFourWriters));

  Scenario unsynced = outside_scenario("strip-of-a-copy-that-nobody-synced", {}, false, stripped);
  unsynced.act = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(copy_unsynced(fs, step_path(20), "/copied"));
    TITAN_RETURN_IF_ERROR(strip(fs, "/copied", kDst, false));
    fs.mark(kDstMark);
    return ok_status();
  };
  all.push_back(unsynced);

  all.push_back(prune_scenario());
}

// Two tiers: a step counts as saved once the run folder has it.
void add_near(std::vector<Scenario>& all) {
  Scenario copied = save_scenario("save-near-and-copied", {});
  copied.act = [](CrashFs& fs) -> Status {
    TITAN_ASSIGN_OR_RETURN(LiveRun run, start_run(fs));
    return go_on_near(fs, run, 20, kOneWriter, false, [&] { fs.mark(saved_mark(20)); });
  };
  all.push_back(copied);

  Scenario wiped = save_scenario("near-folder-wiped-before-the-copy", {});
  wiped.act = [](CrashFs& fs) -> Status {
    TITAN_ASSIGN_OR_RETURN(LiveRun run, start_run(fs));
    TITAN_RETURN_IF_ERROR(go_on_near(fs, run, 20, kTwoWriters, true));
    return go_on_near(fs, run, 30, kOneWriter, false, [&] { fs.mark(saved_mark(30)); });
  };
  all.push_back(wiped);
}

void add_parity_and_repair(std::vector<Scenario>& all) {
  Scenario parity = save_scenario("save-with-parity", {});
  parity.act = [](CrashFs& fs) { return run_and_save(fs, 20, kFourWriters, 0, ckpt::Codec::kRaw, Files::kParity); };
  all.push_back(parity);

  Scenario thins;
  thins.name = "prune-thin";
  thins.proved = 30;
  thins.thinned = {10, 20};
  thins.prepare = [](CrashFs& fs) { return make_world(fs, {10, 20, 30}, kTwoWriters); };
  thins.act = thins.tool = [](CrashFs& fs) { return thin(fs); };
  all.push_back(thins);

  Scenario in_place;
  in_place.name = "parity-in-its-place";
  in_place.proved = 20;
  in_place.prepare = [](CrashFs& fs) { return make_world(fs, {10, 20}, kTwoWriters); };
  in_place.act = in_place.tool = [](CrashFs& fs) { return set_parity(fs, step_path(20)); };
  all.push_back(in_place);

  // Of /src/step-20, a shard of which is damaged.
  const auto repaired = [](const std::string& name, Files files, const std::vector<std::string>& donors) {
    Scenario s = outside_scenario(name, {}, false, [donors](CrashFs& fs, const std::string& dst, bool force) {
      return repair(fs, source_path(20), dst, donors, force);
    });
    s.prepare = [files](CrashFs& fs) -> Status {
      TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20}));
      TITAN_RETURN_IF_ERROR(save_step(fs, "/src", 20, kTwoWriters, "src", ckpt::Codec::kRaw, files));
      fs.damage(source_path(20) + "/optimizer/shard-00001.h5", false);
      return ok_status();
    };
    s.sources = {source_path(20)};
    return s;
  };
  all.push_back(repaired("repair-from-a-donor", Files::kOwn, {step_path(20)}));
  all.push_back(repaired("repair-from-parity", Files::kParity, {}));
}

void add_scrub(std::vector<Scenario>& all) {
  Scenario s;
  s.name = "scrub";
  s.proved = 20;
  s.prepare = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20}));
    return scrub(fs, std::string(kRun) + "/scrub.prom");
  };
  s.act = s.tool = [](CrashFs& fs) { return scrub(fs, std::string(kRun) + "/scrub.prom"); };
  all.push_back(s);
}

// A process that dies right after `call`, and the next one, whose work the crash may take as well.
Scenario killed(Scenario s, const std::string& name, const std::string& call,
                const std::function<Status(CrashFs&)>& next) {
  s.name = name;
  s.act = [first = s.act, call, next](CrashFs& fs) -> Status {
    fs.kill_after(call);
    const Status status = first(fs);
    if (!fs.killed()) return ckpt::failed("'" + call + "' never came: " + status.to_string());
    fs.revive();
    return next(fs);
  };
  return s;
}

void add_kills(std::vector<Scenario>& all) {
  const auto run = [](CrashFs& fs) { return start_run(fs).status(); };
  const std::string step = step_path(20), temporary = step + ".tmp-rewrite";
  const Scenario rewrite = rewrite_scenario("", {.exchange = false}), exchange = rewrite_scenario("", {});
  const auto aside = "rename " + step + " to " + temporary + "/old", into = "rename " + temporary + "/new to " + step;
  all.push_back(killed(rewrite, "rewrite-killed-with-the-old-one-aside-then-a-run", aside, run));
  all.push_back(killed(rewrite, "rewrite-killed-with-the-old-one-aside-then-a-tool", aside, rewrite.tool));
  all.push_back(killed(rewrite, "rewrite-killed-with-the-old-one-aside-then-prune", aside, prune));
  all.push_back(killed(rewrite, "rewrite-killed-before-its-sync-then-a-run", into, run));
  all.push_back(killed(rewrite, "rewrite-killed-before-its-sync-then-a-tool", into, rewrite.tool));
  all.push_back(killed(exchange, "exchange-killed-before-its-sync-then-a-run", "exchange", run));
  all.push_back(killed(exchange, "exchange-killed-before-its-sync-then-a-tool", "exchange", exchange.tool));
  all.push_back(killed(exchange, "exchange-killed-before-its-sync-then-prune", "exchange", prune));
  all.push_back(killed(prune_scenario(), "prune-killed-before-its-sync-then-a-run", "rename " + step_path(30), run));
  all.push_back(killed(prune_scenario(), "prune-killed-before-its-sync-then-prune", "rename " + step_path(30), prune));
  const auto saved = "rename " + step + ".tmp-0a1b2c3d4e54 to";
  const Scenario save = save_scenario("", {});
  all.push_back(killed(save, "save-killed-before-its-sync-then-a-run", saved,
                       [](CrashFs& fs) { return run_and_save(fs, 30, kOneWriter, 1); }));
  all.push_back(killed(save, "save-killed-before-its-sync-then-prune", saved, prune));
  all.push_back(killed(save, "save-killed-before-its-sync-then-a-tool", saved, save.tool));
}

void add_conversions(std::vector<Scenario>& all) {
  const auto world = [](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(make_world(fs, {10, 20}));
    return make_hf(fs, "/src/hf");
  };
  const auto imported = [](CrashFs& fs, const std::string& dst, bool force) {
    return convert(fs, "/src/hf", dst, "titan", force);
  };
  Scenario import = outside_scenario("convert-from-huggingface", {}, false, imported);
  import.prepare = world;
  import.sources = {"/src/hf"};
  all.push_back(import);

  const auto exported = [](CrashFs& fs, const std::string& dst, bool force) {
    return convert(fs, "/src/titan", dst, "hf", force);
  };
  Scenario out = outside_scenario("convert-to-huggingface", {.exchange = false}, true, exported);
  out.prepare = [world, exported](CrashFs& fs) -> Status {
    TITAN_RETURN_IF_ERROR(world(fs));
    TITAN_RETURN_IF_ERROR(convert(fs, "/src/hf", "/src/titan", "titan", false));
    return exported(fs, kDst, false);
  };
  out.sources = {"/src/titan"};
  out.dst_is_ours = false;
  all.push_back(out);
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> list;
    add_saves(list);
    add_files_of_users(list);
    add_tools(list);
    add_kills(list);
    add_conversions(list);
    add_near(list);
    add_parity_and_repair(list);
    add_scrub(list);
    // Between them these make every call that a scenario makes.
    const std::set<std::string> mutated{"save-by-4-writers",
                                        "save-by-4-writers-into-shared-files",
                                        "save-that-cannot-write-latest",
                                        "save-compressed",
                                        "save-over-a-pinned-damaged-step",
                                        "first-save-of-a-run",
                                        "save-and-retention",
                                        "rewrite-with-exchange",
                                        "rewrite-without-exchange",
                                        "reshard-to-a-new-folder",
                                        "strip-by-copies",
                                        "strip-of-a-copy-that-nobody-synced",
                                        "lr-set",
                                        "prune",
                                        "rewrite-killed-with-the-old-one-aside-then-prune",
                                        "exchange-killed-before-its-sync-then-a-tool",
                                        "exchange-killed-before-its-sync-then-prune",
                                        "save-killed-before-its-sync-then-prune",
                                        "convert-from-huggingface",
                                        "convert-to-huggingface",
                                        "prune-thin",
                                        "parity-in-its-place",
                                        "scrub"};
    for (Scenario& scenario : list) scenario.mutate = mutated.count(scenario.name) != 0;
    return list;
  }();
  return all;
}

}  // namespace titan::crash
