// A plugin of the stable tier as a descriptor like any other's, so that whoever asks, creates and destroys
// components need not know of the tier.
#pragma once

#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/stable_abi.h>
#include "core/kernel/loader/manifest.h"

namespace switchyard::runtime::stable {

// Functions of a descriptor are told nothing of the component that they belong to: each has its own, of which
// this program has so many.
inline constexpr std::size_t most_components = 256;

// The descriptor of a plugin whose table was checked (check_stable_descriptor). It lives until the process
// ends. nullptr: most_components are loaded already. Not thread-safe.
const SwitchyardPlugin* descriptor_of(const SwitchyardStablePlugin& plugin, const loader::Manifest& manifest);

}  // namespace switchyard::runtime::stable
