#include "column_pruner/column_pruner.h"

SLUICE_MODULE("column_pruner", "1.0.0", sluice::column_pruner::ColumnPruner)
