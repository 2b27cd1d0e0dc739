// What the kernel says, for /diag/proc.
// Formats: proc(5), and Documentation/accounting/psi.rst of the kernel.

import { readFile } from 'node:fs/promises';
import path from 'node:path';

const SELF_FIELDS = {
  vm_size_kb: 'VmSize',
  vm_hwm_kb: 'VmHWM',
  rss_kb: 'VmRSS',
  rss_anon_kb: 'RssAnon',
  rss_file_kb: 'RssFile',
  rss_shmem_kb: 'RssShmem',
  vm_swap_kb: 'VmSwap',
  threads: 'Threads',
  voluntary_ctxt_switches: 'voluntary_ctxt_switches',
  nonvoluntary_ctxt_switches: 'nonvoluntary_ctxt_switches',
};

function number(text) {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text ?? '')) {
    throw new SyntaxError('not a number');
  }
  return Number(text);
}

// name -> first number of each "name[:] number ..." line
function firstNumbers(lines) {
  return Object.fromEntries(
    lines.map((line) => {
      const [name, value] = line.trim().split(/\s+/);
      return [name.replace(/:$/, ''), number(value)];
    }),
  );
}

function pressure(lines) {
  return Object.fromEntries(
    lines.map((line) => {
      const [kind, ...pairs] = line.split(' ');
      return [kind, Object.fromEntries(pairs.map((pair) => pair.split('=')).map(([k, v]) => [k, number(v)]))];
    }),
  );
}

function self(lines) {
  const raw = new Map(lines.map((line) => line.split(/:\s*/, 2)));
  const out = { pid: process.pid };
  for (const [key, name] of Object.entries(SELF_FIELDS)) {
    if (raw.has(name)) {
      out[key] = number(raw.get(name).split(' ')[0]);
    }
  }
  return out;
}

/** All of it; a file that cannot be read is null, its reason under unavailable. */
export async function snapshot() {
  const root = process.env.PROC_ROOT || '/proc';
  const unavailable = {};

  async function read(file, parse) {
    try {
      const text = await readFile(path.join(root, file), 'ascii');
      return parse(text.split('\n').filter((line) => line !== ''));
    } catch (err) {
      unavailable[file] = err instanceof SyntaxError ? 'cannot be parsed' : (err.code ?? String(err));
      return null;
    }
  }

  return {
    meminfo: await read('meminfo', firstNumbers),
    vmstat: await read('vmstat', firstNumbers),
    pressure: {
      memory: await read('pressure/memory', pressure),
      cpu: await read('pressure/cpu', pressure),
      io: await read('pressure/io', pressure),
    },
    self: await read('self/status', self),
    unavailable,
  };
}
