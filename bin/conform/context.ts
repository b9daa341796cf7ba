import type { Exchange, ExchangeOptions, Http } from '../../client/http.ts';
import { obtainNamedKey } from '../../client/keys.ts';
import { issuePath, makePatRequest } from '../../client/pats.ts';
import { addressIn } from '../../client/policy.ts';
import type { Policy } from '../../client/types.ts';
import { parseClaims } from '../probes.ts';
import { freshId, type IntentBody, makeIntentBody, makeServiceBody, type ServiceBody } from './bodies.ts';
import { claimsShape, searchShape } from './shapes.ts';

/** Why a check cannot be made here, through no fault of the gate. */
export class Unmet extends Error {
  override readonly name = 'Unmet';
}

type Call = Http['exchange'];

/** What is checked, and by what means. */
export interface Subject {
  http: Http;
  protocol: string;
  adminToken?: string | undefined;
  /** a demo upstream that the gate under test can reach */
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

/** What the checks share: the gate under test, and what was made there for them. */
export interface CheckContext {
  protocol: string;
  call: Call;
  /** with the admin token */
  asAdmin: Call;
  isAdmin: boolean;
  /** the policy as it is served */
  policy(): Promise<Policy>;
  /** the body of a PAT request of a new agent: the policy in force, or `document`, as a compact JWS, and the key as PEM */
  patRequest(document?: unknown): Promise<Record<string, string>>;
  requestPat(body: object): Promise<Exchange>;
  /** a PAT that all checks may use */
  pat(): Promise<string>;
  claims(): Promise<ReturnType<typeof claimsShape.parse>>;
  /** an id that no record has */
  freshId(): string;
  serviceBody(): ServiceBody;
  intentBody(): IntentBody;
  /** the id of a service that exists until the end */
  serviceId(): Promise<string>;
  /** an intent that exists until the end: made for the checks, or found if there is no admin token */
  intent(): Promise<KnownIntent>;
  executable(): Promise<ExecutableIntent>;
  /** has the record that this answer created removed at the end, unless a check does so before */
  remember(saved: Exchange, collection: '/api/services' | '/api/intents'): void;
  /** removes what was made, and names what cannot be removed */
  cleanUp(): Promise<string[]>;
}

/**
 * The id of what was just made.
 * @throws Unmet if there is none, because what needs it cannot be checked
 */
export function idOf({ request, status, body }: Exchange, member: 'service_id' | 'intent_id'): string {
  const id = (body as Record<string, unknown> | undefined)?.[member];
  if (typeof id === 'string') return id;
  throw new Unmet(`needs the ${member} of what was made, but ${request} was answered ${status} without one`);
}

/** Does the work at the first call, and returns its outcome at every call. */
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

export function createContext({ http, protocol, adminToken, upstreamUrl }: Subject): CheckContext {
  const call = http.exchange;
  const asAdmin: Call = (method, path, options: ExchangeOptions = {}) => {
    if (adminToken === undefined) throw new Unmet('needs an admin token');
    return call(method, path, { bearer: adminToken, ...options });
  };
  const made: string[] = [];
  const nameless: string[] = [];
  const remember: CheckContext['remember'] = ({ status, body, request }, collection) => {
    if (status < 200 || status > 299) return;
    const { service_id, intent_id } = (body ?? {}) as Record<string, unknown>;
    const id = collection === '/api/services' ? service_id : intent_id;
    if (typeof id === 'string') made.push(`${collection}/${encodeURIComponent(id)}`);
    else nameless.push(`what ${request} made, whose answer contains no id`);
  };
  const intentBody = () => makeIntentBody(upstreamUrl);

  const requestPat = (body: object) => call('POST', issuePath, { body });
  const policy = once(async () => unmetUnless(await call('GET', '/api/policy'), 200, 'needs the policy') as Policy);
  const patRequest = async (document?: unknown) => {
    const inForce = await policy();
    const terms = { audience: addressIn(inForce, http.url), nowMs: http.now() };
    return makePatRequest(await obtainNamedKey('conformance'), document ?? inForce, terms);
  };
  const pat = once(async () => {
    const token = unmetUnless(await requestPat(await patRequest()), 200, 'needs a PAT')[`${protocol}-pat`];
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
    policy,
    patRequest,
    requestPat,
    pat,
    claims,
    freshId,
    serviceBody: makeServiceBody,
    intentBody,
    serviceId: async () => (await madeService()).id,
    intent: adminToken === undefined ? foundIntent : madeIntent,
    executable: async () => {
      if (upstreamUrl === undefined) throw new Unmet('needs an upstream that the gate can reach');
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
