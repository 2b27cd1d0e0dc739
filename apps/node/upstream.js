// The slow dependency: a real HTTP request to whatever BRINK_UPSTREAM names.

import http from 'node:http';

// How much longer than it was asked to take the dependency may take: it may
// have a queue of its own.
const PATIENCE_MS = 30_000;

export const MAX_MS = 3_600_000;

/** The dependency did not answer; the message is the sentence for the client. */
export class UpstreamFailed extends Error {}

function address() {
  const url = process.env.BRINK_UPSTREAM ?? '';
  if (url === '') {
    throw new UpstreamFailed('BRINK_UPSTREAM is not set: it names the slow dependency, such as http://127.0.0.1:9000');
  }
  const found = /^http:\/\/([0-9A-Za-z.-]+):([0-9]{1,5})\/?$/.exec(url);
  if (found === null) {
    throw new UpstreamFailed(`BRINK_UPSTREAM must be http://host:port, not "${url}"`);
  }
  return { host: found[1], port: Number(found[2]) };
}

function get(options) {
  return new Promise((resolve, reject) => {
    http.get(options, (answer) => {
      answer.on('error', reject).on('end', () => resolve(answer.statusCode)).resume();
    }).on('error', reject);
  });
}

/** Resolves when the dependency has answered, after ms milliseconds at least. */
export async function ask(ms) {
  const signal = AbortSignal.timeout(ms + PATIENCE_MS);
  let status;
  try {
    // Without an agent each request has a connection of its own.
    status = await get({ ...address(), path: `/delay?ms=${ms}`, agent: false, signal });
  } catch (err) {
    if (err instanceof UpstreamFailed) {
      throw err;
    }
    const reason = signal.aborted ? 'it did not answer in time' : err.message;
    throw new UpstreamFailed(`the upstream failed: ${reason}`);
  }
  if (status !== 200) {
    throw new UpstreamFailed(`the upstream failed: it answered with status ${status}`);
  }
}
