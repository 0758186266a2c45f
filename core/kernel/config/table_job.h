// The part of the table about jobs: [task], [data], [train], [distributed], [lora],
// [quantization], [log].
#pragma once

#include "core/kernel/config/table.h"

namespace switchyard::config {

Section task_section();
Section data_section();
Section train_section();
Section distributed_section();
Section mesh_section();
Section lora_section();
Section quantization_section();
Section log_section();

}  // namespace switchyard::config
