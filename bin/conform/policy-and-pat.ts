import { issuesOf } from '../../functions/core/json.ts';
import { parseClaims } from '../probes.ts';
import { checkAnswer, checkInvalid, checkRefusal } from './answers.ts';
import { type Check, without } from './check.ts';
import { claimsShape, patShape, policyShape } from './shapes.ts';

export const policyAndPatChecks: readonly Check[] = [
  {
    id: 'policy-answer',
    clause: '4.2 (4), 2.3',
    title: 'The policy is served in the form of a policy',
    run: async ({ call }) => checkAnswer(await call('GET', '/api/policy'), 200, policyShape),
  },
  {
    id: 'pat-issue',
    clause: '4.2 (5), 5.3',
    title: 'The policy, signed, earns a PAT',
    run: async (context) => checkAnswer(await context.requestPat(await context.patRequest()), 200, patShape(context.protocol)),
  },
  {
    id: 'pat-claims',
    clause: '2.4',
    title: 'The PAT carries its claims, and is valid now',
    run: async ({ pat }) => {
      const claims = claimsShape.safeParse(parseClaims(await pat()), { reportInput: true });
      if (!claims.success) return issuesOf(claims.error).map(({ path, problem }) => `the PAT: ${path || 'its payload'} ${problem}`);
      const { nbf, exp } = claims.data;
      const now = Date.now() / 1000;
      return [...(nbf <= now + 60 ? [] : ['the PAT: nbf is in the future']), ...(exp > now ? [] : ['the PAT: exp is in the past'])];
    },
  },
  {
    id: 'pat-unique',
    clause: '2.4',
    title: 'Two PATs do not share their jti',
    run: async (context) => {
      const other = await context.requestPat(await context.patRequest());
      const second = parseClaims(String((other.body as Record<string, unknown> | undefined)?.[`${context.protocol}-pat`])) as {
        jti?: string;
      };
      return (await context.claims()).jti === second?.jti ? ['two PATs have the same jti'] : [];
    },
  },
  {
    id: 'pat-missing-member',
    clause: '4.2 (5), 2.7',
    title: 'A PAT request that lacks a member is refused',
    run: async (context) => {
      const body = await context.patRequest();
      const ask = (member: string) => context.requestPat(without(body, member));
      return checkInvalid(Object.keys(body), ask, (member) => `without ${member}`);
    },
  },
  {
    id: 'pat-wrong-type',
    clause: '4.2 (5), 2.7',
    title: 'A PAT request with a member that is no string is refused',
    run: async (context) => {
      const body = await context.patRequest();
      const ask = (member: string) => context.requestPat({ ...body, [member]: 7 });
      return checkInvalid(Object.keys(body), ask, (member) => `with a number as ${member}`);
    },
  },
  {
    id: 'pat-foreign-signature',
    clause: '4.2 (5), 5.3',
    title: 'A policy that another key signed is refused',
    run: async (context) => {
      const { agent_public_key } = await context.patRequest();
      const body = { ...(await context.patRequest()), agent_public_key };
      return checkRefusal(await context.requestPat(body), 400, 'INVALID_SIGNATURE');
    },
  },
  {
    id: 'pat-altered-policy',
    clause: '4.2 (5), 5.3',
    title: 'A policy that was altered before it was signed is refused',
    run: async (context) => {
      const altered = { ...(await context.policy()), prohibition: [], obligation: [] };
      return checkRefusal(await context.requestPat(await context.patRequest(altered)), 403, 'POLICY_REJECTED');
    },
  },
];
