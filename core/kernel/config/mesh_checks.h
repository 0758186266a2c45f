// What a mesh of ranks and the rest of a configuration do not allow each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/config/mistake.h"

namespace switchyard::config {

// How many ranks there are is not known here.
std::vector<Mistake> mesh_mistakes(const Config& config);

// Why so many ranks are not the mesh of `config`, with its place; empty: they are.
std::string mesh_problem(const Config& config, std::int64_t ranks);

// Whether each part of the layers comes with a part of the vocabulary, in the embeddings of words and in the
// head: not where ranks cannot divide it, or a loss reads all of it by itself.
bool cuts_words(const Config& config);

}  // namespace switchyard::config
