import { describe, expect, test } from '@jest/globals';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { type Answer, refusalOf } from './invoke.ts';
import { loadPolicyTemplate, openPolicy } from './policy.ts';
import { intentOf, serviceNamed } from './records.ts';
import { startTable } from './table.ts';

export type Headers = Record<string, string>;

/** The parts that the endpoints of services and intents work with, over a real table of their own. */
export async function startRegistry() {
  const database = await startTable();
  const services = openServices(database.table);
  const intents = openIntents(database.table);
  let count = 0;
  return {
    ...database,
    services,
    intents,
    findPolicy: openPolicy(loadPolicyTemplate()),
    /** registers a service under a unique name */
    createService: async (more: Partial<ReturnType<typeof serviceNamed>> = {}) =>
      services.create({ ...serviceNamed(`Service ${++count}`), ...more }),
    /** registers a service and an intent of it under a unique uid */
    createIntent: async (more: Parameters<typeof intentOf>[1] = {}) => {
      const service = await services.create(serviceNamed(`Service ${++count}`));
      const uid = `test.example:intent-${count}:v1`;
      const intent = await intents.create(service.service_id, intentOf(uid, more));
      if (!intent) throw new Error('the intent was not created');
      return { service, intent, uid };
    },
  };
}

/** Ids that no service has. */
export const unknownServiceIds = ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'no-ulid', '../x', ''];

/** Uids that no intent has. */
export const unknownIntentUids = ['test.example:nothing:v1', 'a.b:c:v1.0'];

/** The addresses at which intents of a deployment may be called. */
export const egress = { ports: [443], allowLoopback: false, ownHosts: [] };

/** Refusals that several endpoints share, in the form of {@link refusalOf}. */
export const refusals = {
  noSuchService: {
    status: 404,
    code: 'NOT_FOUND',
    message: 'No service has this service_id. Register it with POST /api/services, or check the id.',
    details: {},
  },
  noSuchIntent: {
    status: 404,
    code: 'NOT_FOUND',
    message: 'No intent has this intent_uid. Find one with GET /api/intents/search.',
    details: {},
  },
  changed: {
    status: 409,
    code: 'CONFLICT',
    message:
      'The record has changed since you read it. Read it again, apply your change to the current record, and send it with the new ETag.',
    details: { reason: 'etag_mismatch' },
  },
  excluded: {
    status: 409,
    code: 'CONFLICT',
    message: 'Nothing was changed: the record exists, and If-None-Match excludes it. Leave this header out to change the record.',
    details: { reason: 'etag_mismatch' },
  },
  boundAgentId: {
    status: 403,
    code: 'POLICY_REJECTED',
    message: 'The agent_id belongs to another key. Sign with that key, or choose another agent_id.',
    details: { reason: 'agent_id_bound' },
  },
  mediaType: {
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'Send the body as JSON in UTF-8, with the header Content-Type: application/json.',
    details: {},
  },
  /** @param issues - path and problem of each */
  invalid: (...issues: [path: string, problem: unknown][]) => ({
    status: 400,
    code: 'INVALID_PARAMETER',
    message: 'The request is not valid. Correct every problem in details.issues, then send it again.',
    details: { issues: issues.map(([path, problem]) => ({ path, problem })) },
  }),
};

/** A record for an endpoint to change. */
export interface Guarded {
  etag: string;
  call(headers: Headers): Promise<Answer>;
  /** the current record */
  read(): Promise<unknown>;
}

/**
 * Defines the tests of `If-Match` (RFC 9110 section 13.1.1) of an endpoint that changes a record.
 * @param status - of its success
 * @param make - makes a record
 */
export function testIfMatch(status: number, make: () => Promise<Guarded>): void {
  describe('with If-Match', () => {
    test.each([
      ['the tag of the record', (etag: string) => etag],
      ['that tag among others', (etag: string) => `"other", ${etag}`],
      ['that tag without quotes', (etag: string) => etag.slice(1, -1)],
      ['any tag', () => '*'],
    ])('changes a record for %s', async (_, fieldOf) => {
      const { etag, call } = await make();
      const answer = await call({ 'If-Match': fieldOf(etag) });
      expect(answer.status).toBe(status);
    });

    const wrongForm = refusals.invalid(['', 'the header If-Match must be an ETag as it was read, in quotation marks and without W/']);
    test.each([
      ['another tag', () => '"stale"', refusals.changed],
      ['a weak tag', (etag: string) => `W/${etag}`, wrongForm],
      ['no tag', () => ' ', wrongForm],
    ])('leaves the record for %s', async (_, fieldOf, refusal) => {
      const { etag, call, read } = await make();
      const before = await read();
      expect(refusalOf(await call({ 'If-Match': fieldOf(etag) }))).toEqual(refusal);
      expect(await read()).toEqual(before);
    });

    test('refuses the tag of a record that has been changed since', async () => {
      const { etag, call } = await make();
      const answers = await Promise.all([call({ 'If-Match': etag }), call({ 'If-Match': etag })]);
      const [done, refused] = answers.toSorted((one, other) => one.status - other.status);
      expect(done?.status).toBe(status);
      expect([404, 409]).toContain(refused?.status);
    });

    test.each([
      ['any tag', () => '*'],
      ['its weak tag', (etag: string) => `"other", W/${etag}`],
    ])('leaves a record that If-None-Match excludes by %s', async (_, fieldOf) => {
      const { etag, call, read } = await make();
      const before = await read();
      expect(refusalOf(await call({ 'If-None-Match': fieldOf(etag) }))).toEqual(refusals.excluded);
      expect(await read()).toEqual(before);
      expect((await call({ 'If-None-Match': '"other"' })).status).toBe(status);
    });
  });
}
