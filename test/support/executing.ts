import { afterAll } from '@jest/globals';
import type { IntentEndpoint } from '../../schemas/intent.ts';
import type { ServiceInput } from '../../schemas/service.ts';
import { startGate } from './gate.ts';
import { serviceNamed } from './records.ts';
import { startUpstream } from './upstream.ts';

type Answers = Parameters<typeof startUpstream>[0];

const france: Answers = (_, response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"France"}');

/** A gate with a service whose upstream gives these answers, until the tests of the file are over. */
export async function startExecuting(answer = france, more: Partial<ServiceInput> = {}) {
  const [gate, upstream] = await Promise.all([startGate(), startUpstream(answer)]);
  afterAll(() => Promise.all([gate.stop(), upstream.stop()]));
  const { service_id: serviceId } = await gate.services.create({ ...serviceNamed('Executed'), ...more });
  const origin = `http://127.0.0.1:${upstream.port}`;
  /** Where an intent leads. */
  const endpointAt = (path = '/countries', method: IntentEndpoint['method'] = 'POST') => ({
    url: origin + path,
    method,
    content_type: 'application/json',
  });
  return { gate, upstream, serviceId, origin, endpointAt };
}
