/**
 * Loaded into `npm start` by {@link ./crash.ts}: ends the whole process, as `kill -9` does, at a write of its table that is named over HTTP.
 * In the main thread it passes itself on to the thread of the table, in there it watches the requests. Plain JavaScript, as the others there.
 */
import { Server as server } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread, default as threads } from 'node:worker_threads';

const isWrite = (target = '') => /\.(PutItem|UpdateItem|DeleteItem|TransactWriteItems)$/.test(target);

function watchTable() {
  let [writes, at, when] = [0, Number.POSITIVE_INFINITY, ''];
  const end = () => process.kill(process.pid, 'SIGKILL');
  const { emit } = server.prototype;
  server.prototype.emit = function (...event) {
    const [name, request, response] = event;
    if (name !== 'request') return emit.apply(this, event);
    const { 'x-amz-target': target, 'x-crash': order } = request.headers;
    if (order !== undefined) {
      response.end(String(writes));
      [writes, at, when] = [0, Number(order.split(' ')[0]), order.split(' ')[1]];
      return true;
    }
    const isIt = isWrite(target) && ++writes === at;
    // before the write; while it is done; after it, before its answer is sent
    if (isIt && when === 'before') end();
    if (isIt && when === 'after') response.end = end;
    const result = emit.apply(this, event);
    if (isIt && when === 'during') request.once('end', () => setImmediate(end));
    return result;
  };
}

function passOn() {
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(file, options) {
      super(file, String(file).endsWith('table-worker.ts') ? { ...options, execArgv: ['--import', import.meta.url] } : options);
    }
  };
  syncBuiltinESMExports();
}

if (isMainThread) passOn();
else watchTable();
