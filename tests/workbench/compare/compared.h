// Comparisons of the tiny job, short ones.
#pragma once

#include "tiny_job.h"

#include "json_schema.h"

#include <switchyard_test.h>

namespace switchyard::test {

// Arms with the same samples in batches of their own.
inline const Words own_batches{
    "--arm", "padded:",
    "--arm", "fixed: data_loader.backend=batching/fixed batch.size=5",
    "--arm", "bucketed: data_loader.backend=batching/bucketed batch.size=7",
    "--arm", "packed: data_loader.backend=batching/packed batch.layout=packed batch.tokens=64"};

// "compare job.toml" and `more`, four blocks of one step unless that says otherwise.
inline Words compare_words(const TinyJob& job, const Words& more) {
    Words words{"compare", job.file("job.toml")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

inline Words short_run(const Words& more) {
    Words words{"--blocks", "2", "--steps-per-block", "1", "--time", "0.5"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

// Its JSON, held against the schema; `code` is what it must end with.
inline nlohmann::json compared(const TinyJob& job, const Words& more, int code = 0) {
    const auto json = run_json(compare_words(job, short_run(more)), code);
    const JsonSchema schema(source_dir() / "docs/schema/compare.json");
    for (const auto& fault : schema.faults(json)) FAIL_CHECK(fault);
    return json;
}

inline Outcome compared_text(const TinyJob& job, const Words& more) {
    return run(compare_words(job, short_run(more)));
}

// A POSIX shell script beside the job, named by an [[arm]] table at its end.
inline void add_peer(const TinyJob& job, const std::string& name, const std::string& script) {
    job.write(name + ".sh", script);
    job.write("job.toml", bytes_of(job.file("job.toml")) + "\n[[arm]]\nname = \"" + name +
                              "\"\nprogram = [\"sh\", \"" + name + ".sh\"]\n");
}

// Answers prepare, then every run with steps of `ms` milliseconds by its own word.
inline std::string polite_peer(const std::string& at_run) {
    return R"(while read -r line; do
    case $line in
        *'"prepare"'*) echo '{"type": "report", "loss": 0.7, "description": "a shell script"}' ;;
        *'"run"'*) n=${line##*:}; n=${n%\}}
            )" +
           at_run + R"( ;;
        *) exit 0 ;;
    esac
done
)";
}

}  // namespace switchyard::test
