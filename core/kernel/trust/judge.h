// What a configuration demands of plugins (plugins.require), and whether a plugin meets it: loader::Judge.
//
// Nothing of a plugin runs before it was judged. What comes with this program counts as signed and
// conformant, since who could exchange it could exchange the program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/kernel/config/run_config.h"
#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/trust/conformance_record.h"
#include "core/kernel/trust/key_file.h"
#include "core/kernel/trust/plugin_lock.h"
#include "core/kernel/trust/plugin_signature.h"

namespace switchyard::trust {

struct Demands {
    std::vector<config::Demand> require;
    std::shared_ptr<const PluginLock> lock;  // where `require` has it
    TrustedKeys keys;
    Device device = Device::cpu;  // that conformance is demanded on
    std::string cache;            // with what was verified (RecordCache)
};

// The gate's outcome; fills in record.trust.
loader::GateOutcome judge(const Demands& demands, loader::PluginRecord& record);

// What is known of a plugin whose manifest was read, in one line: "not signed; verified on cpu: 2 of 3
// components".
std::string standing_of(const Demands& demands, const loader::PluginRecord& record);

}  // namespace switchyard::trust
