import type { IntentInput } from '../../../schemas/intent.ts';
import { describeDemoIntents, describeDemoService } from './intents.ts';

export interface Registration {
  baseUrl: string;
  adminToken: string;
  upstreamUrl: string;
}

/**
 * Registers the demo upstream's service and intents through the public API. Doing it again, also for an upstream that has moved to another
 * address, leads to the same registry.
 * @throws Error in one sentence where the API answers otherwise than expected
 */
export async function registerDemo({ baseUrl, adminToken, upstreamUrl }: Registration): Promise<void> {
  const call = async (method: string, path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }> => {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${adminToken}`, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const answer = (await response.json()) as Record<string, unknown> & { error?: { message?: string } };
    if ([200, 201, 404, 409].includes(response.status)) return { status: response.status, body: answer };
    throw new Error(`The demo could not be registered: ${method} ${path} was answered ${response.status}, ${answer.error?.message}`);
  };
  const intents = describeDemoIntents(upstreamUrl);

  async function saveService(): Promise<string> {
    const service = describeDemoService(upstreamUrl);
    const created = await call('POST', '/api/services', service);
    if (created.status === 201) return String(created.body.service_id);
    const serviceId = await findService(intents);
    await call('PUT', `/api/services/${encodeURIComponent(serviceId)}`, service);
    return serviceId;
  }

  /** The API finds services by their intents only. */
  async function findService(candidates: IntentInput[]): Promise<string> {
    for (const { intent_uid } of candidates) {
      const { status, body } = await call('GET', `/api/intents/${encodeURIComponent(intent_uid)}?view=full`);
      if (status === 200) return String(body.service_id);
    }
    throw new Error('The demo could not be registered: its name is taken by a service that has none of its intents. Delete that service.');
  }

  const serviceId = await saveService();
  for (const intent of intents) {
    const { status } = await call('POST', `/api/services/${encodeURIComponent(serviceId)}/intents`, intent);
    if (status === 409) await call('PUT', `/api/intents/${encodeURIComponent(intent.intent_uid)}`, intent);
  }
}
