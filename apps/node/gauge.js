// Tells what only the process knows of its memory, where somebody asked for it
// by BRINK_GAUGE_FILE: nobody then has to send it a request.

import fs from 'node:fs';

const EVERY_MS = 1000;
const WIDTH = 119; // so that a shorter line leaves nothing of the one before

export function tellMemory(path) {
  const fd = fs.openSync(path, 'w');
  const tell = () => {
    const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
    const line = [Date.now(), heapUsed, heapTotal, external, arrayBuffers].join(' ');
    fs.writeSync(fd, `${line.padEnd(WIDTH)}\n`, 0);
  };
  tell();
  setInterval(tell, EVERY_MS).unref();
}
