#pragma once
// Programs that a test starts, watches and kills. Every wait has a deadline and none of them sleeps.
#include <sys/types.h>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace titan::test {

/// A child with stdout and stderr in one pipe; killed with its process group and reaped by the destructor.
class ChildProcess {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Starts `program` with `arguments` (argv[0] excluded) and `environment` added to this process's own.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
               const Environment& environment = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Reads until `text` has occurred `times` times in the output; false on timeout or if the output ended before.
  bool wait_for_output(const std::string& text, std::chrono::milliseconds limit = std::chrono::seconds(30),
                       int times = 1);
  /// Waits for the end; the exit code, 128 + signal for a killed one, nullopt when the time is over.
  std::optional<int> wait(std::chrono::milliseconds limit = std::chrono::seconds(30));
  /// What was read so far; everything after wait().
  const std::string& output() const { return output_; }

 private:
  bool read_some(std::chrono::milliseconds limit);

  pid_t pid_ = -1;
  int out_ = -1;
  std::string output_;
  std::optional<int> code_;
};

/// Waits until the process `pid` is gone or a zombie; false when the time is over.
bool wait_until_gone(pid_t pid, std::chrono::milliseconds limit = std::chrono::seconds(10));

/// Makes this test program act as another program: a child of it with TITAN_TEST_ROLE=`name` in its environment calls
/// `run` instead of the tests and exits with its result. Define one at namespace scope.
struct TestRole {
  TestRole(const char* name, int (*run)());
};

/// The path of this test program, for children with a role.
std::string this_program();

}  // namespace titan::test
