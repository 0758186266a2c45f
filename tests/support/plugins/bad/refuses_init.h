#pragma once

#include <switchyard/interfaces/plugin_abi.h>

int refuse(const SwitchyardServices* services, char* error, uint32_t error_size);
