#include "ckpt/lock/lock_owner.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>

#include "ckpt/base/host.h"
#include "ckpt/format/json_reader.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kNoteBytes = 1024;

std::string variable(const char* name) { return environment(name).value_or(""); }

std::uint32_t count_from(const std::string& text) {
  return static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

// Seconds since the epoch at which process `pid` of this host started; nullopt if it does not run, or is a zombie.
std::optional<double> process_start(std::uint64_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat"),
      uptime("/proc/uptime");  // kernel state, not storage: does not go through Fs
  std::string text;
  std::getline(stat, text);
  double up = 0;
  uptime >> up;
  const std::size_t name_end = text.rfind(')');  // the program's name may contain any character
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  fields >> field;  // the state, field 3
  if (field == "Z" || field == "X") return std::nullopt;
  for (int number = 4; number <= 22; ++number) fields >> field;  // 22: starttime
  const double ticks = std::strtod(field.c_str(), nullptr);
  return seconds_since_epoch() - up + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

bool may_live(const LockOwner& holder, const LockOwner& self, double now) {
  constexpr double kSlack = 5;  // seconds by which the clock may have been corrected
  if (holder.heartbeat == 0) return false;
  if (!same_kernel(holder, self) || holder.host != self.host) return now - holder.heartbeat < kSilenceSeconds;
  const std::optional<double> started = process_start(holder.pid);
  // A process that started after the last heartbeat has reused the pid of the dead holder.
  return started && *started <= holder.heartbeat + kSlack;
}

bool same_kernel(const LockOwner& a, const LockOwner& b) {
  return a.boot_id.empty() || b.boot_id.empty() ? a.host == b.host : a.boot_id == b.boot_id;
}

std::string encode_lock_owner(const LockOwner& owner) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer writer(buffer);
  auto text = [&writer](const char* key, const std::string& value) {
    writer.Key(key);
    writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  writer.StartObject();
  text("host", owner.host);
  text("boot_id", owner.boot_id);
  writer.Key("pid");
  writer.Uint64(owner.pid);
  text("since", owner.since);
  text("job_id", owner.job_id);
  writer.Key("restart_count");
  writer.Uint(owner.restart_count);
  writer.Key("heartbeat");
  writer.Double(owner.heartbeat);
  if (!owner.mark.empty()) text("mark", owner.mark);
  writer.EndObject();
  std::string note(buffer.GetString(), buffer.GetSize());
  note.append(kNoteBytes - 1 - note.size() % kNoteBytes, ' ');
  return note + "\n";
}

Result<LockOwner> decode_lock_owner(const std::string& text) {
  JsonReader in("the note in a run lock", text);
  LockOwner owner;
  unsigned seen = 0;
  in.object([&](std::string_view key) {
    const auto is = [&](unsigned bit, std::string_view name) {
      if (key == name) seen |= 1U << bit;
      return key == name;
    };
    if (is(0, "host"))
      owner.host = in.text();
    else if (is(1, "boot_id"))
      owner.boot_id = in.text();
    else if (is(2, "pid"))
      owner.pid = in.u64();
    else if (is(3, "since"))
      owner.since = in.text();
    else if (is(4, "job_id"))
      owner.job_id = in.text();
    else if (is(5, "restart_count"))
      owner.restart_count = in.u32();
    else if (is(6, "heartbeat"))
      owner.heartbeat = in.real();
    else if (key == "mark")
      owner.mark = in.text();
    else
      in.skip();
  });
  if (!in.ok()) return in.finish();
  if (seen != 0x7F)
    return corrupt("the note in a run lock lacks one of host, boot_id, pid, since, job_id, restart_count, heartbeat");
  return owner;
}

std::string describe(const LockOwner& owner) {
  std::string who = "process " + std::to_string(owner.pid) + " on host " + owner.host + " since " + owner.since;
  if (!owner.job_id.empty()) who += ", job " + owner.job_id + ", restart " + std::to_string(owner.restart_count);
  return who;
}

LockOwner this_process() {
  LockOwner self;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) self.host = host;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");  // kernel state, not storage: does not go through Fs
  std::getline(boot, self.boot_id);
  self.pid = static_cast<std::uint64_t>(::getpid());
  if (std::string job = variable("SLURM_JOB_ID"); !job.empty()) {
    self.job_id = "slurm:" + job;
    self.restart_count = count_from(variable("SLURM_RESTART_COUNT"));
  } else if (job = variable("TORCHELASTIC_RUN_ID"); !job.empty() && job != "none") {
    self.job_id = "torchrun:" + job;
    self.restart_count = count_from(variable("TORCHELASTIC_RESTART_COUNT"));
  }
  self.heartbeat = seconds_since_epoch();
  const auto seconds = static_cast<std::time_t>(self.heartbeat);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  self.since = text;
  return self;
}

}  // namespace titan::ckpt
