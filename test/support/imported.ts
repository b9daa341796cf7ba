import { openValidators } from '../../functions/core/parameters/validators.ts';
import { buildRequest } from '../../functions/core/relay/build-request.ts';
import { expectedInputs, nullRules } from '../../functions/core/relay/endpoint.ts';
import type { ImportPlan } from '../../registry/import/plan.ts';
import { planImport } from '../../registry/import/plan-import.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import { callOf, callUpstream, openLocalRelay } from './call-upstream.ts';
import { type SeenRequest, startUpstream } from './upstream.ts';

/** An upstream that records what imported intents send, as a deployment executes them. */
export async function startRecording() {
  const upstream = await startUpstream((_, response) => response.writeHead(204).end());
  const relay = openLocalRelay();
  const origin = `http://127.0.0.1:${upstream.port}`;
  return {
    origin,
    plan: (document: unknown, baseUrl?: string): ImportPlan =>
      planImport(document, {
        ...{ rules: { ports: [443], allowLoopback: true, ownHosts: [] }, registryUrl: 'https://gate.example', namespace: 'case.example' },
        ...(baseUrl !== undefined && { baseUrl }),
      }),
    /** @throws ApiError if the gate refuses the parameters */
    async execute(intent: IntentInput, parameters: Record<string, unknown>, headers?: Record<string, string>): Promise<SeenRequest> {
      const values = openValidators(nullRules, expectedInputs)({ ...intent, rev: 1 }, parameters);
      const request = buildRequest({ ...intent }, values);
      const service = { service_id: 'case', service_url: origin, ...(headers && { headers }) };
      await callUpstream(relay, callOf(request.url, { request, service, intentUid: intent.intent_uid }));
      const seen = upstream.seen.at(-1);
      if (seen === undefined) throw new Error('nothing was called');
      return seen;
    },
    async stop(): Promise<void> {
      relay.close();
      await upstream.stop();
    },
  };
}

export type Recording = Awaited<ReturnType<typeof startRecording>>;
