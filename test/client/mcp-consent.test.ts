import { expect, test } from '@jest/globals';
import { PolicyDeclined } from '../../client/errors.ts';
import { openMcpConsent } from '../../client/mcp-consent.ts';
import type { FormAnswer, Message } from '../../client/mcp-messages.ts';
import type { Policy } from '../../client/types.ts';

const declined = new PolicyDeclined({ uid: 'https://gate.example/policy' } as unknown as Policy, ['You may execute every intent.']);
const another = new PolicyDeclined({ uid: 'https://gate.example/policy/next' } as unknown as Policy, ['You may execute no intent.']);
const call: Message = { id: 1, method: 'tools/call', params: { name: 'execute_intent' } };
const refused = (message: string) =>
  expect.objectContaining({
    isError: true,
    structuredContent: expect.objectContaining({ error: expect.objectContaining({ message: expect.stringContaining(message) }) }),
  });

/** Consent through a host of revision 2025-11-25 that can ask its person; `answer` answers the newest question. */
function openConsent() {
  const questions: { id: string; params: object }[] = [];
  const consent = openMcpConsent({
    url: 'https://gate.example',
    agentId: 'agent',
    acceptCommand: 'accept it',
    send: (message) => questions.push(message as (typeof questions)[number]),
  });
  consent.read({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } });
  /** resolves once the question has been asked */
  const untilAsked = async (count: number) => {
    while (questions.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const answer = (action: string, content?: FormAnswer['content']) =>
    consent.read({ id: questions.at(-1)?.id ?? '', result: { action, ...(content !== undefined && { content }) } });
  return { ...consent, questions, untilAsked, answer };
}

test.each([
  ['accept', undefined],
  ['decline', refused('does not accept the usage policy')],
  ['cancel', refused('did not decide')],
])('the answer %s is shared by calls that ask before it, with it and after it, if they began before it', async (action, outcome) => {
  const consent = openConsent();
  const asks = [consent.begin(call), consent.begin(call), consent.begin(call), consent.begin(call)];
  const early = asks.slice(0, 2).map((ask) => ask(declined));
  await consent.untilAsked(1);
  consent.answer(action);
  const during = asks[2]?.(declined);
  const outcomes = await Promise.all([...early, during]);
  outcomes.push(await asks[3]?.(declined));
  expect(outcomes).toEqual(new Array(4).fill(outcome));
  expect(consent.questions).toHaveLength(1);
});

test('a call that begins after a refusal, or needs another policy, asks again', async () => {
  const consent = openConsent();
  const [first, withAnother] = [consent.begin(call), consent.begin(call)];
  const refusing = first(declined);
  await consent.untilAsked(1);
  consent.answer('decline');
  expect(await refusing).toEqual(refused('does not accept'));

  const again = consent.begin(call)(declined);
  await consent.untilAsked(2);
  consent.answer('accept');
  expect(await again).toBeUndefined();

  const asked = withAnother(another);
  await consent.untilAsked(3);
  consent.answer('cancel');
  expect(await asked).toEqual(refused('did not decide'));
});

test('a result contains no question once the policy is accepted', async () => {
  const consent = openConsent();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  const modern: Message = { ...call, params: { ...call.params, _meta } };
  const [one, other] = [consent.begin(modern), consent.begin(modern)];
  const { requestState } = (await one(declined)) as { requestState: string };
  consent.read({ ...modern, params: { ...modern.params, requestState, inputResponses: { policy: { action: 'accept' } } } });
  expect(await other(declined)).toBeUndefined();
  expect(await other(another)).toMatchObject({ resultType: 'input_required' });
  expect(consent.questions).toEqual([]);
});

const verdicts: [string, FormAnswer['content'] | undefined, boolean][] = [
  ['the field ticked', { accept: true }, true],
  ['the field left out', {}, true],
  ['no content', undefined, true],
  ['null as its content', null, true],
  ['the field ticked, as text', { accept: 'true' }, true],
  ['the field unticked', { accept: false }, false],
  ['the field unticked, as text', { accept: 'false' }, false],
  ['another word', { accept: 'no' }, false],
  ['null in the field', { accept: null }, true],
  ['an empty text in the field', { accept: '' }, true],
  ['a list in the field', { accept: ['no'] }, false],
];

test.each(verdicts)('a person who accepts with %s is taken at their word, asked by a request', async (_, content, isAccepted) => {
  const consent = openConsent();
  const asked = consent.begin(call)(declined);
  await consent.untilAsked(1);
  expect(consent.questions[0]?.params).toEqual({
    message: expect.stringContaining('You may execute every intent.'),
    requestedSchema: { type: 'object', properties: { accept: { type: 'boolean', title: 'I accept this policy' } } },
  });
  consent.answer('accept', content);
  expect(await asked).toEqual(isAccepted ? undefined : refused('does not accept the usage policy'));
  expect(await consent.isAccepted(declined.policy)).toBe(isAccepted);
});

test.each(verdicts)('a person who accepts with %s is taken at their word, asked in a result', async (_, content, isAccepted) => {
  const consent = openConsent();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  const modern: Message = { ...call, params: { ...call.params, _meta } };
  const { requestState } = (await consent.begin(modern)(declined)) as { requestState: string };
  const policy = { action: 'accept', ...(content !== undefined && { content }) };
  const answer: Message = { ...modern, params: { ...modern.params, requestState, inputResponses: { policy } } };
  consent.read(answer);
  expect(await consent.begin(answer)(declined)).toEqual(isAccepted ? undefined : refused('does not accept the usage policy'));
  expect(await consent.isAccepted(declined.policy)).toBe(isAccepted);
});
