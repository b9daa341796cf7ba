import * as z from 'zod';
import type { Exchange } from '../../client/http.ts';
import { splitIntentUid } from '../../schemas/intent-uid.ts';
import { exhaust, findProhibited, tamper } from '../probes.ts';
import { checkAnswer, checkInvalid, checkRefusal } from './answers.ts';
import { type Check, inEach } from './check.ts';
import { type CheckContext, Unmet } from './context.ts';

/** Higher limits are not tried out. */
const maxTriedRate = 300;

const execute = (context: CheckContext, body: unknown, bearer?: string): Promise<Exchange> =>
  context.call('POST', '/api/intents/execute', { body, bearer });

async function executeKnown(context: CheckContext, pat: string | undefined): Promise<Exchange> {
  const { intent_uid } = await context.intent();
  return execute(context, { intent_uid, parameters: {} }, pat);
}

export const executionChecks: readonly Check[] = [
  {
    id: 'execute-without-pat',
    clause: '4.2 (3), 5.1',
    title: 'Execution without a PAT is refused',
    run: async (context) => checkRefusal(await executeKnown(context, undefined), 401, 'UNAUTHORIZED'),
  },
  {
    id: 'execute-garbage-pat',
    clause: '4.2 (3), 5.1',
    title: 'Execution with something that is no PAT is refused',
    run: (context) =>
      inEach(['garbage', 'a.b.c'], async (bearer) => checkRefusal(await executeKnown(context, bearer), 401, 'UNAUTHORIZED')),
  },
  {
    id: 'execute-tampered-pat',
    clause: '4.2 (3), 5.1',
    title: 'Execution with a PAT whose claims were altered is refused',
    run: async (context) => checkRefusal(await executeKnown(context, tamper(await context.pat())), 401, 'UNAUTHORIZED'),
  },
  {
    id: 'execute-malformed',
    clause: '4.2 (3), 2.7',
    title: 'Execution requests of the wrong form are refused',
    run: async (context) => {
      const { intent_uid } = await context.intent();
      const bodies = [{}, { intent_uid }, { parameters: {} }, { intent_uid: 'no-uid', parameters: {} }, { intent_uid, parameters: 'none' }];
      return checkInvalid(bodies, async (body) => execute(context, body, await context.pat()), JSON.stringify);
    },
  },
  {
    id: 'execute-unknown',
    clause: '4.2 (3), 7.2',
    title: 'Execution of an intent that does not exist is 404',
    run: async (context) => {
      const body = { intent_uid: `conformance.example:${context.freshId()}:v1`, parameters: {} };
      return checkRefusal(await execute(context, body, await context.pat()), 404, 'NOT_FOUND');
    },
  },
  {
    id: 'execute-other-version',
    clause: '9.3, 7.2',
    title: 'Execution of a version that does not exist is a version conflict',
    run: async (context) => {
      const { namespace, slug } = splitIntentUid((await context.intent()).intent_uid);
      const body = { intent_uid: `${namespace}:${slug}:v99999`, parameters: {} };
      return checkRefusal(await execute(context, body, await context.pat()), '4xx', 'VERSION_CONFLICT');
    },
  },
  {
    id: 'execute-prohibited',
    clause: '4.2 (3), 5.1',
    title: 'Execution of an intent that the policy prohibits is refused',
    run: async (context) => {
      const intent_uid = findProhibited(await context.policy());
      if (intent_uid === undefined) throw new Unmet('needs a policy that prohibits an intent');
      return checkRefusal(await execute(context, { intent_uid, parameters: {} }, await context.pat()), 403, 'FORBIDDEN');
    },
  },
  {
    id: 'execute-answer',
    clause: '4.2 (3)',
    title: "Execution answers with the intent's output parameters",
    isAdmins: true,
    run: async (context) => {
      const { intent_uid, parameters, outputs } = await context.executable();
      const shape = z.looseObject(Object.fromEntries(outputs.map((name) => [name, z.int()])));
      return checkAnswer(await execute(context, { intent_uid, parameters }, await context.pat()), 200, shape);
    },
  },
  {
    id: 'execute-wrong-parameters',
    clause: '4.2 (3), 2.1',
    title: 'Execution without a required parameter, or with one of the wrong type, is refused',
    isAdmins: true,
    run: async (context) => {
      const { intent_uid } = await context.executable();
      const ask = async (parameters: object) => execute(context, { intent_uid, parameters }, await context.pat());
      return checkInvalid([{}, { text: 7 }], ask, JSON.stringify);
    },
  },
];

/** Uses up the quota of the PAT, so it comes last. */
export const rateLimitCheck: Check = {
  id: 'execute-rate-limit',
  clause: '4.2 (3), 2.4, 8',
  title: "Execution beyond the PAT's rate limit is refused",
  isAdmins: true,
  run: async (context) => {
    const { lmt } = await context.claims();
    const { intent_uid, parameters } = await context.executable();
    if (lmt === undefined) throw new Unmet('needs a PAT with a rate limit (lmt)');
    if (lmt.rate > maxTriedRate || lmt.period < 10)
      throw new Unmet(`needs a rate limit of at most ${maxTriedRate} calls in at least 10 seconds`);
    const pat = await context.pat();
    const { admitted, refused } = await exhaust(() => execute(context, { intent_uid, parameters }, pat), lmt.rate);
    if (refused !== undefined && admitted <= lmt.rate) return checkRefusal(refused, 429, 'TOO_MANY_REQUESTS');
    return [`${admitted} executions were admitted, although the PAT allows ${lmt.rate} in ${lmt.period} seconds`];
  },
};
