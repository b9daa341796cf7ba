import type { Exchange } from '../../client/http.ts';
import { segment } from './check.ts';
import type { CheckContext } from './context.ts';

/** A body with only some of its members. */
export const pick = (body: Record<string, unknown>, names: string[]) => Object.fromEntries(names.map((name) => [name, body[name]]));

export const intentsOf = (serviceId: unknown): string => `/api/services/${segment(serviceId)}/intents`;

/** Makes a service that is removed at the end. */
export async function register(context: CheckContext, body: Record<string, unknown> = context.serviceBody()): Promise<Exchange> {
  const saved = await context.asAdmin('POST', '/api/services', { body });
  context.remember(saved, '/api/services');
  return saved;
}

/** Makes an intent that is removed at the end, in the service that exists throughout. */
export async function create(context: CheckContext, body: Record<string, unknown> = context.intentBody()): Promise<Exchange> {
  const saved = await context.asAdmin('POST', intentsOf(await context.serviceId()), { body });
  context.remember(saved, '/api/intents');
  return saved;
}
