import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../bin/local/http.ts';
import { seededRandom } from './random.ts';

/** How often each fault occurs: probabilities of 0 to 1, tried in this order; at most one occurs for each request. */
export interface Faults {
  /** the connection breaks before the request reaches the target */
  dropBefore?: number;
  /** the request takes effect, its answer is lost */
  dropAfter?: number;
  /** the request is held back for `delayMs`, then forwarded */
  delay?: number;
  /** the request takes effect twice, the second answer is sent */
  duplicate?: number;
  /** the connection breaks, and the request takes effect `delayMs` later, perhaps after it has been sent again */
  late?: number;
}

export type Fault = keyof Faults;

export interface FaultyProxy {
  endpoint: string;
  /** may be changed at any time */
  faults: Faults;
  /** faults for the next requests, one each, instead of random ones */
  next: (Fault | 'none')[];
  /** how many requests passed, and how many had each fault */
  counts: Record<Fault | 'requests', number>;
  stop(): Promise<void>;
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const kinds: readonly Fault[] = ['dropBefore', 'dropAfter', 'delay', 'duplicate', 'late'];

/**
 * An HTTP proxy on a loopback port before `target` (an origin such as `http://127.0.0.1:8000`), whose faults are drawn from `seed`.
 * @param delayMs - how long a delayed request is held back, 200 by default
 */
export async function startFaultyProxy(target: string, faults: Faults, seed = 1, delayMs = 200): Promise<FaultyProxy> {
  const random = seededRandom(seed);
  const agent = new Agent({ keepAlive: true });
  const counts = { requests: 0, dropBefore: 0, dropAfter: 0, delay: 0, duplicate: 0, late: 0 };

  function draw(): Fault | 'none' {
    const scripted = proxy.next.shift();
    if (scripted) return scripted;
    let left = random();
    for (const kind of kinds) {
      left -= proxy.faults[kind] ?? 0;
      if (left < 0) return kind;
    }
    return 'none';
  }

  const forward = (method: string, path: string, headers: IncomingHttpHeaders, body: Buffer) =>
    new Promise<Answer>((resolve, reject) => {
      const outgoing = send(new URL(path, target), { method, headers, agent }, async (incoming) => {
        try {
          resolve({ status: incoming.statusCode ?? 502, headers: incoming.headers, body: await buffer(incoming) });
        } catch (error) {
          reject(error);
        }
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });

  async function pass(incoming: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { method = 'GET', url = '/', headers } = incoming;
    counts.requests++;
    const fault = draw();
    if (fault !== 'none') counts[fault]++;
    try {
      const body = await buffer(incoming);
      if (fault === 'dropBefore') return incoming.socket.destroy();
      if (fault === 'late') incoming.socket.destroy();
      if (fault === 'delay' || fault === 'late') await new Promise((resolve) => setTimeout(resolve, delayMs));
      if (fault === 'duplicate') await forward(method, url, headers, body);
      const answer = await forward(method, url, headers, body);
      if (fault === 'dropAfter' || fault === 'late') return incoming.socket.destroy();
      return response.writeHead(answer.status, answer.headers).end(answer.body);
    } catch {
      return incoming.socket.destroy();
    }
  }

  const passing = new Set<Promise<unknown>>();
  const server = createServer((incoming, response) => {
    const passed = pass(incoming, response).finally(() => passing.delete(passed));
    passing.add(passed);
  });
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    // what is held back still reaches the target, which may be stopped next
    await Promise.all(passing);
    agent.destroy();
  };
  const proxy: FaultyProxy = { endpoint, faults, next: [], counts, stop };
  return proxy;
}
