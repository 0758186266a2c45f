// A training session whose components are those of the plugins that Switchyard comes with, on one thread of a
// host of one core.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/resolver/plan.h"
#include "core/workbench/train/session.h"

namespace switchyard::test {

// `overrides`: "key=value". Throws what is wrong with them.
config::Config configured(const std::vector<std::string>& overrides);

struct ShortTraining {
    // `samples` must outlive it.
    ShortTraining(const std::vector<std::string>& overrides, const SampleSource& samples);

    config::Config config;
    resolver::Plan plan;
    train::Session session;
    train::Trainer trainer;
};

}  // namespace switchyard::test
