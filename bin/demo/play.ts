import { type Exchange, type ExchangeOptions, openHttp } from '../../client/http.ts';
import { issuePath, readPat } from '../../client/pats.ts';
import { fetchPolicyInWords, requirePolicyOf } from '../../client/policy.ts';
import { type FullIntent, fullIntent, intentPage } from '../../schemas/intent.ts';
import { keyPatClaims, type RateLimit } from '../../schemas/pat.ts';
import { CliFailure } from '../cli/failure.ts';
import { exhaust, expectStatus, findProhibited, parseClaims, readAnswer, readError, signPolicy, tamper } from '../probes.ts';

/** One step of the demo as it is shown. */
export interface Step {
  title: string;
  answer: Exchange;
  /** the outcome, in words: the first line is the gist */
  outcome: string[];
}

const question = 'plan a video call with colleagues in other time zones';
const wanted = 'world.example:convert-time:v2';
const meeting = { local_time: '2027-03-30T09:30', from_time_zone: 'Europe/Zurich', to_time_zones: ['Asia/Tokyo', 'America/New_York'] };

const failure = (message: string) => new CliFailure('failure', message);

/** A higher limit would take too many calls to demonstrate, and a shorter period would be over before the demonstration ends. */
const isShowable = ({ rate, period }: RateLimit): boolean => rate <= 300 && period >= 30;

/** A body on one line, with keys and tokens abbreviated. */
const preview = (body: unknown): string =>
  JSON.stringify(body, (_, value) => (typeof value === 'string' && value.length > 64 ? `${value.slice(0, 12).trimEnd()}...` : value));

/**
 * Plays an agent that meets the gate for the first time: it finds an intent, accepts the policy, gets a PAT and uses it; then it tries
 * what it may not do. Yields each step as it is done.
 * @param url - of a running gate with the demo intents, without a trailing slash
 * @throws CliFailure or IntentGateError if the gate does not do what it should
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
    throw failure(`The search did not find ${wanted}. Does this gate have the demo intents? "npm start" registers them.`);
  const best = intents.slice(0, 3).map(({ intent_name, intent_uid }) => `- ${intent_name} (${intent_uid})`);
  const outcome = [`${pagination.total_results} intents may help, the best first:`, ...best];
  yield { title: `Search in plain words: "${question}"`, answer: found, outcome };

  const details = expectStatus(await call('GET', `/api/intents/${encodeURIComponent(wanted)}`, { query: { view: 'full' } }), 200);
  yield { title: 'Look at the best one', answer: details, outcome: describeOperation(readAnswer(fullIntent, details)) };

  const read = expectStatus(await call('GET', '/api/policy'), 200);
  const { policy, inWords } = await fetchPolicyInWords(http);
  requirePolicyOf(url, policy);
  yield { title: 'Read the policy', answer: read, outcome: inWords };

  const body = await signPolicy(http, 'demo-agent', policy);
  const issued = expectStatus(await call('POST', issuePath, { body }), 200);
  const { text: pat } = readPat(issued, http.now());
  const { data: claims } = keyPatClaims.safeParse(parseClaims(pat));
  if (claims === undefined) throw failure('The PAT does not carry the claims of the specification (section 2.4).');
  const { exp, cnf, scope, lmt } = claims;
  const grant = [
    `The PAT is for ${body.agent_id} and is valid until ${new Date(exp * 1000).toISOString()}.`,
    `It is bound to the key ${cnf.jkt}`,
    `and allows ${scope.join(', ')} (* stands for any)${lmt ? `, ${lmt.rate} times in any ${lmt.period} seconds` : ''}.`,
  ];
  yield { title: 'Sign it with a new key, and get a Policy Adherence Token (PAT)', answer: issued, outcome: grant };

  const executed = expectStatus(await execute(wanted, meeting, pat), 200);
  yield { title: 'Run the intent', answer: executed, outcome: describeMeeting(executed.body) };

  const tampered = expectStatus(await execute(wanted, meeting, tamper(pat)), 401);
  yield { title: 'Cheat: write a higher limit into the PAT', answer: tampered, outcome: describeRefusal(tampered) };

  const prohibited = findProhibited(policy);
  if (prohibited !== undefined) {
    const denied = expectStatus(await execute(prohibited, {}, pat), 403);
    yield { title: 'Ask for what the policy prohibits', answer: denied, outcome: describeRefusal(denied) };
  }

  if (lmt !== undefined && isShowable(lmt)) yield await reachLimit(() => execute(wanted, meeting, pat), lmt);
}

const describeOperation = ({ intent_name, service_name, description, input_parameters, endpoint }: FullIntent): string[] => [
  `"${intent_name}", an operation of the service ${service_name} (${endpoint.method} ${endpoint.url}).`,
  description,
  'It takes:',
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

/** Calls until the rate limit refuses. */
async function reachLimit(execute: () => Promise<Exchange>, { rate, period }: RateLimit): Promise<Step> {
  const { admitted, refused } = await exhaust(execute, rate);
  // the call in an earlier step counts as well
  const count = admitted + 1;
  if (refused === undefined || count > rate)
    throw failure(`${count} calls were answered, although the PAT allows ${rate} in ${period} seconds.`);
  const seconds = expectStatus(refused, 429).headers.get('retry-after');
  if (seconds === null) throw failure('The refusal over the rate limit does not say when to come back: it has no Retry-After.');
  const gist = `After ${count} calls the limit of ${rate} in ${period} seconds is used up. Come back in ${seconds} seconds.`;
  return { title: 'Call without pause', answer: refused, outcome: [gist, ...describeRefusal(refused)] };
}
