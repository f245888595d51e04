/* Extension sluice.ended_splits/1 of sources: splits that may have more, after they had ended in an earlier run.
 *
 * SLUICE_SPLIT_END is for the run in which it is said. In a later run, which goes on from a checkpoint, a split that
 * had ended is not assigned again, unless its source has this extension and answers that it may have grown. Then it is
 * assigned with its position, and the source says SLUICE_SPLIT_END again when there is nothing more. */
#ifndef SLUICE_EXT_ENDED_SPLITS_H
#define SLUICE_EXT_ENDED_SPLITS_H

#include "sluice/abi.h"

#define SLUICE_EXT_ENDED_SPLITS "sluice.ended_splits/1"

#ifdef __cplusplus
extern "C" {
#endif

/* What get_extension(self, SLUICE_EXT_ENDED_SPLITS) gives. [growable] */
typedef struct sluice_ended_splits {
  uint32_t struct_size;
  uint32_t reserved;
  /* Of a split that discover() gave: 1: assign it again; 0: it has ended for good. */
  sluice_code (*may_have_grown)(void* self, sluice_str split_id, uint32_t* yes, sluice_error* err); /* [operator] */
} sluice_ended_splits;

#ifdef __cplusplus
}
#endif
#endif
