// sluice/sdk.hpp - everything that a plugin needs.
#pragma once
#include "sluice/abi.h"
#include "sluice/module.hpp"
#include "sluice/operator.hpp"
#include "sluice/options.hpp"
#include "sluice/state.hpp"
#include "sluice/status.hpp"
#include "sluice/value.hpp"
