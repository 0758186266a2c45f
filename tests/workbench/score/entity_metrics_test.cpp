// Entities that labels of words mark, against seqeval's.
#include "core/workbench/score/entity_metrics.h"

#include "score_fixture.h"

using namespace switchyard;
using score::Entity;
using test::metric;
using test::near;

TEST_CASE("entities are taken as seqeval takes them") {
    using List = std::vector<Entity>;
    CHECK((score::entities_of({"O", "B-PER", "I-PER", "O", "B-LOC"}) == List{{"PER", 1, 3}, {"LOC", 4, 5}}));
    CHECK((score::entities_of({"B-PER", "B-PER"}) == List{{"PER", 0, 1}, {"PER", 1, 2}}));
    CHECK((score::entities_of({"I-PER", "I-LOC", "I-LOC"}) == List{{"PER", 0, 1}, {"LOC", 1, 3}}));
    CHECK((score::entities_of({"B-PER", "I-LOC"}) == List{{"PER", 0, 1}, {"LOC", 1, 2}}));
    CHECK((score::entities_of({"B-PER", "E-PER", "I-PER"}) == List{{"PER", 0, 2}, {"PER", 2, 3}}));
    CHECK(score::entities_of({"O", "O"}).empty());
    CHECK(score::entities_of({"", "B", "-PER", "X-PER"}).empty());
}

TEST_CASE("scores of entities are seqeval's, of all and of each type") {
    for (const auto& one : test::score_cases("entities")) {
        INFO(one["name"]);
        score::EntityCounts counts;
        const auto told = one["told"].get<std::vector<std::vector<std::string>>>();
        const auto right = one["right"].get<std::vector<std::vector<std::string>>>();
        for (std::size_t i = 0; i < told.size(); ++i) counts.add(told[i], right[i]);
        const auto metrics = counts.metrics();
        CHECK(metric(metrics, "entity_precision") == near(one["precision"].get<double>()));
        CHECK(metric(metrics, "entity_recall") == near(one["recall"].get<double>()));
        CHECK(metric(metrics, "entity_f1") == near(one["f1"].get<double>()));
        CHECK(metrics.size() == 3 + one["types"].size());
        for (const auto& [type, f1] : one["types"].items())
            CHECK(metric(metrics, "entity_f1/" + type) == near(f1.get<double>()));
    }
}
