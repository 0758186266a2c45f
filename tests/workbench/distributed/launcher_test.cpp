// Which of several ranks that ended the launcher names: with shell scripts for ranks.
#include <string>

#include "core/workbench/distributed/launcher.h"

#include <switchyard_test.h>

using namespace switchyard;

TEST_CASE("a rank that was killed is named, although another was gone before it") {
    const auto folder = test::temporary_dir("ranks").string();
    // Rank 0 lives until the launcher has seen the end of rank 1, which tells of it as of a rank that is
    // being killed.
    const std::string script = R"(
if [ "$RANK" = 1 ]; then
    echo $$ > ")" + folder + R"(/pid.new"; mv ")" +
                               folder + R"(/pid.new" ")" + folder + R"(/pid"
    echo "error: rank 0 is gone" >&2
    exit 3
fi
until [ -s ")" + folder + R"(/pid" ]; do :; done
read -r other < ")" + folder + R"(/pid"
while kill -0 "$other" 2> /dev/null; do :; done
kill -KILL $$
)";
    distributed::Launch launch{{"/bin/sh", "-c", script}, 2};
    launch.seconds_to_end = 300.0;
    const auto result = distributed::launch(launch, {});
    CHECK(result.killed);
    CHECK(result.exit_code == 1);
    CHECK_THAT(result.failure, test::contains("rank 0 of 2 was killed by signal 9 (Killed)"));
}

TEST_CASE("of ranks that ended by themselves the first is named") {
    distributed::Launch launch{{"/bin/sh", "-c", "[ \"$RANK\" = 0 ] || exit 3"}, 2};
    const auto result = distributed::launch(launch, {});
    CHECK_FALSE(result.killed);
    CHECK(result.exit_code == 3);
    CHECK_THAT(result.failure, test::contains("rank 1 of 2"));
}
