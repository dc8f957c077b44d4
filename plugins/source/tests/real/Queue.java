package example.queue;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A queue of jobs that survives what its workers do.
 */
public final class Queue<T> {
    private final Deque<T> jobs = new ArrayDeque<>();
    private final String name;
    private boolean closed;

    public Queue(String name) {
        this.name = name;
    }

    /**
     * Adds a job, and wakes one who waits.
     *
     * @param job what is to be done
     */
    public synchronized void put(T job) {
        if (closed) {
            throw new IllegalStateException(name + " is closed");
        }
        jobs.addLast(job);
        notify();
    }

    /**
     * Waits for the next job.
     *
     * @param timeout in milliseconds
     * @return the job, or null where none came in time
     */
    public synchronized T take(long timeout)
            throws InterruptedException {
        long until = System.currentTimeMillis() + timeout;
        while (jobs.isEmpty() && !closed) {
            long left = until - System.currentTimeMillis();
            if (left <= 0) {
                return null;
            }
            wait(left);
        }
        return jobs.pollFirst();
    }

    @Override
    public String toString() {
        return name + " with " + jobs.size() + " jobs";
    }
}
