import { segment } from './check.ts';
import type { Context } from './context.ts';
import type { Exchange } from './target.ts';

/** A body with some of its members alone. */
export const pick = (body: Record<string, unknown>, names: string[]) => Object.fromEntries(names.map((name) => [name, body[name]]));

export const intentsOf = (serviceId: unknown): string => `/api/services/${segment(serviceId)}/intents`;

/** Makes a service that is removed at the end. */
export async function register(context: Context, body: Record<string, unknown> = context.serviceBody()): Promise<Exchange> {
  const saved = await context.asAdmin('POST', '/api/services', { body });
  context.remember(saved, '/api/services');
  return saved;
}

/** Makes an intent that is removed at the end, of the service that stands. */
export async function create(context: Context, body: Record<string, unknown> = context.intentBody()): Promise<Exchange> {
  const saved = await context.asAdmin('POST', intentsOf(await context.serviceId()), { body });
  context.remember(saved, '/api/intents');
  return saved;
}
