import { describe, expect, test } from '@jest/globals';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { startAdmins } from './admins.ts';
import { type Answer, refusalOf } from './invoke.ts';
import { intentOf, serviceNamed } from './records.ts';
import { startTable } from './table.ts';

export type Headers = Record<string, string>;

/** The parts that the endpoints of services and intents work with: a real table and a real user pool of their own, in this process. */
export async function startRegistry() {
  const [database, admins] = await Promise.all([startTable(), startAdmins()]);
  const services = openServices(database.table);
  const intents = openIntents(database.table);
  let count = 0;
  return {
    ...database,
    verifyAdmin: admins.verifyAdmin,
    tokenOf: admins.tokenOf,
    machineTokenOf: admins.machineTokenOf,
    services,
    intents,
    /** the headers that an admin sends with a body */
    asAdmin: { Authorization: `Bearer ${admins.adminToken}`, 'Content-Type': 'application/json' },
    userToken: admins.userToken,
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
    stop: async () => {
      await Promise.all([database.stop(), admins.stop()]);
    },
  };
}

export type TestRegistry = Awaited<ReturnType<typeof startRegistry>>;

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
  mediaType: {
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    message: 'Send the body as JSON in UTF-8, with the header Content-Type: application/json.',
    details: {},
  },
  /** @param issues - path and problem of each */
  invalid: (...issues: [path: string, problem: string][]) => ({
    status: 400,
    code: 'INVALID_PARAMETER',
    message: 'The request is not valid. Correct every problem in details.issues, then send it again.',
    details: { issues: issues.map(([path, problem]) => ({ path, problem })) },
  }),
};

/**
 * Defines the tests of an endpoint that only admins may call: everyone else is refused before the body or the table is read.
 * @param call - calls it with these headers, and with an invalid body if it takes one
 */
export function testAdminsAlone({ userToken, operations }: TestRegistry, call: (headers: Headers) => Promise<Answer>): void {
  const challenge = 'Bearer realm="intent-gate"';
  const badToken = 'The admin token is not valid: it must be an unexpired access token of this deployment. Log in again.';
  describe('is for admins only, and refuses', () => {
    test.each<[string, Headers, Answer['headers'], object]>([
      [
        'whoever sends no token',
        {},
        { 'WWW-Authenticate': challenge },
        { status: 401, code: 'UNAUTHORIZED', message: 'Send the header Authorization: Bearer <token>.', details: {} },
      ],
      [
        'a token that is none',
        { Authorization: 'Bearer not.a.token' },
        { 'WWW-Authenticate': `${challenge}, error="invalid_token"` },
        { status: 401, code: 'UNAUTHORIZED', message: badToken, details: {} },
      ],
      [
        'a user who is no admin',
        { Authorization: `Bearer ${userToken}` },
        {},
        {
          status: 403,
          code: 'FORBIDDEN',
          message: 'The token is valid, but does not belong to an admin. Ask to be added to the group admins.',
          details: { reason: 'not_admin' },
        },
      ],
    ])('%s', async (_, headers, expectedHeaders, expected) => {
      operations.length = 0;
      const answer = await call(headers);
      expect(refusalOf(answer)).toEqual(expected);
      expect(answer.headers).toMatchObject(expectedHeaders);
      expect(operations).toEqual([]);
    });
  });
}

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
      ['any tag', () => '*'],
    ])('changes a record for %s', async (_, fieldOf) => {
      const { etag, call } = await make();
      const answer = await call({ 'If-Match': fieldOf(etag) });
      expect(answer.status).toBe(status);
    });

    test.each([
      ['another tag', () => '"stale"'],
      ['a weak tag', (etag: string) => `W/${etag}`],
      ['a tag without quotes', (etag: string) => etag.slice(1, -1)],
    ])('leaves the record for %s', async (_, fieldOf) => {
      const { etag, call, read } = await make();
      const before = await read();
      expect(refusalOf(await call({ 'If-Match': fieldOf(etag) }))).toEqual(refusals.changed);
      expect(await read()).toEqual(before);
    });

    test('refuses the tag of a record that has been changed since', async () => {
      const { etag, call } = await make();
      const answers = await Promise.all([call({ 'If-Match': etag }), call({ 'If-Match': etag })]);
      const [done, refused] = answers.toSorted((one, other) => one.status - other.status);
      expect(done?.status).toBe(status);
      expect([404, 409]).toContain(refused?.status);
    });
  });
}
