/* Extension sluice.plan/1: what an instance, as its options are, tells the planner beside sluice_needs. The host refuses a
 * pipeline in which it can see from this that nothing would ever come out, and warns of rows that nobody reads.
 *
 * Without this extension nothing is known of an operator: it may give event times and write to all of its outputs. */
#ifndef SLUICE_EXT_PLAN_H
#define SLUICE_EXT_PLAN_H

#include "sluice/abi.h"

#define SLUICE_EXT_PLAN "sluice.plan/1"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_plan_facts { /* pointers live until destroy [growable] */
  uint32_t struct_size;
  uint32_t gives_event_time;  /* 1: rows that it emits have event times of their own (sluice_rows.event_time) */
  sluice_str event_time_for;  /* why rows without event time are of no use to it, for the message; an option that this
                                 comes from stands in backquotes. data == NULL: it does without */
  sluice_str idleness_for;    /* the same when sources that are never idle are of no use to it */
  const sluice_str* outputs;  /* of output_ports: those that it writes to */
  size_t output_count;
  uint32_t knows_outputs;     /* 0: `outputs` says nothing, it may write to all */
  uint32_t reserved;
  sluice_str writes_alone;    /* what it writes and no other operator may: two that say the same are refused, with this as
                                 the end of the message; the option to change stands in backquotes. data == NULL: nothing */
} sluice_plan_facts;

/* What get_extension(self, SLUICE_EXT_PLAN) gives. [growable] */
typedef struct sluice_plan {
  uint32_t struct_size;
  uint32_t reserved;
  sluice_code (*facts)(void* self, sluice_plan_facts* out, sluice_error* err); /* [control] after needs */
} sluice_plan;

#ifdef __cplusplus
}
#endif
#endif
