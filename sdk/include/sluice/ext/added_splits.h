/* Extension sluice.added_splits/1 of the host: splits that a source got after its first start.
 *
 * The first start of a source is over when each of its lanes has been given the splits that were there. What is found
 * later was added, whether in the same run or between two runs, and whichever lane reads it: a source whose start
 * options skip rows (`latest`) reads such a split from its beginning, or the first rows of it would be lost. */
#ifndef SLUICE_EXT_ADDED_SPLITS_H
#define SLUICE_EXT_ADDED_SPLITS_H

#include "sluice/abi.h"

#define SLUICE_EXT_ADDED_SPLITS "sluice.added_splits/1"

#ifdef __cplusplus
extern "C" {
#endif

/* What sluice_host.get_extension(host, SLUICE_EXT_ADDED_SPLITS) gives. [growable] */
typedef struct sluice_added_splits {
  uint32_t struct_size;
  uint32_t reserved;
  /* Within assign(), of the split with this index: 1: it was added, and has no position; 0: no. */
  int32_t (*is_added)(const sluice_context*, uint32_t split); /* [operator] */
} sluice_added_splits;

#ifdef __cplusplus
}
#endif
#endif
