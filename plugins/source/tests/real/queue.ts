/**
 * A queue of jobs that survives what its workers do.
 */
import { Clock } from "./clock";
import type { Logger } from "./logger";

export interface Job {
  id: string;
  run(): Promise<void>;
}

export class QueueClosed extends Error {
  constructor(name: string) {
    super(`${name} is closed`);
  }
}

/**
 * Gives jobs in the order in which they came.
 */
export class Queue<T extends Job> {
  private jobs: T[] = [];
  private waiting: Array<(job: T) => void> = [];
  private closed = false;

  constructor(
    private readonly name: string,
    private readonly clock: Clock,
    private readonly logger?: Logger,
  ) {
    this.logger?.info(`queue ${name} is open`);
  }

  put(job: T): void {
    if (this.closed) {
      throw new QueueClosed(this.name);
    }
    const next = this.waiting.shift();
    if (next) {
      next(job);
    } else {
      this.jobs.push(job);
    }
  }

  /** Waits for the next job. */
  async take(timeout?: number): Promise<T> {
    const job = this.jobs.shift();
    if (job) {
      return job;
    }
    return new Promise((resolve, reject) => {
      const until = timeout === undefined ? undefined : this.clock.now() + timeout;
      this.waiting.push(resolve);
      if (until !== undefined) {
        this.clock.at(until, () => reject(new QueueClosed(this.name)));
      }
    });
  }

  close(): void {
    this.closed = true;
    this.waiting.length = 0;
    this.logger?.info(`queue ${this.name} is closed`);
  }
}

export const openQueue = (name: string): Queue<Job> => {
  const clock = new Clock();
  return new Queue<Job>(name, clock);
};
