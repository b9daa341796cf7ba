import { demoIntentInputs, demoServiceInput } from './intents.ts';

export interface Registration {
  baseUrl: string;
  adminToken: string;
  upstreamUrl: string;
}

interface Saved {
  service_id?: string;
  error?: { message?: string; details?: { service_id?: string } };
}

/**
 * Registers the demo upstream's service and intents through the public API. Doing it again, also for an upstream that has moved to another
 * address, leads to the same registry.
 * @throws Error in one sentence if the API does not answer as expected
 */
export async function registerDemo({ baseUrl, adminToken, upstreamUrl }: Registration): Promise<void> {
  async function send(method: 'POST' | 'PUT', path: string, body: object): Promise<{ isTaken: boolean; saved: Saved }> {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(30_000),
    });
    const saved = (await response.json()) as Saved;
    const isTaken = method === 'POST' && response.status === 409;
    if (response.ok || isTaken) return { isTaken, saved };
    throw new Error(`The demo could not be registered: ${method} ${path} was answered ${response.status}, ${saved.error?.message}`);
  }

  async function saveService(): Promise<string> {
    const service = demoServiceInput(upstreamUrl);
    const { isTaken, saved } = await send('POST', '/api/services', service);
    const serviceId = isTaken ? saved.error?.details?.service_id : saved.service_id;
    if (serviceId === undefined) throw new Error(`The demo could not be registered: ${saved.error?.message}`);
    if (isTaken) await send('PUT', `/api/services/${serviceId}`, service);
    return serviceId;
  }

  const serviceId = await saveService();
  for (const intent of demoIntentInputs(upstreamUrl)) {
    const { isTaken } = await send('POST', `/api/services/${serviceId}/intents`, intent);
    if (isTaken) await send('PUT', `/api/intents/${encodeURIComponent(intent.intent_uid)}`, intent);
  }
}
