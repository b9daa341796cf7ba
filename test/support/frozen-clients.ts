import { keepingClients } from './keeping-clients.ts';

/*
 * Sends a request with each client twice, half a second apart, and reports both times what came of them. The process is frozen in between.
 */
const clients = Object.entries(keepingClients(process.argv[2] ?? ''));
const sendAll = () =>
  Promise.all(clients.map(async ([name, send]) => [name, await send().catch((error: Error) => error.message)] as const));

const report = async () => process.send?.(Object.fromEntries(await sendAll()));
await report();
setTimeout(report, 500);
