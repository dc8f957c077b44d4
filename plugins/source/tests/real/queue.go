// Package queue holds jobs until somebody takes them.
package queue

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed says that nothing can be taken any more.
var ErrClosed = errors.New("queue: closed")

// Job is something to do.
type Job struct {
	ID   string
	Do   func(context.Context) error
	runs int
}

// Queue gives jobs in the order in which they came.
type Queue struct {
	mu     sync.Mutex
	jobs   []Job
	wake   chan struct{}
	closed bool
}

// New makes an empty queue.
func New() *Queue {
	q := &Queue{
		wake: make(chan struct{}, 1),
	}
	return q
}

// Put adds a job, and wakes one who waits.
func (q *Queue) Put(job Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.jobs = append(q.jobs, job)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// Take waits for the next job.
// It gives up where the context does.
func (q *Queue) Take(ctx context.Context) (Job, error) {
	for {
		q.mu.Lock()
		if len(q.jobs) > 0 {
			job := q.jobs[0]
			q.jobs = q.jobs[1:]
			q.mu.Unlock()
			return job, nil
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return Job{}, ErrClosed
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return Job{}, ctx.Err()
		}
	}
}

// Close lets those who wait go.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		panic("queue: closed twice")
	}
	q.closed = true
	close(q.wake)
}
