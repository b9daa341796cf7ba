import * as z from 'zod';
import { tamper } from '../../bin/probes.ts';
import type { Exchange } from '../../client/http.ts';
import { splitIntentUid } from '../../schemas/intent-uid.ts';
import { adminOnly, type Check, check } from './check.ts';
import { freshUid, type Gate, Unmet } from './gate.ts';
import { exhaust, findProhibited } from './probes.ts';

/** Maximum rate limit that is tested. */
const maxTriedRate = 300;

const execute = ({ call }: Gate, body: unknown, bearer?: string): Promise<Exchange> =>
  call('POST', '/api/intents/execute', { body, bearer });

async function executeKnown(gate: Gate, pat?: string): Promise<Exchange> {
  const { intent_uid } = await gate.intent();
  return execute(gate, { intent_uid, parameters: {} }, pat);
}

const executeWithPat = async (gate: Gate, body: unknown): Promise<Exchange> => execute(gate, body, await gate.pat());

export const executionChecks: readonly Check[] = [
  check('execute-without-pat', '4.2 (3), 5.1', 'Execution without a PAT is refused', async (gate, expect) =>
    expect.refusal(await executeKnown(gate), 401, 'UNAUTHORIZED'),
  ),
  check('execute-garbage-pat', '4.2 (3), 5.1', 'Execution with a token that is not a PAT is refused', async (gate, expect) => {
    for (const bearer of ['garbage', 'a.b.c']) expect.refusal(await executeKnown(gate, bearer), 401, 'UNAUTHORIZED');
  }),
  check('execute-tampered-pat', '4.2 (3), 5.1', 'Execution with a PAT whose claims were altered is refused', async (gate, expect) =>
    expect.refusal(await executeKnown(gate, tamper(await gate.pat())), 401, 'UNAUTHORIZED'),
  ),
  check('execute-malformed', '4.2 (3), 2.7', 'Malformed execution requests are refused', async (gate, expect) => {
    const { intent_uid } = await gate.intent();
    const bodies = [{}, { intent_uid }, { parameters: {} }, { intent_uid: 'no-uid', parameters: {} }, { intent_uid, parameters: 'none' }];
    for (const body of bodies) expect.invalid(await executeWithPat(gate, body), JSON.stringify(body));
  }),
  check('execute-unknown', '4.2 (3), 7.2', 'Execution of an unknown intent is refused with 404', async (gate, expect) =>
    expect.notFound(await executeWithPat(gate, { intent_uid: freshUid(), parameters: {} })),
  ),
  check('execute-other-version', '9.3, 7.2', 'Execution of an unknown version is refused as a version conflict', async (gate, expect) => {
    const { namespace, slug } = splitIntentUid((await gate.intent()).intent_uid);
    const body = { intent_uid: `${namespace}:${slug}:v99999`, parameters: {} };
    expect.refusal(await executeWithPat(gate, body), '4xx', 'VERSION_CONFLICT');
  }),
  check('execute-prohibited', '4.2 (3), 5.1', 'Execution of a prohibited intent is refused', async (gate, expect) => {
    const intent_uid = findProhibited(await gate.policy());
    if (intent_uid === undefined) throw new Unmet('needs a policy that prohibits an intent');
    expect.refusal(await executeWithPat(gate, { intent_uid, parameters: {} }), 403, 'FORBIDDEN');
  }),
];

export const grantedExecutionChecks = adminOnly([
  check('execute-answer', '4.2 (3)', "Execution returns the intent's output parameters", async (gate, expect) => {
    const { intent_uid, parameters, outputs } = await gate.executable();
    const shape = z.looseObject(Object.fromEntries(outputs.map((name) => [name, z.int()])));
    expect.success(await executeWithPat(gate, { intent_uid, parameters }), 200, shape);
  }),
  check('execute-wrong-parameters', '4.2 (3), 2.1', 'Execution with a missing or mistyped parameter is refused', async (gate, expect) => {
    const { intent_uid } = await gate.executable();
    for (const parameters of [{}, { text: 7 }])
      expect.invalid(await executeWithPat(gate, { intent_uid, parameters }), JSON.stringify(parameters));
  }),
  // uses up the quota of the PAT, so it comes last
  check('execute-rate-limit', '4.2 (3), 2.4, 8', "Execution beyond the PAT's rate limit is refused", async (gate, expect) => {
    const { lmt } = await gate.claims();
    const { intent_uid, parameters } = await gate.executable();
    if (lmt === undefined) throw new Unmet('needs a PAT with a rate limit (lmt)');
    if (lmt.rate > maxTriedRate || lmt.period < 10)
      throw new Unmet(`needs a rate limit of at most ${maxTriedRate} calls in at least 10 seconds`);
    const { admitted, refused } = await exhaust(() => executeWithPat(gate, { intent_uid, parameters }), lmt.rate);
    if (refused !== undefined && admitted <= lmt.rate) expect.refusal(refused, 429, 'TOO_MANY_REQUESTS');
    else expect.that(false, `${admitted} executions were admitted; the PAT allows ${lmt.rate} in ${lmt.period} seconds`);
  }),
]);
