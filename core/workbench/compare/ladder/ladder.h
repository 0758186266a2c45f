// A ladder: a tree of named changes to one configuration, each standing `on` another, as a TOML file has it
// (docs/ladders.md). What was published of a rung stands beside it, and is never computed with.
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// "2e-5".
std::string learning_rate_text(double value);

// Figures of others, on a machine of theirs; nothing: not published.
struct Published {
    std::optional<double> samples_per_second, tokens_per_second, speedup, memory_gb;
    std::optional<std::int64_t> batch;
    std::optional<double> learning_rate;

    // "62 samples/s, 3.5 times as fast, 6.2 GB, batch 56"; "" where nothing was.
    std::string text() const;
};

struct Rung {
    std::string name;
    std::string on;                    // "": it stands on the ground
    std::vector<std::string> set;      // its own: "precision.backend=amp/bf16"
    std::vector<std::string> program;  // of an external arm; empty: a configuration
    Published published;
    int line = 0;

    bool external() const { return !program.empty(); }
};

// What `--scale NAME` makes of the ladder.
struct LadderScale {
    std::vector<std::string> set;    // of all rungs, before their own
    std::int64_t batch_divisor = 1;  // of every batch.size that a rung sets; at least one sample stays
};

struct Ladder {
    std::string title;
    std::string file;
    std::string config;                       // relative to the ladder's folder, or absolute
    std::optional<Operation> operation = {};  // nothing: it does not say
    std::vector<std::string> set;
    std::map<std::string, LadderScale> scales;
    std::vector<Rung> rungs;  // below each all that stands on it, else in the order of the file

    // What the ladder and its scales set of all rungs, but for the keys of these values, which are given
    // instead. Rungs keep what is their own.
    void leave_out(const std::vector<std::string>& given);

    // The title, and what `--scale NAME` makes other than it says; `scale` may be empty.
    std::string heading(const std::string& scale) const;
    std::string folder() const;       // of the file
    std::string config_file() const;  // as a path from here
    std::optional<std::size_t> find(const std::string& name) const;
    std::optional<std::size_t> parent(std::size_t rung) const;
    int depth(std::size_t rung) const;  // of the ground: 0
    // What holds at a rung: the changes of all it stands on, from the ground up, and its own; `scale` may be
    // null. A later value of a key replaces an earlier one.
    std::vector<std::string> values(std::size_t rung, const LadderScale* scale) const;
};

// Or every mistake of the file, each with its line: keys, a parent that is not there, two rungs of one name,
// a circle.
std::variant<Ladder, std::string> read_ladder(const std::string& file);
std::variant<Ladder, std::string> parse_ladder(const std::string& text, const std::string& file);

// The rungs as arms, in the ladder's order.
std::vector<ArmSpec> ladder_arms(const Ladder& ladder, const LadderScale* scale);

}  // namespace switchyard::compare
