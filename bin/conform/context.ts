import { type Agent, createAgent } from '../demo/agent.ts';
import { freshId, type IntentBody, makeIntentBody, makeServiceBody, type ServiceBody } from './bodies.ts';
import { claimsShape, searchShape } from './shapes.ts';
import { type Call, type Exchange, openTarget, type RequestOptions } from './target.ts';

/** Why a check cannot be made here: not a fault of what it checks. */
export class Unmet extends Error {
  override readonly name = 'Unmet';
}

export interface Settings {
  url: string;
  protocol: string;
  adminToken?: string | undefined;
  /** a demo upstream that the service under test can reach */
  upstreamUrl?: string | undefined;
}

/** An intent that exists while the checks run. */
export interface KnownIntent {
  intent_uid: string;
  service_name: string;
}

/** An intent that the checks may execute, and parameters that it accepts. */
export interface ExecutableIntent {
  intent_uid: string;
  parameters: Record<string, unknown>;
  outputs: string[];
}

/** What the checks share: the service under test, an agent, and what was made there for them. */
export interface Context {
  protocol: string;
  call: Call;
  /** with the admin token */
  asAdmin: Call;
  isAdmin: boolean;
  agent(): Promise<Agent>;
  /** the policy as it is served */
  policy(): Promise<unknown>;
  requestPat(body: object): Promise<Exchange>;
  /** a PAT for the agent */
  pat(): Promise<string>;
  claims(): Promise<ReturnType<typeof claimsShape.parse>>;
  /** an id that no record has */
  freshId(): string;
  serviceBody(): ServiceBody;
  intentBody(): IntentBody;
  /** the id of a service that stands until the end */
  serviceId(): Promise<string>;
  /** an intent that stands until the end: made for the checks, or found where there is no admin token */
  intent(): Promise<KnownIntent>;
  executable(): Promise<ExecutableIntent>;
  /** has what was made with this answer removed at the end, unless a check does so before */
  remember(saved: Exchange, collection: '/api/services' | '/api/intents'): void;
  /** removes what was made, and names what cannot be removed */
  cleanUp(): Promise<string[]>;
}

/**
 * The id of what was just made.
 * @throws Unmet where there is none: what was to be checked with it cannot be
 */
export function idOf({ request, status, body }: Exchange, member: 'service_id' | 'intent_id'): string {
  const id = (body as Record<string, unknown> | undefined)?.[member];
  if (typeof id === 'string') return id;
  throw new Unmet(`needs the ${member} of what was made, but ${request} was answered ${status} without one`);
}

/** Does the work at the first call and hands out what came of it afterwards. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}

const unmetUnless = (exchange: Exchange, status: number, purpose: string): Record<string, unknown> => {
  if (exchange.status === status) return exchange.body as Record<string, unknown>;
  throw new Unmet(`${purpose}, but ${exchange.request} was answered ${exchange.status}`);
};

export function createContext({ url, protocol, adminToken, upstreamUrl }: Settings): Context {
  const call = openTarget(url);
  const asAdmin: Call = (method, path, options: RequestOptions = {}) => {
    if (adminToken === undefined) throw new Unmet('needs an admin token');
    return call(method, path, { bearer: adminToken, ...options });
  };
  const made: string[] = [];
  const nameless: string[] = [];
  const remember: Context['remember'] = ({ status, body, request }, collection) => {
    if (status < 200 || status > 299) return;
    const { service_id, intent_id } = (body ?? {}) as Record<string, unknown>;
    const id = collection === '/api/services' ? service_id : intent_id;
    if (typeof id === 'string') made.push(`${collection}/${encodeURIComponent(id)}`);
    else nameless.push(`what ${request} made, whose answer holds no id`);
  };
  const intentBody = () => makeIntentBody(upstreamUrl);

  const agent = once(createAgent);
  const requestPat = (body: object) => call('POST', '/api/pat/issue', { body });
  const policy = once(async () => unmetUnless(await call('GET', '/api/policy'), 200, 'needs the policy'));
  const pat = once(async () => {
    const { id, publicKeyPem, sign } = await agent();
    const issued = await requestPat({ agent_id: id, signed_policy: await sign(await policy()), agent_public_key: publicKeyPem });
    const token = unmetUnless(issued, 200, 'needs a PAT')[`${protocol}-pat`];
    if (typeof token !== 'string') throw new Unmet('needs a PAT, which the answer to the PAT request does not hold');
    return token;
  });
  const claims = once(async () => {
    const { data } = claimsShape.safeParse(parseClaims(await pat()));
    if (data === undefined) throw new Unmet('needs a PAT with the claims of section 2.4');
    return data;
  });

  const madeService = once(async () => {
    const body = makeServiceBody();
    const answer = await asAdmin('POST', '/api/services', { body });
    remember(answer, '/api/services');
    unmetUnless(answer, 201, 'needs a service');
    return { id: idOf(answer, 'service_id'), name: body.service_name };
  });
  const madeIntent = once(async () => {
    const { id, name } = await madeService();
    const body = intentBody();
    const path = `/api/services/${encodeURIComponent(id)}/intents`;
    const answer = await asAdmin('POST', path, { body });
    remember(answer, '/api/intents');
    unmetUnless(answer, 201, 'needs an intent');
    return { intent_uid: body.intent_uid, service_name: name };
  });
  const foundIntent = once(async () => {
    const found = await call('GET', '/api/intents/search?page_size=1');
    const first = searchShape.safeParse(found.body).data?.intents[0];
    if (first === undefined) throw new Unmet('needs an intent, and the search finds none');
    return first;
  });

  return {
    protocol,
    call,
    asAdmin,
    isAdmin: adminToken !== undefined,
    agent,
    policy,
    requestPat,
    pat,
    claims,
    freshId,
    serviceBody: makeServiceBody,
    intentBody,
    serviceId: async () => (await madeService()).id,
    intent: adminToken === undefined ? foundIntent : madeIntent,
    executable: async () => {
      if (upstreamUrl === undefined) throw new Unmet('needs an upstream that the service can reach');
      const { intent_uid } = await madeIntent();
      return { intent_uid, parameters: { text: 'three little words' }, outputs: ['words'] };
    },
    remember,
    cleanUp: async () => {
      const left = [...nameless];
      for (const path of made.toReversed()) {
        const removed = await call('DELETE', path, { bearer: adminToken }).catch(() => undefined);
        if (removed === undefined || (removed.status > 299 && removed.status !== 404)) left.push(path);
      }
      return left;
    },
  };
}

/** The claims of a PAT, or nothing where it is not of the form of a JWT. */
export function parseClaims(pat: string): unknown {
  try {
    return JSON.parse(Buffer.from(pat.split('.')[1] ?? '', 'base64url').toString());
  } catch {
    return undefined;
  }
}
