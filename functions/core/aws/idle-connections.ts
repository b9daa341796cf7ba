import { Agent, type AgentOptions } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';

/*
 * A connection that its peer may have closed is never reused. While a Lambda environment is frozen, it sees no close and runs no timer, so age is
 * checked before each request.
 */

/** Minimum idle timeout of AWS services, in milliseconds. */
const awsIdleMs = 4_000;

/** When each idle connection becomes stale, in milliseconds since the epoch. */
const staleAtMs = new WeakMap<Socket, number>();

/** Allows an idle connection to be reused for this long. */
export const allowIdle = (socket: Socket, idleMs: number): void => void staleAtMs.set(socket, Date.now() + idleMs);

export const isStale = (socket: Socket): boolean => Date.now() >= (staleAtMs.get(socket) ?? 0);

/** @param closed - the agent's key of a host whose idle connections are closed even if they are not stale */
export function closeStale(agent: Agent, closed?: string): void {
  for (const [name, sockets] of Object.entries(agent.freeSockets)) {
    for (const socket of sockets ?? []) if (name === closed || isStale(socket)) socket.destroy();
  }
}

/** Agents that keep connections to AWS services; see {@link closeStale}. */
export function openAwsAgents(options: AgentOptions = {}): { plain: Agent; tls: TlsAgent } {
  const agents = { plain: new Agent({ keepAlive: true, ...options }), tls: new TlsAgent({ keepAlive: true, ...options }) };
  for (const agent of Object.values(agents)) agent.on('free', (socket) => allowIdle(socket, awsIdleMs));
  return agents;
}
