#pragma once

#include <switchyard/interfaces/plugin_abi.h>

int steer(const SwitchyardServices* services, char* error, uint32_t error_size);
