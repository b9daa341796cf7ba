import { describePolicy } from '../../functions/core/policy/describe.ts';
import { interpretPolicy } from '../../functions/core/policy/reading.ts';
import { type FullIntent, fullIntent, intentPage } from '../../schemas/intent.ts';
import type { RateLimit } from '../../schemas/pat.ts';
import { type Policy, policy } from '../../schemas/policy.ts';
import { type Agent, createAgent, readClaims, tamper } from './agent.ts';
import { call, DemoFailure, type Exchange, expectStatus, readBody, readError } from './call.ts';

/** One step of the demo as it is shown. */
export interface Step {
  title: string;
  /** the request in one line */
  request: string;
  status: number;
  /** how long the answer took, in milliseconds */
  durationMs: number;
  /** what came of it, in words: the first line is the gist */
  outcome: string[];
  body: unknown;
}

const question = 'plan a video call with colleagues in other time zones';
const wanted = 'world.example:convert-time:v2';
const meeting = { local_time: '2027-03-30T09:30', from_time_zone: 'Europe/Zurich', to_time_zones: ['Asia/Tokyo', 'America/New_York'] };

/** A limit of more calls would take an attack to show, and one of a shorter period would pass while it is shown. */
const isShowable = ({ rate, period }: RateLimit): boolean => rate <= 300 && period >= 30;

const step = (title: string, { request, status, durationMs, body }: Exchange, outcome: string[]): Step => ({
  title,
  request,
  status,
  durationMs,
  outcome,
  body,
});

/**
 * Plays an agent that meets the service for the first time: it finds an intent, accepts the policy, gets a PAT and uses it; then it tries
 * what it may not do. Yields each step as it is done.
 * @param baseUrl - of a running service with the demo intents, without a trailing slash
 * @throws DemoFailure where the service does not do what it should
 */
export async function* play(baseUrl: string): AsyncGenerator<Step, void, undefined> {
  const execute = (intentUid: string, parameters: object, bearer: string) =>
    call('POST', `${baseUrl}/api/intents/execute`, { bearer, body: { intent_uid: intentUid, parameters } });

  yield await search(baseUrl);

  const details = expectStatus(await call('GET', `${baseUrl}/api/intents/${encodeURIComponent(wanted)}?view=full`), 200);
  yield step('Look at the best one', details, describeOperation(readBody(fullIntent, details)));

  const read = expectStatus(await call('GET', `${baseUrl}/api/policy`), 200);
  const terms = readBody(policy, read);
  yield step('Read the policy', read, describePolicy(terms, addressOf(terms, baseUrl)));

  const agent = await createAgent();
  const issued = await requestPat(baseUrl, agent, read.body);
  const pat = patOf(issued);
  const claims = readClaims(pat);
  yield step('Sign it with a new key, and get a Policy Adherence Token (PAT)', issued, [
    `The PAT is for ${agent.id} and holds until ${new Date(claims.exp * 1000).toISOString()}.`,
    `It is bound to the key ${agent.thumbprint}`,
    `and allows ${claims.scope.join(', ')} (* stands for any)${claims.lmt ? `, ${claims.lmt.rate} times in any ${claims.lmt.period} seconds` : ''}.`,
  ]);

  const executed = expectStatus(await execute(wanted, meeting, pat), 200);
  yield step('Run the intent', executed, describeMeeting(executed.body));

  const tampered = expectStatus(await execute(wanted, meeting, tamper(pat)), 401);
  yield step('Cheat: write a higher limit into the PAT', tampered, refusal(tampered));

  const prohibited = prohibitedIntent(terms, baseUrl);
  if (prohibited !== undefined) {
    const denied = expectStatus(await execute(prohibited, {}, pat), 403);
    yield step('Ask for what the policy prohibits', denied, refusal(denied));
  }

  if (claims.lmt !== undefined && isShowable(claims.lmt)) yield await exhaust(() => execute(wanted, meeting, pat), claims.lmt);
}

async function search(baseUrl: string): Promise<Step> {
  const found = expectStatus(await call('GET', `${baseUrl}/api/intents/search?${new URLSearchParams({ query: question })}`), 200);
  const { intents, pagination } = readBody(intentPage, found);
  if (!intents.some(({ intent_uid }) => intent_uid === wanted)) {
    throw new DemoFailure(`The search did not find ${wanted}. Does this service have the demo intents? "npm start" registers them.`);
  }
  return step(`Search in plain words: "${question}"`, found, [
    `${pagination.total_results} intents may help, the best first:`,
    ...intents.slice(0, 3).map(({ intent_name, intent_uid }) => `- ${intent_name} (${intent_uid})`),
  ]);
}

const describeOperation = ({ intent_name, service_name, description, input_parameters, endpoint }: FullIntent): string[] => [
  `"${intent_name}", an operation of the service ${service_name} (${endpoint.method} ${endpoint.url}).`,
  description,
  'It takes:',
  ...input_parameters.map(
    ({ name, type, required, description: meaning }) => `- ${name} (${type}${required ? '' : ', optional'}): ${meaning}`,
  ),
];

/** The address that the policy speaks of: the service's own idea of it, which may differ from how it was reached. */
const addressOf = ({ permission = [] }: Policy, baseUrl: string): string =>
  permission.map(({ target }) => /^(.*)\/api\/intents/.exec(target)?.[1])[0] ?? baseUrl;

/** The uid of an intent that the policy prohibits by name. */
const prohibitedIntent = (terms: Policy, baseUrl: string): string | undefined =>
  interpretPolicy(terms, addressOf(terms, baseUrl))
    .prohibitions.filter((entry) => !entry.includes('*'))
    .map((entry) => entry.replace(/:execute$/, ''))[0];

const requestPat = async (baseUrl: string, agent: Agent, terms: unknown): Promise<Exchange> =>
  expectStatus(
    await call('POST', `${baseUrl}/api/pat/issue`, {
      body: { agent_id: agent.id, signed_policy: await agent.sign(terms), agent_public_key: agent.publicKeyPem },
    }),
    200,
  );

/** The member is called after the protocol: `proto-pat`, or another name where the deployment has another. */
function patOf({ body }: Exchange): string {
  const [, pat] = Object.entries(body as Record<string, unknown>).find(([member]) => member.endsWith('-pat')) ?? [];
  if (typeof pat !== 'string') throw new DemoFailure('The answer to the PAT request holds no PAT.');
  return pat;
}

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

function refusal({ status, body }: Exchange): string[] {
  const { code, message } = readError(body);
  return [`Refused: ${status} ${code}.`, message];
}

/** Calls until the rate limit refuses. */
async function exhaust(execute: () => Promise<Exchange>, { rate, period }: RateLimit): Promise<Step> {
  const answers: Exchange[] = [];
  while (answers.length <= rate && !answers.some(({ status }) => status === 429)) {
    answers.push(...(await Promise.all(Array.from({ length: 10 }, execute))));
  }
  const admitted = answers.filter(({ status }) => status === 200);
  const refused = answers.find(({ status }) => status !== 200) ?? answers.at(-1);
  if (refused === undefined || admitted.length >= rate) {
    throw new DemoFailure(`${admitted.length + 1} calls were answered, although the PAT allows ${rate} in ${period} seconds.`);
  }
  expectStatus(refused, 429);
  const seconds = refused.headers.get('retry-after');
  if (seconds === null) throw new DemoFailure('The refusal over the rate limit does not say when to come back: it has no Retry-After.');
  return step('Call without pause', refused, [
    `After ${admitted.length + 1} calls the limit of ${rate} in ${period} seconds is used up. Come back in ${seconds} seconds.`,
    ...refusal(refused),
  ]);
}
