"""A queue of jobs that survives what its workers do.

Jobs are taken one by one. A job that fails comes back later, each time a little later than before,
until it has failed too often.
"""

import threading
import time
from collections import deque


class QueueClosed(Exception):
    """Nothing can be taken any more."""


class Queue:
    """Jobs in the order in which they came."""

    def __init__(self, name, least=0.1, most=30.0):
        self.name = name
        self.least = least
        self.most = most
        self.tries = 0
        self.jobs = deque()
        self.closed = False
        self.lock = threading.Condition()

    def put(self, job):
        """Adds a job, and wakes one who waits."""
        with self.lock:
            if self.closed:
                raise QueueClosed(self.name)
            self.jobs.append(job)
            self.lock.notify()

    def take(self, timeout=None):
        """Waits for the next job.

        Gives nothing where none came in time.
        """
        # TODO: drop jobs that are too old
        until = None if timeout is None else time.monotonic() + timeout
        with self.lock:
            while not self.jobs:
                if self.closed:
                    raise QueueClosed(self.name)
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self.lock.wait(left)
            return self.jobs.popleft()

    def failed(self, job):
        """Puts a job back that failed, later each time."""
        self.tries += 1
        backoff = min(self.most, self.least * 2 ** self.tries)
        timer = threading.Timer(backoff, self.put, args=(job,))
        timer.daemon = True
        timer.start()
        return timer

    def close(self):
        """Lets those who wait go."""
        with self.lock:
            self.closed = True
            self.lock.notify_all()
