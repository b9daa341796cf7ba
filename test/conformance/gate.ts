import { randomBytes } from 'node:crypto';
import { parseClaims, signPolicy } from '../../bin/probes.ts';
import type { Exchange, ExchangeOptions, Http } from '../../client/http.ts';
import { issuePath } from '../../client/pats.ts';
import type { Policy } from '../../client/types.ts';
import { memoize } from '../../registry/memoize.ts';
import { intentPath, servicePath } from '../../registry/read.ts';
import { claimsShape, searchShape } from './shapes.ts';

/** A check cannot be run here, through no fault of the gate. */
export class Unmet extends Error {
  override readonly name = 'Unmet';
}

export interface Subject {
  http: Http;
  protocol: string;
  adminToken?: string | undefined;
  /** a demo upstream that the gate can reach */
  upstreamUrl?: string | undefined;
}

type Body = Record<string, unknown>;

export const freshId = (): string => `conformance-${randomBytes(6).toString('hex')}`;

export const freshUid = (): string => `conformance.example:${freshId()}:v1`;

export const intentsPath = (serviceId: string): string => `${servicePath(serviceId)}/intents`;

export const makeServiceBody = () => ({
  service_name: `Conformance check ${freshId()}`,
  service_url: 'https://service.example',
  description: 'Created by a conformance check, which deletes it at the end.',
});

export const without = (body: Body, member: string): Body => Object.fromEntries(Object.entries(body).filter(([name]) => name !== member));

/**
 * The id in the response to a creation.
 * @throws Unmet if there is none, because the checks that need it cannot be run
 */
export function idOf({ request, status, body }: Exchange, member: 'service_id' | 'intent_id'): string {
  const id = (body as Body | undefined)?.[member];
  if (typeof id === 'string') return id;
  throw new Unmet(`needs the ${member} of the new record, but ${request} was answered with ${status} without one`);
}

function require(answer: Exchange, status: number, purpose: string): Body {
  if (answer.status === status) return answer.body as Body;
  throw new Unmet(`${purpose}, but ${answer.request} was answered with ${answer.status}`);
}

export type Gate = ReturnType<typeof openGate>;

/** Opens the gate under test; tracks the records that checks create there. */
export function openGate({ http, protocol, adminToken, upstreamUrl }: Subject) {
  const made: string[] = [];
  const nameless: string[] = [];

  /** Sends a request. Records that it creates are removed at the end, unless a check removes them first. */
  async function call(method: string, path: string, options: ExchangeOptions = {}): Promise<Exchange> {
    const answer = await http.exchange(method, path, options);
    const { status, body, request } = answer;
    if (method !== 'POST' || !path.startsWith('/api/services') || status < 200 || status > 299) return answer;
    const { service_id, intent_id } = (body ?? {}) as Body;
    const [id, toPath] = path === '/api/services' ? [service_id, servicePath] : [intent_id, intentPath];
    if (typeof id === 'string') made.push(toPath(id));
    else nameless.push(`the record created by ${request}, whose response contains no id`);
    return answer;
  }
  async function asAdmin(method: string, path: string, options: ExchangeOptions = {}): Promise<Exchange> {
    if (adminToken === undefined) throw new Unmet('needs an admin token');
    return call(method, path, { bearer: adminToken, ...options });
  }
  const register = (body: Body = makeServiceBody()) => asAdmin('POST', '/api/services', { body });
  /** Creates an intent, by default in a service shared by all checks. */
  const create = async (body: Body, serviceId?: string): Promise<Exchange> =>
    asAdmin('POST', intentsPath(serviceId ?? (await service()).id), { body });
  /** The body of a new intent that the demo upstream can serve. */
  const intentBody = () => ({
    intent_uid: freshUid(),
    intent_name: 'Count the words of a text',
    description: 'Created by a conformance check, which deletes it at the end.',
    input_parameters: [{ name: 'text', type: 'string', required: true, description: 'The text' }],
    output_parameters: [{ name: 'words', type: 'integer', required: true, description: 'How many words it has' }],
    endpoint: `${upstreamUrl ?? 'https://service.example'}/texts/count`,
    tags: ['conformance'],
  });

  const policy = memoize(async () => require(await call('GET', '/api/policy'), 200, 'needs the policy') as unknown as Policy);
  /** The body of a new agent's PAT request: the policy in force, or `document`, as a compact JWS, and the key as PEM. */
  const patRequest = async (document?: unknown): Promise<Record<string, string>> =>
    signPolicy(http, 'conformance', await policy(), document);
  const requestPat = (body: object) => call('POST', issuePath, { body });
  /** A PAT shared by all checks. */
  const pat = memoize(async () => {
    const token = require(await requestPat(await patRequest()), 200, 'needs a PAT')[`${protocol}-pat`];
    if (typeof token !== 'string') throw new Unmet('needs a PAT, but the response to the PAT request has none');
    return token;
  });
  const claims = memoize(async () => {
    const { data } = claimsShape.safeParse(parseClaims(await pat()));
    if (data === undefined) throw new Unmet('needs a PAT with the claims of section 2.4');
    return data;
  });

  const service = memoize(async () => {
    const body = makeServiceBody();
    const saved = await register(body);
    require(saved, 201, 'needs a service');
    return { id: idOf(saved, 'service_id'), name: body.service_name };
  });
  const madeIntent = memoize(async () => {
    const { name } = await service();
    const body = intentBody();
    require(await create(body), 201, 'needs an intent');
    return { intent_uid: body.intent_uid, service_name: name };
  });
  const foundIntent = memoize(async () => {
    const found = await call('GET', '/api/intents/search?page_size=1');
    const first = searchShape.safeParse(found.body).data?.intents[0];
    if (first === undefined) throw new Unmet('needs an intent, but the search finds none');
    return first;
  });

  return {
    protocol,
    call,
    asAdmin,
    isAdmin: adminToken !== undefined,
    policy,
    patRequest,
    requestPat,
    pat,
    claims,
    intentBody,
    register,
    create,
    /** An intent that lasts for all checks: created, or found if there is no admin token. */
    intent: async (): Promise<{ intent_uid: string; service_name: string }> => (adminToken === undefined ? foundIntent() : madeIntent()),
    /** An intent that checks may execute, with valid parameters. */
    executable: async () => {
      if (upstreamUrl === undefined) throw new Unmet('needs an upstream that the gate can reach');
      const { intent_uid } = await madeIntent();
      return { intent_uid, parameters: { text: 'three little words' }, outputs: ['words'] };
    },
    /** Removes created records, and returns those that it could not remove. */
    cleanUp: async (): Promise<string[]> => {
      const left = [...nameless];
      for (const path of made.toReversed()) {
        const removed = await call('DELETE', path, { bearer: adminToken }).catch(() => undefined);
        if (removed === undefined || (removed.status > 299 && removed.status !== 404)) left.push(path);
      }
      return left;
    },
  };
}
