// A training session whose components are those of the plugins that Switchyard comes with, on one thread of a
// host of one core.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/workbench/train/session.h"

namespace switchyard::test {

// `overrides`: "key=value". Throws what is wrong with them.
config::Config configured(const std::vector<std::string>& overrides);

// For loaders, which keep the samples that they are given: those outlive them anyway.
inline std::shared_ptr<const SampleSource> lent(const SampleSource& samples) {
    return {std::shared_ptr<void>(), &samples};
}

struct ShortTraining {
    // `samples` must outlive it, and so must `group`, whose rank it is then.
    ShortTraining(const std::vector<std::string>& overrides, const SampleSource& samples,
                  distributed::Group* group = nullptr);

    config::Config config;
    resolver::Plan plan;
    train::Session session;
    train::Trainer trainer;

private:
    train::Trainer make_trainer(const SampleSource& samples, distributed::Group* group);
};

}  // namespace switchyard::test
