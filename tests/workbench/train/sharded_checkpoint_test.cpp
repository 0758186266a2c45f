// What ranks save together where the state is divided: what one process saves, which as many ranks go on from
// to the same bits, and other numbers of ranks within rounding.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "rank_training.h"
#include "some_ranks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

constexpr std::int64_t batch_of_all = 6;  // of 1, 2 and 3 ranks

struct SavedTraining {
    train::TrainingState state;
    std::vector<at::Tensor> parameters;
};

struct Job {
    Sets sets;
    std::string shard = "optimizer";

    Sets on(std::int64_t ranks) const {
        Case one{"gpt", "causal_lm", ranks, sets};
        one.more.emplace_back("train.epochs=4");
        one.more.push_back("distributed.shard=" + shard);
        return sets_of(one, batch_of_all / ranks, 1);
    }
};

train::TrainingState cloned(train::TrainingState state) {
    for (auto& entry : state.optimizer.entries) entry.value = entry.value.clone();
    for (auto& [name, master] : state.masters) master = master.clone();
    return state;
}

// What ranks hand to be written, put together. Each parameter comes from one of them.
class Gathered {
public:
    void add(const train::TrainingState& state, const model::Parameters& parameters) {
        const std::lock_guard lock(mutex_);
        auto own = cloned(state);
        largest_part_ = std::max(largest_part_, parameters.bytes());
        for (const auto& parameter : parameters.all()) {
            const bool is_new = values_.emplace(parameter.name, parameter.value.detach().clone()).second;
            CHECK(is_new);
        }
        if (!state_) {
            state_ = std::move(own);
            return;
        }
        auto& entries = state_->optimizer.entries;
        entries.insert(entries.end(), own.optimizer.entries.begin(), own.optimizer.entries.end());
        state_->masters.merge(own.masters);
        CHECK(own.masters.empty());
        auto& precision = state_->precision.entries;
        precision.insert(precision.end(), own.precision.entries.begin(), own.precision.entries.end());
        if (own.progression.generator.defined()) state_->progression.generator = own.progression.generator;
    }

    // Parameters in the order of the model, entries in the order of their names.
    SavedTraining all(const model::Parameters& model) {
        SavedTraining saved{*state_, {}};
        std::ranges::sort(saved.state.optimizer.entries, {},
                          [](const auto& entry) { return std::tie(entry.parameter, entry.key); });
        for (const auto& parameter : model.all()) saved.parameters.push_back(values_.at(parameter.name));
        return saved;
    }

    std::int64_t largest_part() const { return largest_part_; }

private:
    std::mutex mutex_;
    std::optional<train::TrainingState> state_;
    std::map<std::string, at::Tensor> values_;
    std::int64_t largest_part_ = 0;
};

// Trains to its end, from `from` if it is there; what was saved after `saved_step` goes to `saved`.
at::Tensor train_ranks(const Job& job, std::int64_t ranks, const SavedTraining* from,
                       SavedTraining* saved = nullptr) {
    constexpr std::int64_t saved_step = 4;
    const auto texts = texts_for("causal_lm");
    at::Tensor parameters;
    Gathered gathered;
    const auto act = [&](distributed::Group* group) {
        const bool first = group == nullptr || group->rank() == 0;
        Sets sets = job.on(ranks);
        if (saved != nullptr) sets.push_back("train.checkpoint_every=" + std::to_string(saved_step));
        ShortTraining training(sets, texts, group);
        if (from != nullptr) {
            const at::NoGradGuard no_grad;
            for (std::size_t i = 0; i < from->parameters.size(); ++i)
                training.session.parameters().all()[i].value.copy_(from->parameters[i]);
            training.trainer.restore(cloned(from->state));
        }
        train::TrainerHooks hooks;
        if (saved != nullptr && (first || training.trainer.saves_together()))
            hooks.save = [&](const train::TrainingState& state, const model::Parameters& own) -> std::string {
                if (state.progression.step == saved_step) gathered.add(state, own);
                return "";
            };
        const auto result = training.trainer.run(hooks);
        if (!result.error.empty()) throw std::runtime_error(result.error);
        if (first) parameters = values_of(training.session.parameters());
        if (first && saved != nullptr) *saved = gathered.all(training.session.parameters());
    };
    if (ranks == 1)
        act(nullptr);
    else
        as_ranks(ranks, [&](distributed::Group& group) { act(&group); });
    return parameters;
}

