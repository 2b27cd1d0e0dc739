// The loads that the endpoints put on the machine.

import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';

const PAGE = 4096;
const MB = 1 << 20;

const STEPS_PER_UNIT = 100_000;

// Steps of the generator of Numerical Recipes, modulo 2**32.
function lcg(x, steps) {
  for (let i = 0; i < steps; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
  }
  return x;
}

/** A fixed amount of work; the checksum proves that it was done. Blocks the event loop. */
export function burnWork(units) {
  let x = 1;
  for (let unit = 0; unit < units; unit++) {
    x = lcg(x, STEPS_PER_UNIT);
  }
  return x >>> 0;
}

/** Burns CPU until secs of wall time have passed; the steps that fitted in. Blocks the event loop. */
export function burnUntil(secs) {
  const end = performance.now() + secs * 1000;
  let x = 1;
  let steps = 0;
  while (performance.now() < end) {
    x = lcg(x, 1000);
    steps += 1000;
  }
  return steps;
}

/** Waits as a synchronous call does, without using the CPU. Blocks the event loop. */
export function blockFor(secs) {
  // Nobody else knows this memory, so that the wait always ends by its time-out.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, secs * 1000);
}

/** ALLOC_MB megabytes outside of the JavaScript heap, every page of them written to. */
export class Block {
  #bytes;

  constructor(mb) {
    this.mb = mb;
    this.#bytes = Buffer.alloc(mb * MB);
    this.touch(mb);
  }

  /** Writes one byte to each page of the first mb megabytes. */
  touch(mb) {
    for (let at = 0; at < mb * MB; at += PAGE) {
      this.#bytes[at] = 1;
    }
  }
}

/**
 * A file in TMPDIR without a name, so that nothing is left behind.
 * It belongs to this process and grows to the largest size asked for.
 */
export class WorkFile {
  #handle = null;
  #mb = 0;
  #growing = Promise.resolve();

  /** Reads the first mb megabytes; the megabytes that were read. */
  async read(mb) {
    if (mb === 0) {
      return 0;
    }
    // One at a time grows the file, whether the one before managed it or not.
    this.#growing = this.#growing.catch(() => {}).then(() => this.#grow(mb));
    await this.#growing;
    const part = Buffer.allocUnsafe(MB);
    let done = 0;
    while (done < mb * MB) {
      const { bytesRead } = await this.#handle.read(part, 0, Math.min(MB, mb * MB - done), done);
      if (bytesRead === 0) {
        throw new Error('the work file is shorter than it was written');
      }
      done += bytesRead;
    }
    return done / MB;
  }

  async #grow(mb) {
    if (this.#handle === null) {
      const name = path.join(process.env.TMPDIR || '/tmp', `brink-work-${randomUUID()}`);
      this.#handle = await open(name, 'wx+');
      await unlink(name);
    }
    const part = Buffer.alloc(MB, 'b');
    while (this.#mb < mb) {
      let done = 0;
      while (done < MB) {
        const { bytesWritten } = await this.#handle.write(part, done, MB - done, this.#mb * MB + done);
        done += bytesWritten;
      }
      this.#mb++;
    }
  }
}
