#include "forward_launch.h"

namespace switchyard::flash {
template void launch_forward<64>(Storage, const Params&, const Launch&, void*);
}
