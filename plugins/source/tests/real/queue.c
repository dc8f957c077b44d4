/*
 * A queue of jobs that survives what its workers do.
 */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_LEAST 16

struct queue {
    struct job **jobs;
    size_t first;
    size_t count;
    size_t room;
    int closed;
};

/* Makes room for more jobs. */
static int grow(struct queue *q, size_t most)
{
    /* FIXME: never shrinks */
    struct job **jobs = realloc(q->jobs, most * sizeof(*jobs));
    if (jobs == NULL) {
        return -1;
    }
    if (q->first + q->count > q->room) {
        size_t tail = q->room - q->first;
        memmove(jobs + most - tail, jobs + q->first, tail * sizeof(*jobs));
        q->first = most - tail;
    }
    q->jobs = jobs;
    q->room = most;
    return 0;
}

struct queue *queue_new(void)
{
    struct queue *q = calloc(1, sizeof(*q));
    if (q != NULL && grow(q, QUEUE_LEAST) != 0) {
        free(q);
        return NULL;
    }
    return q;
}

/* Adds a job; gives -1 where there is no room. */
int queue_put(struct queue *q,
              const struct job *job)
{
    if (q->closed) {
        return -1;
    }
    if (q->count == q->room && grow(q, q->room * 2) != 0) {
        return -1;
    }
    q->jobs[(q->first + q->count) % q->room] = job_copy(job);
    q->count += 1;
    return 0;
}

void queue_free(struct queue *q)
{
    size_t at;
    for (at = 0; at < q->count; at++) {
        free(q->jobs[(q->first + at) % q->room]);
    }
    free(q->jobs);
    free(q);
}