void check_same_state(const train::TrainingState& found, const train::TrainingState& expected) {
    CHECK(found.optimizer.step == expected.optimizer.step);
    CHECK(found.optimizer.algorithm == expected.optimizer.algorithm);
    REQUIRE(found.optimizer.entries.size() == expected.optimizer.entries.size());
    for (std::size_t i = 0; i < expected.optimizer.entries.size(); ++i) {
        const auto &a = found.optimizer.entries[i], &b = expected.optimizer.entries[i];
        INFO(b.parameter << " " << b.key);
        CHECK(a.parameter == b.parameter);
        CHECK(a.key == b.key);
        CHECK(a.value.equal(b.value));
    }
    REQUIRE(found.masters.size() == expected.masters.size());
    for (const auto& [name, master] : expected.masters) CHECK(found.masters.at(name).equal(master));
}

}  // namespace

TEST_CASE("what ranks with a divided state save is gone on with on any number of ranks") {
    struct Kind {
        Sets sets;
        bool rounds = false;  // what it keeps, so that sums that round elsewhere tell after some steps
    };
    const Kind kinds[] = {{{"optimizer.backend=torch"}},
                          {{"optimizer.backend=fused", "optimizer.algorithm=lamb"}},
                          {{"precision.backend=amp/bf16_pure"}, true},
                          {{"optimizer.backend=optim8bit", "optimizer.allow_reduced=true",
                            "optimizer.options.optim8bit.min_8bit_size=512"},
                           true}};
    for (auto [sets, rounds] : kinds) {
        INFO(sets.back());
        sets.emplace_back("optimizer.max_grad_norm=0");
        SavedTraining saved, as_one_has_it;
        const auto undisturbed = train_ranks({sets}, 2, nullptr, &saved);
        CHECK(train_ranks({sets, "none"}, 2, nullptr, &as_one_has_it).equal(undisturbed));
        check_same_state(saved.state, as_one_has_it.state);
        CHECK(train_ranks({sets}, 2, &saved).equal(undisturbed));
        CHECK(train_ranks({sets, "none"}, 2, &saved).equal(undisturbed));
        for (const std::int64_t ranks : {1, 3})
            CHECK(distance(train_ranks({sets}, ranks, &saved), undisturbed) < (rounds ? 0.01 : 1e-5));
    }
}

TEST_CASE("what ranks with divided parameters save is gone on with on any number of ranks") {
    for (const Sets& sets :
         {Sets{"optimizer.backend=torch"}, Sets{"optimizer.backend=fused", "optimizer.algorithm=lamb"},
          Sets{"precision.backend=amp/bf16_pure"}}) {
        INFO(sets.back());
        const double allowed = sets.back().ends_with("pure") ? 0.01 : 1e-5;
        SavedTraining saved, as_one_has_it;
        const auto undisturbed = train_ranks({sets, "full"}, 2, nullptr, &saved);
        CHECK(distance(train_ranks({sets, "none"}, 2, nullptr, &as_one_has_it), undisturbed) < allowed);
        REQUIRE(saved.parameters.size() == as_one_has_it.parameters.size());
        for (std::size_t i = 0; i < saved.parameters.size(); ++i)
            CHECK(saved.parameters[i].sizes() == as_one_has_it.parameters[i].sizes());
        const auto &entries = saved.state.optimizer.entries,
                   &expected = as_one_has_it.state.optimizer.entries;
        REQUIRE(entries.size() == expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CHECK(entries[i].parameter == expected[i].parameter);
            CHECK(entries[i].key == expected[i].key);
            CHECK(entries[i].value.sizes() == expected[i].value.sizes());
        }
        CHECK(saved.state.masters.size() == as_one_has_it.state.masters.size());
        CHECK(train_ranks({sets, "full"}, 2, &saved).equal(undisturbed));
        for (const auto& [ranks, shard] :
             {std::pair{3, "full"}, std::pair{2, "optimizer"}, std::pair{2, "none"}, std::pair{1, "none"}})
            CHECK(distance(train_ranks({sets, shard}, ranks, &saved), undisturbed) < allowed);
        CHECK(distance(train_ranks({sets, "full"}, 2, &as_one_has_it), undisturbed) < allowed);
    }
}

TEST_CASE("a state that does not fit is refused by the ranks that would have it") {
    SavedTraining saved;
    train_ranks({{}}, 2, nullptr, &saved);
    const auto refused = [&](const auto& spoil, const std::string& text) {
        SavedTraining bad{cloned(saved.state), saved.parameters};
        spoil(bad.state);
        CHECK_THROWS_WITH(train_ranks({{}}, 2, &bad), contains(text));
    };
    refused([](auto& state) { state.optimizer.entries.front().parameter = "nobody"; },
            "belongs to no parameter here");
    refused([](auto& state) { state.optimizer.algorithm = "lion"; }, "the state is of 'lion'");
    refused(
        [](auto& state) {
            for (auto& entry : state.optimizer.entries)
                if (entry.value.numel() > 500) entry.value = entry.value.flatten().narrow(0, 0, 7);
        },
        "shape");
}
