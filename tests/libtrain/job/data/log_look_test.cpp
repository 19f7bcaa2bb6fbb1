#include "libtrain/job/data/log_look.h"

#include <gtest/gtest.h>

#include <string>

namespace titan::train::log_look_test {
namespace {

std::string thrice(const std::string& line) { return line + "\n" + line + "\n\n" + line; }

TEST(LogLook, TwoMarksAtTheBeginningOfMostLinesMakeALog) {
  for (const std::string line :
       {"2026-11-21T22:30:51.066Z I r0 step 1", "Nov 22 21:00:01 host sshd[1]: accepted", "Nov  2 host kernel[1]: up",
        "1.2.3.4 - - [22/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200", "2026-11-22 INFO started",
        "2026-11-22 [error] no such file", "22.11.2026 worker-3 WARNING low disk", "[2026/11/22] ERROR - gone",
        "21:00:01.123 [main] DEBUG com.example - ready", "[21:00:01] [Server thread/INFO]: Done",
        "21:00:01 host sshd[12]: accepted", "11-22 21:00:01.123  1234  1234 I tag: text",
        "I1122 21:00:01.123456 1234 file.cc:12] text"})
    EXPECT_TRUE(begins_as_log(thrice(line))) << line;
}

TEST(LogLook, TranscriptsDiariesAndProseAreNone) {
  for (const std::string line :
       {"00:01:23 So what happened then?", "[00:01:23] ANNA: There was an error in it.",
        "01:02:03,000 --> 01:02:05,500", "(12:00:00) Speaker 2: for info see the page",
        "00:01:23\tInterviewer [2]: yes", "2026-11-22 Dear diary, it rains.", "Nov 22: the boat came in",
        "ERROR is human, INFO is not", "At 10:00:05 she came.", "The ratio is 1:2:3.", "On 22/11/2026 all was well",
        "This line is long, and says only much later INFO 2026-11-22 21:00:01"})
    EXPECT_FALSE(begins_as_log(thrice(line))) << line;
}

}  // namespace
}  // namespace titan::train::log_look_test
