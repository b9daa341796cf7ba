import { type Exchange, type ExchangeOptions, openHttp } from '../../client/http.ts';
import { issuePath, readPat } from '../../client/pats.ts';
import { fetchPolicyInWords, requirePolicyOf } from '../../client/policy.ts';
import { readAnswer } from '../../registry/api.ts';
import { CliFailure } from '../../registry/failure.ts';
import { type FullIntent, fullIntent, intentPage } from '../../schemas/intent.ts';
import { keyPatClaims, type RateLimit } from '../../schemas/pat.ts';
import { exhaust, expectStatus, findProhibited, parseClaims, readError, signPolicy, tamper } from '../probes.ts';

export interface Step {
  title: string;
  answer: Exchange;
  outcome: string[];
}

const question = 'plan a video call with colleagues in other time zones';
const wanted = 'world.example:convert-time:v2';
const meeting = { local_time: '2027-03-30T09:30', from_time_zone: 'Europe/Zurich', to_time_zones: ['Asia/Tokyo', 'America/New_York'] };

const failure = (message: string) => new CliFailure('failure', message);

/** Whether few calls can reach a limit before its period ends. */
const isShowable = ({ rate, period }: RateLimit): boolean => rate <= 300 && period >= 30;

const preview = (body: unknown): string =>
  JSON.stringify(body, (_, value) => (typeof value === 'string' && value.length > 64 ? `${value.slice(0, 12).trimEnd()}...` : value));

/**
 * Acts as an agent that uses the gate for the first time.
 * @param url - address of a gate with the demo intents, without a trailing slash
 * @throws CliFailure or IntentGateError if the gate misbehaves
 */
export async function* play(url: string): AsyncGenerator<Step, void, undefined> {
  const http = openHttp({ url });

  async function call(method: string, path: string, options: ExchangeOptions = {}): Promise<Exchange> {
    const exchange = await http.exchange(method, path, options);
    const body = options.body === undefined ? '' : ` ${preview(options.body)}`;
    return { ...exchange, request: decodeURIComponent(exchange.request) + body };
  }
  const execute = (intent_uid: string, parameters: object, bearer: string) =>
    call('POST', '/api/intents/execute', { bearer, body: { intent_uid, parameters } });

  const found = expectStatus(await call('GET', '/api/intents/search', { query: { query: question } }), 200);
  const { intents, pagination } = readAnswer(intentPage, found);
  if (!intents.some(({ intent_uid }) => intent_uid === wanted))
    throw failure(`The search did not find ${wanted}. Make sure that this gate has the demo intents, which "npm start" registers.`);
  const best = intents.slice(0, 3).map(({ intent_name, intent_uid }) => `- ${intent_name} (${intent_uid})`);
  const outcome = [`${pagination.total_results} intents found, best first:`, ...best];
  yield { title: `Search in plain words: "${question}"`, answer: found, outcome };

  const details = expectStatus(await call('GET', `/api/intents/${encodeURIComponent(wanted)}`, { query: { view: 'full' } }), 200);
  yield { title: 'Read the best match', answer: details, outcome: describeOperation(readAnswer(fullIntent, details)) };

  const read = expectStatus(await call('GET', '/api/policy'), 200);
  const { policy, inWords } = await fetchPolicyInWords(http);
  requirePolicyOf(url, policy);
  yield { title: 'Read the policy', answer: read, outcome: inWords };

  const body = await signPolicy(http, 'demo-agent', policy);
  const issued = expectStatus(await call('POST', issuePath, { body }), 200);
  const { text: pat } = readPat(issued, http.now());
  const { data: claims } = keyPatClaims.safeParse(parseClaims(pat));
  if (claims === undefined) throw failure('The PAT lacks claims that the specification requires (section 2.4).');
  const { exp, cnf, scope, lmt } = claims;
  const grant = [
    `The PAT is for ${body.agent_id} and is valid until ${new Date(exp * 1000).toISOString()}.`,
    `It is bound to the key ${cnf.jkt}`,
    `and allows ${scope.join(', ')} (* matches any)${lmt ? `, ${lmt.rate} times in any ${lmt.period} seconds` : ''}.`,
  ];
  yield { title: 'Sign it with a new key and get a Policy Adherence Token (PAT)', answer: issued, outcome: grant };

  const executed = expectStatus(await execute(wanted, meeting, pat), 200);
  yield { title: 'Execute the intent', answer: executed, outcome: describeMeeting(executed.body) };

  const tampered = expectStatus(await execute(wanted, meeting, tamper(pat)), 401);
  yield { title: 'Cheat: raise the limit in the PAT', answer: tampered, outcome: describeRefusal(tampered) };

  const prohibited = findProhibited(policy);
  if (prohibited !== undefined) {
    const denied = expectStatus(await execute(prohibited, {}, pat), 403);
    yield { title: 'Try what the policy prohibits', answer: denied, outcome: describeRefusal(denied) };
  }

  if (lmt !== undefined && isShowable(lmt)) yield await reachLimit(() => execute(wanted, meeting, pat), lmt);
}

const describeOperation = ({ intent_name, service_name, description, input_parameters, endpoint }: FullIntent): string[] => [
  `"${intent_name}", an operation of the service ${service_name} (${endpoint.method} ${endpoint.url}).`,
  description,
  'Parameters:',
  ...input_parameters.map(
    ({ name, type, required, description: meaning }) => `- ${name} (${type}${required ? '' : ', optional'}): ${meaning}`,
  ),
];

interface Conversion {
  conversions: { time_zone: string; local_time: string; weekday: string; zone_name: string }[];
}

const clockOf = (localTime: string) => localTime.slice(11, 16);

const describeMeeting = (body: unknown): string[] => [
  `When it is ${clockOf(meeting.local_time)} in ${meeting.from_time_zone}, it is:`,
  ...(body as Conversion).conversions.map(
    ({ time_zone, local_time, weekday, zone_name }) => `- ${clockOf(local_time)} on ${weekday} in ${time_zone} (${zone_name})`,
  ),
];

function describeRefusal(answer: Exchange): string[] {
  const { code, message } = readError(answer);
  return [`Refused: ${answer.status} ${code}.`, message];
}

async function reachLimit(execute: () => Promise<Exchange>, { rate, period }: RateLimit): Promise<Step> {
  const { admitted, refused } = await exhaust(execute, rate);
  // an earlier step has made one call
  const count = admitted + 1;
  if (refused === undefined || count > rate)
    throw failure(`${count} calls were admitted, although the PAT allows only ${rate} in ${period} seconds.`);
  const seconds = expectStatus(refused, 429).headers.get('retry-after');
  if (seconds === null) throw failure('The rate limit response has no Retry-After header.');
  const summary = `After ${count} calls, the limit of ${rate} in ${period} seconds is used up. Try again in ${seconds} seconds.`;
  return { title: 'Exceed the rate limit', answer: refused, outcome: [summary, ...describeRefusal(refused)] };
}
