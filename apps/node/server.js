// brink's Node.js workload: endpoints that hold, burn and touch on request.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { snapshot } from './diag.js';
import { tellMemory } from './gauge.js';
import { BadParameter, required, seconds, single, whole } from './params.js';
import { readSettings } from './settings.js';
import { MAX_MS, UpstreamFailed, ask } from './upstream.js';
import { Block, WorkFile, blockFor, burnUntil, burnWork } from './work.js';

function stop(code, sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(code);
}

const settings = (() => {
  try {
    return readSettings();
  } catch (err) {
    return stop(2, err.message);
  }
})();

const startedAt = new Date().toISOString();
const block = new Block(settings.allocMB);
const file = new WorkFile();
const { pid } = process;
let served = 0;

// Each takes the query and a function that tells the seconds since the request came.
const endpoints = {
  '/health': () => ({ status: 'ok', pid }),

  '/ping': () => ({ pong: true, pid }),

  '/stats': () => ({
    pid,
    workers: 1,
    alloc_mb: block.mb,
    served,
    started_at: startedAt,
    runtime: `Node.js ${process.versions.node}`,
    server: 'node:http',
  }),

  // A timer, as a Node.js program would wait: the process goes on serving others meanwhile.
  '/thread-hold': async (args, servedSecs) => {
    const secs = seconds(single(args, 'secs'), 'secs');
    await sleep(secs * 1000);
    return { held_secs: secs, pid, served_s: servedSecs() };
  },

  // What a Node.js program must not do, and does by accident: nobody else is served meanwhile.
  '/block-hold': (args, servedSecs) => {
    const secs = seconds(single(args, 'secs'), 'secs');
    blockFor(secs);
    return { held_secs: secs, pid, served_s: servedSecs() };
  },

  '/upstream': async (args, servedSecs) => {
    const ms = required(single(args, 'ms'), 'ms', 0, MAX_MS);
    await ask(ms);
    return { upstream_ms: ms, pid, served_s: servedSecs() };
  },

  '/cpu-burn': (args, servedSecs) => {
    const query = single(args, 'secs', 'work');
    if (query.size !== 1) {
      throw new BadParameter('exactly one of secs and work must be given');
    }
    if (query.has('work')) {
      const units = whole(query, 'work', 1, 500_000);
      return { work: units, checksum: burnWork(units), pid, served_s: servedSecs() };
    }
    const secs = seconds(query, 'secs');
    return { burned_secs: secs, iterations: burnUntil(secs), pid, served_s: servedSecs() };
  },

  '/work': async (args, servedSecs) => {
    const query = single(args, 'touch_mb', 'file_mb', 'payload_kb');
    const touchMB = whole(query, 'touch_mb', 0, block.mb);
    const fileMB = whole(query, 'file_mb', 0, 1024);
    const payloadKB = whole(query, 'payload_kb', 0, 16384);
    block.touch(touchMB);
    const readMB = await file.read(fileMB);
    return {
      pid,
      touched_mb: touchMB,
      read_mb: readMB,
      payload: 'x'.repeat(payloadKB * 1024),
      served_s: servedSecs(),
    };
  },

  '/diag/proc': () => snapshot(),
};

async function answer(req, servedSecs) {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    return [405, { error: 'only GET and HEAD are answered' }];
  }
  const mark = req.url.indexOf('?');
  const path = mark < 0 ? req.url : req.url.slice(0, mark);
  if (!Object.hasOwn(endpoints, path)) {
    return [404, { error: 'unknown path' }];
  }
  try {
    const args = new URLSearchParams(mark < 0 ? '' : req.url.slice(mark + 1));
    return [200, await endpoints[path](args, servedSecs)];
  } catch (err) {
    if (err instanceof BadParameter) {
      return [400, { error: err.message }];
    }
    if (err instanceof UpstreamFailed) {
      return [502, { error: err.message }];
    }
    return [500, { error: `the machine refused: ${err.message}` }];
  }
}

const server = http.createServer(async (req, res) => {
  const start = process.hrtime.bigint();
  served++;
  req.resume();
  const [status, body] = await answer(req, () => Number(process.hrtime.bigint() - start) / 1e9);
  const text = JSON.stringify(body);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'X-Brink-Pid': pid,
    'X-Brink-Served-Ns': String(process.hrtime.bigint() - start),
  };
  if (status === 405) {
    headers.Allow = 'GET, HEAD';
  }
  if (settings.keepAliveSecs === 0) {
    headers.Connection = 'close';
  }
  res.writeHead(status, headers).end(text);
});

server.keepAliveTimeout = settings.keepAliveSecs * 1000;

server.on('error', (err) => {
  stop(1, `cannot listen on ${settings.bind}:${settings.port}: ${err.code ?? err.message}`);
});

server.listen({ host: settings.bind, port: settings.port, backlog: settings.backlog }, () => {
  const { address, port, family } = server.address();
  const host = family === 'IPv6' ? `[${address}]` : address;
  console.error(`Listening at: http://${host}:${port} (${pid})`);
});

if (process.env.BRINK_GAUGE_FILE) {
  tellMemory(process.env.BRINK_GAUGE_FILE);
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  process.once(signal, () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections?.();
  });
}
