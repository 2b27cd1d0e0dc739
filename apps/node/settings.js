// What the environment says, checked once.

function whole(name, fallback, low, high) {
  const text = process.env[name] ?? String(fallback);
  if (!/^[0-9]{1,9}$/.test(text) || Number(text) < low || Number(text) > high) {
    const unit = name === 'ALLOC_MB' ? ' of megabytes' : '';
    throw new RangeError(`${name} must be a whole number${unit} from ${low} to ${high}, not "${text}"`);
  }
  return Number(text);
}

/** Throws a RangeError whose message is one sentence. */
export function readSettings() {
  return {
    port: whole('PORT', 8000, 0, 65535),
    bind: process.env.BIND || '127.0.0.1',
    backlog: whole('BACKLOG', 511, 1, 65535),
    keepAliveSecs: whole('KEEP_ALIVE', 5, 0, 3600),
    allocMB: whole('ALLOC_MB', 0, 0, 4096),
  };
}
