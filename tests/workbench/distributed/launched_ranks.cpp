#include "launched_ranks.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <string>
#include <utility>

#include "tests/workbench/cli/jobs/safetensors_text.h"

#include <switchyard_test.h>

namespace switchyard::test {

Words launched(Words train, int ranks, const Words& options) {
    Words words{"launch", "-n", std::to_string(ranks)};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), train.begin(), train.end());
    const auto sets_timeout = [](const auto& word) { return word.starts_with("distributed.timeout="); };
    if (std::ranges::none_of(train, sets_timeout))
        words.insert(words.end(), {"--set", "distributed.timeout=300"});
    return words;
}

std::vector<pid_t> ranks_of(pid_t launcher) {
    std::vector<std::pair<std::string, pid_t>> found;
    for (const auto process : children_of(launcher)) {
        const auto variables = told_by_proc(process, "environ");
        const auto at = variables.find("LOCAL_RANK=");
        if (at == std::string::npos) continue;
        found.emplace_back(variables.substr(at + 11, variables.find('\0', at) - at - 11), process);
    }
    std::ranges::sort(found);
    std::vector<pid_t> ranks;
    for (const auto& [rank, process] : found) ranks.push_back(process);
    return ranks;
}

bool has_checkpoint(const fs::path& run) { return fs::exists(run) && !checkpoints(run).empty(); }

void check_losses(const Losses& found, const Losses& expected, double allowed) {
    REQUIRE(found.size() == expected.size());
    for (const auto& [step, loss] : expected) CHECK(found.at(step) == Approx(loss).epsilon(allowed));
}

void train_on(int ranks, const TinyJob& job, const std::string& name, const Words& sets, const Words& more) {
    const auto words = job.train(name, sets, more);
    const auto outcome = run(ranks == 1 ? words : launched(words, ranks));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
}

nlohmann::json summary_of(const TinyJob& job, const std::string& name) {
    return json_of(fs::path(job.run_folder(name)) / "summary.json");
}

std::map<std::string, std::string> saved_tensors(const fs::path& checkpoint) {
    const auto state = json_of(checkpoint / "state.json");
    std::map<std::string, std::string> tensors;
    const auto& entries = state["optimizer"]["entries"];
    std::size_t entry = 0;  // those of one file after those of another, in the order of their names
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(checkpoint))
        if (file.path().extension() == ".safetensors") files.push_back(file.path());
    std::ranges::sort(files);
    for (const auto& file : files) {
        const auto name = file.filename().string();
        const auto kind = name.substr(0, name.find_first_of("-."));
        const auto read = SafetensorsText::of(bytes_of(file));
        std::size_t own = 0;
        for (const auto& [tensor, told] : read.header.items()) {
            if (tensor == "__metadata__") continue;
            auto what = tensor;
            if (kind == "optimizer" && std::isdigit(static_cast<unsigned char>(tensor.front())) != 0) {
                what = entries.at(entry + std::stoul(tensor)).dump();
                ++own;
            }
            const auto& at = told["data_offsets"];
            const auto begin = at[0].get<std::size_t>(), end = at[1].get<std::size_t>();
            INFO(kind << " " << what);
            CHECK(tensors.emplace(kind + " " + what, read.data.substr(begin, end - begin)).second);
        }
        entry += own;
    }
    CHECK(entry == entries.size());
    return tensors;
}

void check_same_checkpoints(const TinyJob& job, const std::string& a, const std::string& b,
                            const std::string& step) {
    const auto of = [&](const std::string& run) {
        return saved_tensors(fs::path(job.run_folder(run)) / "checkpoints" / step);
    };
    const bool same = of(a) == of(b);
    CHECK(same);
}

void check_refused_ranks(const Words& base, const std::vector<RefusedRanks>& cases) {
    const TinyJob job;
    for (const auto& one : cases) {
        INFO(one.text);
        const auto words = job.train("bad", with(base, one.sets));
        const auto outcome = run(one.ranks == 1 ? words : launched(words, one.ranks));
        INFO(outcome.err);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, contains(one.text));
        CHECK(count_of(outcome.err, "error: ") <= 1);
        CHECK(outcome.out.empty());
        CHECK_FALSE(fs::exists(job.run_folder("bad")));
    }
}

void check_adapts_alike(const TinyJob& job, const Words& sets, const Words& mesh, const std::string& base) {
    const auto adapting = with(sets, {"lora.rank=2", "train.weights=" + job.run_folder(base) + "/model"});
    train_on(1, job, "adapted", adapting);
    train_on(2, job, "adapted_on_ranks", with(adapting, mesh));
    check_losses(step_losses(job.run_folder("adapted_on_ranks")), step_losses(job.run_folder("adapted")),
                 1e-5);
    const auto size = [&](const std::string& run, const std::string& file) {
        return fs::file_size(fs::path(job.run_folder(run)) / file);
    };
    const std::string adapter = "adapter/adapter_model.safetensors", model = "model/model.safetensors";
    CHECK(size("adapted_on_ranks", adapter) == size("adapted", adapter));
    CHECK(size("adapted_on_ranks", model) == size(base, model));
}

void check_all_end_when_one_is_killed(const Words& sets) {
    const TinyJob job;
    Started started(launched(job.train("run", with(sets, {"train.steps=100000"})), 2));
    const fs::path folder = job.run_folder("run");
    REQUIRE(wait_until([&] { return started.ended() || !step_losses(folder).empty(); }));
    const auto ranks = ranks_of(started.process());
    REQUIRE(ranks.size() == 2);
    ::kill(ranks[1], SIGKILL);
    const auto outcome = started.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, contains("error: rank 1 of 2 was killed by signal 9 (Killed)"));
    for (const auto rank : ranks) CHECK_FALSE(is_alive(rank));
}

}  // namespace switchyard::test
